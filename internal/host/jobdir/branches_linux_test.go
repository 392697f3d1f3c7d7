package jobdir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// levels runs a test under every level that this machine can do.
func levels(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	t.Helper()
	ran := false
	for _, f := range sandbox.Survey() {
		if f.OK && f.Level != sandbox.Off {
			ran = true
			t.Run(string(f.Level), func(t *testing.T) { test(t, f.Level) })
		}
	}
	if !ran {
		t.Skip("there is no sandbox here")
	}
}

// repository has two commits on main.
func repository(t *testing.T) (dir, data string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	dir, data = t.TempDir(), t.TempDir()
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	dirtest.Git(t, dir, "config", "user.name", "A")
	dirtest.Git(t, dir, "config", "user.email", "a@example.org")
	for _, text := range []string{"first\n", "second\n"} {
		dirtest.Write(t, filepath.Join(dir, "a.txt"), text)
		dirtest.Git(t, dir, "add", ".")
		dirtest.Git(t, dir, "commit", "-qm", strings.TrimSpace(text))
	}
	return dir, data
}

func addJob(t *testing.T, data, id, dir string) *worktree.Worktree {
	t.Helper()
	w, err := AddWorktree(t.Context(), data, id, dir, "")
	dirtest.Must(t, err)
	return w
}

// opened opens the workspaces of a job that works in dir.
func opened(t *testing.T, data, id, dir string, level sandbox.Level) *Workspaces {
	t.Helper()
	w, err := OpenWorktree(data, id)
	dirtest.Must(t, err)
	bs, err := OpenWorkspaces(Options{Job: id, Dir: dir, Data: data, Worktree: w, Sandbox: process.SandboxOptions{Level: level}})
	dirtest.Must(t, err)
	t.Cleanup(func() { dirtest.Must(t, bs.Close()) })
	return bs
}

// sh runs a command of the job, or of one of its sub-agents.
func (bs *Workspaces) sh(t *testing.T, at, script string) *process.Output {
	t.Helper()
	b, err := bs.at(at)
	dirtest.Must(t, err)
	o, err := b.exec.Run(t.Context(), process.Cmd{Shell: script, Timeout: 2 * time.Minute})
	dirtest.Must(t, err)
	return o
}

const commit = "date +%N >now.txt; git add now.txt && git commit -qm now"

func (bs *Workspaces) commits(t *testing.T, at string) {
	t.Helper()
	if o := bs.sh(t, at, commit); o.Code != 0 {
		t.Errorf("%q cannot commit: %s", at, o.Text)
	}
}

func refs(t *testing.T, dir string, names ...string) string {
	t.Helper()
	return dirtest.Git(t, dir, append([]string{"for-each-ref", "--format=%(refname) %(objectname) %(symref)"}, names...)...)
}

// attack tries to move, remove and redirect a branch.
func attack(common, branch string) string {
	return strings.NewReplacer("BRANCH", branch, "COMMON", common, "DIR", filepath.Dir(branch)).Replace(`
git update-ref refs/heads/BRANCH main~1
git update-ref --no-deref -d refs/heads/BRANCH
git symbolic-ref refs/heads/BRANCH refs/heads/main
git branch -M BRANCH stolen
git rev-parse main~1 >COMMON/refs/heads/BRANCH
rm -f COMMON/refs/heads/BRANCH COMMON/logs/refs/heads/BRANCH
mv COMMON/refs/heads/DIR COMMON/refs/heads/adroit/moved
true`)
}

// A command of one job changes no branch of another, and one of a sub-agent none
// of its job or of another sub-agent. What each is to do, commit, it can.
func TestBranchesOfOthers(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		dir, data := repository(t)
		one, two := addJob(t, data, "J1", dir), addJob(t, data, "J2", dir)
		a, b := opened(t, data, "J1", one.Dir(), level), opened(t, data, "J2", two.Dir(), level)
		for _, name := range []string{"w1", "work"} { // the second as the job's own branch ends
			if _, err := a.Add(t.Context(), "J1", name, ""); err != nil {
				t.Fatal(err)
			}
		}
		b.commits(t, "")
		own, sub, other := "refs/heads/adroit/J1/work", "refs/heads/adroit/J1-work/work", "refs/heads/adroit/J2/work"
		for _, c := range []struct{ name, at, ref string }{
			{"a job, another's", "", other}, {"a sub-agent, another job's", "w1", other}, {"a sub-agent, its job's", "w1", own},
			{"a sub-agent, another's", "w1", sub}, {"a job, its sub-agent's", "", sub},
		} {
			before := refs(t, dir)
			if !strings.Contains(before, c.ref+" ") {
				t.Fatalf("there is no %s in\n%s", c.ref, before)
			}
			log := dirtest.Content(t, filepath.Join(one.Common, "logs", c.ref))
			a.sh(t, c.at, attack(one.Common, strings.TrimPrefix(c.ref, "refs/heads/")))
			if after := refs(t, dir); after != before {
				t.Fatalf("%s: the branches are\n%s, were\n%s", c.name, after, before)
			}
			if got := dirtest.Content(t, filepath.Join(one.Common, "logs", c.ref)); got != log {
				t.Errorf("%s: the log is %q, was %q", c.name, got, log)
			}
		}
		for _, at := range []string{"", "w1", "work"} {
			a.commits(t, at)
		}
		b.commits(t, "")
	})
}

