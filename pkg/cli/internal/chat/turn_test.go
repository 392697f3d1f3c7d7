package chat

import (
	"io"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A run that fails may end with fewer figures than the run before had: those of the turn
// are never negative.
func TestFiguresOfATurn(t *testing.T) {
	ui := new(printed)
	s := New(t.Context(), &kit.Env{Config: func() (*config.Config, error) { return new(config.Config), nil }}, nil, ui, Options{Screen: kit.NewPlain(io.Discard)})
	turn := func(status jobs.Status, final, total llm.Usage) {
		d := &adroit.JobDetail{Job: &jobs.Job{ID: "J1", Status: status}, Final: &jobs.Final{Status: status, Usage: final}}
		d.Usage.Total.Usage = total
		s.outcome(d)
	}
	turn(jobs.Done, llm.Usage{In: 1300, Out: 5}, llm.Usage{In: 1300, Out: 5})
	turn(jobs.Failed, llm.Usage{In: 100, Out: 1}, llm.Usage{In: 1400, Out: 6})
	turn(jobs.Done, llm.Usage{In: 1600, Out: 8}, llm.Usage{In: 1600, Out: 8})
	got := ui.text.String()
	for _, want := range []string{"1,300 tokens in, 5 out", "100 tokens in, 1 out", "200 tokens in, 2 out"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "-") {
		t.Errorf("a negative figure: %q", got)
	}
}
