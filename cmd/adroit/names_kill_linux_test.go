package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	return p.killTraced(n, nil, args...)
}

// killTraced is killAtName with further options of strace.
func (p *place) killTraced(n int, options []string, args ...string) (killed bool, out string) {
	p.t.Helper()
	trace := p.path("trace")
	cmd, buf := p.command(args...)
	cmd.Path = strace(p.t)
	cmd.Args = append(append([]string{"strace"}, options...), "-f", "-qq", "-o", trace, "-e", "trace="+nameCalls+","+syncCalls, "-e", "inject="+syncCalls+":retval=0",
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", nameCalls, n), p.bin)
	cmd.Args = append(cmd.Args, args...)
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
	for ; killed == 0 && first > 1; first = (first + 1) / 2 { // strace counts each thread on its own, and a loaded machine has more of them
		if kill((first + 1) / 2) {
			killed++
		}
	}
	t.Logf("killed at %d calls, one of %d, the first was %d", killed, step, first)
	if killed == 0 {
		t.Error("nothing was killed")
	}
}

// A removal that is killed is finished by the next commands: no hint leads to a merge
// of what is half removed, and nothing is left over.
func TestRemovalKilled(t *testing.T) {
	testenv.Long(t, "starts some processes")
	t.Parallel()
	for every, args := range map[int][]string{13: {"jobs", "rm", "last"}, 17: {"jobs", "prune", "--older-than", "0d"}} {
		t.Run(args[1], func(t *testing.T) {
			namePoints(t, every, func(n int) bool {
				p := treeJob(t, true)
				id := jobID.FindString(p.ok(0, "jobs", "--all"))
				before := dirtest.WorkTree(t, p.path("repo"))
				killed, _ := p.killAtName(n, args...)
				p.checked(n, "before the next command")
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
	testenv.Long(t, "starts some processes")
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
	testenv.Long(t, "starts some processes")
	t.Parallel()
	namePoints(t, 5, func(n int) bool {
		p := changesJob(t)
		p.changed(n, "the job", changes)
		killed, _ := p.killAtName(n, "jobs", "undo", "last")
		p.checked(n, "before the next undo")
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
	testenv.Long(t, "starts some processes")
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

// Adroit is killed in a job's first call. What it states of that afterwards is true: no record is
// called damaged, the diff has what differs and nothing else but what an overlay still holds, which
// is called incomplete, and an undo takes all of it back.
func TestStatementsAfterKill(t *testing.T) {
	testenv.Long(t, "starts some processes")
	t.Parallel()
	const command = `turns:
  - calls: [{name: shell, args: {command: "echo changed >d0/f0; rm d1/f1; mkdir new; echo new >new/a.txt"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`
	const call = `turns:
  - calls: [{name: mcp__writer__act, args: {}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`
	for _, kind := range []struct {
		name, turns string
		every       int
		options     []string
	}{
		{"files", "", 9, nil},
		{"command", command, 29, nil},
		{"command at landlock", command, 13, []string{"--sandbox", "landlock"}},
		{"command without a sandbox", command, 9, []string{"--sandbox", "off"}},
		{"command in a worktree", command, 29, []string{"--worktree"}},
		{"server", call, 19, nil},
	} {
		if !testenv.Chosen(t, 2, kind.name) {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			namePoints(t, kind.every, func(n int) bool {
				p := changesPlace(t)
				servers := ""
				if kind.turns == call {
					servers = "mcp_servers: [writer]\n"
				}
				dirtest.Write(t, p.path("home/.config/adroit/agents/editor.md"), "---\ndescription: Edits.\n"+servers+"tools: [shell, read_file, write_file, delete_file, finish]\ndone: {signal: DONE}\n---\nYou edit.\n")
				if kind.turns != "" {
					dirtest.Write(t, p.path("turns.yaml"), kind.turns)
				}
				if kind.turns == call {
					testenv.NeedsProgram(t, "node")
					dirtest.Write(t, p.path("writer.mjs"), writer)
					p.ok(0, "mcp", "add", "writer", "--workspace", "write", "--read", p.path("writer.mjs"), "--", "node", p.path("writer.mjs"))
				}
				// No command of the job is killed: only adroit's own calls count.
				killed, _ := p.killTraced(n, []string{"-b", "execve"}, append([]string{"run", "editor", "edit", "-m", "script:../turns.yaml", "--approve", "all"}, kind.options...)...)
				p.statements(n)
				return killed
			})
		})
	}
}

// writer is an MCP server whose tool changes files.
const writer = `import { createInterface } from 'node:readline'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
for await (const l of createInterface({ input: process.stdin })) {
  const m = JSON.parse(l)
  if (m.id === undefined) continue
  const reply = result => console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }))
  if (m.method === 'initialize') reply({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'writer', version: '1' } })
  else if (m.method === 'tools/list') reply({ tools: [{ name: 'act', description: 'Acts.', inputSchema: { type: 'object' } }] })
  else if (m.method === 'tools/call') {
    writeFileSync('d0/f0', 'changed\n')
    rmSync('d1/f1')
    mkdirSync('new')
    writeFileSync('new/a.txt', 'new\n')
    reply({ content: [{ type: 'text', text: 'done' }] })
  } else console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no such method' } }))
}
`

// statements compares what adroit states about the newest job with what is on the disk, and undoes it.
func (p *place) statements(n int) {
	p.t.Helper()
	id := jobID.FindString(p.ok(0, "jobs", "--all"))
	if id == "" {
		return // before there was a job
	}
	tree := p.path("repo")
	if trees, _ := filepath.Glob(p.path("data/worktrees/J*")); len(trees) > 0 {
		tree = trees[0]
	}
	diff := func() (names []string, incomplete []string) {
		var d struct {
			Changes    []struct{ Path string }
			Incomplete []string
		}
		_, out := p.run("jobs", "diff", id, "--include-uncertain", "--json")
		if err := json.Unmarshal([]byte(out[:strings.LastIndex(out, "}")+1]), &d); err != nil {
			p.t.Fatalf("call %d: %v\n%s", n, err, out)
		}
		for _, f := range d.Changes {
			names = append(names, f.Path)
		}
		return names, d.Incomplete
	}
	p.checked(n, "before the undo")
	overlays, _ := filepath.Glob(p.path("data/jobs/*/ledger/overlays/*/overlay.json"))
	got, incomplete := diff()
	if len(incomplete) > len(overlays) {
		p.t.Errorf("call %d: %d overlays, and incomplete is %q", n, len(overlays), incomplete)
	}
	var want []string
	for line := range strings.Lines(dirtest.Git(p.t, tree, "status", "--porcelain", "--untracked-files=all")) {
		want = append(want, strings.TrimSpace(line[3:]))
	}
	slices.Sort(want)
	slices.Sort(got)
	// A change is noted before it is made: of the newest call, and of those that an overlay still
	// holds, as the diff says, it may be in the diff and not in the tree. An undo finds it undone.
	due := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return slices.Contains(want, name) })
	if len(due) > 0 && (len(due) == 1 || len(incomplete) > 0) {
		got = slices.DeleteFunc(got, func(name string) bool { return slices.Contains(due, name) })
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("call %d: the diff has %q, and %q differ", n, got, want)
	}
	_, shown := p.run("jobs", "show", id)
	if strings.Contains(shown, "damaged") || strings.Contains(shown, "incomplete") != (len(incomplete) > 0) {
		p.t.Errorf("call %d: the diff has %q as incomplete, and show\n%s", n, incomplete, shown)
	}
	out := p.ok(0, "jobs", "undo", id, "--include-uncertain")
	if left := dirtest.Git(p.t, tree, "status", "--porcelain", "--ignored", "--untracked-files=all"); left != "" {
		p.t.Errorf("call %d: not undone:\n%s\n%s", n, left, out)
	}
	if got, incomplete := diff(); len(got)+len(incomplete) > 0 {
		p.t.Errorf("call %d: after the undo the diff has %q, incomplete %q", n, got, incomplete)
	}
	p.checked(n, "after the undo")
}

// checked wants doctor to find nothing wrong with what is stored.
func (p *place) checked(n int, when string) {
	p.t.Helper()
	_, out := p.run("doctor", "--check", "--json")
	var lines []struct{ Name, Status, What string }
	if err := json.Unmarshal([]byte(out[strings.Index(out, "["):strings.LastIndex(out, "]")+1]), &lines); err != nil {
		p.t.Fatalf("call %d: %v\n%s", n, err, out)
	}
	seen := false
	for _, l := range lines {
		seen = seen || l.Name == "check"
		if l.Name == "check" && l.Status != "fine" {
			p.t.Errorf("call %d: %s, the check is %s: %s", n, when, l.Status, l.What)
		}
	}
	if !seen {
		p.t.Errorf("call %d: nothing was checked\n%s", n, out)
	}
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
	testenv.Long(t, "starts some processes")
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
			p.checked(n, "before the next command")
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