// Packing moves branches to one file and removes the directories that are empty by
// then. A job that is at work commits all the same, and so does one that is resumed.
func TestCommitAfterPacking(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		dir, data := repository(t)
		one, two := addJob(t, data, "J1", dir), addJob(t, data, "J2", dir)
		a := opened(t, data, "J1", one.Dir(), level)
		if _, err := a.Add(t.Context(), "J1", "w1", ""); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"", "w1"} {
			a.commits(t, at)
		}
		dirtest.Git(t, dir, "pack-refs", "--all")
		for _, w := range []string{"J1/work", "J1-w1/work", "J2/work"} {
			if _, err := os.Lstat(filepath.Join(one.Common, "refs/heads/adroit", w)); err == nil {
				t.Fatalf("%s was not packed", w)
			}
		}
		if _, err := os.Lstat(filepath.Join(one.Common, "refs/heads/adroit/J2")); err == nil {
			t.Fatal("git did not remove the empty directory of a job that is not at work")
		}
		before := refs(t, dir, "refs/heads/adroit")
		for _, at := range []string{"", "w1"} {
			a.commits(t, at)
		}
		opened(t, data, "J2", two.Dir(), level).commits(t, "")
		if after := refs(t, dir, "refs/heads/adroit"); strings.Count(after, "\n") != 3 || after == before {
			t.Errorf("the branches are\n%s, were\n%s", after, before)
		}
	})
}

// dirs lists the directories for branches of jobs and their logs.
func dirs(t *testing.T, common string) string {
	t.Helper()
	var all []string
	for _, top := range []string{"refs/heads", "logs/refs/heads"} {
		list, err := filepath.Glob(filepath.Join(common, top, "adroit*"))
		dirtest.Must(t, err)
		below, err := filepath.Glob(filepath.Join(common, top, "adroit*", "*"))
		dirtest.Must(t, err)
		for _, p := range append(list, below...) {
			rel, _ := filepath.Rel(common, p)
			all = append(all, rel)
		}
	}
	return strings.Join(all, " ")
}

// Removing a job leaves no empty directory, whatever became of its branch, and leaves others'
// files alone.
func TestRemovedBranches(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir, branch string){
		"as it was": func(*testing.T, string, string) {},
		"packed":    func(t *testing.T, dir, _ string) { dirtest.Git(t, dir, "pack-refs", "--all") },
		"gone":      func(t *testing.T, dir, branch string) { dirtest.Git(t, dir, "update-ref", "-d", "refs/heads/"+branch) },
		"redirected": func(t *testing.T, dir, branch string) {
			dirtest.Git(t, dir, "symbolic-ref", "refs/heads/"+branch, "refs/heads/main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, data := repository(t)
			one, two := addJob(t, data, "J1", dir), addJob(t, data, "J2", dir)
			a := opened(t, data, "J1", one.Dir(), sandbox.Off)
			opened(t, data, "J2", two.Dir(), sandbox.Off)
			if _, err := a.Add(t.Context(), "J1", "w1", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := a.at("w1"); err != nil {
				t.Fatal(err)
			}
			spoil(t, dir, "adroit/J1/work")
			spoil(t, dir, "adroit/J1-w1/work")
			dirtest.Must(t, RemoveTrees(t.Context(), data, "J1"))
			dirtest.Must(t, one.Remove(t.Context(), true))
			want := "refs/heads/adroit refs/heads/adroit/J2 logs/refs/heads/adroit logs/refs/heads/adroit/J2"
			if got := dirs(t, one.Common); got != want {
				t.Errorf("left are %s, want %s", got, want)
			}
			if got := refs(t, dir); strings.Contains(got, "J1") || !strings.Contains(got, "refs/heads/adroit/J2/work ") || !strings.Contains(got, "refs/heads/main ") {
				t.Errorf("left are\n%s", got)
			}
			dirtest.Must(t, two.Remove(t.Context(), true))
			if got := dirs(t, one.Common); got != "" {
				t.Errorf("in the end %s is left", got)
			}
		})
	}
}

