package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/workflows"
)

var update = flag.Bool("update", false, "write docs/dev/performance.md, and the table of docs/dev/measurements.md")

// A cause is the cause of a synthetic failure, with the agent that can repair it.
type cause struct {
	name   string
	helper string // the agent whose repair helps; nobody's does if empty
}

// Twelve causes: six that the first agent repairs, three for which a model that
// decides has to find another agent, two that need a third one, and one that needs a
// person.
var causes = []cause{
	{"alpha", "code-fix"}, {"bravo", "code-fix"}, {"charlie", "code-fix"}, {"delta", "code-fix"}, {"echo", "code-fix"}, {"foxtrot", "code-fix"},
	{"golf", "dependency-resolution"}, {"hotel", "dependency-resolution"}, {"india", "dependency-resolution"},
	{"juliett", "environment-setup"}, {"kilo", "environment-setup"}, {"lima", ""},
}

// agentOf returns the agent that makes a request.
func agentOf(req *llm.Request) string {
	for _, a := range [][2]string{{"You decide what happens next", "failure-analyst"}, {"You repair the code", "code-fix"}, {"because of a dependency", "dependency-resolution"}, {"because of what surrounds it", "environment-setup"}} {
		if strings.Contains(req.Messages[0].Text, a[0]) {
			return a[1]
		}
	}
	return "another"
}

// repairer is a model that repairs the failures that its agent can repair, and decides by its
// prompt. Each request counts 3,000 tokens and each answer 200.
type repairer struct {
	mu    sync.Mutex
	calls int
}

func (m *repairer) answer(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.mu.Lock()
	m.calls++
	m.mu.Unlock()
	who, all := agentOf(req), ""
	for _, msg := range req.Messages {
		all += msg.Text + "\n"
	}
	var c cause
	for _, k := range causes {
		if strings.Contains(all, "cause "+k.name) {
			c = k
		}
	}
	res := &llm.Response{Usage: llm.Usage{In: 3000, Out: 200}, Message: llm.Message{Role: llm.Assistant}}
	call := func(name string, args any) {
		b, _ := json.Marshal(args) // maps of strings
		res.Message.Calls = append(res.Message.Calls, llm.Call{ID: fmt.Sprint("c", m.calls), Name: name, Args: b})
	}
	switch last := req.Messages[len(req.Messages)-1]; {
	case who == "failure-analyst":
		d := map[string]any{"decision": "ESCALATE", "reasoning": "nobody can repair it", "agent": "", "instructions": "", "diagnose": false, "hint": "Look."}
		for _, name := range []string{"dependency-resolution", "environment-setup"} { // it does not know who can
			if strings.Contains(all, name+" (") {
				d["decision"], d["agent"], d["instructions"] = "DELEGATE", name, "Repair it."
				break
			}
		}
		b, _ := json.Marshal(d)
		res.Message.Text = string(b)
	case last.Role != llm.User: // its edit is made
		call("finish", map[string]string{"summary": "Changed."})
	case who == c.helper:
		call("edit_file", map[string]string{"path": "src/" + c.name + ".txt", "old": "broken " + c.name, "new": "works " + c.name})
	default:
		call("write_file", map[string]string{"path": "src/notes-" + who + ".txt", "content": "a guess\n"})
	}
	return res, nil
}

// A window has the results of ten failures. Hopeless counts those that only a person can repair.
type window struct{ Fixed, Escalated, Requests, Tokens, Hopeless int }

