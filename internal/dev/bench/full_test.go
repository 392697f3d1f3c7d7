package bench

import (
	"fmt"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
)

// full is the command line's additions to a loop: more secrets are looked for in all that is kept
// and shown, calls are judged by rules, and prices are counted. Nil leaves them out.
type full struct{}

func (f *full) add(o *adroit.Options) {
	if f == nil {
		return
	}
	o.Secrets = secret.NewRedactor(secret.Options{Known: []secret.Known{
		{Name: "LAB_KEY", Value: "a key that nobody says"}, {Name: "OTHER", Value: "another one, for the search to do"},
	}})
	o.Defaults.Mode, o.Defaults.Approve = executor.ModeAuto, executor.ApproveAll
	o.Defaults.Rules = []permit.Rule{{Tool: "shell", Command: "git push *", Do: permit.Deny}, {Path: "docs/**", Do: permit.Ask}, {Tool: "echo", Do: permit.Allow}}
	o.Defaults.Prices = llm.Prices{"bench/*": {In: 1, Out: 2}}
}

// BenchmarkFull is BenchmarkLoop with the command line's additions to the loop.
func BenchmarkFull(b *testing.B) {
	for _, turns := range []int{10, 100, 400} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			k := newKit(b, client(b), false)
			k.full = new(full)
			beside(b, k, turns)
		})
	}
}
