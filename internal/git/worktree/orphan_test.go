package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// A process that is killed leaves the git behind that it has just started. The next one
// to make, or take away, the same copy waits for that git.
func TestKilledWhileGitWorks(t *testing.T) {
	real, err := exec.LookPath("git")
	dirtest.Must(t, err)
	for _, command := range []string{" worktree add ", " read-tree ", " add -A ", " commit-tree ", " update-ref "} {
		t.Run(strings.TrimSpace(command), func(t *testing.T) {
			dir, base := odd(t), t.TempDir()
			want := dirtest.WorkTree(t, dir)
			// The first git of this kind makes a directory, and then takes its time.
			started, ended := filepath.Join(base, "started"), filepath.Join(base, "ended")
			dirtest.Write(t, filepath.Join(base, "bin/git"), "#!/bin/sh\ncase \" $* \" in *'"+command+"'*) if mkdir '"+started+"' 2>/dev/null; then sleep .5; '"+real+"' \"$@\"; mkdir '"+ended+"'; exit; fi ;; esac\nexec '"+real+"' \"$@\"\n")
			dirtest.Must(t, os.Chmod(filepath.Join(base, "bin/git"), 0o755))
			t.Setenv("PATH", filepath.Join(base, "bin")+":"+os.Getenv("PATH"))
			e := killJob{Dir: dir, Top: filepath.Join(base, "wt"), Home: filepath.Join(base, "home"), Branch: "adroit/J1/w1"}
			first := e.command(t, 0)
			dirtest.Must(t, first.Start())
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(started); err == nil {
					break
				} else if time.Now().After(deadline) {
					t.Fatal("no git of this kind was started")
				}
			}
			dirtest.Must(t, first.Process.Kill())
			_ = first.Wait()
			e.run(t, 0)
			if _, err := os.Stat(ended); err != nil {
				t.Fatal("the git of the killed process is still at work")
			}
			if got := dirtest.WorkTree(t, e.Top); !slices.Equal(got, want) {
				t.Errorf("the copy is not the same:\n%s", dirtest.Diff(want, got))
			}
			if s := dirtest.Git(t, e.Top, "status", "--porcelain"); s != "" {
				t.Errorf("the copy has changes: %s", s)
			}
			c, err := OpenCopy(e.Home)
			dirtest.Must(t, err)
			dirtest.Must(t, c.Remove(t.Context()))
			if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*"); out != "" {
				t.Errorf("a branch is left: %s", out)
			}
			if list := dirtest.Git(t, dir, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
				t.Errorf("a worktree is left: %s", list)
			}
		})
	}
}
