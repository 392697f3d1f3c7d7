package pipeline

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// What reading a pipeline takes grows with its length, not with the square of it.
func TestReadInLinearTime(t *testing.T) {
	cost := func(n int) float64 {
		var b strings.Builder
		b.WriteString("name: many\ndescription: Many steps.\nsteps:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - id: s%d\n    run: echo %d\n    timeout: 1m\n", i, i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if p, _ := Parse("many.yaml", []byte(b.String())); p == nil {
			t.Fatal("it cannot be read")
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	cost(1) // what is made once
	if small, large := cost(200), cost(800); large > 6*small {
		t.Errorf("four times the text takes %.1f times the memory", large/small)
	}
}
