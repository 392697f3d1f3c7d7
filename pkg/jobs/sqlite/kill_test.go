//go:build unix

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

const killEnv = "ADROIT_TEST_KILL_AT"

// TestMain makes this binary the runner that TestKill kills.
func TestMain(m *testing.M) {
	if at, ok := os.LookupEnv(killEnv); ok {
		if err := runner(os.Args[1], at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tenSteps has five safe and five unsafe effects; a save lies in the middle.
var tenSteps = flow.Define("ten", func(r *flow.Run, _ any) ([]string, error) {
	var out []string
	if _, err := flow.Load(r, &out); err != nil {
		return nil, err
	}
	for i := len(out); i < 10; i++ {
		kind := []string{"safe", "unsafe"}[i%2]
		v, err := flow.Do[string](r, kind, fmt.Sprint("s", i), fmt.Sprint(kind, i))
		if e, ok := errors.AsType[*flow.StepError](err); ok {
			v = e.Code
		} else if err != nil {
			return nil, err
		}
		if out = append(out, v); len(out) == 5 {
			if err := flow.Save(r, out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
})

// runner runs job J in the database of dir and kills itself at the given
// point, or never. What it did it writes to dir/effects, as an effect would be
// written to the world: at once.
func runner(dir, at string) error {
	kill, err := strconv.Atoi(at)
	if err != nil {
		return err
	}
	ctx := context.Background()
	world, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer world.Close()
	d, err := Open(ctx, filepath.Join(dir, "a.db"), Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Add(ctx, &jobs.Job{ID: "J", Key: "once"}); err != nil {
		return err
	}
	j, _, err := d.Claim(ctx, "J", lock.Name(), ttl)
	if err != nil {
		return err
	}
	do := func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		if _, err := fmt.Fprintln(world, "did", s.Name); err != nil {
			return nil, err
		}
		if err := d.appendEvents(ctx, event.Event{Job: "J", Kind: event.Note, Text: s.Name}); err != nil {
			return nil, err
		}
		_, err := fmt.Fprintln(world, "ack", s.Name)
		return s.Input, err
	}
	e := flow.NewLocal(ctx, d.Journal("J", j.Lease.Token), flow.Mux{
		"safe": {Handler: do, Safe: flow.Always}, "unsafe": {Handler: do},
	}, nil)
	points := 0
	e.Hook = func(string, flow.Step) {
		if points++; points == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
	out, err := tenSteps.Run(flow.NewRun("J", e), nil)
	if err != nil {
		return err
	}
	j.Status, j.Output = jobs.Done, out
	return d.Journal(j.ID, j.Lease.Token).FinishJob(ctx, j, &event.Event{Kind: event.JobFinished})
}

// TestKill kills a runner with SIGKILL at every point of ten steps and resumes
// it in another process.
func TestKill(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 7
	}
	for at := 1; ; at += stride {
		dir := t.TempDir()
		run := func(at int) error {
			cmd := exec.Command(os.Args[0], dir)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", killEnv, at))
			cmd.Stderr = os.Stderr
			return cmd.Run()
		}
		err := run(at)
		if err == nil {
			if at < 42 {
				t.Errorf("there are only %d points", at-1)
			}
			return
		}
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != -1 {
			t.Fatalf("killing at point %d: %v", at, err)
		}
		if err := run(0); err != nil {
			t.Fatalf("resuming after point %d: %v", at, err)
		}
		audit(t, dir, at)
	}
}

func audit(t *testing.T, dir string, at int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(b)) {
		count[strings.TrimSpace(line)]++
	}
	d := open(t, filepath.Join(dir, "a.db"), Options{Check: true})
	j, err := jobs.Find(t.Context(), d, "J")
	if err != nil || j.Status != jobs.Done {
		t.Fatalf("point %d: %+v, %v", at, j, err)
	}
	var out []string
	if err := json.Unmarshal(j.Output, &out); err != nil || len(out) != 10 {
		t.Fatalf("point %d: output %s", at, j.Output)
	}
	twice, unknown := 0, 0
	for i, v := range out {
		kind := []string{"safe", "unsafe"}[i%2]
		n := count[fmt.Sprint("did s", i)]
		switch {
		case v == fmt.Sprint(kind, i) && (n == 1 || n == 2 && kind == "safe"):
			twice += n - 1
		case v == flow.Interrupted && kind == "unsafe" && n <= 1:
			unknown++
		default:
			t.Errorf("point %d: step %d gave %q and was performed %d times", at, i, v, n)
		}
	}
	if twice+unknown > 1 {
		t.Errorf("point %d: %d steps repeated and %d unknown; one was under way", at, twice, unknown)
	}
	seen := map[string]int{}
	next := int64(1)
	for ev, err := range d.Events(t.Context(), "J", 0, false) {
		if err != nil || ev.Seq != next {
			t.Fatalf("point %d: event %d: %+v, %v", at, next, ev, err)
		}
		next++
		seen[ev.Text]++
	}
	for i := range out {
		name := fmt.Sprint("s", i)
		if acked := count["ack "+name]; seen[name] < acked {
			t.Errorf("point %d: %d events of %s were acknowledged, %d are there", at, acked, name, seen[name])
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
