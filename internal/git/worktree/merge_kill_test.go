package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A killJob is the work of this test's child process, until it kills itself.
type killJob struct {
	Dir, Top, Home, Ledger, Branch string
	Join                           bool
	Kill                           int // at this point of its way, counted from 1
}

// TestKillJob is the child process.
func TestKillJob(t *testing.T) {
	src := os.Getenv("ADROIT_TEST_KILL_JOB")
	if src == "" {
		return // the other tests start it
	}
	var e killJob
	dirtest.Must(t, json.Unmarshal([]byte(src), &e))
	n := 0
	brink := func(string) {
		if n++; n == e.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	}
	_, err := AddCopy(t.Context(), CopyOptions{Dir: e.Dir, Top: e.Top, Branch: e.Branch, Home: e.Home, testPoint: brink})
	if err != nil && !e.Join {
		t.Fatal(err)
	}
	if !e.Join {
		return
	}
	c, err := OpenCopy(e.Home)
	if err != nil { // it may be gone by now
		t.Fatal(err)
	}
	led, err := ledger.Open(e.Ledger, nil)
	dirtest.Must(t, err)
	defer led.Close()
	f, err := workspace.Open(e.Dir, led)
	dirtest.Must(t, err)
	defer f.Close()
	c.testPoint = brink
	j, err := c.Merge(t.Context(), f.At("4"))
	dirtest.Must(t, err)
	b, err := json.Marshal(j)
	dirtest.Must(t, err)
	dirtest.Must(t, os.WriteFile(filepath.Join(e.Home, "said"), b, 0o600))
}

