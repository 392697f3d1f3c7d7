package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

var loop = flow.Define("agent", executor.Loop)

// world is a small host: a counter that tools add to, and a scripted model
// that decides by the conversation alone.
type world struct {
	tools *tools.Set
	turns []llm.Message
	env   *tools.Env
	added atomic.Int64
	asked atomic.Int64
	last  []llm.Message // the last request's messages
}

func newWorld(t testing.TB, turns ...llm.Message) *world {
	w := &world{turns: turns}
	type amount struct {
		N int `json:"n" jsonschema:"description=How much."`
	}
	set, err := tools.NewSet(
		tools.New(tools.Metadata{Name: "add", Description: "Add to the counter.", UsageHint: "For sums.", Needs: tools.Write, Produces: []string{"sum"}},
			func(_ context.Context, _ *tools.Env, in amount) (int64, error) {
				if in.N < 0 {
					return 0, errors.New("negative amounts are not allowed")
				}
				return w.added.Add(int64(in.N)), nil
			}),
		tools.New(tools.Metadata{Name: "peek", Description: "Read the counter.", UsageHint: "Cheap.", Needs: tools.Read},
			func(context.Context, *tools.Env, struct{}) (int64, error) { return w.added.Load(), nil }),
		tools.New(tools.Metadata{Name: "sh", Description: "Run a command.", UsageHint: "Asks.", Needs: tools.Shell},
			func(context.Context, *tools.Env, struct{}) (string, error) { return "ran", nil }),
		tools.New(tools.Metadata{Name: "report", Description: "Report the sum.", UsageHint: "Last.", Needs: tools.Read, Consumes: []string{"sum"}},
			func(_ context.Context, env *tools.Env, _ struct{}) (string, error) {
				return "sum is " + string(env.Artifacts.Value("sum")), nil
			}),
		tools.New(tools.Metadata{Name: "finish", Description: "Finish.", UsageHint: "When done."},
			func(_ context.Context, _ *tools.Env, in struct {
				Summary string `json:"summary"`
				Outcome string `json:"outcome,omitempty"`
			}) (string, error) {
				return "noted", nil
			}),
		tools.New(tools.Metadata{Name: "boom", Description: "Crash.", UsageHint: "Never.", Needs: tools.Read},
			func(context.Context, *tools.Env, struct{}) (string, error) { panic("boom") }),
	)
	if err != nil {
		t.Fatal(err)
	}
	w.tools = set
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	w.env = &tools.Env{Files: files, Exec: process.New(files.Dir(), t.TempDir(), nil)}
	return w
}

func (w *world) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	w.asked.Add(1)
	w.last = req.Messages
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	if n >= len(w.turns) {
		n = len(w.turns) - 1
	}
	m := w.turns[n]
	m.Role = llm.Assistant
	if req.Tools == nil {
		m = llm.Message{Role: llm.Assistant, Text: "I stop here."}
	}
	return &llm.Response{Message: m, Usage: llm.Usage{In: 10, Out: 5}}, nil
}

func (w *world) mux(blobs flow.Blobs) flow.Mux {
	h := host.Host{
		Models: func(context.Context, string) (llm.Model, string, error) { return w, "m", nil },
		Tools:  w.tools, Blobs: blobs,
		Env: func(context.Context, string, string) (*tools.Env, error) { return w.env, nil },
	}
	return host.Serve(h)
}

func (w *world) task(edit func(*executor.Task)) json.RawMessage {
	t := executor.Task{Instructions: executor.Instructions{Model: "script/x", System: "You count.", Prompt: "count"}, Work: executor.Work{Tools: agents.PinTools(w.tools)}, Revision: turn.Revision}
	if edit != nil {
		edit(&t)
	}
	b, _ := json.Marshal(t)
	return b
}

