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

	"github.com/adroit-run/adroit/internal/dirtest"
	"github.com/adroit-run/adroit/internal/testenv"
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

// gitOf is what a git prints in the repository of the place.
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
	if os.Getenv("ADROIT_KILL_POINTS") != "all" {
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
	p.ok(0, "backup", "../all.tar")
	left := func(n int) {
		for _, pattern := range []string{"data/.*-*", "data/restoring.json", "*.part*", "new-*"} {
			if left, _ := filepath.Glob(p.path(pattern)); len(left) > 0 {
				t.Errorf("call %d: left over: %v", n, left)
			}
		}
	}
	t.Run("restore", func(t *testing.T) {
		namePoints(t, 5, func(n int) bool {
			killed, _ := p.killAtName(n, "restore", "../all.tar", "--replace")
			if out := p.ok(0, "jobs", "--all"); !strings.Contains(out, id) {
				t.Errorf("call %d: jobs: %s", n, out)
			}
			p.ok(0, "backup", fmt.Sprintf("../after%d.tar", n))
			left(n)
			return killed
		})
	})
	t.Run("backup", func(t *testing.T) {
		namePoints(t, 3, func(n int) bool {
			file := fmt.Sprintf("../b%d.tar", n)
			killed, _ := p.killAtName(n, "backup", file)
			p.ok(0, "backup", fmt.Sprintf("../again%d.tar", n))
			left(n)
			if p.read(fmt.Sprintf("b%d.tar", n)) != "" {
				p.ok(0, "restore", file, "--data-dir", p.path(fmt.Sprintf("data%d", n)))
			}
			return killed
		})
	})
}
