package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A switchboard is a host with several models, each a func.
type switchboard struct {
	*world
	models map[string]llm.Func

	mu    sync.Mutex
	asked []string
	notes []string
	extra []tools.Tool
}

func (b *switchboard) find(_ context.Context, ref string) (llm.Model, string, error) {
	f, ok := b.models[ref]
	if !ok {
		return nil, "", &llm.Error{Kind: llm.NoModel, Provider: "test", Message: "there is no model " + ref}
	}
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		b.mu.Lock()
		b.asked = append(b.asked, ref)
		b.mu.Unlock()
		return f(ctx, req, emit)
	}), "name-of-" + ref, nil
}

func (b *switchboard) loop(t testing.TB, ctx context.Context, j *flow.Memory, edit func(*executor.Task)) (*executor.State, error) {
	t.Helper()
	set, err := tools.NewSet(append(slicesOf(b.tools), b.extra...)...)
	if err != nil {
		t.Fatal(err)
	}
	mux := host.Serve(host.Host{Models: b.find, Tools: set, Blobs: j, Attempts: 2,
		Env: func(context.Context, string, string) (*tools.Env, error) { return b.env, nil }})
	note := func(ev event.Event) {
		if ev.Kind == event.Note {
			b.mu.Lock()
			b.notes = append(b.notes, ev.Text)
			b.mu.Unlock()
		}
	}
	in := b.task(func(t *executor.Task) {
		t.Tools = agents.PinTools(set)
		edit(t)
	})
	out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(ctx, j, mux, note)), in)
	s := new(executor.State)
	if uerr := json.Unmarshal(out, s); uerr != nil {
		t.Fatalf("state: %v (run: %v)", uerr, err)
	}
	return s, err
}

func slicesOf(set *tools.Set) (out []tools.Tool) {
	for t := range set.All() {
		out = append(out, t)
	}
	return out
}

func answers(text string, u llm.Usage) llm.Func {
	return func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}, Usage: u}, nil
	}
}

func refuses(kind llm.ErrorKind) llm.Func {
	return func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return nil, &llm.Error{Kind: kind, Provider: "test", Message: "no " + string(kind)}
	}
}

// TestFallback checks what falls through to the next model and what does not,
// how often the first is tried, and that window, price and record follow the
// model that was really used.
func TestFallback(t *testing.T) {
	for kind, want := range map[llm.ErrorKind]string{
		llm.Unreachable: "a b", // nobody waits for an address where nobody listens
		llm.Overloaded:  "a a b",
		llm.RateLimit:   "a a b",
		llm.NoModel:     "a b",
		llm.BadRequest:  "a",
		llm.Auth:        "a",
		llm.TooLong:     "a",
		"exhausted":     "a",
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var window int
				b := &switchboard{world: newWorld(t), models: map[string]llm.Func{"a": refuses(kind), "b": func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
					window = req.Options.Window
					return answers("fine", llm.Usage{In: 1000, Out: 10})(ctx, req, emit)
				}}}
				s, err := b.loop(t, context.Background(), new(flow.Memory), func(t *executor.Task) {
					t.Model, t.Options.Window, t.Price = "a", 1000, llm.Price{In: 100}
					t.Fallbacks = []executor.Fallback{{Model: "b", Window: 2000}}
					t.Prices = llm.Prices{"b": {In: 1, Out: 2}}
				})
				if got := strings.Join(b.asked, " "); got != want {
					t.Fatalf("asked %q, want %q (%v)", got, want, err)
				}
				if !strings.HasSuffix(want, "b") {
					if s.Outcome == nil || s.Outcome.Status != executor.Failed || s.Outcome.Code != "model."+string(kind) {
						t.Errorf("outcome %+v", s.Outcome)
					}
					return
				}
				switch {
				case err != nil:
					t.Errorf("unexpected error: %v; window %d, cost %g, used %v", err, window, s.Cost, s.ByModel)
				case window != 2000:
					t.Errorf("window is %v, want 2000: %v; window %d, cost %g, used %v", window, err, window, s.Cost, s.ByModel)
				case math.Abs(s.Cost-(1000*1+10*2)/1e6) > 1e-12:
					t.Errorf("math.Abs(s.Cost-(1000*1+10*2)/1e6) > 1e-12: %v; window %d, cost %g, used %v", err, window, s.Cost, s.ByModel)
				case s.ByModel["b"].In != 1000:
					t.Errorf(`s.ByModel["b"].In is %v, want 1000: %v; window %d, cost %g, used %v`, s.ByModel["b"].In, err, window, s.Cost, s.ByModel)
				}
				if len(b.notes) != 1 || !strings.Contains(b.notes[0], "a cannot be used now (test: no "+string(kind)+"); going on with b") {
					t.Errorf("got %q", b.notes)
				}
			})
		})
	}
}

