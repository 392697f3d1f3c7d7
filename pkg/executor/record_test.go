package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// played runs a task with a model and returns, request by request, the
// messages it got and its answer, and the state. With a recorder it is recorded.
func (n *narrow) played(model llm.Model, in json.RawMessage, record func(*llm.Request, *llm.Response) error) (turns []string, s *executor.State, ways []string) {
	n.t.Helper()
	j, dir, w := new(flow.Memory), n.t.TempDir(), newWorld(n.t, say("x"))
	watch := llm.Func(func(ctx context.Context, req *llm.Request, show func(llm.Delta)) (*llm.Response, error) {
		resp, err := model.Generate(ctx, req, show)
		said := "refused"
		if err == nil {
			said = fmt.Sprintf("%q %+v", resp.Message.Text, resp.Usage)
			for _, c := range resp.Message.Calls { // whose ids are the provider's
				said += fmt.Sprintf(" %s(%s)", c.Name, c.Args)
			}
		}
		var prompt strings.Builder
		for _, m := range req.Messages {
			fmt.Fprintf(&prompt, "%s %s %s %d\n", m.Role, m.Name, m.Text, len(m.Calls))
		}
		turns = append(turns, prompt.String()+"=> "+said)
		return resp, err
	})
	mux := host.Serve(host.Host{
		Models: func(context.Context, string) (llm.Model, string, error) { return watch, "m", nil },
		Tools:  n.kit(), Blobs: j, Results: &host.ResultStore{Dir: dir}, Record: record,
		Env: func(context.Context, string, string) (*tools.Env, error) { return w.env, nil },
	})
	out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(n.t.Context(), j, mux, func(ev event.Event) {
		if ev.Kind == event.StepFinished && ev.Step == "compact" {
			ways = append(ways, ev.Name)
		}
	})), in)
	s = new(executor.State)
	if uerr := json.Unmarshal(out, s); err != nil || uerr != nil {
		n.t.Fatalf("%v, %v; after %d requests: %.2000s", err, uerr, len(turns), strings.Join(turns[max(0, len(turns)-1):], "\n"))
	}
	return turns, s, ways
}

