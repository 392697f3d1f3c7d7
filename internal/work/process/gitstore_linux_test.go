package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// history makes a repository with a pack, single objects and a branch; list returns what git lists
// of it.
func history(t *testing.T, dir string) (list func() string) {
	t.Helper()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return err.Error() + ": " + string(out)
		}
		return string(out)
	}
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		dirtest.Write(t, filepath.Join(dir, "f"), text)
		git("add", ".")
		git("commit", "-qm", "c"+text)
		if text == "2\n" {
			git("gc", "-q")
		}
	}
	git("branch", "topic", "HEAD~1")
	return func() string {
		return git("log", "--format=%H %s", "--all") + git("fsck", "--full", "--strict") + git("reflog", "show", "HEAD") + git("ls-files", "-s")
	}
}

// The history of a repository survives any command: files with content that is in no other file
// are put back.
func TestHistoryStays(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		for _, c := range []struct{ script, says string }{
			{"rm -rf .git/objects", "files of objects"},
			{"rm -rf .git/objects/pack", "files of objects"},
			{"chmod -R u+w .git/objects; rm -f .git/objects/pack/*.pack", "files of objects"},
			{"rm -f .git/objects/??/*; mkdir .git/objects/new", "files of objects"},
			{"rm -rf .git/refs .git/packed-refs", "refs"},
			{"rm .git/HEAD; rm -rf .git/logs", "HEAD, logs"},
			{"rm .git/HEAD .git/index", "HEAD, index"},
			{"rm -rf .git 2>/dev/null; true", "history of the repository"},
			{"mv .git/objects gone; rm -rf gone", "files of objects"},
			{"for f in .git/objects/??/* .git/objects/pack/*; do echo junk >x; mv -f x $f; done", "files of objects"},
			{"for f in .git/objects/??/* .git/objects/pack/*.pack; do tr x y <$f >x; mv -f x $f; done", "files of objects"},
			{"rm -f .git/objects/pack/*.pack; mkdir .git/objects/pack/$(basename .git/objects/pack/*.idx .idx).pack", "files of objects"},
			{"echo junk >>.git/packed-refs", "packed-refs"},
			{"sed -i s/pack-refs/x/ .git/packed-refs", "packed-refs"},
			{"cp .git/objects/pack/*.pack x; mv -f x .git/objects/pack/*.pack; git repack -adfq", ""},
			{"git gc -q --prune=now; git repack -adq; git pack-refs --all", ""},
			{"git prune; git checkout -q topic; git checkout -q main", ""},
		} {
			t.Run(c.script, func(t *testing.T) {
				r, dir := cellmate(t, SandboxOptions{Level: level})
				list := history(t, dir)
				if strings.Contains(c.script, "checkout") {
					o := did(t, r, c.script, 0, "")
					if o.Note != "" {
						t.Errorf("it says %q", o.Note)
					}
					return
				}
				want := list()
				o := did(t, r, c.script, 0, "")
				if got := list(); got != want {
					t.Errorf("it has\n%swant\n%s", got, want)
				}
				if (o.Note == "") != (c.says == "") || !strings.Contains(o.Note, c.says) {
					t.Errorf("it says %q, want %q", o.Note, c.says)
				}
			})
		}
	})
}

// Nothing is kept of files that a command writes to, so they are named: once.
func TestHistoryThatIsWrittenTo(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		history(t, dir)
		for _, files := range []string{"??/*", "pack/*.pack"} {
			o := did(t, r, "chmod u+w .git/objects/"+files+"; for f in .git/objects/"+files+"; do echo junk >>$f; done", 0, "")
			if !strings.Contains(o.Note, "files of objects of "+dir+"/.git, such as objects/") || !strings.Contains(o.Note, "cannot be put back") {
				t.Errorf("it says %q", o.Note)
			}
			if o := did(t, r, "true", 0, ""); o.Note != "" {
				t.Errorf("afterwards it says %q", o.Note)
			}
		}
	})
}

// This also applies to a repository in the workspace, to the second command, and to a command
// whose process was killed.
func TestHistoryOfOthersStays(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		sub := filepath.Join(dir, "sub")
		dirtest.Must(t, os.Mkdir(sub, 0o755))
		list := history(t, sub)
		want := list()
		for range 2 {
			did(t, r, "rm -rf sub/.git/objects", 0, "")
			if got := list(); got != want {
				t.Fatalf("it has\n%swant\n%s", got, want)
			}
		}
		r.sandbox.mu.Lock()
		for _, g := range r.sandbox.stores { // as if the process had been killed after that
			dirtest.Must(t, os.RemoveAll(filepath.Join(sub, ".git", "objects")))
			clear(g.files)
		}
		clear(r.sandbox.stores)
		r.sandbox.mu.Unlock()
		did(t, r, "true", 0, "")
		if got := list(); got != want {
			t.Errorf("after a kill it has\n%swant\n%s", got, want)
		}
	})
}

// A job in a worktree can remove the objects of the repository that it belongs to.
func TestHistoryOfWorktreeStays(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		repo := t.TempDir()
		list := history(t, repo)
		common := filepath.Join(repo, ".git")
		r, dir := cellmate(t, SandboxOptions{Level: level, Write: []string{filepath.Join(common, "objects")}})
		dirtest.Git(t, repo, "worktree", "add", "-q", "-b", "w", dir)
		want := list()
		o := did(t, r, "rm -rf "+common+"/objects/* 2>/dev/null; true", 0, "")
		if got := list(); got != want {
			t.Errorf("it has\n%swant\n%s", got, want)
		}
		if !strings.Contains(o.Note, "removed from "+common+" while the command ran") || !strings.Contains(o.Note, "files of objects") {
			t.Errorf("it says %q", o.Note)
		}
	})
}

// A command that begins while another one runs does not take objects that that one removed for
// packed.
func TestHistoryStaysBesideCommands(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		list := history(t, dir)
		want := list()
		p, err := r.Start(t.Context(), Cmd{Shell: "rm -rf .git/objects/* .git/refs .git/logs; echo gone >done; sleep 600"})
		dirtest.Must(t, err)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
				break
			}
		}
		did(t, r, "true", 0, "")
		if got := list(); got != want {
			t.Errorf("it has\n%swant\n%s", got, want)
		}
		p.Kill()
	})
}
