package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A gate is a host with tools that send, run and leak, and note what ran.
type gate struct {
	t     *testing.T
	turns []llm.Message
	fence host.Confinement
	asked int // how often fence was
	files *workspace.Files
	ran   []string
	notes []string
	last  []llm.Message
	mem   flow.Memory
}

func newGate(t *testing.T, turns ...llm.Message) *gate {
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return &gate{t: t, turns: turns, files: files}
}

func (g *gate) set() *tools.Set {
	type text struct {
		Text string `json:"text,omitempty" jsonschema:"description=Text."`
		Path string `json:"path,omitempty" jsonschema:"description=Path."`
	}
	tool := func(m tools.Metadata, taint tools.Taint) tools.Tool {
		m.Description, m.UsageHint = "Does it.", "At times."
		return tools.New(m, func(_ context.Context, _ *tools.Env, in text) (tools.Result, error) {
			g.ran = append(g.ran, m.Name+" "+in.Text+in.Path)
			return tools.Result{Text: m.Name + " done", Taint: taint}, nil
		})
	}
	set, err := tools.NewSet(
		tool(tools.Metadata{Name: "leak", Needs: tools.Read}, tools.Secret),
		tool(tools.Metadata{Name: "fetch", Needs: tools.Net}, 0),
		tool(tools.Metadata{Name: "publish", Needs: tools.Read | tools.Publish, Paths: []string{"path"}}, 0),
		tool(tools.Metadata{Name: "shell", Needs: tools.Shell, Command: "text"}, 0),
		tool(tools.Metadata{Name: "test", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, RunsCode: true}, 0),
		tools.New(tools.Metadata{Name: "mail", Description: "Does it.", Needs: tools.Net, Effect: tools.Unsafe}, func(_ context.Context, _ *tools.Env, in text) (tools.Result, error) {
			g.ran = append(g.ran, "mail "+in.Text)
			return tools.Result{Text: "no answer", Failed: in.Text != "sure", Undecided: in.Text != "sure"}, nil
		}),
		tool(tools.Metadata{Name: "note", Needs: tools.Write, Paths: []string{"path"}}, 0),
	)
	if err != nil {
		g.t.Fatal(err)
	}
	return set
}

// run runs the job until it is parked or done, and gives the question.
func (g *gate) run(edit func(*executor.Task)) *executor.Question {
	g.t.Helper()
	model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		g.last = req.Messages
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				n++
			}
		}
		m := g.turns[min(n, len(g.turns)-1)]
		m.Role = llm.Assistant
		return &llm.Response{Message: m}, nil
	})
	set := g.set()
	mux := host.Serve(host.Host{Tools: set, Blobs: &g.mem,
		Confinement: func() host.Confinement { g.asked++; return g.fence },
		Env: func(context.Context, string, string) (*tools.Env, error) {
			return &tools.Env{Files: g.files, Exec: process.New(g.files.Dir(), "", nil), HTTP: http.DefaultClient}, nil
		},
		Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil }})
	task := executor.Task{Instructions: executor.Instructions{Agent: "a", Model: "m/m", Prompt: "go"}, Work: executor.Work{Tools: agents.PinTools(set)}}
	if edit != nil {
		edit(&task)
	}
	in, err := json.Marshal(task)
	if err != nil {
		g.t.Fatal(err)
	}
	e := flow.NewLocal(g.t.Context(), &g.mem, mux, func(ev event.Event) {
		if ev.Kind == event.Note {
			g.notes = append(g.notes, ev.Text)
		}
	})
	e.Park = true
	_, err = loop.Run(flow.NewRun("J1", e), in)
	var parked *flow.ParkedError
	if !errors.As(err, &parked) {
		if err != nil {
			g.t.Fatal(err)
		}
		return nil
	}
	var q executor.Question
	if err := json.Unmarshal(parked.About, &q); err != nil {
		g.t.Fatal(err)
	}
	return &q
}

func (g *gate) answer(signal, value string) {
	g.t.Helper()
	s := flow.Signal{Name: signal}
	if value != "" {
		s.Value = json.RawMessage(value)
	}
	if err := g.mem.Send(g.t.Context(), "J1", s); err != nil {
		g.t.Fatal(err)
	}
}

