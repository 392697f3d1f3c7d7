package workflows_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// pinned is the task of an agent that ships, as a job pins it.
func pinned(t testing.TB, in agents.Input) executor.Task {
	t.Helper()
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	cat := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	ps := cat.Problems()
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	in.Model, in.Dir = "m/x", "/w"
	task, err := agents.Resolve(in, cat, set, agents.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// A line is a step that a workflow is expected to ask for, and what it gets.
type line struct {
	step string   // kind and name, or a kind alone
	has  []string // words of its input
	out  any
	err  error
}

// asked wants words in the input of the step.
func (l line) asked(words ...string) line {
	l.has = append(slices.Clip(l.has), words...)
	return l
}

// play pulls the workflow of an agent that ships by hand: script has the steps
// after the first, which pins the task.
func play(t testing.TB, in agents.Input, script ...line) (*executor.State, error) {
	t.Helper()
	return pullTask(t, workflowOf(t, in.Agent), pinned(t, in), in, nil, script...)
}

// sleeps is play for a workflow that gets done, and gives its pauses.
func sleeps(t testing.TB, in agents.Input, script ...line) (slept []string) {
	t.Helper()
	if _, err := pullTask(t, workflowOf(t, in.Agent), pinned(t, in), in, func(pause string) { slept = append(slept, pause) }, script...); err != nil {
		t.Fatal(err)
	}
	return slept
}

// pullTask pulls any workflow of an agent. Sleeps need no line; slept is called
// with each.
func pullTask(t testing.TB, wf flow.Workflow, task executor.Task, in agents.Input, slept func(string), script ...line) (*executor.State, error) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	script = append([]line{{step: "resolve", out: task}}, script...)
	next, stop, result := flow.Pull(wf, raw)
	defer stop()
	var trace []string
	for {
		s, reply, ok := next()
		if !ok {
			break
		}
		asked := s.Kind + " " + s.Name
		if s.Kind == flow.KindSleep {
			if slept != nil {
				slept(s.Name)
			}
			reply(struct{}{}, nil)
			continue
		}
		if s.Kind == "failures" { // the memory, which knows nothing here
			reply(nil, nil)
			continue
		}
		if s.Kind == flow.KindAwait && strings.HasPrefix(s.Name, turn.MessageSignal+"@") { // of files that were lost
			reply(nil, &flow.Failure{Code: flow.TimedOut, Message: "nothing was sent"})
			continue
		}
		n := len(trace)
		trace = append(trace, asked)
		if n >= len(script) {
			t.Fatalf("the script ends before %s with %s\nafter\n%s", asked, s.Input, strings.Join(trace, "\n"))
		}
		l := script[n]
		if l.step != asked && l.step != s.Kind {
			t.Fatalf("step %d is %s with %s\nwant %s, after\n%s", n, asked, s.Input, l.step, strings.Join(trace, "\n"))
		}
		for _, words := range l.has {
			quoted, err := json.Marshal(words)
			if err != nil {
				t.Fatal(err)
			}
			if in := string(s.Input); !strings.Contains(in, words) && !strings.Contains(in, strings.Trim(string(quoted), `"`)) {
				t.Fatalf("step %d, %s, does not have %q:\n%s", n, asked, words, s.Input)
			}
		}
		reply(l.out, l.err)
	}
	if want := len(script); len(trace) < want {
		t.Fatalf("the workflow ends before the script: it asked for\n%s", strings.Join(trace, "\n"))
	}
	out, err := result()
	s := new(executor.State)
	if jerr := json.Unmarshal(out, s); jerr != nil {
		t.Fatalf("%v: %s (%v)", jerr, out, err)
	}
	return s, err
}

func workflowOf(t testing.TB, name string) flow.Workflow {
	all := workflows.All()
	i := slices.IndexFunc(all, func(w flow.Workflow) bool { return w.Name == name })
	if i < 0 {
		t.Fatalf("there is no workflow %s", name)
	}
	return all[i]
}

// answers is a model's answer: text, or a value as JSON.
func answers(v any) line {
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		text = string(b)
	}
	return line{step: "model", out: turn.ModelResponse{Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: llm.StopEnd}}}
}

// does is a model's answer that calls a tool.
func does(tool, args string) line {
	return line{step: "model", out: turn.ModelResponse{Response: llm.Response{
		Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: tool, Args: json.RawMessage(args)}}}, Stop: llm.StopCalls,
	}}}
}

// gives is the reply of a tool; artifacts are name, value, name, value.
func gives(tool, text string, artifacts ...any) line {
	return line{step: "tool " + tool, out: executor.ToolResult{Result: tools.Result{Text: text, Artifacts: values(artifacts)}}}
}

// fails is gives of a tool that failed.
func fails(tool, text string, artifacts ...any) line {
	return line{step: "tool " + tool, out: executor.ToolResult{Result: tools.Result{Failed: true, Text: text, Artifacts: values(artifacts)}}}
}

func values(pairs []any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		b, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic(err)
		}
		out[pairs[i].(string)] = b
	}
	return out
}

// works is a sub-agent that is done; output is its typed answer, nil for none.
func works(agent string, output any, artifacts ...any) line {
	return ends(agent, executor.Outcome{Status: executor.Done, Summary: agent + " is done"}, output, artifacts...)
}

// ends is a sub-agent that ends with an outcome.
func ends(agent string, o executor.Outcome, output any, artifacts ...any) line {
	s := executor.State{Outcome: &o, Totals: executor.Totals{Turns: 2, Usage: llm.Usage{In: 100, Out: 10}}, Produced: executor.Produced{Artifacts: map[string]executor.Artifact{}}}
	s.Last = o.Summary
	if output != nil {
		artifacts = append(artifacts, "output", output)
	}
	for name, v := range values(artifacts) {
		s.Artifacts[name] = executor.Artifact{Value: v, Version: 1}
	}
	return line{step: "spawn " + agent, out: s}
}

func breaks(agent, reason string) line {
	return ends(agent, executor.Outcome{Status: executor.Stuck, Reason: reason}, nil)
}

// tree is a worktree that is made, joined what came back from one.
func tree(dir string) line {
	return line{step: "worktree add", out: turn.Tree{Name: dir, Dir: "/trees/" + dir}}
}

func joined(j executor.Joined) line {
	return line{step: "worktree join", out: j}
}

// around are the steps with which an agent looks around.
func around(more ...line) []line {
	return append([]line{gives("list_files", "go.mod\ncart.go\ncart_test.go\n"), gives("git_status", "branch main\nNothing differs from the last commit.\n")}, more...)
}

type m = map[string]any

func artifact[T any](t testing.TB, s *executor.State, name string) (v T) {
	t.Helper()
	raw := s.Value(name)
	if raw == nil {
		t.Fatalf("there is no artifact %s; there are %v; %+v", name, s.Names(), s.Outcome)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("artifact %s: %v: %s", name, err, raw)
	}
	return v
}

func subtasks(names ...string) m {
	var list []m
	for _, n := range names {
		list = append(list, m{"title": "Change " + n, "description": "Change what is in " + n + " so that it holds.", "files": []string{n}})
	}
	return m{"subtasks": list}
}

func wantErr(t testing.TB, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(fmt.Sprint(err), words) {
		t.Fatalf("the error is %v, want %q in it", err, words)
	}
}
