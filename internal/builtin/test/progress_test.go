package test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Each package is shown when its tests start, however the output is cut.
func TestProgress(t *testing.T) {
	out := `{"Action":"build-output","Output":"{\"Action\":\"start\"}"}` + "\n" + `{"Time":"x","Action":"start","Package":"cart"}` + "\n" +
		`{"Action":"output","Output":"` + strings.Repeat("x", 5000) + `"}` + "\n" + `{"Action":"start","Package":"shop"}` + "\nno JSON\n"
	for _, size := range []int{1, 7, 64, len(out)} {
		var all bytes.Buffer
		var shown []string
		p := &progress{Writer: &all, show: func(s string) { shown = append(shown, s) }}
		for rest := []byte(out); len(rest) > 0; {
			n := min(size, len(rest))
			if m, err := p.Write(rest[:n]); err != nil || m != n {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if want := []string{"testing cart", "testing shop"}; !slices.Equal(shown, want) || all.String() != out {
			t.Errorf("in pieces of %d: %q, %d bytes", size, shown, all.Len())
		}
	}
}
