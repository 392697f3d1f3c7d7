package request

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A fixture is a terminal with a runtime that keeps everything in memory.
type fixture struct {
	adroit.Client
	e        *kit.Env
	out, err *bytes.Buffer
	dir      string
	slow     chan struct{} // closed when the tool slow has been called
	release  chan struct{} // lets it return
}

// open makes a fixture whose person types in, none if it is nil.
func open(t *testing.T, in io.Reader) *fixture {
	f := &fixture{out: new(bytes.Buffer), err: new(bytes.Buffer), dir: t.TempDir(), slow: make(chan struct{}), release: make(chan struct{})}
	model := func(turns string) llm.Model {
		s, err := script.Parse("turns", []byte(turns))
		must(t, err)
		return s
	}
	called := sync.OnceFunc(func() { close(f.slow) })
	slow := tools.New(tools.Metadata{Name: "slow", Description: "Wait until the test releases it."}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		called()
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-f.release:
			return "Released.", nil
		}
	})
	f.e = &kit.Env{In: in, Out: f.out, Err: f.err, Getenv: func(string) string { return "" }, Now: time.Now, Interactive: func() bool { return in != nil },
		Attendant: new(kit.Attendant), Config: func() (*config.Config, error) { return new(config.Config), nil }}
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools: []tools.Tool{slow, partstest.Tool("write_file")}, Model: "write/x", Workspace: adroit.Workspace{Dir: f.dir}, Callbacks: adroit.Callbacks{Person: f.e.Attendant.Person},
		Models: map[string]llm.Model{
			"write": model("turns:\n  - calls: [{name: write_file, args: {path: out.txt, content: done}}]\n  - text: Written."),
			"large": model("turns:\n  - calls: [{name: write_file, args: {path: out.txt, content: \"" + strings.Repeat("x", 2*previewChars) + "\"}}]\n  - text: Written."),
			"wait":  model("turns:\n  - calls: [{name: slow}]\n  - text: Waited."),
		},
	})
	must(t, err)
	t.Cleanup(func() { must(t, rt.Close()) })
	f.Client = rt
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// submit adds a job that calls a tool, which a person has to approve if it writes.
func (f *fixture) submit(t *testing.T, model string) string {
	t.Helper()
	s, err := f.Submit(t.Context(), adroit.Request{Input: agents.Input{Prompt: "Go.", Dir: f.dir, Model: model, Approve: executor.ApproveAsk,
		Spec: &agents.DynamicAgent{Name: "worker", Description: "Work.", Prompt: "You work.", Tools: []string{"slow", "write_file"}}}})
	must(t, err)
	return s.Job.ID
}

// code is the exit code that an error stands for.
func code(err error) int {
	x := new(kit.Error)
	if errors.As(err, &x) {
		return x.Code
	}
	if err != nil {
		return -1
	}
	return kit.Done
}

// What a job asks is put to the person, and the job goes on with the answer.
func TestAnswered(t *testing.T) {
	for answer, want := range map[string]string{"y\n": "Written.", "what?\nv\nyes\n": "Written.", "n\n": "Written.", "n use another name\n": "Written."} {
		f := open(t, strings.NewReader(answer))
		id := f.submit(t, "write/x")
		must(t, Run(t.Context(), f.e, f, id, Options{}))
		if got := f.out.String(); !strings.Contains(got, want) {
			t.Errorf("%q: printed %q", answer, got)
		}
		if got := f.err.String(); !strings.HasPrefix(got, "job "+id+"  worker  write/x") || strings.Count(got, "job "+id) != 1 || !strings.Contains(got, "run it? [y]es") {
			t.Errorf("%q: %s", answer, got)
		}
		d, err := f.Job(t.Context(), id)
		must(t, err)
		if d.Changes.Changed == strings.HasPrefix(answer, "n") {
			t.Errorf("%q: changed %v", answer, d.Changes.Changed)
		}
		if why := `deny "use another name"`; strings.Contains(f.err.String(), why) != (len(answer) > len("n\n") && answer[0] == 'n') {
			t.Errorf("%q: the reason for the denial: %s", answer, f.err)
		}
	}
}