func (w *world) run(t testing.TB, j *flow.Memory, in json.RawMessage) (*executor.State, error) {
	t.Helper()
	out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, w.mux(j), nil)), in)
	var s executor.State
	if uerr := json.Unmarshal(out, &s); uerr != nil {
		t.Fatalf("state: %v (run: %v)", uerr, err)
	}
	return &s, err
}

func call(name, args string) llm.Call { return llm.Call{Name: name, Args: json.RawMessage(args)} }

func calls(cs ...llm.Call) llm.Message { return llm.Message{Calls: cs} }

func say(text string) llm.Message { return llm.Message{Text: text} }

func TestDoneIsJudgedNotBelieved(t *testing.T) {
	w := newWorld(t,
		say("TASK_COMPLETE"),
		calls(call("peek", `{}`), call("peek", `{}`), call("add", `{"n":2}`)),
		calls(call("finish", `{"summary":"added two"}`)),
	)
	s, err := w.run(t, new(flow.Memory), w.task(func(t *executor.Task) {
		t.Done = executor.Criterion{All: []executor.Criterion{
			{Signal: "TASK_COMPLETE"}, {Artifact: "sum", Where: json.RawMessage(`{"const":2}`)}, {Tool: "peek"}, {Check: "peek"}}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if s.Turns != 3 || s.Rejects != 0 || w.added.Load() != 2 {
		t.Errorf("turns %d rejects %d added %d, want 3, 0, 2", s.Turns, s.Rejects, w.added.Load())
	}
	if s.Outcome.Summary != "added two" || len(s.Outcome.Met) != 4 {
		t.Errorf("outcome %+v", s.Outcome)
	}
	var seen string
	for _, m := range w.last {
		if m.Role == llm.User {
			seen += m.Text + "\n"
		}
	}
	for _, want := range []string{`add has not produced "sum"`} {
		if !strings.Contains(seen, want) {
			t.Errorf("the model did not see %q:\n%s", want, seen)
		}
	}
}

func TestEndings(t *testing.T) {
	var counting []llm.Message
	for i := range 40 {
		counting = append(counting, calls(call("add", fmt.Sprintf(`{"n":%d}`, i+1))))
	}
	for name, c := range map[string]ending{
		"turns":     {counting, func(t *executor.Task) { t.Limits.Turns = 3 }, executor.Limit, "limit of 3 turns"},
		"tokens":    {counting, func(t *executor.Task) { t.Limits.Tokens = 40 }, executor.Limit, "limit of 40 tokens"},
		"cost":      {counting, func(t *executor.Task) { t.Limits.CostUSD = 1; t.Price.Out = 1e5 }, executor.Limit, "limit of 1.00 USD"},
		"empty":     {[]llm.Message{say("")}, nil, executor.Silent, "neither text nor a readable tool call"},
		"never":     {[]llm.Message{say("done")}, func(t *executor.Task) { t.Done.Signal = "X"; t.Limits.Rejects = 2 }, executor.Stuck, "stopped 3 times without being done"},
		"unbounded": {[]llm.Message{say("fine")}, nil, executor.Done, "the model stopped calling tools"},
	} {
		t.Run(name, c.test)
	}
}

// TestLoopDetection: a model that repeats itself is stopped, with the reason.
func TestLoopDetection(t *testing.T) {
	peeks := []llm.Message{calls(call("peek", `{}`))}
	for name, c := range map[string]ending{
		"same call": {peeks, nil, executor.Stuck, "the same call with the same result, 6 times"},
		"alternating": {[]llm.Message{calls(call("peek", `{}`)), calls(call("add", `{"n":0}`)), calls(call("peek", `{}`)), calls(call("add", `{"n":0}`)), calls(call("peek", `{}`)), calls(call("add", `{"n":0}`)),
			calls(call("peek", `{}`)), calls(call("add", `{"n":0}`)), calls(call("peek", `{}`)), calls(call("add", `{"n":0}`)), calls(call("peek", `{}`))}, nil, executor.Stuck, "the same two calls in turn"},
		"same error": {func() (ms []llm.Message) {
			for i := range 20 {
				ms = append(ms, calls(call("add", fmt.Sprintf(`{"n":-%d}`, i+1))))
			}
			return ms
		}(), nil, executor.Stuck, "the same error"},
	} {
		t.Run(name, c.test)
	}
}

// An ending is a case of the end of a run: the turns and the expected outcome.
type ending struct {
	turns  []llm.Message
	edit   func(*executor.Task)
	status string
	reason string
}

func (c ending) test(t *testing.T) {
	w := newWorld(t, c.turns...)
	s, err := w.run(t, new(flow.Memory), w.task(c.edit))
	if s.Outcome == nil || s.Outcome.Status != c.status || !strings.Contains(s.Outcome.Reason, c.reason) {
		t.Fatalf("outcome %+v, want %s: %s", s.Outcome, c.status, c.reason)
	}
	var stop *executor.StopError
	if (c.status == executor.Done) != (err == nil) || err != nil && !errors.As(err, &stop) {
		t.Errorf("error %v for status %s", err, c.status)
	}
	if c.status == executor.Limit && s.Outcome.Summary != "I stop here." {
		t.Errorf("no last words at a limit: %+v", s.Outcome)
	}
}

func TestBadCallsAreNewsForTheModel(t *testing.T) {
	w := newWorld(t,
		calls(call("ad", `{}`), call("add", `{"n":"x"}`), call("add", `{`), call("boom", `{}`), call("report", `{}`), llm.Call{Name: "add", Malformed: "cut off"}, call("add", `{"n":1,"m":2}`)),
		say("ok"))
	s, err := w.run(t, new(flow.Memory), w.task(nil))
	if err != nil || w.added.Load() != 0 {
		t.Fatal(err, w.added.Load())
	}
	var results []llm.Message
	ids := map[string]bool{}
	for _, m := range w.last {
		if m.Role == llm.Tool {
			results = append(results, m)
			ids[m.CallID] = true
		}
	}
	if len(results) != 7 || len(ids) != 7 {
		t.Fatalf("%d results with %d ids for 7 calls", len(results), len(ids))
	}
	for i, want := range []string{`no tool "ad" (did you mean "add"?)`, "n", "not valid JSON", "crashed", "report needs sum first", "cut off", "m is not known"} {
		if !results[i].Failed || !strings.Contains(results[i].Text, want) {
			t.Errorf("result %d: %q, want a failure that says %q", i, results[i].Text, want)
		}
	}
	_ = s
}

func TestConsumedArtifactsReachTheTool(t *testing.T) {
	w := newWorld(t, calls(call("add", `{"n":3}`)), calls(call("report", `{}`)), say("ok"))
	if _, err := w.run(t, new(flow.Memory), w.task(nil)); err != nil {
		t.Fatal(err)
	}
	if last := w.last[len(w.last)-1]; last.Text != "sum is 3" {
		t.Errorf("report got %q", last.Text)
	}
}

func TestApproval(t *testing.T) {
	turns := []llm.Message{calls(call("sh", `{}`)), say("ok")}
	for _, c := range []struct {
		mode   executor.Approve
		signal string
		want   string
	}{
		{executor.ApproveAll, "", "ran"},
		{executor.ApproveEdits, "approve@2", "ran"},
		{executor.ApproveEdits, "deny@2", "denied by a person"},
		{executor.ApproveNone, "", "nobody is there"},
	} {
		w := newWorld(t, turns...)
		j := new(flow.Memory)
		in := w.task(func(t *executor.Task) { t.Approve = c.mode })
		if c.signal != "" {
			e := flow.NewLocal(t.Context(), j, w.mux(j), nil)
			e.Park = true
			_, err := loop.Run(flow.NewRun("J1", e), in)
			var parked *flow.ParkedError
			if !errors.As(err, &parked) || !strings.Contains(string(parked.About), `"sh"`) {
				t.Fatalf("not parked with the question: %v", err)
			}
			if err := j.Send(t.Context(), "J1", flow.Signal{Name: c.signal}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.run(t, j, in); err != nil {
			t.Fatal(err)
		}
		if got := w.last[len(w.last)-1].Text; !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.mode, c.signal, got, c.want)
		}
	}
}

// TestKillEverywhere stops the run at every point of every step in turn; the
// resumed run ends as the undisturbed one does, and effects happened once or
// the model learned that they may have.
func TestKillEverywhere(t *testing.T) {
	turns := []llm.Message{
		calls(call("add", `{"n":1}`)), calls(call("peek", `{}`), call("peek", `{}`)), calls(call("add", `{"n":2}`), call("report", `{}`)), say("TASK_COMPLETE"),
	}
	edit := func(t *executor.Task) {
		t.Done = executor.Criterion{All: []executor.Criterion{{Signal: "TASK_COMPLETE"}, {Check: "peek"}}}
	}
	for k := 1; ; k++ {
		w, j := newWorld(t, turns...), new(flow.Memory)
		ctx, cancel := context.WithCancelCause(t.Context())
		e := flow.NewLocal(ctx, j, w.mux(j), nil)
		var n atomic.Int64
		e.Hook = func(string, flow.Step) {
			if n.Add(1) == int64(k) {
				cancel(errors.New("killed"))
			}
		}
		_, err := loop.Run(flow.NewRun("J1", e), w.task(edit))
		if err == nil && int(n.Load()) < k {
			t.Logf("%d points", n.Load())
			if k < 20 {
				t.Errorf("only %d points", k)
			}
			return
		}
		s, err := w.run(t, j, w.task(edit))
		if err != nil {
			t.Fatalf("killed at %d: %v", k, err)
		}
		warned := false
		for _, m := range w.last {
			warned = warned || strings.Contains(m.Text, "may or may not have happened")
		}
		if s.Outcome.Status != executor.Done || s.Turns != 4 || w.added.Load() != 3 && !warned {
			t.Fatalf("killed at %d: %+v, %d turns, added %d, warned %v", k, s.Outcome, s.Turns, w.added.Load(), warned)
		}
	}
}

func TestModelFailureIsAnOutcome(t *testing.T) {
	w := newWorld(t, say("x"))
	j := new(flow.Memory)
	mux := host.Serve(host.Host{Tools: w.tools, Blobs: j, Models: func(context.Context, string) (llm.Model, string, error) {
		return nil, "", &llm.Error{Kind: llm.Auth, Provider: "openai", Message: "the key was refused", Hint: "set OPENAI_API_KEY"}
	}})
	out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, nil)), w.task(nil))
	var stop *executor.StopError
	if !errors.As(err, &stop) || stop.Outcome.Code != "model.auth" || !strings.Contains(stop.Reason(), "set OPENAI_API_KEY") {
		t.Fatalf("%v %s", err, out)
	}
}

func TestModelWithoutToolsIsAskedInText(t *testing.T) {
	w := newWorld(t)
	j := new(flow.Memory)
	var system string
	model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		if len(req.Tools) > 0 {
			return nil, &llm.Error{Kind: llm.Unsupported, Provider: "ollama", Message: "no tools"}
		}
		system = req.Messages[0].Text
		last := req.Messages[len(req.Messages)-1]
		text := "ok"
		if !strings.Contains(last.Text, "<tool_response") {
			text = `<tool_call>{"name":"add","arguments":{"n":4}}</tool_call>`
		}
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}}, nil
	})
	mux := host.Serve(host.Host{Tools: w.tools, Blobs: j, Env: func(context.Context, string, string) (*tools.Env, error) { return w.env, nil },
		Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil }})
	if _, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, nil)), w.task(nil)); err != nil {
		t.Fatal(err)
	}
	if w.added.Load() != 4 || !strings.Contains(system, "- add: Add to the counter.") {
		t.Errorf("added %d; system prompt:\n%s", w.added.Load(), system)
	}
}