// The branches of older versions were adroit/JOB and, of sub-agents, adroit-JOB/NAME.
// Such a job goes on, with new sub-agents too, is merged and removed.
func TestBranchesOfAnOlderVersion(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		dir, data := repository(t)
		w, err := worktree.Add(t.Context(), dir, filepath.Join(data, "worktrees/J1"), "adroit/J1", nil)
		dirtest.Must(t, err)
		record, err := json.Marshal(w)
		dirtest.Must(t, err)
		dirtest.Write(t, filepath.Join(data, "jobs/J1/worktree.json"), string(record))
		_, err = worktree.AddCopy(t.Context(), worktree.CopyOptions{Dir: w.Dir(), From: w, Top: filepath.Join(data, "worktrees/J1-w1"), Branch: "adroit-J1/w1", Home: treeHome(data, "J1", "w1")})
		dirtest.Must(t, err)
		other := addJob(t, data, "J2", dir)
		a := opened(t, data, "J1", w.Dir(), level)
		for _, name := range []string{"w1", "w2"} { // the first is there
			if _, err := a.Add(t.Context(), "J1", name, ""); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []string{"", "w1", "w2"} {
			a.commits(t, at)
		}
		dirtest.Git(t, dir, "pack-refs", "--all")
		for _, at := range []string{"", "w1", "w2"} {
			a.commits(t, at)
		}
		for _, branch := range []string{"adroit/J1", "adroit-J1/w1", "adroit/J1-w2/work"} {
			if n := strings.Count(dirtest.Git(t, dir, "log", "--format=%s", branch), "now\n"); n != 2 {
				t.Errorf("%s has %d commits of the job, want 2", branch, n)
			}
		}
		if m, err := w.Merge(t.Context(), "Work", "", nil, nil); err != nil || len(m.Paths) != 1 {
			t.Errorf("%+v, %v", m, err)
		}
		dirtest.Must(t, RemoveTrees(t.Context(), data, "J1"))
		dirtest.Must(t, w.Remove(t.Context(), false))
		if got := refs(t, dir); strings.Contains(got, "J1") || !strings.Contains(got, "refs/heads/adroit/J2/work ") {
			t.Errorf("left are\n%s", got)
		}
		dirtest.Must(t, other.Remove(t.Context(), true))
		if got := dirs(t, w.Common); got != "" {
			t.Errorf("in the end %s is left", got)
		}
	})
}

// A job that works in the repository itself can put a link in the place of a directory
// for branches. Nobody writes behind it, or has it opened to commands.
func TestLinkForBranches(t *testing.T) {
	for _, link := range []string{"refs/heads/adroit", "logs/refs/heads/adroit", "refs/heads/adroit/J1-w1", "objects"} {
		t.Run(link, func(t *testing.T) {
			dir, data := repository(t)
			a := opened(t, data, "J1", dir, sandbox.Off)
			outside, at := filepath.Join(t.TempDir(), "outside"), filepath.Join(dir, ".git", link)
			dirtest.Must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			plant := func() {
				t.Helper()
				if _, err := os.Lstat(at); err == nil {
					dirtest.Must(t, os.Rename(at, outside))
				} else {
					dirtest.Must(t, os.Mkdir(outside, 0o755))
				}
				dirtest.Must(t, os.Symlink(outside, at))
			}
			if link != "objects" {
				plant()
				if _, err := a.Add(t.Context(), "J1", "w1", ""); err == nil || !strings.Contains(err.Error(), link+" is no directory") {
					t.Errorf("a worktree is added: %v", err)
				}
				if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
					t.Errorf("behind the link is %v, %v", list, err)
				}
				dirtest.Must(t, os.Remove(at))
				dirtest.Must(t, os.Remove(outside))
			}
			if _, err := a.Add(t.Context(), "J1", "w1", ""); err != nil {
				t.Fatal(err)
			}
			plant()
			if _, err := a.at("w1"); err == nil || !strings.Contains(err.Error(), link+" is no directory") {
				t.Errorf("commands are started: %v", err)
			}
		})
	}
}