// TestFallbackHoldsAndResumes kills the run at every point of a fall: the end
// is the same, and the first model is not tried again in later turns.
func TestFallbackHoldsAndResumes(t *testing.T) {
	board := func() *switchboard {
		w := newWorld(t, calls(call("peek", `{}`)), calls(call("peek", `{}`), call("peek", `{}`)), say("fine"))
		return &switchboard{world: w, models: map[string]llm.Func{"a": refuses(llm.NoModel), "b": w.Generate}}
	}
	edit := func(t *executor.Task) { t.Model, t.Fallbacks = "a", []executor.Fallback{{Model: "b"}} }
	b := board()
	whole, err := b.loop(t, t.Context(), new(flow.Memory), edit)
	if err != nil || strings.Join(b.asked, " ") != "a b b b" {
		t.Fatalf("%v, asked %v", err, b.asked)
	}
	points := 0
	for k := range 100 {
		b, j := board(), new(flow.Memory)
		ctx, stop := context.WithCancel(t.Context())
		n, killed := 0, false
		mux := host.Serve(host.Host{Models: b.find, Tools: b.tools, Blobs: j,
			Env: func(context.Context, string, string) (*tools.Env, error) { return b.env, nil }})
		local := flow.NewLocal(ctx, j, mux, nil)
		var mu sync.Mutex // two branches may be at a point
		local.Hook = func(string, flow.Step) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == k+1 {
				killed = true
				stop()
			}
		}
		_, _ = loop.Run(flow.NewRun("J1", local), b.task(edit)) // how it ends is what the next run shows
		stop()
		if !killed {
			points = k
			break
		}
		s, err := b.loop(t, t.Context(), j, edit)
		switch {
		case err != nil:
			t.Fatalf("unexpected error: stopped at point %d: %v, %+v, want %+v", k, err, s, whole)
		case s.Usage != whole.Usage:
			t.Fatalf("s.Usage is %v, want %v: stopped at point %d: %v, %+v, want %+v", s.Usage, whole.Usage, k, err, s, whole)
		case s.Fallback != 1:
			t.Fatalf("s.Fallback is %v, want 1: stopped at point %d: %v, %+v, want %+v", s.Fallback, k, err, s, whole)
		case s.Head != whole.Head:
			t.Fatalf("s.Head is %v, want %v: stopped at point %d: %v, %+v, want %+v", s.Head, whole.Head, k, err, s, whole)
		}
	}
	if points < 10 {
		t.Errorf("stopped at %d points only", points)
	}
}

// TestHedge checks that a silent model is asked once more, that one answer is
// taken and that both are counted.
func TestHedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		var mu sync.Mutex
		b := &switchboard{world: newWorld(t), models: map[string]llm.Func{"a": func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			mu.Lock()
			n++
			first := n == 1
			mu.Unlock()
			if first {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return answers("fine", llm.Usage{In: 1000, Out: 10})(ctx, req, emit)
		}}}
		begin := time.Now()
		s, err := b.loop(t, context.Background(), new(flow.Memory), func(t *executor.Task) { t.Model, t.Hedge = "a", 20*time.Second })
		if err != nil || len(b.asked) != 2 || time.Since(begin) != 20*time.Second {
			t.Fatalf("%v after %s, asked %v", err, time.Since(begin), b.asked)
		}
		if s.Turns != 1 || s.Usage.In <= 1000 {
			t.Errorf("in %d turns it used %+v: the request that was cancelled is not counted", s.Turns, s.Usage)
		}
	})
}

// summarise is a tool that asks a model n times.
func summarise(needs tools.Caps) tools.Tool {
	type input struct {
		N int `json:"n" jsonschema:"description=How often."`
	}
	return tools.New(tools.Metadata{Name: "summarise", Description: "Summarise.", UsageHint: "For long texts.", Needs: needs | tools.Think},
		func(ctx context.Context, env *tools.Env, in input) (string, error) {
			var texts []string
			for range in.N {
				resp, err := env.Model.Generate(ctx, &llm.Request{Model: "any", Messages: []llm.Message{{Role: llm.User, Text: "Summarise."}}}, nil)
				if err != nil {
					return strings.Join(texts, " "), err
				}
				texts = append(texts, resp.Message.Text)
			}
			return strings.Join(texts, " "), nil
		})
}

