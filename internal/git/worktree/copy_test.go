package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
)

// twinned makes a copy of a work tree that has everything that is odd in it.
func twinned(t *testing.T, dir, branch string) *Copy {
	t.Helper()
	base := t.TempDir()
	c, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: filepath.Join(base, "wt"), Branch: branch, Home: filepath.Join(base, "home")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func odd(t *testing.T) (dir string) {
	t.Helper()
	_, dir = gitRepo(t)
	dirtest.Write(t, filepath.Join(dir, "crlf.txt"), "one\r\ntwo\r\n")
	dirtest.Write(t, filepath.Join(dir, ".gitattributes"), "*.txt text=auto eol=lf\n")
	dirtest.Write(t, filepath.Join(dir, "cert.pem"), "tracked, so it is in the history anyway\n")
	dirtest.Write(t, filepath.Join(dir, "forced.log"), "tracked although ignored\n")
	dirtest.Git(t, dir, "add", "-f", "forced.log", ".")
	dirtest.Git(t, dir, "commit", "-qm", "odd")
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "not committed\n")
	dirtest.Write(t, filepath.Join(dir, "d1/f1.txt"), "staged\n")
	dirtest.Git(t, dir, "add", "d1/f1.txt")
	dirtest.Write(t, filepath.Join(dir, "d1/f1.txt"), "staged, then changed\n")
	dirtest.Must(t, os.Remove(filepath.Join(dir, "d2/f2.txt")))
	dirtest.Write(t, filepath.Join(dir, "new/deep/x y.txt"), "untracked\n")
	dirtest.Must(t, os.Chmod(filepath.Join(dir, "new/deep/x y.txt"), 0o640))
	dirtest.Must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "out")))
	dirtest.Must(t, os.Remove(filepath.Join(dir, "d3/f3.txt")))
	dirtest.Must(t, os.Symlink("f7.txt", filepath.Join(dir, "d3/f3.txt")))
	return dir
}

func TestCopy(t *testing.T) {
	dir := odd(t)
	mark := hooks(t, dir)
	before, want := ours(t, dir), dirtest.WorkTree(t, dir)
	dirtest.Write(t, filepath.Join(dir, "x.log"), "ignored\n")
	dirtest.Write(t, filepath.Join(dir, ".env"), "TOKEN=secret\n")
	c := twinned(t, dir, "adroit/J1/w1")
	if got := dirtest.WorkTree(t, c.Tree.Top); !slices.Equal(got, want) {
		t.Errorf("the copy is not the same:\n%s", dirtest.Diff(want, got))
	}
	dirtest.Must(t, os.Remove(filepath.Join(dir, "x.log")))
	dirtest.Must(t, os.Remove(filepath.Join(dir, ".env")))
	if after := ours(t, dir); !slices.Equal(before, after) {
		t.Errorf("the repository changed:\n%s", dirtest.Diff(before, after))
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("a hook ran: %s", b)
	}
	files := slices.DeleteFunc(slices.Clone(want), func(l string) bool { return strings.Contains(l, " drwx") })
	if !slices.Equal(c.NotCopied, []string{".env", "x.log"}) || c.Plain || c.Files != len(files) {
		t.Errorf("%d of %d files: %+v", c.Files, len(files), c)
	}
	if s := dirtest.Git(t, c.Dir(), "status", "--porcelain"); s != "" {
		t.Errorf("what was copied is not what the branch begins with:\n%s", s)
	}
	_ = os.Remove(mark) // by our git status
	if b := strings.TrimSpace(dirtest.Git(t, c.Dir(), "rev-parse", "--abbrev-ref", "HEAD")); b != "adroit/J1/w1" || strings.TrimSpace(dirtest.Git(t, c.Dir(), "rev-parse", "HEAD")) != c.Tree.Base {
		t.Errorf("on branch %s, which does not begin at %s", b, c.Tree.Base)
	}
	if again, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: c.Tree.Top, Branch: "adroit/J1/w1", Home: c.home}); err != nil || again.Tree != c.Tree || !again.Made.Equal(c.Made) {
		t.Errorf("making it again: %+v, %v", again, err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Errorf("removing twice: %v", err)
	}
	if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*") + dirtest.Git(t, dir, "worktree", "list", "--porcelain"); strings.Contains(out, "w1") || strings.Count(out, "worktree ") != 1 {
		t.Errorf("left over: %s", out)
	}
	if after := ours(t, dir); !slices.Equal(before, after) {
		t.Errorf("the repository changed:\n%s", dirtest.Diff(before, after))
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("a hook ran: %s", b)
	}
}

