package bench

import (
	"fmt"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
)

// full is the command line's additions to a loop: secrets are looked for in all that is kept and
// shown, calls are judged by rules, a budget bounds the conversation, results are shown within
// bounds and prices are counted. A nil full is a loop without any of it.
type full struct {
	hide    *secret.Redactor
	results *host.ResultStore
}

func newFull(dir string) *full {
	return &full{results: &host.ResultStore{Dir: dir}, hide: secret.NewRedactor(secret.Options{Known: []secret.Known{
		{Name: "LAB_KEY", Value: "a key that nobody says"}, {Name: "OTHER", Value: "another one, for the search to do"},
	}})}
}

func (f *full) around(h host.Host) flow.Mux {
	if f == nil {
		return host.Serve(h)
	}
	h.Results = f.results
	h.Secrets = f.hide
	return host.Guard(host.Serve(h), f.hide)
}

func (f *full) of(t executor.Task) executor.Task {
	if f == nil {
		return t
	}
	t.Mode, t.Approve = "auto", "all"
	t.Rules = []permit.Rule{{Tool: "shell", Command: "git push *", Do: permit.Deny}, {Path: "docs/**", Do: permit.Ask}, {Tool: "echo", Do: permit.Allow}}
	t.Budget = &turn.Budget{Window: 1_000_000}
	t.Price = llm.Price{In: 1, Out: 2}
	return t
}

func (f *full) sink() event.Sink {
	if f == nil {
		return nil
	}
	return func(e event.Event) { host.Clean(f.hide, e) }
}

// BenchmarkFull is BenchmarkLoop with the command line's additions to the loop.
func BenchmarkFull(b *testing.B) {
	for _, turns := range []int{10, 100, 400} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			k := newKit(b, client(b), false)
			k.full = newFull(b.TempDir())
			beside(b, k, turns)
		})
	}
}
