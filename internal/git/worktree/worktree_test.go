package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/work/process"
)

func gitRepo(t *testing.T) (*git.Repo, string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	dirtest.Write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = A\n\temail = a@example.org\n")
	_, led, dir := workspacetest.Repository(t)
	r := process.New(dir, "", led)
	t.Cleanup(func() { r.Close() })
	return git.New(r), dir
}

// worktree makes a worktree of a new repository for a job that works in its directory sub.
func worktree(t *testing.T, sub string) (w *Worktree, repo string) {
	t.Helper()
	_, repo = gitRepo(t)
	w, err := Add(t.Context(), filepath.Join(repo, sub), filepath.Join(t.TempDir(), "wt", "J1"), "adroit/J1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return w, repo
}

// ours lists the parts of a tree that concern somebody's work, without git's own records of the
// worktree, its branch and new objects.
func ours(t *testing.T, repo string) []string {
	t.Helper()
	return slices.DeleteFunc(dirtest.Tree(t, repo), func(line string) bool {
		for _, s := range []string{".git/worktrees", ".git/objects", "adroit", ".git/ORIG_HEAD", " .git ", " . ", ".git/refs/heads ", ".git/logs/refs/heads "} {
			if strings.Contains(line+" ", s) {
				return true
			}
		}
		return false
	})
}

func TestWorktreeLeavesTheRepositoryAlone(t *testing.T) {
	_, repo := gitRepo(t)
	mark := hooks(t, repo)
	dirtest.Write(t, filepath.Join(repo, "d0/f0.txt"), "not committed\n")
	before := ours(t, repo)
	w, err := Add(t.Context(), filepath.Join(repo, "d1"), filepath.Join(t.TempDir(), "wt"), "adroit/J1", nil)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case w.Dir() != filepath.Join(w.Top, "d1"):
		t.Errorf(`w.Dir() is not filepath.Join(w.Top, "d1"): %+v`, w)
	case w.Repo != repo:
		t.Errorf("w.Repo is %v, want %v: %+v", w.Repo, repo, w)
	case w.Left != 2:
		t.Errorf("w.Left is %v, want 2: %+v", w.Left, w)
	case len(w.Base) != 40:
		t.Errorf("len(w.Base) is %v, want 40: %+v", len(w.Base), w)
	case w.Check() != nil:
		t.Errorf("w.Check() is not nil: %+v", w)
	}
	if got := dirtest.Content(t, filepath.Join(w.Top, "d0/f0.txt")); got != "file 0\nline\n" {
		t.Errorf("the worktree does not begin at HEAD: %q", got)
	}
	dirtest.Write(t, filepath.Join(w.Top, "d1/f1.txt"), "job\n")
	if did, err := w.Commit(t.Context(), "Work", nil); err != nil || !did {
		t.Errorf("%v, %v", did, err)
	}
	if after := ours(t, repo); !slices.Equal(before, after) {
		t.Errorf("the repository changed:\n%s", dirtest.Diff(before, after))
	}
	if err := w.Remove(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if out := dirtest.Git(t, repo, "branch", "--list", "adroit/*") + dirtest.Git(t, repo, "worktree", "list", "--porcelain"); strings.Contains(out, "adroit/J1") || strings.Count(out, "worktree ") != 1 {
		t.Errorf("left over: %s", out)
	}
	if err := w.Remove(t.Context(), true); err != nil {
		t.Errorf("removing twice: %v", err)
	}
	if after := ours(t, repo); !slices.Equal(before, after) {
		t.Errorf("the repository changed:\n%s", dirtest.Diff(before, after))
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("a hook ran: %s", b)
	}
}

func TestWorktreeMerge(t *testing.T) {
	for name, c := range map[string]struct {
		user, job map[string]string // committed on main; written in the worktree
		dirty     map[string]string // in the first work tree
		conflict  []string
	}{
		"fast forward":    {job: map[string]string{"d0/f0.txt": "job\n", "new": "job\n"}},
		"both":            {user: map[string]string{"d1/f1.txt": "user\n"}, job: map[string]string{"d0/f0.txt": "job\n"}},
		"same file":       {user: map[string]string{"long": "1\nb\nc\nd\ne\nf\n"}, job: map[string]string{"long": "a\nb\nc\nd\ne\n6\n"}},
		"dirty elsewhere": {job: map[string]string{"d0/f0.txt": "job\n"}, dirty: map[string]string{"d3/f3.txt": "x\n", "untracked": "x\n"}},
		"conflict":        {user: map[string]string{"d0/f0.txt": "user\n"}, job: map[string]string{"d0/f0.txt": "job\n"}, conflict: []string{"d0/f0.txt"}},
		"in the way":      {job: map[string]string{"d0/f0.txt": "job\n"}, dirty: map[string]string{"d0/f0.txt": "x\n"}, conflict: []string{"d0/f0.txt"}},
		"untracked":       {job: map[string]string{"new/x": "job\n"}, dirty: map[string]string{"new/x": "mine\n"}, conflict: []string{"new/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, repo := gitRepo(t)
			dirtest.Write(t, filepath.Join(repo, "long"), "a\nb\nc\nd\ne\nf\n")
			dirtest.Git(t, repo, "add", "long")
			dirtest.Git(t, repo, "commit", "-qm", "long", "long")
			mark := hooks(t, repo)
			w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "J1"), "adroit/J1", nil)
			if err != nil {
				t.Fatal(err)
			}
			for f, text := range c.user {
				dirtest.Write(t, filepath.Join(repo, f), text)
				dirtest.Git(t, repo, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "user", f)
			}
			for f, text := range c.job {
				dirtest.Write(t, filepath.Join(w.Top, f), text)
			}
			for f, text := range c.dirty {
				dirtest.Write(t, filepath.Join(repo, f), text)
			}
			before, head := ours(t, repo), dirtest.Git(t, repo, "rev-parse", "HEAD")
			m, err := w.Merge(t.Context(), "Do the job", "", nil, nil)
			if c.conflict != nil {
				var we *Error
				if !errors.As(err, &we) || !slices.Equal(we.Paths, c.conflict) || we.Hint() == "" {
					t.Errorf("%+v, %v", m, err)
				}
				if after := ours(t, repo); !slices.Equal(before, after) {
					t.Errorf("the repository changed:\n%s", dirtest.Diff(before, after))
				}
				return
			}
			if err != nil || m.Into != "main" || len(m.Paths) != len(c.job) {
				t.Fatalf("%+v, %v", m, err)
			}
			for f, text := range c.dirty {
				if got := dirtest.Content(t, filepath.Join(repo, f)); got != text {
					t.Errorf("%s has %q", f, got)
				}
			}
			if name == "same file" {
				c.job["long"] = "1\nb\nc\nd\ne\n6\n"
			}
			for f, text := range c.job {
				if got := dirtest.Content(t, filepath.Join(repo, f)); got != text {
					t.Errorf("%s has %q", f, got)
				}
			}
			if got := dirtest.Git(t, repo, "rev-parse", "HEAD"); got == head || strings.TrimSpace(got) != m.Commit {
				t.Errorf("HEAD is %s", got)
			}
			if out := dirtest.Git(t, repo, "diff", "--cached", "--name-only"); strings.TrimSpace(out) != "staged.txt" {
				t.Errorf("the index is different: %s", out)
			}
			if again, err := w.Merge(t.Context(), "Again", "", nil, nil); err != nil || again.Commit != "" {
				t.Errorf("merging twice: %+v, %v", again, err)
			}
			if err := w.Remove(t.Context(), false); err != nil {
				t.Error(err)
			}
			if out := dirtest.Git(t, repo, "branch", "--list", "adroit/*"); out != "" {
				t.Errorf("a merged branch stays: %s", out)
			}
			if b, err := os.ReadFile(mark); err == nil {
				t.Errorf("a hook ran: %s", b)
			}
		})
	}
}

