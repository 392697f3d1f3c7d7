package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// nameCalls are the system calls that change a name.
const nameCalls = "rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,mkdir,mkdirat,symlink,symlinkat"

const syncCalls = "fsync,fdatasync,syncfs"

// killAtName runs adroit and kills its process group at the n-th system call that
// changes a name, which it does not perform: of one thread, of adroit or of a git. It
// reports whether there was such a call.
func (p *place) killAtName(n int, args ...string) (killed bool, out string) {
	p.t.Helper()
	trace := p.path("trace")
	cmd, buf := p.command(args...)
	cmd.Path = strace(p.t)
	cmd.Args = append([]string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=" + nameCalls + "," + syncCalls, "-e", "inject=" + syncCalls + ":retval=0",
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", nameCalls, n), p.bin}, args...)
	// strace counts the calls of each thread: one thread should make all that matter. A
	// kill loses nothing that was not synced, so nothing is, and no thread waits.
	cmd.Env = append(p.env[:len(p.env):len(p.env)], "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	killed = bytes.Contains([]byte(p.read("trace")), []byte("+++ killed by SIGKILL +++"))
	if !killed && err != nil {
		p.t.Fatalf("%s: %v\n%s", args, err, buf.String())
	}
	return killed, buf.String()
}

func strace(t *testing.T) string {
	t.Helper()
	testenv.NeedsProgram(t, "strace")
	path, err := exec.LookPath("strace")
	dirtest.Must(t, err)
	return path
}

// gitOf returns the output of git in the repository of the place.
func (p *place) gitOf(args ...string) string { return dirtest.Git(p.t, p.path("repo"), args...) }

var jobID = regexp.MustCompile(`J[0-9A-Z]{8,}`)

// treeJob makes a repository with some files and a done job in a worktree, which is
// merged unless it is to stay as it is.
func treeJob(t *testing.T, merged bool) *place {
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/editor.md": editor, "turns.yaml": `turns:
  - calls: [{name: write_file, args: {path: new.txt, content: "new\n"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`})
	p.bin = program(t)
	for i := range 20 {
		dirtest.Write(t, p.path(fmt.Sprintf("repo/d%d/f%d", i%3, i)), fmt.Sprint(i, "\n"))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"}, {"config", "user.email", "a@example.org"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		p.gitOf(args...)
	}
	p.ok(0, "run", "editor", "edit", "--worktree", "-m", "script:../turns.yaml", "--approve", "all")
	if merged {
		p.ok(0, "jobs", "merge", "last")
	}
	return p
}

// namePoints calls kill with numbers of system calls until it reports that there are no
// more, a sample of them if all are not asked for.
func namePoints(t *testing.T, every int, kill func(n int) bool) {
	t.Helper()
	testenv.NeedsProgram(t, "strace")
	first, step := 1, 1
	if !testenv.Night() {
		rnd := rand.New(rand.NewPCG(testenv.Seed(t), 7))
		first, step = 1+rnd.IntN(every), every
	}
	killed := 0
	for n := first; kill(n); n += step {
		killed++
	}
	t.Logf("killed at %d calls, one of %d, the first was %d", killed, step, first)
	if killed == 0 {
		t.Error("nothing was killed")
	}
}

// A removal that is killed is finished by the next commands: no hint leads to a merge
// of what is half removed, and nothing is left over.
func TestRemovalKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some processes; run it without -short")
	}
	t.Parallel()
	for every, args := range map[int][]string{13: {"jobs", "rm", "last"}, 17: {"jobs", "prune", "--older-than", "0d"}} {
		t.Run(args[1], func(t *testing.T) {
			namePoints(t, every, func(n int) bool {
				p := treeJob(t, true)
				id := jobID.FindString(p.ok(0, "jobs", "--all"))
				before := dirtest.WorkTree(t, p.path("repo"))
				killed, _ := p.killAtName(n, args...)
				if _, out := p.run("jobs", "rm", id); strings.Contains(out, "merge") {
					t.Errorf("call %d: rm after it: %s", n, out)
				}
				p.run("jobs", "merge", id)
				p.removed(n, id, before)
				return killed
			})
		})
	}
}

// removed reports what is left of a job that was removed.
func (p *place) removed(n int, id string, before []string) {
	p.t.Helper()
	if out := p.ok(0, "jobs", "--all"); strings.Contains(out, id) {
		p.t.Errorf("call %d: the job is still there: %s", n, out)
	}
	if after := dirtest.WorkTree(p.t, p.path("repo")); strings.Join(before, "\n") != strings.Join(after, "\n") {
		p.t.Errorf("call %d: the work tree changed:\n%s", n, dirtest.Diff(before, after))
	}
	if out := p.gitOf("branch", "--list", "adroit/*") + p.gitOf("status", "--porcelain"); out != "" {
		p.t.Errorf("call %d: left over in the repository: %s", n, out)
	}
	if out := p.gitOf("worktree", "list"); strings.Count(out, "\n") != 1 {
		p.t.Errorf("call %d: worktrees: %s", n, out)
	}
	for _, pattern := range []string{"data/jobs/*", "data/worktrees/*", "data/removing*"} {
		if left, _ := filepath.Glob(p.path(pattern)); len(left) > 0 {
			p.t.Errorf("call %d: left over: %v", n, left)
		}
	}
}

// A merge that is killed, adroit or a git of it, is done by the next one, or that names the
// locks that a git has left. Until then the job cannot be removed.
func TestMergeKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some processes; run it without -short")
	}
	t.Parallel()
	for every, committed := range map[int]bool{9: false, 8: true} {
		t.Run(fmt.Sprint("committed ", committed), func(t *testing.T) {
			namePoints(t, every, func(n int) bool { return mergeKilled(t, n, committed) })
		})
	}
}

func mergeKilled(t *testing.T, n int, committed bool) bool {
	p := changesJob(t, "--worktree")
	id := jobID.FindString(p.ok(0, "jobs", "--all"))
	want := changes
	if committed { // so that the gits of the merge are those that are killed
		top := p.path("data/worktrees/" + id)
		for _, name := range []string{"d0/f3", "d2"} { // a file and a directory, which change places
			dirtest.Must(t, os.RemoveAll(filepath.Join(top, name)))
		}
		dirtest.Write(t, filepath.Join(top, "d0/f3/in"), "a directory\n")
		dirtest.Write(t, filepath.Join(top, "d2"), "a file\n")
		want = "M\td0/f0\nD\td0/f3\nA\td0/f3/in\nD\td1/f1\nA\td2\nD\td2/f2\nD\td2/f5\nA\tnew/a.txt\n"
		dirtest.Git(t, top, "add", "-A")
		dirtest.Git(t, top, "commit", "-qm", "Work")
	}
	hit, _ := p.killAtName(n, "jobs", "merge", id)
	begun, _ := filepath.Glob(p.path("data/merging/*"))
	if len(begun) > 0 {
		if code, out := p.run("jobs", "rm", id); code != 1 || !strings.Contains(out, "adroit jobs merge "+id) {
			t.Errorf("call %d: rm: exit code %d\n%s", n, code, out)
		}
	}
	code, out := p.run("jobs", "merge", id)
	if code != 0 {
		var locks []string
		for _, pattern := range []string{"*.lock", "refs/heads/*.lock", "worktrees/*/index.lock", "worktrees/*/HEAD.lock", "refs/heads/adroit/*/*.lock"} {
			found, _ := filepath.Glob(p.path("repo/.git/" + pattern))
			locks = append(locks, found...)
		}
		if len(locks) == 0 || !strings.Contains(out, "rm "+strings.Join(locks, " ")) {
			t.Errorf("call %d: merge: exit code %d, the locks are %q\n%s", n, code, locks, out)
		}
		for _, lock := range locks {
			dirtest.Must(t, os.Remove(lock))
		}
		out = p.ok(0, "jobs", "merge", id)
	}
	p.changed(n, out, want)
	p.ok(0, "jobs", "rm", id)
	p.removed(n, id, dirtest.WorkTree(t, p.path("repo")))
	t.Logf("call %d: killed %v, begun %v", n, hit, len(begun) > 0)
	return hit
}

// An undo that is killed is finished by the next one.
func TestUndoKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some processes; run it without -short")
	}
	t.Parallel()
	namePoints(t, 5, func(n int) bool {
		p := changesJob(t)
		p.changed(n, "the job", changes)
		killed, _ := p.killAtName(n, "jobs", "undo", "last")
		out := p.ok(0, "jobs", "undo", "last")
		if left := p.gitOf("status", "--porcelain", "--ignored"); left != "" {
			t.Errorf("call %d: not undone:\n%s\n%s", n, left, out)
		}
		return killed
	})
}

// A job whose sub-agents work in copies is killed where these are made, joined and taken
// away. It goes on, and nothing is left over.
func TestTreesKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some processes; run it without -short")
	}
	t.Parallel()
	namePoints(t, 29, func(n int) bool {
		p := changesPlace(t)
		killed, _ := p.killAtName(n, "run", "p", "-m", "script:../turns.yaml", "--approve", "all")
		id := jobID.FindString(p.ok(0, "jobs", "--all"))
		if id == "" {
			return killed // before there was a job
		}
		out := "done"
		if killed && !strings.Contains(p.ok(0, "jobs", "--all"), "  done  ") {
			out = p.ok(0, "continue", id)
		}
		p.changed(n, out, changes)
		p.ok(0, "jobs", "undo", id)
		p.ok(0, "jobs", "rm", id)
		p.removed(n, id, dirtest.WorkTree(t, p.path("repo")))
		return killed
	})
}

// changesPlace has a repository, and a model that adds, changes and removes files.
func changesPlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, map[string]string{
		"home/.config/adroit/agents/editor.md": "---\ndescription: Edits.\ntools: [read_file, write_file, delete_file, finish]\ndone: {signal: DONE}\n---\nYou edit.\n",
		"home/.config/adroit/pipelines/p.yaml": "steps:\n  - {id: edit, agent: editor, input: Edit, worktree: true}\n",
		"turns.yaml": `turns:
  - calls: [{name: read_file, args: {path: d0/f0}}]
  - calls: [{name: write_file, args: {path: new/a.txt, content: "new\n"}}]
  - calls: [{name: write_file, args: {path: d0/f0, content: "changed\n"}}]
  - calls: [{name: delete_file, args: {path: d1/f1}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`})
	p.bin = program(t)
	for i := range 6 {
		dirtest.Write(t, p.path(fmt.Sprintf("repo/d%d/f%d", i%3, i)), fmt.Sprint(i, "\n"))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"}, {"config", "user.email", "a@example.org"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		p.gitOf(args...)
	}
	return p
}

// changesJob is the place with a job that is done.
func changesJob(t *testing.T, options ...string) *place {
	t.Helper()
	p := changesPlace(t)
	p.ok(0, append([]string{"run", "editor", "edit", "-m", "script:../turns.yaml", "--approve", "all"}, options...)...)
	return p
}

// changes are the changes that the model of changesPlace makes.
const changes = "M\td0/f0\nD\td1/f1\nA\tnew/a.txt\n"

// changed checks that what was changed is there once, whole and nothing else.
func (p *place) changed(n int, out, want string) {
	p.t.Helper()
	base := strings.Fields(p.gitOf("rev-list", "--max-parents=0", "main"))[0]
	p.gitOf("add", "-A", "--intent-to-add")
	if diff := p.gitOf("diff", "--name-status", base); diff != want || p.read("repo/new/a.txt") != "new\n" || p.read("repo/d0/f0") != "changed\n" {
		p.t.Errorf("call %d: the changes are\n%s\n%s", n, diff, out)
	}
	p.gitOf("reset", "-q")
}

// A restore that is killed is finished, or has not begun: the jobs are never gone. A
// backup that is killed leaves nothing of the database anywhere.
func TestBackupKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some processes; run it without -short")
	}
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/editor.md": editor, "repo/a": "a\n", "turns.yaml": `turns:
  - calls: [{name: write_file, args: {path: new.txt, content: "new\n"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`})
	p.bin = program(t)
	p.ok(0, "run", "editor", "edit", "-m", "script:../turns.yaml", "--approve", "all")
	id := jobID.FindString(p.ok(0, "jobs", "--all"))
	p.ok(0, "jobs", "backup", "../all.tar")
	left := func(n int) {
		for _, pattern := range []string{"data/.*-*", "data/restoring.json", "*.part*", "new-*"} {
			if left, _ := filepath.Glob(p.path(pattern)); len(left) > 0 {
				t.Errorf("call %d: left over: %v", n, left)
			}
		}
	}
	t.Run("restore", func(t *testing.T) {
		namePoints(t, 5, func(n int) bool {
			killed, _ := p.killAtName(n, "jobs", "restore", "../all.tar", "--replace")
			if out := p.ok(0, "jobs", "--all"); !strings.Contains(out, id) {
				t.Errorf("call %d: jobs: %s", n, out)
			}
			p.ok(0, "jobs", "backup", fmt.Sprintf("../after%d.tar", n))
			left(n)
			return killed
		})
	})
	t.Run("backup", func(t *testing.T) {
		namePoints(t, 3, func(n int) bool {
			file := fmt.Sprintf("../b%d.tar", n)
			killed, _ := p.killAtName(n, "jobs", "backup", file)
			p.ok(0, "jobs", "backup", fmt.Sprintf("../again%d.tar", n))
			left(n)
			if p.read(fmt.Sprintf("b%d.tar", n)) != "" {
				p.ok(0, "jobs", "restore", file, "--data-dir", p.path(fmt.Sprintf("data%d", n)))
			}
			return killed
		})
	})
}
