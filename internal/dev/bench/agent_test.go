package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/openai"
	"github.com/adroit-run/adroit/pkg/tools"
)

var agent = flow.Define("agent", executor.Loop)

// kit is shared by the agents of a benchmark, as it is by the jobs of a process.
type kit struct {
	model llm.Model
	tools *tools.Set
	ran   func(ctx context.Context, env *tools.Env) // called for each tool call; may be nil
	full  *full                                     // what the command line adds; nil leaves it out
}

func newKit(t testing.TB, hc *http.Client, stream bool) *kit {
	k := new(kit)
	var err error
	if k.model, err = openai.New(openai.Config{BaseURL: url(t) + "/v1", HTTP: hc, NoStream: !stream}); err != nil {
		t.Fatal(err)
	}
	type text struct {
		Text string `json:"text"`
	}
	k.tools, err = tools.NewSet(tools.New(tools.Metadata{Name: "echo", Description: "Repeat a text.", Effect: tools.Pure},
		func(ctx context.Context, env *tools.Env, in text) (string, error) {
			if k.ran != nil {
				k.ran(ctx, env)
			}
			return echo(in.Text), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *kit) mux(blobs flow.Blobs) flow.Mux {
	h := host.Host{
		Models: func(_ context.Context, name string) (llm.Model, string, error) { return k.model, name, nil },
		Tools:  k.tools, Blobs: blobs,
	}
	return host.Serve(h)
}

func (k *kit) task(turns int) json.RawMessage {
	b, err := json.Marshal(executor.Task{
		Instructions: executor.Instructions{Model: fmt.Sprintf("tape-%d", turns), System: "You echo.", Prompt: "Go on."}, Work: executor.Work{Tools: agents.PinTools(k.tools),
			Limits: executor.Limits{Turns: -1, Tokens: -1, Time: -1}},
	})
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	return b
}

// runtime has what a program has that runs agents and keeps nothing.
func (k *kit) runtime(t testing.TB) *adroit.Runtime {
	o := adroit.Options{Tools: slices.Collect(k.tools.All()), Models: map[string]llm.Model{"bench": k.model}, Model: "bench/tape-1"}
	o.Defaults.Limits = executor.Limits{Turns: -1, Tokens: -1, Time: -1}
	o.Defaults.Options.Window = 1_000_000
	k.full.add(&o)
	rt, err := adroit.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// run has one agent work for so many turns, as a program does it.
func run(ctx context.Context, rt *adroit.Runtime, turns int) (*executor.State, error) {
	echoer := agents.DynamicAgent{Name: "echoer", Description: "Repeats.", Prompt: "You echo.", Tools: []string{"echo"}}
	j, err := adroit.Start(ctx, rt, adroit.Request{Input: agents.Input{Spec: &echoer, Model: fmt.Sprintf("bench/tape-%d", turns), Prompt: "Go on."}})
	if err != nil {
		return nil, err
	}
	return j.Wait(ctx)
}

func state(out json.RawMessage, err error) (*executor.State, error) {
	if err != nil {
		return nil, err
	}
	s := new(executor.State)
	return s, json.Unmarshal(out, s)
}

// cpu returns the CPU time of this process, including the kernel's work for it.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // of a valid pointer
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