// What git ignores in the first work tree is somebody's, too: a merge does not take its place.
func TestMergeOverIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		mine []string          // files of the first work tree, ignored
		job  map[string]string // written in the worktree; "-": removed
		way  []string
	}{
		"a file over a file":              {[]string{"x.log"}, map[string]string{".gitignore": "", "x.log": "job\n"}, []string{"x.log"}},
		"a file over a directory":         {[]string{"data/deep/m.log", "data/n.log"}, map[string]string{"data": "job\n"}, []string{"data/deep/m.log", "data/n.log"}},
		"a file over a tracked directory": {[]string{"d1/m.log"}, map[string]string{"d1": "job\n"}, []string{"d1/m.log"}},
		"a directory over a file":         {[]string{"x.log"}, map[string]string{".gitignore": "", "x.log/a/b": "job\n"}, []string{"x.log"}},
		"a repository":                    {[]string{"data/.git/HEAD"}, map[string]string{"data": "job\n"}, []string{"data"}},
		"beside it":                       {[]string{"data/n.log"}, map[string]string{"data/new": "job\n", "d2": "job\n", "d0/f0.txt": "-", "D0": "job\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, repo := gitRepo(t)
			dirtest.Write(t, filepath.Join(repo, ".gitignore"), "*.log\ndata/\n")
			dirtest.Git(t, repo, "add", ".gitignore")
			dirtest.Git(t, repo, "commit", "-qm", "ignore", ".gitignore")
			w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "J1"), "adroit/J1", nil)
			dirtest.Must(t, err)
			for f, text := range c.job {
				dirtest.Must(t, os.RemoveAll(filepath.Join(w.Top, f)))
				if text != "-" {
					dirtest.Write(t, filepath.Join(w.Top, f), text)
					dirtest.Git(t, w.Top, "add", "-f", f)
				}
			}
			for _, f := range c.mine {
				dirtest.Write(t, filepath.Join(repo, f), "mine\n")
			}
			before, record := ours(t, repo), filepath.Join(t.TempDir(), "merging.json")
			_, err = w.Merge(t.Context(), "Work", record, nil, nil)
			if c.way == nil {
				dirtest.Must(t, err)
			} else {
				var we *Error
				if !errors.As(err, &we) || we.Hint() == "" || len(we.Paths) != len(c.way) || !strings.HasPrefix(strings.Join(we.Paths, " "), strings.Join(c.way, " ")) {
					t.Errorf("%v, want %q in the way", err, c.way)
				}
				if after := ours(t, repo); !slices.Equal(before, after) {
					t.Errorf("the repository changed:\n%s", dirtest.Diff(before, after))
				}
				if CutShort(record) {
					t.Error("it is recorded as begun")
				}
			}
			for _, f := range c.mine {
				if dirtest.Content(t, filepath.Join(repo, f)) != "mine\n" {
					t.Errorf("%s is not as it was", f)
				}
			}
		})
	}
}

