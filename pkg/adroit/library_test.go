package adroit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/llm/script"
	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

func runtime(t *testing.T, turns string, o Options) *Runtime {
	t.Helper()
	m, err := script.Parse("turns", []byte(turns))
	if err != nil {
		t.Fatal(err)
	}
	o.Models, o.Model = map[string]llm.Model{"script": m}, "script/x"
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	rt, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// A context that ends stops the run that was started with it.
func TestContextEndsTheRun(t *testing.T) {
	var calls atomic.Int32
	began := make(chan struct{})
	slow := tools.New(tools.Metadata{Name: "slow", Description: "Wait."}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		if calls.Add(1) == 1 {
			close(began)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Minute):
			return "", nil
		}
	})
	rt := runtime(t, "turns:\n  - calls: [{name: slow}]\n  - calls: [{name: slow}]\n  - text: Done.", Options{Tools: []tools.Tool{slow}})
	ctx, stop := context.WithCancel(t.Context())
	job, err := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"slow"}}).Execute(ctx, agents.Input{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	stop()
	_, err = job.Wait(t.Context())
	if se := new(StatusError); !errors.As(err, &se) || se.Job.Status != jobs.Interrupted {
		t.Errorf("the job ended with %v", err)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}

// A data directory in the workspace is refused before there is a job, also
// through a link and where it does not exist yet.
func TestDataOutsideOfTheWorkspace(t *testing.T) {
	ws, models := t.TempDir(), map[string]llm.Model{"script": nil}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	refused := func(data, dir string) {
		t.Helper()
		rt := runtime(t, "turns: [{text: Done.}]", Options{Storage: Storage{Data: data, Store: sqlite.Store(t.TempDir())}, Workspace: Workspace{Dir: ws}})
		_, err := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"}).Execute(t.Context(), agents.Input{Prompt: "x", Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "cannot be a workspace") {
			t.Errorf("data in %s, work in %q: %v", data, dir, err)
		}
		if list, err := rt.Jobs(t.Context(), ListOptions{}); err != nil || len(list) != 0 {
			t.Errorf("jobs %v, %v", list, err)
		}
	}
	for _, data := range []string{ws, filepath.Join(ws, "data"), filepath.Join(ws, "a/b/c"), filepath.Join(link, "data")} {
		refused(data, "")
	}
	data := t.TempDir()
	if _, err := Open(t.Context(), Options{Models: models, Workspace: Workspace{Dir: ws}, Storage: Storage{Data: t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "write Store: sqlite.Store(dir)") {
		t.Errorf("data without a store: %v", err)
	}
	refused(data, filepath.Dir(data))
	t.Chdir(ws)
	refused("data", "")
}

// Ended jobs of a runtime in memory are released, with their directories.
func TestEndedJobsAreReleased(t *testing.T) {
	rt := runtime(t, "turns: [{text: Done.}]", Options{})
	a := rt.Agent(agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"})
	const many = keepEnded + 20
	for range many {
		job, err := a.Execute(t.Context(), agents.Input{Prompt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := job.Wait(t.Context()); err != nil || s.Last != "Done." {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	m, err := rt.Manager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Store.List(t.Context(), jobs.Query{})
	if err != nil || len(list) != keepEnded {
		t.Errorf("%d jobs are kept, want %d: %v", len(list), keepEnded, err)
	}
	if dirs, err := os.ReadDir(rt.home); err != nil || len(dirs) > keepEnded {
		t.Errorf("%d directories are kept: %v", len(dirs), err)
	}
}
