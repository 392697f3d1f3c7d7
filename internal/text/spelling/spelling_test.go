package spelling_test

import (
	"testing"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

func TestShorter(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{spelling.Clip("grün", 5), "grün"},
		{spelling.Clip("grün", 3), "gr…"}, // no half of a letter
		{spelling.ClipRunes("grün", 4), "grün"},
		{spelling.ClipRunes("grüne", 4), "grü…"},
		{spelling.FirstLine("\n one\ntwo"), "one"},
		{spelling.FirstLine(""), ""},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