// What a branch has of names that no job may write is not merged, also if the files were
// never in the worktree.
func TestMergeOfGuardedNames(t *testing.T) {
	w, repo := worktree(t, "")
	dirtest.Write(t, filepath.Join(repo, ".vscode/tasks.json"), "{}\n")
	dirtest.Write(t, filepath.Join(repo, "old.pem"), "key\n")
	dirtest.Git(t, repo, "add", "-f", ".vscode", "old.pem")
	dirtest.Git(t, repo, "commit", "-qm", "settings", ".vscode", "old.pem")
	dirtest.Git(t, w.Top, "merge", "-q", "main")
	id := strings.TrimSpace(dirtest.Git(t, w.Top, "hash-object", "-w", "d0/f0.txt"))
	names := []string{".claude/settings.json", ".envrc", ".mcp.json", ".vscode/tasks.json"}
	for _, n := range names {
		dirtest.Git(t, w.Top, "update-index", "--add", "--cacheinfo", "100755,"+id+","+n)
	}
	dirtest.Git(t, w.Top, "commit", "-qm", "plumbing")
	for _, n := range names {
		dirtest.Git(t, w.Top, "update-index", "--skip-worktree", n)
	}
	dirtest.Must(t, os.Remove(filepath.Join(w.Top, ".vscode/tasks.json")))
	var we *Error
	if m, err := w.Merge(t.Context(), "Work", "", nil, nil); !errors.As(err, &we) || !slices.Equal(we.Paths, names) || we.Hint() == "" {
		t.Errorf("%+v, %v", m, err)
	}
	if dirtest.Content(t, filepath.Join(repo, ".vscode/tasks.json")) != "{}\n" {
		t.Error("it was merged")
	}
	dirtest.Git(t, w.Top, append([]string{"update-index", "--no-skip-worktree"}, names...)...)
	dirtest.Git(t, w.Top, "reset", "-q", "--hard", "main")
	dirtest.Git(t, w.Top, "rm", "-q", "old.pem")
	if m, err := w.Merge(t.Context(), "Work", "", nil, nil); err != nil || !slices.Equal(m.Paths, []string{"old.pem"}) {
		t.Errorf("a secret that is removed: %+v, %v", m, err)
	}
}

