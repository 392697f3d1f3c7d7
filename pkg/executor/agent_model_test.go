package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// An externalAgent is a model that works on its own: each answer is a function
// that works in its session's directory.
type externalAgent struct {
	t     *testing.T
	works []func(extagent.Session, func(llm.Delta)) (*llm.Response, error)

	mu   sync.Mutex
	reqs []*llm.Request
	at   []extagent.Session
}

func (m *externalAgent) Open(p extagent.Session) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		m.mu.Lock()
		n := len(m.reqs)
		r := *req
		r.Messages = slices.Clone(req.Messages)
		m.reqs, m.at = append(m.reqs, &r), append(m.at, p)
		m.mu.Unlock()
		return m.works[min(n, len(m.works)-1)](p, emit)
	})
}

func (m *externalAgent) Generate(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
	m.t.Error("it was asked without a place")
	return nil, errors.New("no place")
}

// feedback is the last message of the n-th request.
func (m *externalAgent) feedback(n int) string {
	if n >= len(m.reqs) {
		return ""
	}
	msgs := m.reqs[n].Messages
	return msgs[len(msgs)-1].Text
}

func works(text string, w llm.Work, do func(extagent.Session)) func(extagent.Session, func(llm.Delta)) (*llm.Response, error) {
	return func(p extagent.Session, emit func(llm.Delta)) (*llm.Response, error) {
		if do != nil {
			emit(llm.Delta{Activity: &llm.Activity{Kind: extagent.ToolFinished, Name: "shell", Text: "make", Status: extagent.StatusOK}})
			do(p)
			files, _ := os.ReadDir(p.Dir)
			for _, f := range files {
				emit(llm.Delta{Activity: &llm.Activity{Kind: extagent.FileChanged, Name: "update", Text: filepath.Join(p.Dir, f.Name())}})
			}
		}
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text, State: &llm.ProviderState{Dialect: "cli/fake", Field: "session", Value: json.RawMessage(`"s1"`)}},
			Usage: llm.Usage{In: 100, Out: 10}, Work: &w}, nil
	}
}

func writes(name, text string) func(extagent.Session) {
	return func(p extagent.Session) {
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
}

// An agentHost is a host with a ledger in which an external agent works.
type agentHost struct {
	*testing.T
	*externalAgent
	w      *world
	led    *ledger.Ledger
	files  *workspace.Files
	events []event.Event
	host   host.Host
	mem    *flow.Memory
	in     json.RawMessage
}

func newAgentHost(t *testing.T, edit func(*executor.Task), list ...func(extagent.Session, func(llm.Delta)) (*llm.Response, error)) *agentHost {
	t.Helper()
	h := &agentHost{T: t, externalAgent: &externalAgent{t: t, works: list}, w: newWorld(t, say("I stand in.\nDONE")), mem: new(flow.Memory)}
	var err error
	if h.led, err = ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.led.Close() })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if h.files, err = workspace.Open(dir, h.led); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.files.Close() })
	h.host = host.Host{
		Tools: h.w.tools, Blobs: h.mem, Attempts: 2,
		Models: func(_ context.Context, ref string) (llm.Model, string, error) {
			if extagent.IsAgent(ref) {
				return h.externalAgent, "", nil
			}
			return h.w, "m", nil
		},
		Env: func(context.Context, string, string) (*tools.Env, error) { return &tools.Env{Files: h.files}, nil },
		Bind: func(ctx context.Context, _, _ string, _ tools.Tool, res *tools.Result) error {
			diff, err := h.led.All().IncludeReported().Diff(ctx, dir)
			v, _ := json.Marshal(diff)
			res.Artifacts = map[string]json.RawMessage{"diff": v}
			return err
		},
	}
	h.in = h.w.task(func(t *executor.Task) {
		t.Model, t.Done = "cli/fake", executor.Criterion{Signal: "DONE"}
		if edit != nil {
			edit(t)
		}
	})
	return h
}

