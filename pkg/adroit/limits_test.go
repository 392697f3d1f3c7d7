package adroit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// More jobs than the process may have files open for wait for each other, and none
// fails.
func TestFewOpenFiles(t *testing.T) {
	if os.Getenv("ADROIT_FEW_FILES") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFewOpenFiles$", "-test.count=1")
		cmd.Env = append(os.Environ(), "ADROIT_FEW_FILES=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	lim := unix.Rlimit{Cur: 192, Max: 192}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Skip(err)
	}
	work := agents.Define("work", func(sc *executor.Scope) error {
		time.Sleep(300 * time.Millisecond) //flowvet:ignore it holds its files open meanwhile
		return sc.Bind("n", 1)
	})
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Models:      map[string]llm.Model{"m": struct{ llm.Model }{}},
		Definitions: adroit.Definitions{Workflows: []flow.Workflow{work}},
		Workspace:   adroit.Workspace{Dir: t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	a := rt.Agent(agents.DynamicAgent{Name: "worker", Description: "d", Prompt: "p", Model: "m/x", Workflow: "work"})
	var group sync.WaitGroup
	for i := range 80 {
		group.Go(func() {
			job, err := a.Execute(t.Context(), agents.Input{Prompt: fmt.Sprint(i), Inputs: map[string]json.RawMessage{}})
			if err == nil {
				_, err = job.Wait(t.Context())
			}
			if err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
	}
	group.Wait()
}
