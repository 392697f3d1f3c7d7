package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
)

// commitIn makes a repository of a directory, and a commit in it.
func commitIn(t *testing.T, dir string) (commit string) {
	t.Helper()
	dirtest.Write(t, filepath.Join(dir, "precious"), "precious\n")
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Git(t, dir, "add", "precious")
	dirtest.Git(t, dir, "commit", "-qm", "work")
	return strings.TrimSpace(dirtest.Git(t, dir, "rev-parse", "HEAD"))
}

// withSubmodule adds a submodule that ignores logs to a repository, as sub.
func withSubmodule(t *testing.T, repo string) {
	t.Helper()
	commitIn(t, filepath.Join(repo, "sub"))
	dirtest.Write(t, filepath.Join(repo, "sub/.gitignore"), "*.log\n")
	dirtest.Git(t, filepath.Join(repo, "sub"), "add", ".gitignore")
	dirtest.Git(t, filepath.Join(repo, "sub"), "commit", "-qm", "ignore")
	dirtest.Write(t, filepath.Join(repo, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n")
	dirtest.Write(t, filepath.Join(repo, ".gitignore"), "*.log\n")
	dirtest.Git(t, repo, "add", "sub", ".gitmodules", ".gitignore")
	dirtest.Git(t, repo, "commit", "-qm", "submodule", "sub", ".gitmodules", ".gitignore")
	dirtest.Git(t, repo, "submodule", "--quiet", "absorbgitdirs")
}

// The commits of a repository in the worktree are saved if the clone in the person's repository
// has them, whatever the worktree's own commits name.
func TestRepositoriesInside(t *testing.T) {
	for name, c := range map[string]struct {
		job   func(t *testing.T, top string)
		merge string // part of the error of a merge; empty: it passes
		left  []string
	}{
		"a commit of a submodule, committed": {func(t *testing.T, top string) {
			dirtest.Git(t, filepath.Join(top, "sub"), "commit", "-q", "--allow-empty", "-m", "work")
			dirtest.Git(t, top, "commit", "-qm", "bump", "sub")
		}, "is in the worktree only", []string{"sub"}},
		"a commit of a submodule, not committed": {func(t *testing.T, top string) {
			dirtest.Git(t, filepath.Join(top, "sub"), "commit", "-q", "--allow-empty", "-m", "work")
		}, "is in the worktree only", []string{"sub"}},
		"a branch of a submodule": {func(t *testing.T, top string) {
			dirtest.Git(t, filepath.Join(top, "sub"), "commit", "-q", "--allow-empty", "-m", "work")
			dirtest.Git(t, filepath.Join(top, "sub"), "branch", "mine")
			dirtest.Git(t, filepath.Join(top, "sub"), "reset", "-q", "--hard", "HEAD~1")
		}, "", []string{"sub"}},
		"a submodule added": {func(t *testing.T, top string) {
			commitIn(t, filepath.Join(top, "emb"))
		}, "without a clone", []string{"emb"}},
		"a repository without a commit": {func(t *testing.T, top string) {
			dirtest.Write(t, filepath.Join(top, "new/f"), "f\n")
			dirtest.Git(t, filepath.Join(top, "new"), "init", "-q")
		}, "without a commit", []string{"new/"}},
		"a submodule moved": {func(t *testing.T, top string) {
			dirtest.Git(t, top, "mv", "sub", "moved")
			dirtest.Git(t, top, "commit", "-qm", "move")
		}, "without a clone", []string{"moved"}},
		"a repository deep in what is ignored": {func(t *testing.T, top string) {
			commitIn(t, filepath.Join(top, "x.log/w/r"))
		}, "", []string{"x.log/w/r"}},
		"a repository around tracked files": {func(t *testing.T, top string) {
			commitIn(t, filepath.Join(top, "d1"))
			dirtest.Git(t, filepath.Join(top, "d1"), "add", "-A")
			dirtest.Git(t, filepath.Join(top, "d1"), "commit", "-qm", "all")
		}, "", []string{"d1"}},
		"what a submodule ignores": {func(t *testing.T, top string) {
			dirtest.Write(t, filepath.Join(top, "sub/out.log"), "important\n")
		}, "", []string{"sub/out.log"}},
	} {
		if !testenv.Chosen(t, 2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, repo := gitRepo(t)
			withSubmodule(t, repo)
			w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "wt"), "adroit/J1/work", nil)
			dirtest.Must(t, err)
			if left, err := w.unmergedPaths(t.Context(), nil); err != nil || len(left) > 0 {
				t.Errorf("at the beginning %q are left, %v", left, err)
			}
			c.job(t, w.Top)
			head := dirtest.Git(t, repo, "rev-parse", "HEAD")
			var we *Error
			m, err := w.Merge(t.Context(), "Work", "", []string{"sub/out.log"}, nil)
			switch {
			case c.merge == "" && err != nil:
				t.Errorf("the merge: %v", err)
			case c.merge == "" && !slices.Equal(m.Left, c.left):
				t.Errorf("the merge leaves %q, want %q", m.Left, c.left)
			case c.merge != "" && (!errors.As(err, &we) || !strings.Contains(we.Reason, c.merge) || we.Hint() == "" || dirtest.Git(t, repo, "rev-parse", "HEAD") != head):
				t.Errorf("the merge: %+v, %v", m, err)
			}
			if _, err := w.Removable(t.Context(), []string{"sub/out.log"}); !errors.As(err, &we) || !slices.Equal(we.Paths, c.left) {
				t.Errorf("removable: %v, want %q", err, c.left)
			}
			if strings.HasPrefix(name, "a commit") {
				dirtest.Git(t, filepath.Join(repo, "sub"), "fetch", "-q", filepath.Join(w.Top, "sub"), "HEAD")
				if _, err := w.Merge(t.Context(), "Work", "", nil, nil); err != nil {
					t.Errorf("with the commit in the clone: %v", err)
				}
				dirtest.Must(t, w.Remove(t.Context(), false))
			}
		})
	}
}