func (h *agentHost) run(ctx context.Context) (*executor.State, error) {
	h.Helper()
	mux := host.Serve(h.host)
	for kind, rt := range mux {
		rt.Backoff = time.Millisecond
		mux[kind] = rt
	}
	var mu sync.Mutex
	e := flow.NewLocal(ctx, h.mem, mux, func(ev event.Event) {
		mu.Lock()
		defer mu.Unlock()
		h.events = append(h.events, ev)
	})
	out, err := loop.Run(flow.NewRun("J1", e), h.in)
	s := new(executor.State)
	if out != nil {
		if err := json.Unmarshal(out, s); err != nil {
			h.Fatal(err)
		}
	}
	return s, err
}

// It works in the job's directory, without tools of ours; what it changes is
// the job's; and it gets what is missing as feedback.
func TestExternalAgentWorks(t *testing.T) {
	h := newAgentHost(t, func(t *executor.Task) {
		t.Done = executor.Criterion{All: []executor.Criterion{{Signal: "DONE"}, {Artifact: "diff", Where: json.RawMessage(`{"minLength":1}`)}}}
	}, works("DONE", llm.Work{Session: "s1", Turns: 1}, nil), works("So now.\nDONE", llm.Work{Session: "s1", Turns: 3, Calls: 2, CostUSD: 0.5}, writes("b.txt", "beta\n")))
	s, err := h.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.Outcome.Status != executor.Done:
		t.Errorf("s.Outcome.Status is %v, want %v: %+v, turns %d, calls %d, cost %v, usage %+v", s.Outcome.Status, executor.Done, s.Outcome, s.Turns, s.Calls, s.Cost, s.Usage)
	case s.Turns != 4:
		t.Errorf("s.Turns is %v, want 4: %+v, turns %d, calls %d, cost %v, usage %+v", s.Turns, s.Outcome, s.Turns, s.Calls, s.Cost, s.Usage)
	case s.Calls != 2:
		t.Errorf("s.Calls is %v, want 2: %+v, turns %d, calls %d, cost %v, usage %+v", s.Calls, s.Outcome, s.Turns, s.Calls, s.Cost, s.Usage)
	case s.Cost != 0.5:
		t.Errorf("s.Cost is %v, want 0.5: %+v, turns %d, calls %d, cost %v, usage %+v", s.Cost, s.Outcome, s.Turns, s.Calls, s.Cost, s.Usage)
	case s.Usage != (llm.Usage{In: 200, Out: 20}):
		t.Errorf("s.Usage is not (llm.Usage{In: 200, Out: 20}): %+v, turns %d, calls %d, cost %v, usage %+v", s.Outcome, s.Turns, s.Calls, s.Cost, s.Usage)
	}
	for i, r := range h.reqs {
		switch {
		case len(r.Tools)+len(r.HiddenTools) > 0:
			t.Errorf("len(r.Tools)+len(r.HiddenTools) > 0: request %d: %d tools, place %+v", i, len(r.Tools), h.at[i])
		case h.at[i].Dir != h.files.Dir():
			t.Errorf("h.at[i].Dir is not h.files.Dir(): request %d: %d tools, place %+v", i, len(r.Tools), h.at[i])
		case !h.at[i].Access.Write:
			t.Errorf("h.at[i].Access.Write is false: request %d: %d tools, place %+v", i, len(r.Tools), h.at[i])
		case h.at[i].Access.Run:
			t.Errorf("h.at[i].Access.Run is true: request %d: %d tools, place %+v", i, len(r.Tools), h.at[i])
		}
	}
	second := h.reqs[1].Messages
	if !strings.HasPrefix(h.feedback(1), "Not done yet") || second[len(second)-2].State == nil {
		t.Errorf("feedback %q after %+v", h.feedback(1), second[len(second)-2])
	}
	steps, err := h.led.Steps(t.Context())
	switch {
	case err != nil:
		t.Errorf("unexpected error: the ledger has %+v, %v", steps, err)
	case len(steps) != 1:
		t.Errorf("len(steps) is %v, want 1: the ledger has %+v, %v", len(steps), steps, err)
	case len(steps[0].Changes) != 1:
		t.Errorf("len(steps[0].Changes) is %v, want 1: the ledger has %+v, %v", len(steps[0].Changes), steps, err)
	case steps[0].Changes[0].Path != "b.txt":
		t.Errorf(`steps[0].Changes[0].Path is %v, want "b.txt": the ledger has %+v, %v`, steps[0].Changes[0].Path, steps, err)
	}
	acted := slices.IndexFunc(h.events, func(ev event.Event) bool {
		return ev.Kind == event.Activity && ev.Step == "model" && ev.Path == steps[0].Step && strings.Contains(string(ev.Data), `"tool.finished"`)
	})
	if acted < 0 {
		t.Errorf("what it did is no event of step %s", steps[0].Step)
	}
}

