package adroit_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/parts"
)

// Conformance 35: a job whose workspace goes away fails once and clearly, and
// not as often as the model has turns.
func TestWorkspaceGoesAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	away := sync.OnceValue(func() error { return os.Rename(dir, dir+"-away") })
	emit := func(ev event.Event) {
		if ev.Kind == event.StepFinished && ev.Name == "write_file" {
			if err := away(); err != nil {
				t.Error(err)
			}
		}
	}
	rt := open(t, adroit.Options{Tools: parts.Tools(), Workspace: adroit.Workspace{Dir: dir}, Callbacks: adroit.Callbacks{Emit: emit}, Models: scripted(t, `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "a\n"}}]
  - calls: [{name: write_file, args: {path: b.txt, content: "b\n"}}]
  - calls: [{name: write_file, args: {path: c.txt, content: "c\n"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`)})
	worker := rt.Agent(agents.DynamicAgent{Name: "worker", Description: "Works.", Tools: []string{"write_file", "finish"},
		Done: executor.Criterion{Signal: "DONE"}, Prompt: "You work."})
	j, err := worker.Execute(t.Context(), agents.Input{Prompt: "Work.", Approve: executor.ApproveAll})
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Wait(t.Context())
	if err == nil || !strings.Contains(err.Error(), "workspace "+dir+" is gone") {
		t.Errorf("%v", err)
	}
	job, err := jobs.Find(t.Context(), manager(t, rt).Store, j.ID())
	if err != nil || job.Status != jobs.Failed {
		t.Errorf("the job is %s, %v", job.Status, err)
	}
	calls := 0
	for ev, err := range manager(t, rt).Store.Events(t.Context(), j.ID(), 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Name == "write_file" && ev.Kind == event.StepFinished {
			calls++
		}
	}
	if calls > 2 {
		t.Errorf("%d calls in a workspace that is gone", calls)
	}
}