// A commit that no branch has goes with no removal that is not forced.
func TestRemoveDetached(t *testing.T) {
	w, repo := worktree(t, "")
	dirtest.Git(t, w.Top, "checkout", "-q", "--detach")
	if _, err := w.Removable(t.Context(), nil); err != nil {
		t.Errorf("at a commit of main: %v", err)
	}
	dirtest.Git(t, w.Top, "commit", "-q", "--allow-empty", "-m", "detached")
	at := strings.TrimSpace(dirtest.Git(t, w.Top, "rev-parse", "--short=10", "HEAD"))
	var we *Error
	if err := w.Remove(t.Context(), false); !errors.As(err, &we) || !strings.Contains(we.Hint(), "branch NAME "+at) {
		t.Errorf("%v", err)
	}
	if _, err := w.Merge(t.Context(), "Work", "", nil, nil); !errors.As(err, &we) || !strings.Contains(we.Hint(), "branch NAME "+at) {
		t.Errorf("%v", err)
	}
	dirtest.Git(t, repo, "branch", "keep", at)
	dirtest.Must(t, w.Remove(t.Context(), false))
	if got := strings.TrimSpace(dirtest.Git(t, repo, "rev-parse", "--short=10", "keep")); got != at {
		t.Errorf("keep is at %s", got)
	}
}

// Without the repository it is unknown what exists only in the work tree.
func TestRemoveWithoutRepository(t *testing.T) {
	w, repo := worktree(t, "")
	dirtest.Must(t, os.Rename(repo, repo+"2"))
	var we *Error
	if err := w.Remove(t.Context(), false); !errors.As(err, &we) || !strings.Contains(we.Hint(), w.Top) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(w.Top); err != nil {
		t.Error(err)
	}
	dirtest.Must(t, w.Remove(t.Context(), true))
	if _, err := w.Removable(t.Context(), nil); err != nil {
		t.Errorf("both are gone: %v", err)
	}
}

// Bits of the index hide no work from a merge or a removal.
func TestIndexBits(t *testing.T) {
	for _, bit := range []string{"assume-unchanged", "skip-worktree"} {
		w, _ := worktree(t, "")
		dirtest.Git(t, w.Top, "update-index", "--"+bit, "d0/f0.txt")
		if _, err := w.Removable(t.Context(), nil); err != nil {
			t.Errorf("%s, unchanged: %v", bit, err)
		}
		dirtest.Write(t, filepath.Join(w.Top, "d0/f0.txt"), "the work of a day\n")
		var we *Error
		if m, err := w.Merge(t.Context(), "Work", "", nil, nil); !errors.As(err, &we) || !slices.Equal(we.Paths, []string{"d0/f0.txt"}) {
			t.Errorf("%s: %+v, %v", bit, m, err)
		}
		if err := w.Remove(t.Context(), false); !errors.As(err, &we) || !slices.Equal(we.Paths, []string{"d0/f0.txt"}) {
			t.Errorf("%s: %v", bit, err)
		}
		dirtest.Git(t, w.Top, "update-index", "--no-"+bit, "d0/f0.txt")
		if m, err := w.Merge(t.Context(), "Work", "", nil, nil); err != nil || len(m.Paths) != 1 {
			t.Errorf("%s: %+v, %v", bit, m, err)
		}
	}
}

// sparse returns the worktree of a repository that has only d0 checked out, with changes inside
// and outside of that.
func sparse(t *testing.T) (w *Worktree, repo string) {
	_, repo = gitRepo(t)
	dirtest.Git(t, repo, "sparse-checkout", "set", "d0")
	w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "wt", "J1"), "adroit/J1", nil)
	dirtest.Must(t, err)
	for _, name := range []string{"d0/f0.txt", "d1/f1.txt", "d9/new", "top"} {
		dirtest.Write(t, filepath.Join(w.Top, name), "job\n")
	}
	return w, repo
}