// run starts the child process and reports whether it killed itself.
func (e killJob) run(t *testing.T, kill int) bool {
	t.Helper()
	out, err := e.command(t, kill).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func (e killJob) command(t *testing.T, kill int) *exec.Cmd {
	t.Helper()
	e.Kill = kill
	b, err := json.Marshal(e)
	dirtest.Must(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillJob$")
	cmd.Env = append(os.Environ(), "ADROIT_TEST_KILL_JOB="+string(b))
	return cmd
}

// A copy that was cut short is made anew, and nothing of the first attempt stays.
func TestCopyKilled(t *testing.T) {
	dir := odd(t)
	want := dirtest.WorkTree(t, dir)
	for n := 1; ; n++ {
		base := t.TempDir()
		e := killJob{Dir: dir, Top: filepath.Join(base, "wt"), Home: filepath.Join(base, "home"), Branch: "adroit/J1/w1"}
		if !e.run(t, n) {
			if n < 5 {
				t.Errorf("there are only %d points", n)
			}
			return
		}
		if e.run(t, 0) {
			t.Fatal("killed without a kill point")
		}
		if got := dirtest.WorkTree(t, e.Top); !slices.Equal(got, want) {
			t.Errorf("point %d: the copy is not the same:\n%s", n, dirtest.Diff(want, got))
		}
		if list := dirtest.Git(t, dir, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 2 || strings.Contains(list, "prunable") {
			t.Errorf("point %d: %s", n, list)
		}
		if s := dirtest.Git(t, e.Top, "status", "--porcelain"); s != "" {
			t.Errorf("point %d: %s", n, s)
		}
		c, err := OpenCopy(e.Home)
		dirtest.Must(t, err)
		dirtest.Must(t, c.Remove(t.Context()))
		if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*"); out != "" {
			t.Errorf("point %d: left over: %s", n, out)
		}
	}
}

// A join that is killed at any point, once or twice, ends as one that is not,
// and can be undone.
func TestJoinKilled(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	prepare := func(t *testing.T) (killJob, []string) {
		_, led, dir := workspacetest.Open(t)
		for _, n := range []string{"a", "b", "c/d", "c/e", "f", "g", "swap/x", "swap/y", "turn"} {
			dirtest.Write(t, filepath.Join(dir, n), "text of "+n+"\n"+dirtest.Twenty)
		}
		dirtest.Must(t, os.Chmod(filepath.Join(dir, "f"), 0o600))
		base := t.TempDir()
		e := killJob{Dir: dir, Top: filepath.Join(base, "wt"), Home: filepath.Join(base, "home"), Ledger: led.Dir, Join: true}
		c, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: e.Top, Home: e.Home})
		dirtest.Must(t, err)
		// Here: one line, one conflict. Their text is in a ledger, as a tool's would be.
		keep, err := led.Snapshot(t.Context(), dir)
		dirtest.Must(t, err)
		dirtest.Write(t, filepath.Join(dir, "a"), "here\n"+dirtest.Twenty)
		dirtest.Write(t, filepath.Join(dir, "b"), "here\n"+dirtest.Twenty)
		if _, err := keep.Record(t.Context()); err != nil {
			t.Fatal(err)
		}
		dirtest.Must(t, led.Close())
		there := c.Dir()
		dirtest.Write(t, filepath.Join(there, "a"), "text of a\n"+dirtest.Twenty+"there\n")
		dirtest.Write(t, filepath.Join(there, "b"), "there\n"+dirtest.Twenty)
		dirtest.Must(t, os.RemoveAll(filepath.Join(there, "c")))
		dirtest.Must(t, os.Chmod(filepath.Join(there, "f"), 0o755))
		dirtest.Must(t, os.Rename(filepath.Join(there, "g"), filepath.Join(there, "moved")))
		dirtest.Write(t, filepath.Join(there, "new/deep/n"), "new\n")
		dirtest.Must(t, os.Symlink("moved", filepath.Join(there, "new/l")))
		dirtest.Must(t, os.RemoveAll(filepath.Join(there, "swap")))
		dirtest.Write(t, filepath.Join(there, "swap"), "a file\n")
		dirtest.Must(t, os.Remove(filepath.Join(there, "turn")))
		dirtest.Write(t, filepath.Join(there, "turn/in"), "a directory\n")
		return e, dirtest.WorkTree(t, dir)
	}
	finish := func(t *testing.T, e killJob, before []string) (tree []string, said string) {
		tree, said = dirtest.WorkTree(t, e.Dir), dirtest.Content(t, filepath.Join(e.Home, "said"))
		said = strings.ReplaceAll(said, filepath.Dir(e.Top), "")
		if left := slices.IndexFunc(tree, func(l string) bool { return strings.Contains(l, ".adroit-") }); left >= 0 {
			t.Errorf("left over: %s", tree[left])
		}
		led, err := ledger.Open(e.Ledger, nil)
		dirtest.Must(t, err)
		defer led.Close()
		part, err := led.Step(t.Context(), "4")
		dirtest.Must(t, err)
		if u, err := part.Undo(t.Context(), e.Dir); err != nil || len(u.Skipped) > 0 {
			t.Errorf("undo: %+v, %v", u, err)
		}
		if after := dirtest.WorkTree(t, e.Dir); !slices.Equal(after, before) {
			t.Errorf("undo did not bring everything back:\n%s", dirtest.Diff(before, after))
		}
		return tree, said
	}
	e, before := prepare(t)
	e.run(t, 0)
	want, report := finish(t, e, before)
	if strings.Count(report, `"path"`) != 1 || !strings.Contains(report, `"turn/in"`) {
		t.Fatal(report)
	}
	seed := testenv.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	step := 3 // the other points have their turn in other runs
	if testenv.Night() {
		step = 1
	}
	for n := 1 + rnd.IntN(step); ; n += step {
		done := false
		t.Run(fmt.Sprintf("point=%d/seed=%d", n, seed), func(t *testing.T) {
			e, before := prepare(t)
			if done = !e.run(t, n); done && n < 40 {
				t.Errorf("there are only %d points", n)
			}
			if rnd.IntN(2) == 0 {
				e.run(t, 1+rnd.IntN(12))
			}
			e.run(t, 0)
			got, said := finish(t, e, before)
			if !slices.Equal(got, want) {
				t.Errorf("not as without the kill:\n%s", dirtest.Diff(want, got))
			}
			if said != report {
				t.Errorf("it reported %s, want %s", said, report)
			}
		})
		if done || t.Failed() {
			return
		}
	}
}
