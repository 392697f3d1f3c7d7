package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// An overlayKillJob is the work of this test's child process, until it kills
// itself at a point of joining the command's changes.
type overlayKillJob struct {
	Dir, Ledger, Private string
	Script               string // none: only settle what was interrupted
	Kill                 int    // at this point, counted from 1
	Notes                string // file for what the next command's output would have
	Points               string // file for the number of points
	Denied               []Denied
}

// TestOverlayKillJob is the child process.
func TestOverlayKillJob(t *testing.T) {
	src := os.Getenv("ADROIT_TEST_OVERLAY")
	if src == "" {
		return // the other tests start it
	}
	var e overlayKillJob
	dirtest.Must(t, json.Unmarshal([]byte(src), &e))
	led, err := ledger.Open(e.Ledger, overlay.Recover)
	dirtest.Must(t, err)
	defer led.Close()
	n := 0
	led.JoinPoint = func(string) {
		if n++; n == e.Kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	}
	if e.Script == "" {
		dirtest.Must(t, led.Recover(t.Context()))
		dirtest.Must(t, os.WriteFile(e.Notes, []byte(strings.Join(led.TakeNotes(), "\n")), 0o600))
		return
	}
	r := New(e.Dir, "", led, WithSandbox(SandboxOptions{Level: sandbox.Full, Private: e.Private}))
	defer r.Close()
	o := ranDenied(t, r, e.Script, e.Denied)
	if o.Uncertain {
		_, why := Attribution(sandbox.Full, e.Dir, e.Ledger)
		t.Errorf("the command had no overlay: %s", why)
	}
	dirtest.Must(t, os.WriteFile(e.Notes, []byte(o.Note), 0o600))
	dirtest.Must(t, os.WriteFile(e.Points, []byte(strconv.Itoa(n)), 0o600))
}

// run starts the child process and reports whether it was killed.
func (e overlayKillJob) run(t *testing.T) bool {
	t.Helper()
	b, err := json.Marshal(e)
	dirtest.Must(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestOverlayKillJob$")
	cmd.Env = append(os.Environ(), "ADROIT_TEST_OVERLAY="+string(b))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

const killScript = `echo more >>a; rm b; mv c moved; mkdir new; echo n >new/n; ln -s n new/l; chmod 600 f
rm -r swap; echo file >swap; rm turn; mkdir turn; echo in >turn/in; echo log >>ig/log; echo new >ig/new
rm -r gone; mkdir -p deep/er; echo d >deep/er/d; mkdir .vscode; echo {} >.vscode/settings.json
while [ ! -e /tmp/go ]; do sleep 0.02; done; echo end >>both; echo theirs >fight`

// prepareKill makes a workspace, and a person who edits in it while the command runs.
func prepareKill(t *testing.T) (e overlayKillJob, person func()) {
	base := t.TempDir()
	e = overlayKillJob{Dir: filepath.Join(base, "ws"), Ledger: filepath.Join(base, "ledger"), Private: filepath.Join(base, "private"), Notes: filepath.Join(base, "notes"), Points: filepath.Join(base, "points"), Script: killScript}
	for _, p := range []string{"a", "b", "c", "f", "swap/x", "swap/y/z", "turn", "ig/log", "gone/1", "gone/2/3", "mine"} {
		dirtest.Write(t, filepath.Join(e.Dir, p), "text of "+p+"\n")
	}
	dirtest.Write(t, filepath.Join(e.Dir, "both"), dirtest.Twenty)
	dirtest.Write(t, filepath.Join(e.Dir, "fight"), dirtest.Twenty)
	dirtest.Write(t, filepath.Join(e.Dir, ".gitignore"), "ig/\n")
	dirtest.Git(t, e.Dir, "init", "-q")
	return e, func() {
		uppers := filepath.Join(e.Ledger, "overlays", "*", "upper", "deep", "er", "d")
		for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if found, _ := filepath.Glob(uppers); len(found) > 0 {
				break
			}
		}
		dirtest.Write(t, filepath.Join(e.Dir, "both"), "person\n"+dirtest.Twenty)
		dirtest.Write(t, filepath.Join(e.Dir, "fight"), "person\n")
		dirtest.Write(t, filepath.Join(e.Dir, "mine"), "person\n")
		dirtest.Write(t, filepath.Join(e.Dir, "gone/new"), "person\n")
		dirtest.Write(t, filepath.Join(e.Private, "tmp/go"), "")
	}
}

// A join that is killed at any point, once or twice, has the same result as any other: nothing is
// lost, nothing is half done, a person's edits stay, and undo reverts exactly the command's
// changes.
func TestOverlayKilled(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts some hundred processes")
	_, _, _ = overlaid(t) // or skip
	finish := func(t *testing.T, e overlayKillJob) (tree []string, undone []string) {
		tree = facts(t, e.Dir)
		if left, _ := filepath.Glob(filepath.Join(e.Ledger, "overlays", "*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		kept, _ := filepath.Glob(filepath.Join(e.Ledger, "kept", "*", "fight"))
		if len(kept) != 1 || dirtest.Content(t, kept[0]) != "theirs\n" {
			t.Errorf("the command's version of the conflict is at %v", kept)
		}
		led, err := ledger.Open(e.Ledger, overlay.Recover)
		dirtest.Must(t, err)
		defer led.Close()
		u, err := led.Undo(t.Context(), e.Dir)
		dirtest.Must(t, err)
		for _, s := range u.Skipped {
			if s.Path != "gone" && s.Path != "ig" {
				t.Errorf("undo skipped %+v", s)
			}
		}
		return tree, facts(t, e.Dir)
	}
	run := func(t *testing.T, e overlayKillJob, person func()) bool {
		done := make(chan bool)
		go func() { person(); close(done) }()
		killed := e.run(t)
		<-done
		return killed
	}
	e, person := prepareKill(t)
	run(t, e, person)
	notes := dirtest.Content(t, e.Notes)
	want, undone := finish(t, e)
	if !strings.Contains(notes, "fight") || !strings.Contains(notes, ".vscode") {
		t.Errorf("the command's note is %q", notes)
	}
	if b := dirtest.Content(t, filepath.Join(e.Dir, "both")); b != "person\n"+dirtest.Twenty {
		t.Errorf("undo left both as %q", b)
	}
	seed := testenv.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	step := 3
	if testenv.Night() {
		step = 1
	}
	points := number(t, dirtest.Content(t, e.Points))
	if points < 30 {
		t.Errorf("there are only %d points", points)
	}
	for n := 1 + rnd.IntN(step); n <= points; n += step {
		again, twice := 1+rnd.IntN(12), rnd.IntN(2) == 0
		t.Run(fmt.Sprintf("point=%d/seed=%d", n, seed), func(t *testing.T) {
			t.Parallel()
			e, person := prepareKill(t)
			e.Kill = n
			if !run(t, e, person) {
				t.Errorf("the join has no point %d, although another one had %d", n, points)
			}
			e.Script, e.Kill = "", again
			if twice {
				e.run(t)
			}
			e.Kill = 0
			e.run(t)
			tree, back := finish(t, e)
			if !slices.Equal(tree, want) {
				t.Errorf("not as without the kill:\n%s", dirtest.Diff(want, tree))
			}
			if !slices.Equal(back, undone) {
				t.Errorf("undo is not as without the kill:\n%s", dirtest.Diff(undone, back))
			}
		})
	}
}