// fixAll runs adroit's coordinator on failures, one after the other in one project, and returns
// the results of each ten.
func fixAll(t *testing.T, failures []int, memory string) (out []window) {
	t.Helper()
	ctx := t.Context()
	data, dir := t.TempDir(), t.TempDir()
	m := &repairer{}
	rt, err := adroit.Open(ctx, adroit.Options{
		Models: map[string]llm.Model{"script": llm.Func(m.answer)}, Model: "script/x", Tools: parts.Tools(),
		Definitions:  adroit.Definitions{Workflows: workflows.All(), Agents: []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}},
		Workspace:    adroit.Workspace{Dir: dir, Sandbox: adroit.SandboxOptions{Level: "off"}, NoDiagnostics: true, Servers: []adroit.LanguageServer{}},
		Storage:      adroit.Storage{Data: data, Store: sqlite.Store(data)},
		Coordination: adroit.Coordination{Memory: memory},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, k := range failures {
		if i%10 == 0 {
			out = append(out, window{})
		}
		w, c := &out[i/10], causes[k]
		// Each time with other lines above it: the same fault is at another line.
		text := strings.Repeat("a line\n", 3+i%7) + "before\nbroken " + c.name + "\nafter\n"
		if err := os.WriteFile(filepath.Join(dir, "src", c.name+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		command := fmt.Sprintf("if ! grep -q 'works %s' src/%s.txt; then echo \"$PWD/src/%s.c:$$:%d: error: cause %s at $(date +%%T)\"; exit 1; fi", c.name, c.name, c.name, i, c.name)
		if c.helper == "" {
			w.Hopeless++
		}
		before := m.calls
		state, err := adroit.Run(ctx, rt, adroit.Request{Target: "coordinator", Input: agents.Input{Approve: executor.ApproveAll, Inputs: map[string]json.RawMessage{
			"command": quoted(command), "escalate": quoted("report"), "attempts": quoted("2")}}})
		var res struct{ Status string }
		if state == nil || json.Unmarshal(state.Value("fix"), &res) != nil {
			t.Fatalf("failure %d: %v", i, err)
		}
		switch res.Status {
		case "fixed":
			w.Fixed++
		case "escalated":
			w.Escalated++
		default:
			t.Fatalf("failure %d (%s): %s, %v", i, c.name, res.Status, err)
		}
		w.Requests += m.calls - before
		w.Tokens += state.Usage.In + state.Usage.Out + state.SubAgents.Usage.In + state.SubAgents.Usage.Out
	}
	return out
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string
	return b
}

// TestFixLearns repairs 60 failures of twelve recurring causes, with the memory and
// without: with it the escalations and the tokens fall and stay below. With -update
// the table goes into docs/dev/measurements.md.
//
//	go test ./internal/dev/bench -run TestFixLearns -update
func TestFixLearns(t *testing.T) {
	testenv.Long(t, "runs 120 jobs")
	rnd := rand.New(rand.NewPCG(60, 12))
	failures := make([]int, 60)
	for i := range failures {
		failures[i] = rnd.IntN(len(causes))
	}
	with, without := fixAll(t, failures, ""), fixAll(t, failures, "off")
	var b strings.Builder
	b.WriteString("| failures | only a person can | fixed | to a person | requests | tokens | fixed, no memory | to a person | requests | tokens |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var a, z window
	row := func(name string, w, o window) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, w.Hopeless, w.Fixed, w.Escalated, w.Requests, w.Tokens, o.Fixed, o.Escalated, o.Requests, o.Tokens)
	}
	for i := range with {
		w, o := with[i], without[i]
		row(fmt.Sprintf("%d-%d", 10*i+1, 10*i+10), w, o)
		a, z = a.add(w), z.add(o)
		if i >= 2 && (w.Tokens*2 > o.Tokens || w.Escalated > o.Escalated) {
			t.Errorf("failures %d to %d: %+v with the memory, %+v without", 10*i+1, 10*i+10, w, o)
		}
		if o.Tokens != 3200*o.Requests || w.Tokens != 3200*w.Requests {
			t.Errorf("failures %d to %d: not all requests are in the accounts: %+v, %+v", 10*i+1, 10*i+10, w, o)
		}
	}
	row("all", a, z)
	t.Logf("\n%s", b.String())
	// By thirds: needless questions to a person, and the tokens, fall, and stay below.
	for i := 0; i < 4; i += 2 {
		w, next := with[i].add(with[i+1]), with[i+2].add(with[i+3])
		if next.Escalated-next.Hopeless > w.Escalated-w.Hopeless || i == 0 && (next.Escalated-next.Hopeless == w.Escalated-w.Hopeless || next.Tokens*2 > w.Tokens) || next.Tokens*3 > without[i+2].add(without[i+3]).Tokens {
			t.Errorf("failures %d to %d: %+v, before %+v", 10*i+21, 10*i+40, next, w)
		}
	}
	if first, last := with[0], with[5]; last.Tokens*4 > first.Tokens || last.Escalated >= first.Escalated || a.Escalated*2 > z.Escalated || a.Fixed <= z.Fixed {
		t.Errorf("it does not learn: %+v, then %+v; %+v in all, %+v without", first, last, a, z)
	}
	const begin, end = "<!-- TestFixLearns -->\n", "<!-- end -->\n"
	page := "../../../docs/dev/measurements.md"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/dev/measurements.md has no place for the table")
	}
	now := head + begin + "\n" + b.String() + "\n" + end + tail
	switch {
	case now == string(old):
	case !*update:
		t.Error("the table in docs/dev/measurements.md is another one; go test ./internal/dev/bench -run TestFixLearns -update")
	default:
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (w window) add(o window) window {
	return window{w.Fixed + o.Fixed, w.Escalated + o.Escalated, w.Requests + o.Requests, w.Tokens + o.Tokens, w.Hopeless + o.Hopeless}
}
