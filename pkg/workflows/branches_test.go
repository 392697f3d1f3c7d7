package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// The time of a job is what it would have taken by itself: branches work at
// once, what was before them and what comes after them does not.
func TestTimeOfBranches(t *testing.T) {
	took := func(d time.Duration) line {
		l := gives("read_file", "x")
		r := l.out.(executor.ToolResult)
		r.Took = d
		l.out = r
		return l
	}
	body := func(sc *executor.Scope) error {
		read := func(sc *executor.Scope, path string) (executor.ToolResult, error) {
			return sc.Tool("read_file", map[string]string{"path": path})
		}
		if _, err := read(sc, "before"); err != nil {
			return err
		}
		if _, err := executor.Parallel(sc, []string{"a", "b"}, read); err != nil {
			return err
		}
		_, err := read(sc, "after")
		return err
	}
	in := agents.Input{Agent: "supervisor", Prompt: "Read."}
	task := pinned(t, in)
	task.Done = executor.Criterion{}
	s, err := pullTask(t, agents.Define("branches", body), task, in, nil, took(3*time.Second), took(time.Second), took(2*time.Second), took(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if want := 6 * time.Second; s.Elapsed != want {
		t.Errorf("it took %v, want %v", s.Elapsed, want)
	}
}

// Calls that ran one after the other take their times together, those that ran
// at once the longest, and what could not be run the time it was tried.
func TestTimeOfCalls(t *testing.T) {
	took := func(tool string, d time.Duration) line {
		l := gives(tool, "x")
		r := l.out.(executor.ToolResult)
		r.Took = d
		l.out = r
		return l
	}
	body := func(sc *executor.Scope) error {
		args := json.RawMessage(`{"path":"a","old":"b","new":"c"}`)
		edit, read := llm.Call{Name: "git_commit", Args: args}, llm.Call{Name: "read_file", Args: json.RawMessage(`{"path":"a"}`)}
		_, err := sc.Act(edit, edit, read, read, edit)
		return err
	}
	in := agents.Input{Agent: "worker", Prompt: "Edit."}
	task := pinned(t, in)
	task.Done = executor.Criterion{}
	late := line{step: "tool git_commit", err: &flow.Failure{Code: flow.TimedOut, Message: "timed out", Took: 7 * time.Second}}
	s, err := pullTask(t, agents.Define("calls", body), task, in, nil,
		took("git_commit", 3*time.Second), took("git_commit", 2*time.Second), took("read_file", time.Second), took("read_file", 2*time.Second), late)
	if err != nil {
		t.Fatal(err)
	}
	if want := 14 * time.Second; s.Elapsed != want {
		t.Errorf("it took %v, want %v", s.Elapsed, want)
	}
}
