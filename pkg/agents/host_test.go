package agents_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

func TestToolsTheHostCannotRun(t *testing.T) {
	body := func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil }
	set, err := tools.NewSet(
		tools.New(tools.Metadata{Name: "plain", Description: "Needs nothing."}, body),
		tools.New(tools.Metadata{Name: "cut_clip", Description: "Needs a program.", Requires: []string{"ffmpeg"}, Proves: "it is cut"}, body))
	if err != nil {
		t.Fatal(err)
	}
	without := func(string) error { return errors.New("ffmpeg is not on PATH") }
	with := func(string) error { return nil }
	for _, c := range []struct {
		name string
		done executor.Criterion
		host func(string) error
		want string // the tools offered, or what the error says
	}{
		{"there", executor.Criterion{Tool: "cut_clip"}, with, "cut_clip plain"},
		{"left out", executor.Criterion{}, without, "plain"},
		{"must be called", executor.Criterion{Tool: "cut_clip"}, without, "cut_clip is needed: ffmpeg is not on PATH"},
		{"checks", executor.Criterion{All: []executor.Criterion{{Check: "cut_clip"}}}, without, "cut_clip is needed: ffmpeg is not on PATH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"plain", "cut_clip"}, Done: c.done}
			task, err := agents.Resolve(agents.Input{Spec: a, Prompt: "x", Model: "m/m"}, nil, set, agents.Env{Host: c.host})
			var got []string
			for _, tool := range task.Tools {
				got = append(got, tool.Name)
			}
			if s := strings.Join(got, " "); err == nil && s != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("offered %q, error %v; want %q", s, err, c.want)
			}
		})
	}
}
