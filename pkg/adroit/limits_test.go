package adroit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
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

// Many agents, each with a file that it reads and a command, end as done where the
// process may open few files: the bound by files holds for jobs, and what meets the
// limit all the same waits.
func TestManyAgents(t *testing.T) {
	const mark = "ADROIT_MANY_AGENTS"
	agentsN, files := testenv.Sample(60, 1000), uint64(testenv.Sample(160, 1024))
	if os.Getenv(mark) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestManyAgents$", "-test.v", "-test.count=1", "-test.timeout=30m")
		cmd.Env = append(os.Environ(), mark+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	lim := unix.Rlimit{Cur: files, Max: files}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Skip(err)
	}
	model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		call := func(name, args string) (*llm.Response, error) {
			return &llm.Response{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: strconv.Itoa(len(req.Messages)), Name: name, Args: json.RawMessage(args)}}}, Stop: llm.StopCalls}, nil
		}
		switch n := len(req.Messages); {
		case n <= 2:
			return call("read_file", `{"path":"a.txt"}`)
		case n <= 4:
			return call("shell", `{"command":"cat a.txt"}`)
		}
		last := req.Messages[len(req.Messages)-1]
		if !strings.Contains(last.Text, "exit code 0") {
			return nil, fmt.Errorf("the command has failed: %+v", last)
		}
		return call("finish", `{"summary":"Read."}`)
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	var waits atomic.Int64
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools:     parts.Tools(),
		Models:    map[string]llm.Model{"m": model},
		Workspace: adroit.Workspace{Dir: dir},
		Storage:   adroit.Storage{Data: data, Store: sqlite.Store(data)},
		Callbacks: adroit.Callbacks{Emit: func(ev event.Event) {
			if ev.Kind == event.StepRetried || ev.Kind == event.Note && len(ev.Data) > 0 {
				waits.Add(1)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	a := rt.Agent(agents.DynamicAgent{Name: "reader", Description: "d", Prompt: "p", Model: "m/x", Tools: []string{"read_file", "shell", "finish"}, Done: executor.Criterion{Signal: "DONE"}})
	var group sync.WaitGroup
	var done atomic.Int64
	for i := range agentsN {
		group.Go(func() {
			job, err := a.Execute(t.Context(), agents.Input{Prompt: fmt.Sprint(i), Approve: executor.ApproveAll})
			if err == nil {
				_, err = job.Wait(t.Context())
			}
			if err != nil {
				t.Errorf("job %d: %v", i, err)
				return
			}
			done.Add(1)
		})
	}
	group.Wait()
	t.Logf("%d of %d agents done at %d descriptors, %d waits", done.Load(), agentsN, files, waits.Load())
}

// A job whose first command finds no descriptor left waits, reports that, and runs the
// command at the level that the machine has: in mode auto, where a command without a
// sandbox is asked about, nobody is asked.
func TestLevelAfterShortage(t *testing.T) {
	const mark = "ADROIT_SHORTAGE"
	if os.Getenv(mark) == "" { // levels are found out once in a process
		cmd := exec.Command(os.Args[0], "-test.run=^TestLevelAfterShortage$", "-test.count=1")
		cmd.Env = append(os.Environ(), mark+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var mu sync.Mutex
	var taken []*os.File
	free := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range taken {
			_ = f.Close()
		}
		taken = nil
	}
	model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		if len(req.Messages) > 2 {
			return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "done"}, Stop: llm.StopEnd}, nil
		}
		mu.Lock()
		defer mu.Unlock()
		lim := unix.Rlimit{Cur: 128, Max: 1024}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return nil, err
		}
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			taken = append(taken, f)
		}
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "shell", Args: json.RawMessage(`{"command":"true"}`)}}}, Stop: llm.StopCalls}, nil
	})
	var waited atomic.Bool
	data := t.TempDir()
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools:     parts.Tools(),
		Models:    map[string]llm.Model{"m": model},
		Workspace: adroit.Workspace{Dir: t.TempDir()},
		Storage:   adroit.Storage{Data: data, Store: sqlite.Store(data)},
		Callbacks: adroit.Callbacks{Warn: func(string) { waited.Store(true); free() }, Emit: func(ev event.Event) {
			if ev.Kind == event.StepRetried || ev.Kind == event.Note && len(ev.Data) > 0 {
				waited.Store(true)
				free()
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	a := rt.Agent(agents.DynamicAgent{Name: "worker", Description: "d", Prompt: "p", Model: "m/x", Tools: []string{"shell"}})
	job, err := a.Execute(t.Context(), agents.Input{Prompt: "go", Mode: executor.ModeAuto})
	if err != nil {
		t.Fatal(err)
	}
	_, err = job.Wait(t.Context())
	free()
	if best := sandbox.Choose(sandbox.Auto); best.Err() != nil {
		t.Skip(best.Err())
	}
	if err != nil || !waited.Load() {
		t.Errorf("waited %v: %v", waited.Load(), err)
	}
}
