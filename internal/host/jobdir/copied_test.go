package jobdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// The worktrees of sub-agents in a copied data directory belong to the copy. Removing them there
// leaves the original's alone, also in the repository; a moved one goes on.
func TestCopiedTrees(t *testing.T) {
	const id, name = "J00000000000X", "w1"
	base := t.TempDir()
	repo, data := filepath.Join(base, "repo"), filepath.Join(base, "data")
	dirtest.Must(t, os.MkdirAll(repo, 0o755))
	dirtest.Git(t, repo, "init", "-q", "-b", "main")
	dirtest.Write(t, filepath.Join(repo, "a.txt"), "a\n")
	dirtest.Git(t, repo, "add", ".")
	dirtest.Git(t, repo, "commit", "-qm", "start")
	top := filepath.Join(jobdir.WorktreeDir(data, id+"-"+name))
	made, err := worktree.AddCopy(t.Context(), worktree.CopyOptions{Dir: repo, Top: top, Branch: "adroit/" + id + "-" + name + "/work", Home: filepath.Join(data, "jobs", id, "trees", name)})
	dirtest.Must(t, err)
	dirtest.Write(t, filepath.Join(top, "a.txt"), "changed\n")
	dirtest.Write(t, filepath.Join(data, "adroit.db"), "")
	refs, files := dirtest.Git(t, repo, "for-each-ref")+dirtest.Git(t, repo, "worktree", "list"), dirtest.Content(t, filepath.Join(top, "a.txt"))

	look := filepath.Join(base, "look")
	dirtest.Must(t, exec.Command("cp", "-a", data, look).Run())
	list := []*jobs.Job{{ID: id}}
	if errs := jobdir.Disconnected(look, list); len(errs) != 1 {
		t.Errorf("of the copy: %v", errs)
	}
	c, err := jobdir.FindTree(look, id, name)
	if err != nil || c == nil || c.Tree.Top != filepath.Join(look, "worktrees", id+"-"+name) || c.Check() == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	dirtest.Must(t, jobdir.RemoveTrees(t.Context(), look, id))
	if _, err := os.Lstat(c.Tree.Top); err == nil {
		t.Error("the copy was not removed")
	}
	if got := dirtest.Git(t, repo, "for-each-ref") + dirtest.Git(t, repo, "worktree", "list"); got != refs || dirtest.Content(t, filepath.Join(top, "a.txt")) != files {
		t.Errorf("the original was changed: %s", got)
	}
	if errs := jobdir.Disconnected(data, list); len(errs) != 0 || made.Check() != nil {
		t.Errorf("of the original: %v", errs)
	}

	moved := filepath.Join(base, "moved")
	dirtest.Must(t, os.Rename(data, moved))
	if errs := jobdir.Disconnected(moved, list); len(errs) != 0 {
		t.Errorf("moved: %v", errs)
	}
	dirtest.Must(t, jobdir.RemoveTrees(t.Context(), moved, id))
	if got := dirtest.Git(t, repo, "branch", "--list", "adroit/*"); got != "" {
		t.Errorf("left: %s", got)
	}
}

func TestWorktreePath(t *testing.T) {
	base := t.TempDir()
	data, link := filepath.Join(base, "data"), filepath.Join(base, "link")
	dirtest.Must(t, os.Mkdir(data, 0o700))
	dirtest.Must(t, os.Symlink(data, link))
	for path, want := range map[string]string{
		"/old/worktrees/J1":        data + "/worktrees/J1",
		"/old/worktrees/J1/sub":    data + "/worktrees/J1/sub",
		"/old/worktrees/J1-w1/sub": data + "/worktrees/J1-w1/sub",
		data + "/worktrees/J1/sub": data + "/worktrees/J1/sub",
		link + "/worktrees/J1/sub": link + "/worktrees/J1/sub",
		"/old/worktrees/J12":       "/old/worktrees/J12",
		"/old/worktrees/J2/sub":    "/old/worktrees/J2/sub",
		"/home/me/project":         "/home/me/project",
		"":                         "",
	} {
		if got := rootfs.WorktreePath(data, "J1", path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