// TestRecordedCompaction records jobs whose conversation was shortened by a
// summary, before the model was asked and after it had refused, and plays them
// to the same transcript.
func TestRecordedCompaction(t *testing.T) {
	for label, b := range map[string]*turn.Budget{"known window": {Window: 6000, Cheap: "narrow/small"}, "refused": {Cheap: "narrow/small"}} {
		t.Run(label, func(t *testing.T) {
			n := &narrow{t: t, window: 6000, perToken: 3, turns: 24, seed: 3}
			in := n.task(b)
			path := filepath.Join(t.TempDir(), "made.json")
			rec, err := script.Record(path, script.Recording{Job: "J1", Model: "narrow/m"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, state, ways := n.played(n, in, rec.Keep)
			summaries := 0
			for _, w := range ways {
				if strings.HasPrefix(w, "summary ") {
					summaries++
				}
			}
			switch {
			case summaries == 0:
				t.Fatalf("summaries is 0: compacted by %q, %d refusals, notes %+v: this proves nothing", ways, n.refused.Load(), state.Notes)
			case state.Notes == nil:
				t.Fatalf("state.Notes is nil: compacted by %q, %d refusals, notes %+v: this proves nothing", ways, n.refused.Load(), state.Notes)
			case state.Notes.Plain:
				t.Fatalf("state.Notes.Plain is true: compacted by %q, %d refusals, notes %+v: this proves nothing", ways, n.refused.Load(), state.Notes)
			case (label == "refused") != (n.refused.Load() > 0):
				t.Fatalf(`(label == "refused") is not (n.refused.Load() > 0): compacted by %q, %d refusals, notes %+v: this proves nothing`, ways, n.refused.Load(), state.Notes)
			}
			model, err := script.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			got, again, _ := n.played(model, in, nil)
			if len(got) != len(want) {
				t.Fatalf("%d requests, %d were recorded", len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("request %d is\n%s\nand was\n%s", i+1, got[i], want[i])
				}
			}
			switch {
			case again.Turns != state.Turns:
				t.Errorf("again.Turns is %v, want %v: it ended with %+v, and did with %+v", again.Turns, state.Turns, again, state)
			case again.Last != state.Last:
				t.Errorf("again.Last is %v, want %v: it ended with %+v, and did with %+v", again.Last, state.Last, again, state)
			case again.Usage != state.Usage:
				t.Errorf("again.Usage is %v, want %v: it ended with %+v, and did with %+v", again.Usage, state.Usage, again, state)
			case again.Context != state.Context:
				t.Errorf("again.Context is %v, want %v: it ended with %+v, and did with %+v", again.Context, state.Context, again, state)
			}
		})
	}
}

// TestScriptGoesOnAfterCompaction plays turns by their number in a job whose
// conversation gets shorter.
func TestScriptGoesOnAfterCompaction(t *testing.T) {
	var b strings.Builder
	b.WriteString("turns:\n")
	for i := range 20 {
		fmt.Fprintf(&b, "  - calls: [{name: read, args: {path: f%d, turn: %d}}]\n", i, i+1)
	}
	b.WriteString("  - text: All read.\nasides:\n  - {expect: {contains: 'The turns:'}, text: '{\"done\": [\"Some were read.\"]}'}\n")
	model, err := script.Parse("s", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	n := &narrow{t: t, turns: 20, seed: 5, size: func(int) int { return 1500 }}
	_, s, ways := n.played(model, n.task(&turn.Budget{Window: 6000}), nil)
	switch {
	case len(ways) < 2:
		t.Errorf("len(ways) < 2: compacted by %q in %d turns, %v calls, %q, %+v", ways, s.Turns, s.Called, s.Last, s.Context)
	case s.Context.Summarised == 0:
		t.Errorf("s.Context.Summarised is 0: compacted by %q in %d turns, %v calls, %q, %+v", ways, s.Turns, s.Called, s.Last, s.Context)
	case s.Turns != 21:
		t.Errorf("s.Turns is %v, want 21: compacted by %q in %d turns, %v calls, %q, %+v", s.Turns, ways, s.Turns, s.Called, s.Last, s.Context)
	case s.Last != "All read.":
		t.Errorf(`s.Last is %v, want "All read.": compacted by %q in %d turns, %v calls, %q, %+v`, s.Last, ways, s.Turns, s.Called, s.Last, s.Context)
	case s.Called["read"] != 20:
		t.Errorf(`s.Called["read"] is %v, want 20: compacted by %q in %d turns, %v calls, %q, %+v`, s.Called["read"], ways, s.Turns, s.Called, s.Last, s.Context)
	}
}

// TestConstrainedMust leaves no place for words in the form of an answer where
// words cannot bring the job on.
func TestConstrainedMust(t *testing.T) {
	script := []llm.Message{say("It is 42."), calls(call("add", `{"n":42}`)), say("Now it is.")}
	w := newWorld(t)
	sp := &speaker{reply: func(n int, asked turn.Mode, req *llm.Request) (*llm.Response, error) {
		free := strings.Contains(string(req.Output), `"answer"`)
		if !json.Valid(req.Output) || !strings.Contains(string(req.Output), `"const":"add"`) || free != (n != 1) {
			t.Errorf("question %d: words are free: %v, by %s", n, free, req.Output)
		}
		return inWay(asked, script[n])
	}}
	s, _, err := w.drive(t, sp, nil, func(t *executor.Task) {
		t.CallMode, t.Done = turn.Constrained, executor.Criterion{Artifact: "sum"}
	})
	if err != nil || string(s.Value("sum")) != "42" || s.Turns != 3 {
		t.Errorf("%v after %d turns: %+v", err, s.Turns, s.Outcome)
	}
}
