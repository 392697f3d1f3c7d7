package script

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// scenes is a script with so many scenes of two calls.
func scenes(n int) []byte {
	var b strings.Builder
	b.WriteString("scenes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - when: \"job %d\"\n    turns:\n      - calls:\n          - name: shell\n            args:\n              command: \"echo %d\"\n      - calls: [{name: finish, args: {summary: \"Done with %d.\", size: 12345678901234567890}}]\n", i, i, i)
	}
	return []byte(b.String())
}

// What reading a script takes grows with its length, not with the square of it.
func TestReadInLinearTime(t *testing.T) {
	cost := func(n int) float64 {
		text := scenes(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(text)
		runtime.ReadMemStats(&after)
		dirtest.Must(t, err)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	cost(1) // what is made once
	if small, large := cost(40), cost(160); large > 6*small {
		t.Errorf("four times the text takes %.1f times the memory", large/small)
	}
}

func TestTooMuch(t *testing.T) {
	laughs := "turns:\n  - text: a\nnotes: &n0 [x, x]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("n%d: &n%d [*n%d, *n%d]\n", i+1, i+1, i, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"long":      {"turns:\n" + strings.Repeat("  - text: a\n", maxYAML/10), "write it as JSON"},
		"deep":      {"turns: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "nests more than"},
		"many":      {laughs, "references stand for more than"},
		"recursive": {"turns: &t\n  - calls: *t\n", "references stand for more than"},
	} {
		if _, err := Parse("s.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m, err := Parse("s.yaml", []byte("turns:\n  - &a\n    calls: [{name: x, args: {n: 12345678901234567890, s: \"\\a\"}}]\n  - *a\n"))
	dirtest.Must(t, err)
	if got := len(m.turns); got != 2 {
		t.Errorf("%d turns", got)
	}
}
