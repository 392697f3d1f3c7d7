package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/work/process"
)

// Copies of one repository that are made and removed at once, by this process
// and by others, on a machine that is busy with them: none fails, and nothing
// is left behind. ADROIT_COPIES sets how many.
func TestManyCopiesAtOnce(t *testing.T) {
	many := 48
	if s := os.Getenv("ADROIT_COPIES"); s != "" {
		n, err := strconv.Atoi(s)
		dirtest.Must(t, err)
		many = n
	}
	dir, base := odd(t), t.TempDir()
	var wg sync.WaitGroup
	each := func(i int, f func(dir string) error) {
		wg.Go(func() {
			if err := f(filepath.Join(base, strconv.Itoa(i))); err != nil {
				t.Errorf("copy %d: %v", i, err)
			}
		})
	}
	for i := range many {
		e := killJob{Dir: dir, Branch: fmt.Sprintf("adroit/J1/w%d", i)}
		each(i, func(at string) error {
			e.Top, e.Home = filepath.Join(at, "wt"), filepath.Join(at, "home")
			if i%4 == 0 { // by a process of its own
				e.run(t, 0)
				return nil
			}
			_, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: e.Top, Branch: e.Branch, Home: e.Home})
			return err
		})
	}
	wg.Wait()
	for i := range many {
		each(i, func(at string) error {
			c, err := OpenCopy(filepath.Join(at, "home"))
			if err != nil || c == nil {
				return fmt.Errorf("there is no copy: %w", err)
			}
			return c.Remove(t.Context())
		})
	}
	wg.Wait()
	if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*"); out != "" {
		t.Errorf("branches are left: %s", out)
	}
	if list := dirtest.Git(t, dir, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		t.Errorf("worktrees are left: %s", list)
	}
}

// A removal that was cut short after the repository had forgotten the worktree
// removes the branch at the second try.
func TestRemoveAfterHalfARemoval(t *testing.T) {
	dir, base := odd(t), t.TempDir()
	c, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: filepath.Join(base, "wt"), Branch: "adroit/J1/w1", Home: filepath.Join(base, "home")})
	dirtest.Must(t, err)
	dirtest.Must(t, os.RemoveAll(c.Tree.Admin))
	dirtest.Must(t, c.Remove(t.Context()))
	if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*"); out != "" {
		t.Errorf("the branch is left: %s", out)
	}
}

// Whoever switched the branch of a copy has the commits on that branch: a
// removal in two tries keeps it.
func TestRemoveKeepsAStrayedBranch(t *testing.T) {
	dir, base := odd(t), t.TempDir()
	c, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: filepath.Join(base, "wt"), Branch: "adroit/J1/w1", Home: filepath.Join(base, "home")})
	dirtest.Must(t, err)
	dirtest.Git(t, c.Tree.Top, "checkout", "--quiet", "-b", "other")
	c.testPoint = func(point string) {
		if point == "discarded" {
			panic(errCut)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_ = c.Remove(t.Context())
	}()
	dirtest.Must(t, os.RemoveAll(c.Tree.Admin))
	c, err = OpenCopy(filepath.Join(base, "home"))
	dirtest.Must(t, err)
	dirtest.Must(t, c.Remove(t.Context()))
	if out := dirtest.Git(t, dir, "branch", "--list", "adroit/*"); !strings.Contains(out, "adroit/J1/w1") {
		t.Errorf("the branch is gone: %q", dirtest.Git(t, dir, "branch", "--list"))
	}
}

// A branch that a job made a name of another one goes, and the other stays.
func TestRemoveFollowsNoBranch(t *testing.T) {
	dir, base := odd(t), t.TempDir()
	c, err := AddCopy(t.Context(), CopyOptions{Dir: dir, Top: filepath.Join(base, "wt"), Branch: "adroit/J1/w1", Home: filepath.Join(base, "home")})
	dirtest.Must(t, err)
	dirtest.Git(t, dir, "branch", "kept")
	dirtest.Git(t, dir, "symbolic-ref", "refs/heads/adroit/J1/w1", "refs/heads/kept")
	dirtest.Must(t, c.Remove(t.Context()))
	if out := dirtest.Git(t, dir, "for-each-ref", "--format=%(refname)", "refs/heads/kept", "refs/heads/adroit"); out != "refs/heads/kept\n" {
		t.Errorf("there are the branches %q", out)
	}
}

// Of such a copy, changes that were not all brought back are committed on its own branch.
func TestMergeFollowsNoBranch(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	f, _, dir := workspacetest.Repository(t)
	c := twinned(t, dir, "adroit/J1/w1")
	before := dirtest.Git(t, dir, "rev-parse", "main")
	dirtest.Git(t, dir, "symbolic-ref", "refs/heads/adroit/J1/w1", "refs/heads/main")
	dirtest.Write(t, filepath.Join(c.Dir(), "d0/f0.txt"), "there\n")
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "here\n")
	r, err := c.Merge(t.Context(), f.At("1"))
	if err != nil || len(r.Conflicts) == 0 || r.Branch != "adroit/J1/w1" {
		t.Fatalf("%+v, %v", r, err)
	}
	if after := dirtest.Git(t, dir, "rev-parse", "main"); after != before {
		t.Errorf("main is at %s and was at %s", after, before)
	}
	if got := dirtest.Git(t, dir, "show", "adroit/J1/w1:d0/f0.txt"); got != "there\n" {
		t.Errorf("the branch has %q", got)
	}
}

var errCut = errors.New("cut short")

// Waiting for the lock ends with the context and with the holder.
func TestRepoLock(t *testing.T) {
	dir := t.TempDir()
	_, unlock, err := lockDir(t.Context(), dir)
	dirtest.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := lockDir(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder: %v", err)
	}
	unlock()
	_, again, err := lockDir(t.Context(), dir)
	dirtest.Must(t, err)
	again()
	link := filepath.Join(t.TempDir(), "link")
	dirtest.Must(t, os.Symlink(dir, link))
	if _, _, err := lockDir(t.Context(), link); err == nil {
		t.Error("a link was followed")
	}
}

// A git whose child keeps the output open has succeeded all the same.
func TestOutputHeldOpen(t *testing.T) {
	h := &git.Host{Dir: t.TempDir(), Wait: 100 * time.Millisecond}
	o, err := h.Run(t.Context(), process.Cmd{Args: []string{"sh", "-c", "echo done; sleep 5 &"}, Timeout: time.Minute})
	if err != nil || o.Code != 0 || o.Text != "done\n" {
		t.Errorf("%+v, %v", o, err)
	}
}