// Repositories inside are directories of the copy of a sub-agent like any other.
func TestCopyOfRepositoriesInside(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dirtest.Write(t, filepath.Join(os.Getenv("HOME"), ".gitconfig"), "[user]\n\tname = A\n\temail = a@example.org\n")
	f, led, dir := workspacetest.Repository(t)
	dirtest.Git(t, dir, "commit", "-qm", "staged")
	withSubmodule(t, dir)
	dirtest.Write(t, filepath.Join(dir, "sub/precious"), "not committed\n")
	commitIn(t, filepath.Join(dir, "clone"))
	commitIn(t, filepath.Join(dir, "sub/inner"))
	commitIn(t, filepath.Join(dir, "emb"))
	dirtest.Git(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "emb") // a submodule that .gitmodules does not have
	dirtest.Must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	before := dirtest.WorkTree(t, dir)
	c := twinned(t, dir, "adroit/J1/w1")
	if s := dirtest.Git(t, c.Dir(), "status", "--porcelain"); s != "" || len(c.NotCopied) > 0 {
		t.Errorf("what was copied is not what the branch begins with: %s; %q", s, c.NotCopied)
	}
	for name, text := range map[string]string{"sub/precious": "there\n", "sub/new": "new\n", "sub/x.log": "ignored\n", "sub/inner/precious": "there\n", "clone/new": "new\n", "emb/precious": "there\n"} {
		dirtest.Write(t, filepath.Join(c.Dir(), name), text)
	}
	dirtest.Must(t, os.Remove(filepath.Join(c.Dir(), "clone/precious")))
	if s := dirtest.Git(t, c.Dir(), "status", "--porcelain"); strings.Count(s, "\n") != 6 {
		t.Errorf("git sees in the copy:\n%s", s)
	}
	r, err := c.Merge(t.Context(), f.At("7"))
	dirtest.Must(t, err)
	if want := []string{"clone/new", "clone/precious", "emb/precious", "sub/inner/precious", "sub/new", "sub/precious"}; !slices.Equal(r.Paths, want) || len(r.Conflicts) > 0 {
		t.Errorf("brought %q, in conflict %+v", r.Paths, r.Conflicts)
	}
	if got := dirtest.Content(t, filepath.Join(dir, "sub/inner/precious")); got != "there\n" {
		t.Errorf("the inner file is %q", got)
	}
	if u, err := led.Undo(t.Context(), dir); err != nil || len(u.Skipped) > 0 {
		t.Errorf("undo: %+v, %v", u, err)
	}
	if after := dirtest.WorkTree(t, dir); !slices.Equal(after, before) {
		t.Errorf("undo did not bring everything back:\n%s", dirtest.Diff(before, after))
	}
}
