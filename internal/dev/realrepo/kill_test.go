package realrepo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// patches rewrites three files by apply_patch, again and again, until it is killed. It prints a
// line before each patch.
func patches(base string) int {
	led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
	if err == nil {
		var files *workspace.Files
		if files, err = workspace.Open(filepath.Join(base, "ws"), led); err == nil {
			err = patchFor(&tools.Env{Files: files})
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func patchFor(env *tools.Env) error {
	for v := 0; ; v++ {
		var b strings.Builder
		b.WriteString("*** Begin Patch\n")
		for n := range killFiles {
			fmt.Fprintf(&b, "*** Update File: %s\n@@\n", pageName(n))
			for _, side := range []struct{ sign, text string }{{"-", page(v, n)}, {"+", page(v+1, n)}} {
				for l := range strings.Lines(side.text) {
					b.WriteString(side.sign + l)
				}
			}
		}
		b.WriteString("*** End Patch\n")
		args, err := json.Marshal(edit.PatchInput{Patch: b.String()})
		if err != nil {
			return err
		}
		fmt.Println(v)
		r, err := edit.Patch.Run(context.Background(), env, args)
		if err != nil || r.Failed {
			return fmt.Errorf("patch %d: %v %.300s", v, err, r.Text)
		}
	}
}

// TestKillAmidPatches kills a process that patches three files at once, fifty times at different
// moments; in make kill, two hundred times, for which ADROIT_SEED
// chooses other moments each time. Each file is one version, whole; they are at most one version
// apart; no other files remain; and the ledger restores the old content.
func TestKillAmidPatches(t *testing.T) {
	const most = 200
	first, step := int(testenv.Seed(t)%4), 4
	switch {
	case testing.Short():
		step = 20
	case testenv.Night():
		first, step = 0, 1
	}
	amid, kills := 0, 0
	for k := first; k < most; k += step {
		kills++
		base := t.TempDir()
		ws := filepath.Join(base, "ws")
		if err := os.MkdirAll(filepath.Join(ws, "pages"), 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range killFiles {
			if err := os.WriteFile(filepath.Join(ws, pageName(n)), []byte(page(0, n)), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		killOne(t, base, k)
		led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
		if err != nil {
			t.Fatal(err)
		}
		files, err := workspace.Open(ws, led) // sweeps what the kill left
		if err != nil {
			t.Fatal(err)
		}
		low, high := 1<<30, -1
		for n := range killFiles {
			b, err := os.ReadFile(filepath.Join(ws, pageName(n)))
			if err != nil {
				t.Fatal(err)
			}
			v := 0
			if _, err := fmt.Sscanf(string(b), "version %d of", &v); err != nil || string(b) != page(v, n) {
				t.Fatalf("kill %d: %s is no version, it has %d bytes", k, pageName(n), len(b))
			}
			low, high = min(low, v), max(high, v)
		}
		if high > low+1 {
			t.Errorf("kill %d: versions %d to %d", k, low, high)
		}
		if high != low {
			amid++
		}
		if left, _ := os.ReadDir(filepath.Join(ws, "pages")); len(left) != killFiles {
			t.Errorf("kill %d: left behind %v", k, left)
		}
		if report, err := led.Undo(t.Context(), ws); err != nil || len(report.Skipped) > 0 {
			t.Errorf("kill %d: undo: %+v, %v", k, report, err)
		}
		for n := range killFiles {
			if b, err := os.ReadFile(filepath.Join(ws, pageName(n))); err != nil || string(b) != page(0, n) {
				t.Errorf("kill %d: after undo %s is not as before (%v)", k, pageName(n), err)
			}
		}
		files.Close()
		led.Close()
		if err := os.RemoveAll(base); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d kills were between two files of a patch", amid, kills)
}

// killOne starts the process and kills it after its k%4th patch has begun and
// a moment that differs from kill to kill.
func killOne(t *testing.T, base string, k int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ADROIT_TEST_PATCHES="+base)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for range 1 + k%3 {
		if _, err := r.ReadString('\n'); err != nil {
			_ = cmd.Wait()
			t.Fatalf("%v: %s", err, stderr.String())
		}
	}
	// Not to wait for something, but to hit another moment each time.
	<-time.After(time.Duration(k%50) * time.Millisecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if stderr.Len() > 0 {
		t.Fatal(stderr.String())
	}
}
