package workflows_test

import (
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// The time of a job is what it would have taken by itself: branches work at
// once, what was before them and what comes after them does not.
func TestTimeOfBranches(t *testing.T) {
	took := func(d time.Duration) line {
		l := gives("read_file", "x")
		r := l.out.(executor.Reply)
		r.Took = d
		l.out = r
		return l
	}
	body := func(sc *executor.Scope) error {
		read := func(sc *executor.Scope, path string) (executor.Reply, error) {
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
	if want := 6 * time.Second; s.Spent != want {
		t.Errorf("it took %v, want %v", s.Spent, want)
	}
}
