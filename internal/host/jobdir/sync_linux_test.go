package jobdir

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// TestSyncs counts the syncs of the workspace: one for each command that changed something, none
// for others, and none for file tools, which sync their own writes.
func TestSyncs(t *testing.T) {
	syncs := func(t *testing.T, level sandbox.Level) {
		dir := t.TempDir()
		dirtest.Write(t, filepath.Join(dir, ".gitignore"), "ignored\n")
		bs, err := OpenWorkspaces(Options{Job: "J1", Dir: dir, Data: t.TempDir(), Sandbox: process.SandboxOptions{Level: level}})
		dirtest.Must(t, err)
		defer func() { dirtest.Must(t, bs.Close()) }()
		for _, c := range []struct {
			script string
			want   int64
		}{
			{"cat .gitignore", 0},
			{"echo 1 > a; mkdir d; echo 2 > d/b; echo 3 > c", 1},
			{"cat a d/b", 1},
			{"rm c; echo 4 >> a", 2},
		} {
			o, err := bs.own.exec.Run(t.Context(), process.Cmd{Shell: c.script, Timeout: 2 * time.Minute, Snapshot: true})
			if dirtest.Must(t, err); o.Code != 0 {
				t.Fatal(o.Text)
			}
			if n := bs.own.ledger.Syncs(); n != c.want {
				t.Errorf("%d syncs after %q, want %d", n, c.script, c.want)
			}
		}
		dirtest.Must(t, bs.own.files.WriteFile("f", []byte("5")))
		if n := bs.own.ledger.Syncs(); n != 2 {
			t.Errorf("%d syncs after a file tool", n)
		}
	}
	levels(t, syncs)
	t.Run("off", func(t *testing.T) { syncs(t, sandbox.Off) })
}