// TestSparse: a merge brings the job's files outside of a sparse checkout too, and deletes no
// files that are not checked out.
func TestSparse(t *testing.T) {
	w, repo := sparse(t)
	before := dirtest.Git(t, repo, "ls-tree", "-r", "--name-only", "HEAD")
	m, err := w.Merge(t.Context(), "Work", "", nil, nil)
	if err != nil || !slices.Equal(m.Paths, []string{"d0/f0.txt", "d1/f1.txt", "d9/new", "top"}) {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, name := range m.Paths {
		_, err := os.Lstat(filepath.Join(repo, name))
		if hidden := slices.Contains(m.Hidden, name); hidden != os.IsNotExist(err) {
			t.Errorf("%s: hidden %v, %v", name, hidden, err)
		}
		if got := dirtest.Git(t, repo, "show", "HEAD:"+name); got != "job" && got != "job\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	after := strings.Fields(dirtest.Git(t, repo, "ls-tree", "-r", "--name-only", "HEAD"))
	if len(after) != len(strings.Fields(before))+2 {
		t.Errorf("before:\n%s\nafter: %q", before, after)
	}
	if out := dirtest.Git(t, repo, "status", "--porcelain"); strings.TrimSpace(out) != "A  staged.txt" {
		t.Error(out)
	}
	if err := w.Remove(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// TestLeftOut: files that git add silently leaves out are an error, with their names.
func TestLeftOut(t *testing.T) {
	w, repo := sparse(t)
	dirtest.Must(t, os.RemoveAll(filepath.Join(w.Top, "d9"))) // new: git itself names it
	real, err := exec.LookPath("git")
	dirtest.Must(t, err)
	bin := t.TempDir()
	script := "#!/bin/sh\nfor a do test \"$a\" != --sparse || exit 129; done\nexec '" + real + "' \"$@\"\n" // as before 2.34
	dirtest.Must(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
	head := dirtest.Git(t, repo, "rev-parse", "HEAD")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	var we *Error
	if m, err := w.Merge(t.Context(), "Work", "", nil, nil); !errors.As(err, &we) || !slices.Equal(we.Paths, []string{"d1/f1.txt"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if now := dirtest.Git(t, repo, "rev-parse", "HEAD"); now != head {
		t.Errorf("HEAD was %s, is %s", head, now)
	}
}

// TestStagedAndGone: a file that was staged and then deleted leaves nothing to commit.
func TestStagedAndGone(t *testing.T) {
	w, _ := worktree(t, "")
	dirtest.Write(t, filepath.Join(w.Top, "brief"), "x\n")
	dirtest.Git(t, w.Top, "add", "brief")
	dirtest.Must(t, os.Remove(filepath.Join(w.Top, "brief")))
	if m, err := w.Merge(t.Context(), "Work", "", nil, nil); err != nil || m.Commit != "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestWorktreeRefuses(t *testing.T) {
	w, repo := worktree(t, "")
	dirtest.Write(t, filepath.Join(w.Top, "new"), "job\n")
	var we *Error
	if err := w.Remove(t.Context(), false); !errors.As(err, &we) || !slices.Equal(we.Paths, []string{"new"}) {
		t.Errorf("removing what is not committed: %v", err)
	}
	if _, err := w.Commit(t.Context(), "Keep", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if out := dirtest.Git(t, repo, "show", "adroit/J1:new"); out != "job\n" {
		t.Errorf("the branch that was not merged has %q", out)
	}
	if _, err := Add(t.Context(), repo, w.Top, "adroit/J1", nil); err == nil {
		t.Error("a branch that exists was taken over")
	}
	for _, branch := range []string{"--orphan", "a b", ""} {
		if _, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "x"), branch, nil); err == nil {
			t.Errorf("branch %q", branch)
		}
	}
	dirtest.Git(t, repo, "branch", "taken")
	if err := w.checkDir("refs/heads/taken/J2"); !errors.As(err, &we) || !strings.Contains(we.Remedy, "branch -m taken NAME") {
		t.Errorf("below a branch of that name: %v", err)
	}
	empty := t.TempDir()
	if _, err := Add(t.Context(), empty, filepath.Join(t.TempDir(), "x"), "b", nil); !errors.As(err, &we) || !strings.Contains(we.Reason, "no git repository") {
		t.Errorf("outside a repository: %v", err)
	}
	dirtest.Git(t, empty, "init", "-q")
	if _, err := Add(t.Context(), empty, filepath.Join(t.TempDir(), "x"), "b", nil); !errors.As(err, &we) || !strings.Contains(we.Reason, "no commit") {
		t.Errorf("without a commit: %v", err)
	}
	if err := os.Mkdir(filepath.Join(repo, "fresh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), filepath.Join(repo, "fresh"), filepath.Join(t.TempDir(), "x"), "b", nil); !errors.As(err, &we) || !strings.Contains(we.Reason, "fresh") {
		t.Errorf("in a directory without commits: %v", err)
	}
	if out := dirtest.Git(t, repo, "branch", "--list", "b"); out != "" {
		t.Errorf("a worktree that was not made left its branch: %s", out)
	}
}

// The repository moves away, or the job points its worktree at another one.
func TestWorktreeOfAnotherRepository(t *testing.T) {
	w, repo := worktree(t, "")
	dirtest.Write(t, filepath.Join(w.Top, "new"), "job\n")
	other := filepath.Join(t.TempDir(), "other")
	dirtest.Git(t, t.TempDir(), "init", "-q", other)
	mark := hooks(t, other)
	dirtest.Write(t, filepath.Join(w.Top, ".git"), "gitdir: "+other+"/.git\n")
	if m, err := w.Merge(t.Context(), "Work", "", nil, nil); err != nil || !slices.Equal(m.Paths, []string{"new"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("a hook of another repository ran: %s", b)
	}
	if err := os.Rename(repo, repo+"-moved"); err != nil {
		t.Fatal(err)
	}
	var we *Error
	if err := w.Check(); !errors.As(err, &we) || !strings.Contains(we.Reason, repo) || we.Hint() == "" {
		t.Errorf("%v", err)
	}
	if _, err := w.Merge(t.Context(), "Work", "", nil, nil); !errors.As(err, &we) {
		t.Errorf("%v", err)
	}
	if err := w.Remove(t.Context(), true); err != nil { // without force the work is kept: nobody can tell whether it is elsewhere
		t.Error(err)
	}
}

// hooks plants every hook in a repository and returns the file that they would create.
func hooks(t *testing.T, repo string) (mark string) {
	t.Helper()
	mark = filepath.Join(t.TempDir(), "ran")
	for _, h := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-index-change", "reference-transaction",
		"pre-merge-commit", "post-merge", "post-rewrite", "pre-auto-gc", "push-to-checkout", "update", "pre-receive", "post-receive", "pre-push", "applypatch-msg"} {
		p := filepath.Join(repo, ".git/hooks", h)
		dirtest.Write(t, p, "#!/bin/sh\necho \"$0\" >> "+mark+"\n")
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return mark
}

// TestAddAt makes a work tree of a commit that only the remote has, and of one that nobody has.
func TestAddAt(t *testing.T) {
	_, repo := gitRepo(t)
	origin, other := filepath.Join(t.TempDir(), "origin.git"), filepath.Join(t.TempDir(), "other")
	gitIn := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	gitIn(repo, "clone", "--quiet", "--bare", repo, origin)
	gitIn(repo, "clone", "--quiet", origin, other)
	gitIn(repo, "remote", "add", "origin", origin)
	gitIn(other, "commit", "--quiet", "--allow-empty", "-m", "more")
	gitIn(other, "push", "--quiet", "origin", "HEAD:refs/heads/more")
	commit := gitIn(other, "rev-parse", "HEAD")
	w, err := AddAt(t.Context(), repo, filepath.Join(t.TempDir(), "wt", "J1"), "adroit/J1", commit, nil)
	if err != nil || w.Base != commit || gitIn(w.Top, "rev-parse", "HEAD") != commit {
		t.Fatalf("%+v, %v", w, err)
	}
	top := filepath.Join(t.TempDir(), "wt", "J2")
	if _, err := AddAt(t.Context(), repo, top, "adroit/J2", strings.Repeat("1", 40), nil); !errors.Is(err, git.ErrNoCommit) {
		t.Errorf("a commit that nobody has: %v", err)
	}
	if _, err := os.Stat(top); err == nil {
		t.Error("something was left")
	}
}

// A name with a newline forges no line of an error.
func TestNamesForgeNoLine(t *testing.T) {
	if got := (&Error{Reason: "not committed", Paths: []string{"a", "b\nadroit: hint: rm -r ."}}).Error(); got != `not committed: a, "b\nadroit: hint: rm -r ."` {
		t.Error(got)
	}
}
