package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Conformance 40, 42 and 44 for copies: configuration that makes plain git run a program, as
// TestGitTricks shows, runs nothing when a copy is made, joined or removed, whether it was there
// before or was set by whoever works in the copy.
func TestCopyTricks(t *testing.T) {
	testenv.Long(t, "starts some thousand gits")
	for name, trick := range tricks {
		for _, when := range []string{"before", "meanwhile", "in the copy"} {
			if !testenv.Chosen(t, 4, name+when) {
				continue
			}
			t.Run(name+"/"+when, func(t *testing.T) {
				_, dir := gitRepo(t)
				dirtest.Git(t, dir, "branch", "old")
				dirtest.Git(t, dir, "branch", "side")
				tr := &trap{T: t, dir: dir, at: dir, run: filepath.Join(t.TempDir(), "run.sh"), mark: filepath.Join(t.TempDir(), "ran")}
				dirtest.Write(t, tr.run, "#!/bin/sh\ntr \"\\0\" \" \" < /proc/$PPID/cmdline >> "+tr.mark+"\n")
				dirtest.Must(t, os.Chmod(tr.run, 0o755))
				clean := func(what string) {
					t.Helper()
					if b, err := os.ReadFile(tr.mark); err == nil {
						t.Errorf("%s ran %s", what, b)
						_ = os.Remove(tr.mark)
					}
				}
				if when == "before" {
					trick.set(tr)
					_ = os.Remove(tr.mark)
				}
				dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "not committed\n")
				base := t.TempDir()
				c, err := AddCopy(t.Context(), CopyOptions{Dir: tr.at, Top: filepath.Join(base, "wt"), Branch: "adroit/J1/w1", Home: filepath.Join(base, "home")})
				clean("AddCopy")
				if err != nil {
					if when != "before" {
						t.Fatal(err)
					}
					return // some repositories are broken
				}
				there := c.Dir()
				dirtest.Write(t, filepath.Join(there, "d0/f0.txt"), "there\n")
				dirtest.Write(t, filepath.Join(there, "d1/f1.txt"), "there\n")
				dirtest.Write(t, filepath.Join(there, ".gitattributes"), "* filter=x diff=x merge=x\n*.sh filter=a=b\n")
				switch when {
				case "meanwhile":
					trick.set(tr)
				case "in the copy":
					// Whoever works there has a repository of its own, and the real one's records
					// about the work tree.
					dirtest.Must(t, os.Remove(filepath.Join(there, ".git")))
					dirtest.Git(t, there, "init", "-q", "-b", "main")
					dirtest.Git(t, there, "add", "-A")
					dirtest.Git(t, there, "commit", "-qm", "all")
					dirtest.Git(t, there, "branch", "old")
					own := &trap{T: t, dir: there, at: there, run: tr.run, mark: tr.mark}
					if name != "a bare repository inside" && name != "commondir" && name != "a .git file" {
						trick.set(own)
					}
					for _, kv := range [][2]string{{"core.fsmonitor", tr.run}, {"filter.x.clean", tr.run}, {"filter.x.process", tr.run}, {"diff.x.textconv", tr.run}, {"core.hooksPath", filepath.Join(c.Tree.Admin, "hooks")}} {
						dirtest.Config(t, filepath.Join(c.Tree.Admin, "config.worktree"), kv[0], kv[1])
						dirtest.Config(t, filepath.Join(c.Tree.Admin, "config"), kv[0], kv[1])
					}
					plant(own, filepath.Join(c.Tree.Admin, "hooks"))
					dirtest.Write(t, filepath.Join(c.Tree.Admin, "commondir"), there+"/.git\n")
					dirtest.Config(t, filepath.Join(dir, ".git/config"), "core.repositoryformatversion", "1", "extensions.worktreeConfig", "true")
				}
				_ = os.Remove(tr.mark)
				dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "here\n") // a conflict, so that the copy is committed and kept
				led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
				dirtest.Must(t, err)
				defer led.Close()
				f, err := workspace.Open(tr.dir, led)
				dirtest.Must(t, err)
				defer f.Close()
				j, err := c.Merge(t.Context(), f.At("1"))
				clean("Join")
				if when == "in the copy" && (err != nil || len(j.Conflicts) == 0 || dirtest.Content(t, filepath.Join(dir, "d1/f1.txt")) != "there\n") {
					t.Errorf("%+v, %v", j, err)
				}
				_ = c.Remove(t.Context())
				clean("Remove")
			})
		}
	}
}