// One that ends without the word is done by its work, and is shown what is missing
// without the name of a tool that it does not have.
func TestExternalAgentSaysNoWord(t *testing.T) {
	h := newAgentHost(t, func(t *executor.Task) {
		t.Done = executor.Criterion{All: []executor.Criterion{{Signal: "COMPLETE"}, {Artifact: "diff", Where: json.RawMessage(`{"minLength":1}`)}}}
	}, works("I looked.", llm.Work{Session: "s1", Turns: 1}, nil), works("All done.", llm.Work{Session: "s1", Turns: 1, Calls: 1}, writes("b.txt", "beta\n")))
	s, err := h.run(t.Context())
	if err != nil || s.Outcome.Status != executor.Done || s.Outcome.Summary != "All done." || len(h.reqs) != 2 {
		t.Fatalf("%+v after %d requests: %v", s.Outcome, len(h.reqs), err)
	}
	want := "Not done yet:\n- no file has been changed\nText in an answer changes nothing. If nothing has to be changed, say NOT_NEEDED on a line of its own; if the task cannot be done, CANNOT_BE_DONE."
	if got := h.feedback(1); got != want {
		t.Errorf("it was shown\n%s\nwant\n%s", got, want)
	}
}

// Stopped at work, in the middle of a change: the step is not performed again.
// What was changed is known, and the next attempt gets it.
func TestExternalAgentInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newAgentHost(t, nil, func(p extagent.Session, _ func(llm.Delta)) (*llm.Response, error) {
		writes("b.txt", "half")(p)
		cancel()
		return nil, context.Canceled
	}, works("DONE", llm.Work{}, nil))
	if _, err := h.run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	s, err := h.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Outcome.Status != executor.Done || len(h.reqs) != 2 || !strings.HasPrefix(h.feedback(1), "You were interrupted") {
		t.Errorf("%+v, %d requests, feedback %q", s.Outcome, len(h.reqs), h.feedback(1))
	}
	steps, err := h.led.Steps(t.Context())
	if err != nil || len(steps) != 1 {
		t.Fatalf("%+v, %v", steps, err)
	}
	said := ""
	for _, ev := range h.events {
		if ev.Path == steps[0].Step && ev.Kind == event.StepFinished {
			said = ev.Error
		}
	}
	if said != "interrupted: it may or may not have happened" {
		t.Errorf("the step that changed b.txt finished with %q", said)
	}
	// A third run replays the same.
	if again, err := h.run(t.Context()); err != nil || len(h.reqs) != 2 || again.Turns != s.Turns {
		t.Errorf("replayed: %v, %d requests", err, len(h.reqs))
	}
}

// What was ended by a bound is not done, whatever it said; it is asked for last
// words in which it may do nothing.
func TestExternalAgentStopped(t *testing.T) {
	for stopped, want := range map[string]struct{ status, limit string }{
		"same": {executor.Stuck, ""}, "turns": {executor.Limit, "turns"}, "time": {executor.Limit, "time"}, "cost": {executor.Limit, "cost"},
	} {
		h := newAgentHost(t, func(t *executor.Task) { t.Done = executor.Criterion{}; t.Limits.Turns = 20 },
			works("DONE, I think.", llm.Work{Turns: 3, Stopped: stopped}, nil), works("Half of it is there.", llm.Work{}, nil))
		s, err := h.run(t.Context())
		var stop *executor.StopError
		switch {
		case !errors.As(err, &stop):
			t.Errorf("errors.As(err, &stop) is false: %s: %v, %+v", stopped, err, s.Outcome)
		case s.Outcome.Status != want.status:
			t.Errorf("s.Outcome.Status is %v, want %v: %s: %v, %+v", s.Outcome.Status, want.status, stopped, err, s.Outcome)
		case s.Outcome.Limit != want.limit:
			t.Errorf("s.Outcome.Limit is %v, want %v: %s: %v, %+v", s.Outcome.Limit, want.limit, stopped, err, s.Outcome)
		case s.Outcome.Summary != "Half of it is there.":
			t.Errorf(`s.Outcome.Summary is %v, want "Half of it is there.": %s: %v, %+v`, s.Outcome.Summary, stopped, err, s.Outcome)
		}
		switch {
		case len(h.at) != 2:
			t.Errorf("len(h.at) is %v, want 2: %s: places %+v", len(h.at), stopped, h.at)
		case h.at[1].Access != (extagent.Access{}):
			t.Errorf("h.at[1].Access is not (extagent.Access{}): %s: places %+v", stopped, h.at)
		case h.at[1].Limits.Wall > 5*time.Minute:
			t.Errorf("h.at[1].Limits.Wall > 5*time.Minute: %s: places %+v", stopped, h.at)
		case h.at[0].Limits.Turns != 20:
			t.Errorf("h.at[0].Limits.Turns is %v, want 20: %s: places %+v", h.at[0].Limits.Turns, stopped, h.at)
		}
	}
}