// Nobody says yes to what was shown in part; who goes away leaves the job parked.
func TestPartlyShown(t *testing.T) {
	f := open(t, strings.NewReader("y\n"))
	if c := code(Run(t.Context(), f.e, f, f.submit(t, "large/x"), Options{})); c != kit.Waiting {
		t.Errorf("exit code %d", c)
	}
	if !strings.Contains(f.err.String(), "only a part of it was shown") {
		t.Error(f.err)
	}
}

// Where nobody can be asked the job waits, and the next commands are printed.
func TestUnattended(t *testing.T) {
	f := open(t, nil)
	id := f.submit(t, "write/x")
	if c := code(Run(t.Context(), f.e, f, id, Options{})); c != kit.Waiting {
		t.Errorf("exit code %d", c)
	}
	if !strings.Contains(f.err.String(), "adroit answer approve "+id+"    adroit answer deny "+id+" WHY") {
		t.Error(f.err)
	}
	f.e.Ephemeral = true
	f.err.Reset()
	if Run(t.Context(), f.e, f, id, Options{}); strings.Contains(f.err.String(), "adroit answer approve") {
		t.Errorf("a command that follows a job thrown away: %s", f.err)
	}
}

// The end of the context stops the job; it can be resumed, and is not twice.
func TestStoppedAndResumed(t *testing.T) {
	f := open(t, nil)
	id := f.submit(t, "wait/x")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		<-f.slow
		stop(&kit.StopError{Signal: syscall.SIGTERM})
	}()
	if c := code(Run(ctx, f.e, f, id, Options{})); c != 143 {
		t.Errorf("exit code %d", c)
	}
	if !strings.Contains(f.err.String(), "interrupted: stopped by terminated; nothing that was finished is lost") {
		t.Error(f.err)
	}
	close(f.release)
	must(t, Run(t.Context(), f.e, f, id, Options{}))
	if !strings.Contains(f.out.String(), "Waited.") {
		t.Error(f.out)
	}
	if c := code(Run(t.Context(), f.e, f, id, Options{})); c != kit.Usage {
		t.Errorf("a job that is done: exit code %d", c)
	}
}

// With JSON, each numbered event is one line, from the first to the last.
func TestJSON(t *testing.T) {
	f := open(t, nil)
	close(f.release)
	id := f.submit(t, "wait/x")
	must(t, Run(t.Context(), f.e, f, id, Options{JSON: true}))
	lines := strings.Split(strings.TrimSpace(f.out.String()), "\n")
	n := 0
	for ev, err := range f.Events(t.Context(), id, adroit.EventOptions{}) {
		must(t, err)
		want, err := json.Marshal(ev)
		must(t, err)
		if n >= len(lines) || lines[n] != string(want) {
			t.Fatalf("line %d is not %s", n, want)
		}
		n++
	}
	if n != len(lines) || f.err.Len() > 0 {
		t.Errorf("%d lines for %d events; %s", len(lines), n, f.err)
	}
}

// Detaching succeeds when the job runs, and fails with the words of a process
// that ended without it.
func TestDetach(t *testing.T) {
	f := open(t, nil)
	id := f.submit(t, "wait/x")
	logs := filepath.Join(t.TempDir(), "logs")
	err := detach(t.Context(), f.e, f, id, "go on", logs, exec.Command("sh", "-c", "echo the disk is full; exit 3"))
	if code(err) != kit.Failed || !strings.Contains(err.Error(), "the disk is full") || f.out.Len() > 0 {
		t.Errorf("%v, %s", err, f.out)
	}
	pause := exec.Command("sleep", "60")
	looked := 0
	c := watched{f, func() { // while detach waits
		if looked++; looked == 3 {
			_, err := f.Start(context.Background(), id, adroit.StartOptions{})
			must(t, err)
		}
	}}
	must(t, detach(t.Context(), f.e, c, id, "go on", logs, pause))
	must(t, pause.Process.Kill())
	if f.out.String() != id+"\n" {
		t.Errorf("printed %q", f.out)
	}
	if d, err := f.Job(t.Context(), id); err != nil || d.Job.Status != jobs.Running {
		t.Errorf("%v, %+v", err, d)
	}
}

// watched calls look before events are read.
type watched struct {
	adroit.Client
	look func()
}

func (w watched) Events(ctx context.Context, ref string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	w.look()
	return w.Client.Events(ctx, ref, o)
}