func TestThink(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		edit   func(*executor.Task)
		cheap  llm.Func
		asked  int    // the models for thinking
		seen   string // what the model sees
		tokens int    // of the cheap one
	}{
		"counted":                     {3, nil, answers("short", llm.Usage{In: 100, Out: 10}), 3, "short short short", 330},
		"bounded in requests":         {20, nil, answers("short", llm.Usage{In: 1, Out: 1}), 16, "may ask a model 16 times", 32},
		"bounded by the job's tokens": {5, func(t *executor.Task) { t.Limits.Tokens = 250 }, answers("short", llm.Usage{In: 100, Out: 10}), 3, "tokens that this job may use are used up", 330},
		"bounded by the job's money": {5, func(t *executor.Task) {
			t.Limits.CostUSD, t.Prices = 0.001, llm.Prices{"cheap": {In: 5}}
		}, answers("short", llm.Usage{In: 100, Out: 10}), 2, "money that this job may spend is spent", 220},
		"falls back": {1, func(t *executor.Task) { t.Think.Fallbacks = []executor.Fallback{{Model: "spare"}} }, refuses(llm.Unreachable), 2, "spare words", 0},
		"fails":      {1, nil, refuses(llm.BadRequest), 1, "no bad_request", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calls(call("summarise", fmt.Sprintf(`{"n":%d}`, c.n))), say("fine"))
			var most int
			b := &switchboard{world: w, extra: []tools.Tool{summarise(tools.Read)}, models: map[string]llm.Func{
				"main": w.Generate, "spare": answers("spare words", llm.Usage{In: 7, Out: 1}),
				"cheap": func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
					most = req.Options.MaxTokens
					return c.cheap(ctx, req, emit)
				}}}
			s, _ := b.loop(t, t.Context(), new(flow.Memory), func(t *executor.Task) { // a limit is an error, too
				t.Model, t.Think = "main", &turn.Think{Route: executor.Route{Model: "cheap"}}
				if c.edit != nil {
					c.edit(t)
				}
			})
			asked := 0
			for _, ref := range b.asked {
				if ref != "main" {
					asked++
				}
			}
			if asked != c.asked || most != 2048 {
				t.Errorf("asked %v with at most %d tokens", b.asked, most)
			}
			if u := s.ByModel["cheap"]; u.In+u.Out != c.tokens {
				t.Errorf("used %v", s.ByModel)
			}
			if all := s.ByModel["cheap"].Add(s.ByModel["spare"]).Add(s.ByModel["main"]); s.ByModel != nil && s.Usage != all {
				t.Errorf("in all %v, by model %v", s.Usage, s.ByModel)
			}
			found := false
			for _, m := range w.last {
				found = found || m.Role == llm.Tool && strings.Contains(m.Text, c.seen)
			}
			if !found {
				t.Errorf("the model did not see %q: %+v", c.seen, w.last)
			}
		})
	}
}

// TestThinkWithoutAModel checks that a task that names none grants none.
func TestThinkWithoutAModel(t *testing.T) {
	w := newWorld(t, calls(call("summarise", `{"n":1}`)), say("fine"))
	b := &switchboard{world: w, extra: []tools.Tool{summarise(0)}, models: map[string]llm.Func{"script/x": w.Generate}}
	b.env.Model = answers("leaked", llm.Usage{})
	if _, err := b.loop(t, t.Context(), new(flow.Memory), func(*executor.Task) {}); err != nil {
		t.Fatal(err)
	}
	if got := w.last[len(w.last)-1].Text; !strings.Contains(got, "which this run does not grant") {
		t.Errorf("got %q", got)
	}
}

// TestThinkStopped checks that a call that is stopped after it has paid says
// so, because a repeated one pays again.
func TestThinkStopped(t *testing.T) {
	w := newWorld(t, calls(call("summarise", `{"n":2}`)), say("fine"))
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	b := &switchboard{world: w, extra: []tools.Tool{summarise(tools.Read)}, models: map[string]llm.Func{"main": w.Generate,
		"cheap": func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			if n++; n == 2 {
				stop()
				return nil, context.Cause(ctx)
			}
			return answers("short", llm.Usage{In: 100, Out: 10})(ctx, req, emit)
		}}}
	edit := func(t *executor.Task) {
		t.Model, t.Think = "main", &turn.Think{Route: executor.Route{Model: "cheap"}}
	}
	j := new(flow.Memory)
	if _, err := b.loop(t, ctx, j, edit); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if all := strings.Join(b.notes, "\n"); !strings.Contains(all, "stopped after it had asked cheap 2 times") {
		t.Errorf("got %q", all)
	}
	s, err := b.loop(t, t.Context(), j, edit)
	if err != nil || s.ByModel["cheap"] != (llm.Usage{In: 200, Out: 20}) {
		t.Errorf("%v; used %v", err, s.ByModel)
	}
}

func TestPricesOf(t *testing.T) {
	p := llm.Prices{"*": {In: 9}, "ollama/*": {}, "openai/gpt-5*": {In: 1}}
	for ref, want := range map[string]float64{"ollama/qwen3:8b": 0, "openai/gpt-5-mini": 1, "lab/x": 9} {
		if got, ok := p.Of(ref); !ok || got.In != want {
			t.Errorf("%s costs %v, %v", ref, got, ok)
		}
	}
	if _, ok := (llm.Prices{"ollama/*": {}}).Of("openai/x"); ok {
		t.Error("a model that nobody has priced has a price")
	}
}