// A copy of a copy has the content of the latter; a copy of a directory of a repository has
// everything around it.
func TestCopyOfACopy(t *testing.T) {
	dir := odd(t)
	first := twinned(t, filepath.Join(dir, "d1"), "adroit/J1/w1")
	if first.Tree.Sub != "d1" || first.Dir() != filepath.Join(first.Tree.Top, "d1") {
		t.Errorf("%+v", first)
	}
	dirtest.Write(t, filepath.Join(first.Dir(), "f1.txt"), "of the first\n")
	// Whoever works there claims that it is somewhere else.
	dirtest.Must(t, os.Remove(filepath.Join(first.Tree.Top, ".git")))
	dirtest.Git(t, first.Tree.Top, "init", "-q")
	base := t.TempDir()
	second, err := AddCopy(t.Context(), CopyOptions{Dir: first.Dir(), From: &first.Tree, Top: filepath.Join(base, "wt"), Branch: "adroit/J1/w2", Home: filepath.Join(base, "home")})
	if err != nil {
		t.Fatal(err)
	}
	if got := dirtest.Content(t, filepath.Join(second.Dir(), "f1.txt")); got != "of the first\n" || second.Tree.Repo != dir || second.Tree.Sub != "d1" {
		t.Errorf("%q in %+v", got, second)
	}
	if want, got := dirtest.WorkTree(t, first.Tree.Top), dirtest.WorkTree(t, second.Tree.Top); !slices.Equal(got, want) {
		t.Errorf("the copy is not the same:\n%s", dirtest.Diff(want, got))
	}
}

func TestCopyWithoutRepository(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"none":      func(string) {},
		"no commit": func(dir string) { dirtest.Git(t, dir, "init", "-q") },
	} {
		t.Run(name, func(t *testing.T) {
			_, _, dir := workspacetest.Open(t)
			dirtest.Write(t, filepath.Join(dir, "a/b.txt"), "b\n")
			dirtest.Must(t, os.Symlink("a/b.txt", filepath.Join(dir, "ln")))
			prepare(dir)
			want := dirtest.WorkTree(t, dir)
			dirtest.Write(t, filepath.Join(dir, "node_modules/x/y.js"), "y\n")
			c := twinned(t, dir, "adroit/J1/w1")
			if got := dirtest.WorkTree(t, c.Dir()); !slices.Equal(got, want) || !c.Plain {
				t.Errorf("the copy is not the same:\n%s", dirtest.Diff(want, got))
			}
			if _, err := os.Lstat(filepath.Join(c.Dir(), ".git")); err == nil {
				t.Error("it has a repository")
			}
		})
	}
	_, _, dir := workspacetest.Open(t)
	for i := range maxPlain + 1 {
		if i%1000 == 0 {
			dirtest.Must(t, os.Mkdir(filepath.Join(dir, "d"+string(rune('a'+i/1000))), 0o755))
		}
		f, err := os.Create(filepath.Join(dir, "d"+string(rune('a'+i/1000)), "f"+string(rune('a'+i%1000/40))+string(rune('0'+i%40))))
		dirtest.Must(t, err)
		f.Close()
	}
	base := t.TempDir()
	_, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: filepath.Join(base, "wt"), Home: filepath.Join(base, "home")})
	var we *Error
	if !errors.As(err, &we) || !strings.Contains(we.Error(), "too large to be copied: 20001 files") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(base); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
}

// The directory that keeps jobs may lie in the repository; it is not copied.
func TestCopyLeavesOut(t *testing.T) {
	_, dir := gitRepo(t)
	dirtest.Write(t, filepath.Join(dir, "data/jobs/J1/ledger/journal"), "{}\n")
	dirtest.Write(t, filepath.Join(dir, "database/x"), "x\n")
	home := filepath.Join(dir, "data/jobs/J1/trees/w1")
	c, err := AddCopy(t.Context(), CopyOptions{Dir: filepath.Join(dir, "d1"), Top: filepath.Join(dir, "data/worktrees/J1-w1"), Branch: "adroit/J1/w1", Home: home, Except: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(c.Tree.Top, "data")); err == nil || dirtest.Content(t, filepath.Join(c.Tree.Top, "database/x")) != "x\n" {
		t.Errorf("the jobs are in the copy: %v", err)
	}
	second, err := AddCopy(t.Context(), CopyOptions{Dir: c.Dir(), From: &c.Tree, Top: filepath.Join(dir, "data/worktrees/J1-w2"), Branch: "adroit/J1/w2", Home: home + "2", Except: filepath.Join(dir, "data")})
	if err != nil || second.Files != c.Files {
		t.Errorf("a copy of a copy that lies there: %+v, %v", second, err)
	}
}