// A job that has read a secret and what others wrote asks before it sends,
// whatever its rules and mode allow, and says why.
func TestTaint(t *testing.T) {
	allowed := func(t *executor.Task) {
		t.Mode, t.Rules = executor.ModeAuto, []permit.Rule{{Do: permit.Allow}}
	}
	for name, c := range map[string]struct {
		send  llm.Message
		leak  bool
		fence host.Confinement
		asks  bool
	}{
		"fetch":                      {calls(call("fetch", `{}`)), true, host.Confinement{}, true},
		"fetch without a secret":     {calls(call("fetch", `{}`)), false, host.Confinement{}, false},
		"publish":                    {calls(call("publish", `{}`)), true, host.Confinement{}, true},
		"shell, network open":        {calls(call("shell", `{"text":"ls"}`)), true, host.Confinement{Sandbox: "full", Network: "open"}, true},
		"shell, network private":     {calls(call("shell", `{"text":"ls"}`)), true, host.Confinement{Sandbox: "full", Network: "private"}, false},
		"a file is no way out":       {calls(call("note", `{"text":"x"}`)), true, host.Confinement{}, false},
		"in the same answer as well": {calls(call("leak", `{}`), call("fetch", `{}`)), false, host.Confinement{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			first := calls(call("note", `{}`))
			if c.leak {
				first = calls(call("leak", `{}`))
			}
			g := newGate(t, first, c.send, say("ok"))
			g.fence = c.fence
			q := g.run(allowed)
			if (q != nil) != c.asks {
				t.Fatalf("question %+v, ran %v", q, g.ran)
			}
			if c.asks && (!strings.Contains(q.Why, "secret") || q.Always != nil) {
				t.Errorf("the question is %+v", q)
			}
		})
	}
	g := newGate(t, calls(call("fetch", `{}`)), say("ok"))
	if q := g.run(func(t *executor.Task) { t.Taint = tools.Untrusted | tools.Secret }); q == nil || !strings.Contains(q.Why, "secret") {
		t.Errorf("what the job was given does not count: %+v, ran %v", q, g.ran)
	}
	g = newGate(t, calls(call("leak", `{}`)), calls(call("fetch", `{}`)), say("ok"))
	switch q := g.run(func(t *executor.Task) { t.Approve = executor.ApproveAll }); {
	case q != nil:
		t.Errorf("q is %v: approved beforehand: %+v, ran %v, notes %q", q, q, g.ran, g.notes)
	case len(g.ran) != 2:
		t.Errorf("len(g.ran) is %v, want 2: approved beforehand: %+v, ran %v, notes %q", len(g.ran), q, g.ran, g.notes)
	case len(g.notes) != 1:
		t.Errorf("len(g.notes) is %v, want 1: approved beforehand: %+v, ran %v, notes %q", len(g.notes), q, g.ran, g.notes)
	case !strings.Contains(g.notes[0], "approved beforehand"):
		t.Errorf(`g.notes[0] lacks "approved beforehand": approved beforehand: %+v, ran %v, notes %q`, q, g.ran, g.notes)
	}
}

