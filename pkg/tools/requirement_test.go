package tools_test

import (
	"context"
	"errors"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
)

func TestMissing(t *testing.T) {
	body := func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil }
	a, err := tools.NewSet(tools.New(tools.Metadata{Name: "a", Description: "A.", Requires: []string{"ffmpeg", "git"}}, body))
	if err != nil {
		t.Fatal(err)
	}
	both, err := a.With(tools.New(tools.Metadata{Name: "b", Description: "B.", Requires: []string{"ffmpeg"}}, body))
	if err != nil {
		t.Fatal(err)
	}
	absent := errors.New("ffmpeg is not there")
	got := tools.Missing(both, func(c string) error {
		if c == "ffmpeg" {
			return absent
		}
		return nil
	})
	if len(got) != 1 || !errors.Is(got["ffmpeg"], absent) || got["ffmpeg"].Error() != "ffmpeg is not there (needed by a, b)" {
		t.Errorf("%v", got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := tools.Missing(a, tools.OnPath); len(got) != 2 {
		t.Errorf("with an empty PATH: %v", got)
	}
}
