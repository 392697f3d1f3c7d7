package flowtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// release is a workflow of an agent's own over a scope: what it wrote goes away
// again if the tests fail.
func release(sc *executor.Scope) error {
	tool := func(name string, args any) error {
		reply, err := sc.Tool(name, args)
		if err == nil && reply.Failed {
			err = errors.New(name + ": " + reply.Text)
		}
		return err
	}
	_, err := flow.Saga(sc.Run, func(_ *flow.Run, u *flow.Undo) (struct{}, error) {
		for _, file := range []string{"VERSION", "NOTES"} {
			u.Add("delete "+file, func(*flow.Run) error { return tool("delete_file", file) })
			if err := tool("write_file", file); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, tool("run_tests", nil)
	})
	return err
}

// scoped gives f a scope with the tools it calls.
func scoped(f func(*executor.Scope) error, names ...string) func(*flow.Run, string) (string, error) {
	return func(r *flow.Run, prompt string) (string, error) {
		t := executor.Task{Instructions: executor.Instructions{Prompt: prompt}}
		for _, name := range names {
			t.Tools = append(t.Tools, executor.Tool{ToolSpec: llm.ToolSpec{Name: name}})
		}
		sc := executor.NewScope(r, t)
		if err := f(sc); err != nil {
			return "", err
		}
		return "released", nil
	}
}

func TestPlayScope(t *testing.T) {
	released := scoped(release, "write_file", "delete_file", "run_tests")
	ok := executor.ToolResult{Result: tools.Result{Text: "ok"}}
	broken := executor.ToolResult{Result: tools.Result{Text: "one failed", Failed: true}}
	out, err := flowtest.Play(t, released, "1.0",
		flowtest.Line{Step: "tool write_file", Out: ok},
		flowtest.Line{Step: "tool write_file", Out: ok},
		flowtest.Line{Step: "tool run_tests", Out: ok},
	)
	if err != nil || out != "released" {
		t.Errorf("%q, %v", out, err)
	}
	_, err = flowtest.Play(t, released, "1.0",
		flowtest.Line{Step: "tool write_file", Out: ok},
		flowtest.Line{Step: "tool write_file", Out: ok},
		flowtest.Line{Step: "tool run_tests", Out: broken},
		flowtest.Line{Step: "tool delete_file", In: turn.ToolCall{Args: json.RawMessage(`"NOTES"`)}, Out: ok},
		flowtest.Line{Step: "tool delete_file", In: turn.ToolCall{Args: json.RawMessage(`"VERSION"`)}, Out: ok},
	)
	if err == nil || err.Error() != "run_tests: one failed" {
		t.Errorf("with failing tests: %v", err)
	}
	serve := func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		if s.Name == "run_tests" {
			return json.Marshal(broken)
		}
		return json.Marshal(ok)
	}
	flowtest.Crash(t, memory(t), flowtest.Request{
		Workflow: flow.Define("release", released), Input: json.RawMessage(`"1.0"`),
		Mux: flow.Mux{"tool": {Safe: flow.Always, Handler: serve}},
	})
}