// An approval holds for what was shown. If the file that is published, or the
// fence around a command, is another by the time, it is asked again.
func TestApprovalIsBound(t *testing.T) {
	g := newGate(t, calls(call("publish", `{"path":"post.md"}`)), say("ok"))
	file := filepath.Join(g.files.Dir(), "post.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("good")
	one := g.run(nil)
	switch {
	case one == nil:
		t.Fatalf("one is nil: question %+v", one)
	case len(one.Files) != 1:
		t.Fatalf("len(one.Files) is %v, want 1: question %+v", len(one.Files), one)
	case one.Network != "open":
		t.Fatalf(`one.Network is %v, want "open": question %+v`, one.Network, one)
	case one.Always != nil:
		t.Fatalf("one.Always is %v: question %+v", one.Always, one)
	}
	g.answer("approve@2", "")
	write("evil")
	two := g.run(nil)
	if two == nil || two.Digest == one.Digest || len(g.ran) != 0 {
		t.Fatalf("the changed file went out: %v, question %+v", g.ran, two)
	}
	g.answer("approve@4", "")
	if q := g.run(nil); q != nil || len(g.ran) != 1 {
		t.Errorf("asked again for the same: %+v, ran %v", q, g.ran)
	}

	g = newGate(t, calls(call("shell", `{"text":"make"}`)), say("ok"))
	g.fence = host.Confinement{Sandbox: "full", Network: "private"}
	if q := g.run(nil); q == nil || q.Sandbox != "full" || q.Network != "private" {
		t.Fatalf("question %+v", q)
	}
	g.answer("approve@2", "")
	g.fence = host.Confinement{}
	if q := g.run(nil); q == nil || q.Sandbox != "off" || len(g.ran) != 0 {
		t.Errorf("ran outside of the sandbox that was shown: %v, %+v", g.ran, q)
	}
}

// Always adds the rule that was shown to this job, also for later calls of the
// same answer, and survives a restart.
func TestAlways(t *testing.T) {
	g := newGate(t, calls(call("shell", `{"text":"go vet ./a"}`), call("shell", `{"text":"go vet ./b"}`)), calls(call("shell", `{"text":"go vet ./c"}`)),
		calls(call("shell", `{"text":"go vet ./c; go run ./evil"}`)), say("ok"))
	q := g.run(nil)
	if q == nil || q.Always == nil || q.Always.Command != "go vet *" {
		t.Fatalf("question %+v", q)
	}
	g.answer("approve@2", `{"always":true}`)
	q = g.run(nil)
	if q == nil || len(g.ran) != 3 || !strings.Contains(q.Why, "go run") {
		t.Errorf("ran %v, then asked %+v", g.ran, q)
	}
}

// The model reads the words of the rule that denies a call; the other calls of
// the answer run.
func TestDeniedCallsSayWhy(t *testing.T) {
	g := newGate(t, calls(call("note", `{"path":"plans/a","text":"x"}`), call("note", `{"path":"b","text":"y"}`)), say("ok"))
	q := g.run(func(t *executor.Task) {
		t.Approve = executor.ApproveAll
		t.Rules = []permit.Rule{{Path: "plans/**", Do: permit.Deny, Why: "plans are made by people"}}
	})
	if q != nil || len(g.ran) != 1 || !strings.HasPrefix(g.ran[0], "note y") {
		t.Errorf("ran %v, asked %+v", g.ran, q)
	}
	if text := g.last[len(g.last)-2].Text; text != "not run: plans are made by people" {
		t.Errorf("the model saw %q", text)
	}
}

// In ModePlan nothing runs that changes anything, whatever is allowed.
func TestPlanChangesNothing(t *testing.T) {
	g := newGate(t, calls(call("note", `{}`), call("shell", `{"text":"ls"}`), call("publish", `{}`), call("leak", `{}`)), say("ok"))
	q := g.run(func(t *executor.Task) {
		t.Mode, t.Approve, t.Rules = executor.ModePlan, executor.ApproveAll, []permit.Rule{{Do: permit.Allow}}
	})
	if q != nil || len(g.ran) != 1 || g.ran[0] != "leak " {
		t.Errorf("ran %v", g.ran)
	}
}

// A tool that runs the workspace's code counts as a command where nothing
// confines it, and runs in no job that only plans.
func TestRunningCode(t *testing.T) {
	confined := host.Confinement{Sandbox: "full", Network: "private"}
	for name, c := range map[string]struct {
		fence host.Confinement
		edit  func(*executor.Task)
		asks  bool
		ran   int
		words string // for the model
	}{
		"confined":        {confined, nil, false, 1, "test done"},
		"unconfined":      {host.Confinement{Sandbox: "off"}, nil, true, 0, ""},
		"in auto":         {host.Confinement{Sandbox: "off"}, func(t *executor.Task) { t.Mode = executor.ModeAuto }, true, 0, ""},
		"nobody there":    {host.Confinement{Sandbox: "off"}, func(t *executor.Task) { t.Approve = executor.ApproveNone }, false, 0, "--sandbox auto"},
		"all approved":    {host.Confinement{Sandbox: "off"}, func(t *executor.Task) { t.Approve = executor.ApproveAll }, false, 1, "test done"},
		"a rule":          {host.Confinement{Sandbox: "off"}, func(t *executor.Task) { t.Rules = []permit.Rule{{Tool: "test", Do: permit.Allow}} }, false, 1, "test done"},
		"every change":    {confined, func(t *executor.Task) { t.Approve = executor.ApproveAsk }, true, 0, ""},
		"plan":            {confined, func(t *executor.Task) { t.Mode = executor.ModePlan }, false, 0, "plans and changes nothing"},
		"plan, all":       {confined, func(t *executor.Task) { t.Mode, t.Approve = executor.ModePlan, executor.ApproveAll }, false, 0, "plans and changes nothing"},
		"plan and a rule": {confined, func(t *executor.Task) { t.Mode, t.Rules = executor.ModePlan, []permit.Rule{{Do: permit.Allow}} }, false, 0, "plans and changes nothing"},
	} {
		g := newGate(t, calls(call("test", `{}`)), say("ok"))
		g.fence = c.fence
		q := g.run(c.edit)
		if (q != nil) != c.asks || len(g.ran) != c.ran {
			t.Errorf("%s: asked %+v, ran %v", name, q, g.ran)
			continue
		}
		if c.asks && !strings.Contains(q.Why+c.fence.Sandbox, "full") && !strings.Contains(q.Why, "no sandbox confines it") {
			t.Errorf("%s: the question says %q", name, q.Why)
		}
		if words := g.last[len(g.last)-1].Text; !c.asks && !strings.Contains(words, c.words) {
			t.Errorf("%s: the model reads %q", name, words)
		}
	}
}

// Only a decision about a command has the sandbox looked for, which runs this
// program anew.
func TestOnlyCommandsNeedASandbox(t *testing.T) {
	for tool, want := range map[string]bool{"note": false, "fetch": false, "leak": false, "shell": true, "test": true} {
		g := newGate(t, calls(call(tool, `{"text":"touch x"}`)), say("ok"))
		g.run(nil)
		if got := g.asked > 0; got != want {
			t.Errorf("%s: the sandbox was looked for: %v", tool, got)
		}
	}
}

// The same call twice in a row in one answer, as some servers send each, is run once.
func TestTwiceInARow(t *testing.T) {
	mail := func(id string) llm.Call {
		return llm.Call{ID: id, Name: "mail", Args: json.RawMessage(`{"text":"sure"}`)}
	}
	note := llm.Call{ID: "n", Name: "note", Args: json.RawMessage(`{"text":"x"}`)}
	g := newGate(t, llm.Message{Calls: []llm.Call{mail("1"), mail("2"), note, mail("3")}}, calls(mail("4")), say("done"))
	g.run(func(t *executor.Task) { t.Approve, t.Revision = executor.ApproveAll, turn.Revision })
	if got := strings.Count(strings.Join(g.ran, ","), "mail sure"); got != 3 {
		t.Errorf("ran were %q", g.ran)
	}
}

// A call of which nobody knows whether it had its effect is not made again unasked, whatever
// was approved beforehand: in a later answer and in the same one. Another call is.
func TestUndecidedIsNotCalledAgain(t *testing.T) {
	mail := func(text string) llm.Call {
		return llm.Call{ID: text, Name: "mail", Args: json.RawMessage(`{"text":"` + text + `"}`)}
	}
	for name, turns := range map[string][]llm.Message{
		"in the same answer": {{Calls: []llm.Call{mail("a"), mail("sure"), mail("b"), mail("sure"), mail("a")}}, {Text: "done"}},
		"in a later answer":  {{Calls: []llm.Call{mail("a"), mail("sure"), mail("b")}}, {Calls: []llm.Call{mail("sure"), mail("a")}}, {Text: "done"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, turns...)
			all := func(t *executor.Task) { t.Approve, t.Revision = executor.ApproveAll, turn.Revision }
			q := g.run(all)
			if q == nil || !strings.Contains(q.Why, "an earlier attempt may have happened") {
				t.Fatalf("the question is %+v, ran were %q", q, g.ran)
			}
			if got := strings.Join(g.ran, ","); got != "mail a,mail sure,mail b,mail sure" {
				t.Errorf("ran were %s", got)
			}
			g = newGate(t, turns...)
			q = g.run(func(t *executor.Task) {
				t.Approve, t.Revision = executor.ApproveNone, turn.Revision
				t.Rules = []permit.Rule{{Do: permit.Allow}}
			})
			if got := strings.Join(g.ran, ","); q != nil || got != "mail a,mail sure,mail b,mail sure" {
				t.Errorf("where nobody is the question is %+v, ran were %s", q, got)
			}
		})
	}
}
