package adroit_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A hook that would never run, or never refuse what it should, is refused.
func TestOpenChecksHooks(t *testing.T) {
	for _, h := range []adroit.Hook{
		{When: "befor", Command: []string{"true"}}, {Command: []string{"true"}}, {When: "before", Tools: []string{"[write"}, Command: []string{"true"}},
		{When: "before", Command: []string{"true"}, OnError: "blok"}, {When: "before"},
	} {
		rt, err := adroit.Open(t.Context(), adroit.Options{Models: map[string]llm.Model{"m/x": nil}, Callbacks: adroit.Callbacks{Hooks: []adroit.Hook{h}}})
		if err == nil {
			rt.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "hooks.0") {
			t.Errorf("%+v: %v", h, err)
		}
	}
}