// It is tried again only if it had not begun, and the fallback model learns
// which model it follows.
func TestExternalAgentFails(t *testing.T) {
	fails := func(acted bool) func(extagent.Session, func(llm.Delta)) (*llm.Response, error) {
		return func(extagent.Session, func(llm.Delta)) (*llm.Response, error) {
			return nil, &llm.Error{Kind: llm.RateLimit, Provider: "cli/fake", Message: "busy", Acted: acted}
		}
	}
	h := newAgentHost(t, nil, fails(false), works("DONE", llm.Work{}, nil))
	if s, err := h.run(t.Context()); err != nil || len(h.reqs) != 2 || s.Outcome.Status != executor.Done {
		t.Errorf("not begun: %v, %d requests", err, len(h.reqs))
	}
	h = newAgentHost(t, nil, fails(true), works("DONE", llm.Work{}, nil))
	if s, err := h.run(t.Context()); err == nil || len(h.reqs) != 1 || s.Outcome.Code != "model.rate_limit" {
		t.Errorf("begun: %v, %d requests, %+v", err, len(h.reqs), s.Outcome)
	}
	h = newAgentHost(t, func(t *executor.Task) { t.Fallbacks = []executor.Fallback{{Model: "script/x"}}; t.Tools = t.Tools[:1] }, fails(true))
	h.w.turns = []llm.Message{say("DONE")}
	s, err := h.run(t.Context())
	if err != nil || s.Outcome.Status != executor.Done {
		t.Fatalf("%v, %+v", err, s.Outcome)
	}
	if last := h.w.last[len(h.w.last)-1].Text; !strings.Contains(last, "cli/fake was asked this before you") {
		t.Errorf("the fallback model got %q", last)
	}
}

// It may stop without text, as some do when they are refused: it gets the
// reason, in the same session.
func TestExternalAgentWordless(t *testing.T) {
	h := newAgentHost(t, nil, works("", llm.Work{Denied: 1, Refused: []string{"rm a.txt: not here"}}, nil), works("DONE", llm.Work{}, nil))
	s, err := h.run(t.Context())
	if err != nil || s.Outcome.Status != executor.Done {
		t.Fatalf("%v, %+v", err, s.Outcome)
	}
	if !strings.Contains(h.feedback(1), "rm a.txt: not here") {
		t.Errorf("feedback %q", h.feedback(1))
	}
	msgs := h.reqs[1].Messages
	if last := msgs[len(msgs)-2]; last.Role != llm.Assistant || last.State == nil || last.Text == "" {
		t.Errorf("its session is lost: %+v", last)
	}
}

func TestExternalAgentRights(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*executor.Task)
		want extagent.Access
	}{
		"edits":            {nil, extagent.Access{Write: true}},
		"plan":             {func(t *executor.Task) { t.Mode = executor.ModePlan }, extagent.Access{}},
		"auto":             {func(t *executor.Task) { t.Mode = executor.ModeAuto }, extagent.Access{Write: true, Run: true, SandboxedOnly: true}},
		"approved":         {func(t *executor.Task) { t.Approve = executor.ApproveAll }, extagent.Access{Write: true, Run: true}},
		"no writing tool":  {func(t *executor.Task) { t.Tools = only(t.Tools, "peek") }, extagent.Access{}},
		"no command":       {func(t *executor.Task) { t.Tools = only(t.Tools, "add"); t.Mode = executor.ModeAuto }, extagent.Access{Write: true}},
		"plan, though all": {func(t *executor.Task) { t.Mode, t.Approve = executor.ModePlan, executor.ApproveAll }, extagent.Access{}},
	} {
		h := newAgentHost(t, c.edit, works("DONE", llm.Work{}, nil))
		if _, err := h.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.at[0].Access; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func only(all []executor.Tool, name string) []executor.Tool {
	return slices.DeleteFunc(slices.Clone(all), func(t executor.Tool) bool { return t.Name != name })
}

// What it asks before it does it is decided as the calls of our own tools are,
// except that nobody waits for a person who is not there.
func TestExternalAgentPermits(t *testing.T) {
	edit := extagent.PermissionRequest{Kind: "edit", Paths: []string{"b.txt"}}
	run := extagent.PermissionRequest{Kind: "execute", Command: "go test ./..."}
	for name, c := range map[string]struct {
		edit   func(*executor.Task)
		person func(context.Context, executor.Question) (string, error)
		ask    extagent.PermissionRequest
		want   string // part of the refusal, "" for yes
	}{
		"a change":                      {nil, nil, edit, ""},
		"a change in plan mode":         {func(t *executor.Task) { t.Mode = executor.ModePlan }, nil, edit, "plans and changes nothing"},
		"a change outside":              {nil, nil, extagent.PermissionRequest{Kind: "edit", Paths: []string{"../x"}}, "outside of the workspace"},
		"a change somewhere else":       {nil, nil, extagent.PermissionRequest{Kind: "edit", Paths: []string{"/etc/passwd"}}, "outside of the workspace"},
		"a change that a rule denies":   {func(t *executor.Task) { t.Rules = []permit.Rule{{Path: "b.txt", Do: permit.Deny, Why: "it is mine"}} }, nil, edit, "it is mine"},
		"a command, nobody there":       {nil, nil, run, "nobody can be asked"},
		"a command in auto mode":        {func(t *executor.Task) { t.Mode = executor.ModeAuto }, nil, run, "nobody can be asked"}, // nothing confines it
		"a command approved beforehand": {func(t *executor.Task) { t.Approve = executor.ApproveAll }, nil, run, ""},
		"a command denied beforehand":   {func(t *executor.Task) { t.Approve = executor.ApproveNone }, nil, run, "nobody can be asked"},
		"a command that a rule allows": {func(t *executor.Task) {
			t.Rules = []permit.Rule{{Tool: "shell", Command: "go test *", Do: permit.Allow}}
		}, nil, run, ""},
		"a command that a rule denies": {func(t *executor.Task) {
			t.Approve = executor.ApproveAll
			t.Rules = []permit.Rule{{Command: "go *", Do: permit.Deny, Why: "no go"}}
		}, nil, run, "no go"},
		"a command without a tool":       {func(t *executor.Task) { t.Tools = only(t.Tools, "add"); t.Approve = executor.ApproveAll }, nil, run, "no tool that needs"},
		"the network without a tool":     {func(t *executor.Task) { t.Approve = executor.ApproveAll }, nil, extagent.PermissionRequest{Kind: "fetch"}, "no tool that needs"},
		"something unknown, nobody":      {nil, nil, extagent.PermissionRequest{Kind: "other"}, "nobody can be asked"},
		"a command that a person allows": {nil, func(context.Context, executor.Question) (string, error) { return "", nil }, run, ""},
		"a command that a person denies": {nil, func(_ context.Context, q executor.Question) (string, error) { return "not " + string(q.Args), nil }, run, `not {"command":"go test ./..."}`},
		"a person who goes away":         {nil, func(context.Context, executor.Question) (string, error) { return "", errors.New("gone") }, run, "nobody answered: gone"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "it was not asked"
			h := newAgentHost(t, c.edit, func(p extagent.Session, emit func(llm.Delta)) (*llm.Response, error) {
				got = p.Approve(c.ask)
				return works("DONE", llm.Work{}, nil)(p, emit)
			})
			h.host.Person = c.person
			if _, err := h.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("the answer is %q, want %q", got, c.want)
			}
		})
	}
}
