package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

// powerWork writes, lengthens and makes files below new directories.
const powerWork = "echo $1 >>log; yes $1 | head -c 30000 >big$1; mkdir -p d/$1; echo z >d/$1/z\n"

const powerAgent = "---\ndescription: Edits.\ntools: [read_file, write_file, shell, finish]\ngrant: [read, write, exec, shell]\ndone: {signal: DONE}\n---\nYou edit.\n"

// powerTurns are of an agent that works and writes.
const powerTurns = `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "a1\n"}}]
  - calls: [{name: shell, args: {command: sh work.sh 1}}]
  - calls: [{name: shell, args: {command: sh work.sh 2}}]
  - calls: [{name: write_file, args: {path: b.txt, content: "b1\n"}}]
  - calls: [{name: shell, args: {command: sh work.sh 3}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`

// A powerKind is a kind of job whose power is cut: its agents and commands do work.sh
// with a number, and call the tools that write files.
type powerKind struct {
	name  string
	args  []string
	files map[string]string
	// tree reports that the job works in a worktree, which is merged; the power is cut
	// after the merge, too.
	tree bool
}

func powerKinds() []powerKind {
	pipeline := func(steps string) map[string]string {
		return map[string]string{"turns.yaml": powerTurns, "home/.config/adroit/pipelines/p.yaml": "steps:\n" + steps}
	}
	agent := map[string]string{"turns.yaml": powerTurns}
	return []powerKind{
		{name: "agent", args: []string{"run", "editor", "edit"}, files: agent},
		{name: "pipeline", args: []string{"run", "p"},
			files: pipeline("  - {id: one, run: sh work.sh 4}\n  - {id: edit, agent: editor, input: Edit}\n  - {id: both, parallel: [{id: two, run: sh work.sh 5}, {id: list, tool: list_files}]}\n")},
		{name: "fix", args: []string{"fix", "--phases", "prepare=sh prepare.sh,ship=sh work.sh 1,publish=sh work.sh 2"},
			files: map[string]string{"repo/a.txt": "wrong\n", "repo/prepare.sh": "grep -q right a.txt && exit 0\necho 'a.c:1:1: error: it is wrong'\nexit 1\n", "turns.yaml": fixOnce}},
		// Each file is written once: of one that a step was overwriting, either text is right.
		{name: "workflow", args: []string{"run", "until_tests_pass", "Add it.", "--test", "sh test.sh"},
			files: map[string]string{"repo/test.sh": "echo 1..1; grep -q good b.txt && echo ok 1 - a || { echo not ok 1 - a; exit 1; }\n",
				"home/.config/adroit/agents/fixer.md": strings.Replace(powerAgent, "You edit.", "You fix.", 1), "turns.yaml": `scenes:
  - when: You fix
    turns:
      - calls: [{name: shell, args: {command: sh work.sh 1}}]
      - calls: [{name: write_file, args: {path: b.txt, content: "good\n"}}]
      - calls: [{name: finish, args: {summary: It is good.}}]
turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "bad\n"}}]
  - text: '{"status": "complete", "note": "It is there."}'
`}},
		{name: "copy", args: []string{"run", "p"}, files: pipeline("  - {id: edit, agent: editor, input: Edit, worktree: true}\n  - {id: two, run: sh work.sh 4}\n")},
		{name: "worktree", args: []string{"run", "editor", "edit", "--worktree"}, files: agent, tree: true},
	}
}

// A disk is a file system in an image.
type disk struct {
	t         *testing.T
	image, at string
}

func newDisk(t *testing.T, at string) *disk {
	t.Helper()
	d := &disk{t, filepath.Join(t.TempDir(), "image"), at}
	dirtest.Must(t, os.WriteFile(d.image, nil, 0o600))
	dirtest.Must(t, os.Truncate(d.image, 48<<20))
	d.do("mke2fs", "-q", "-t", "ext4", "-F", d.image)
	dirtest.Must(t, os.MkdirAll(at, 0o755))
	d.mount()
	t.Cleanup(func() { dirtest.Must(t, unix.Unmount(at, unix.MNT_DETACH)) })
	return d
}

func (d *disk) do(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (d *disk) mount() {
	d.t.Helper()
	d.do("mount", "-o", "loop", d.image, d.at)
}

func (d *disk) sync() {
	d.t.Helper()
	f, err := os.Open(d.at)
	dirtest.Must(d.t, err)
	defer f.Close()
	dirtest.Must(d.t, unix.Syncfs(int(f.Fd())))
}

// copy copies the image as it is: without what the kernel has not written to it.
func (d *disk) copy() {
	d.t.Helper()
	d.do("cp", "--sparse=always", d.image, d.image+".cut")
}

// cut puts the copy in the place of the disk.
func (d *disk) cut() {
	d.t.Helper()
	dirtest.Must(d.t, unix.Unmount(d.at, unix.MNT_DETACH))
	d.image += ".cut"
	d.mount()
}

// TestPower cuts the power of jobs of every kind at their points: the job is killed, and
// what the kernel has not written by then is lost. The job can be opened, the files of
// finished steps are there and whole, it goes on, and is undone or merged. The data lies
// on the disk of the workspace or on another, and commands are confined at each level.
//
// It cuts three; in make power, at every point, or at one of ADROIT_POWER_EVERY, from one that the
// seed draws.
func TestPower(t *testing.T) {
	testenv.Long(t, "mounts file systems")
	testenv.NeedsProgram(t, "mke2fs", "mount", "cp", "git")
	if why := noMounts(t); why != "" {
		testenv.Missing(t, "images cannot be mounted here: "+why)
	}
	bin := program(t)
	type config struct {
		kind    powerKind
		disks   int
		sandbox string
	}
	var configs []config
	for _, kind := range powerKinds() {
		for _, sandbox := range []string{"full", "bubblewrap", "landlock", "off"} {
			configs = append(configs, config{kind, 2, sandbox}, config{kind, 1, sandbox})
		}
	}
	all := testenv.Night()
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 9))
	if !all {
		rnd.Shuffle(len(configs), func(i, j int) { configs[i], configs[j] = configs[j], configs[i] })
		configs = configs[:3]
	}
	cuts, every, first := 0, 1, 1
	if s := os.Getenv("ADROIT_POWER_EVERY"); s != "" {
		var err error
		every, err = strconv.Atoi(s)
		dirtest.Must(t, err)
		first += int(testenv.Seed(t) % uint64(every))
	}
	for _, c := range configs {
		for n := first; ; n += every {
			if !all {
				n = 1 + rnd.IntN(80)
			}
			killed := false
			t.Run(fmt.Sprintf("%s, sandbox %s, %d disks, point %d", c.kind.name, c.sandbox, c.disks, n), func(t *testing.T) {
				killed = powerCut(t, bin, c.kind, c.disks, c.sandbox, n)
				cuts++
			})
			if !killed || !all {
				break
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

func noMounts(t *testing.T) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	dirtest.Must(t, os.WriteFile(image, nil, 0o600))
	dirtest.Must(t, os.Truncate(image, 1<<20))
	at := t.TempDir()
	if out, err := exec.Command("mke2fs", "-q", "-F", image).CombinedOutput(); err != nil {
		return string(out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, at).CombinedOutput(); err != nil {
		return strings.TrimSpace(string(out))
	}
	dirtest.Must(t, unix.Unmount(at, 0))
	return ""
}

func powerCut(t *testing.T, bin string, kind powerKind, n int, sandbox string, point int) (killed bool) {
	dir := t.TempDir()
	var disks []*disk
	if n == 1 {
		disks = append(disks, newDisk(t, dir))
	} else {
		disks = append(disks, newDisk(t, filepath.Join(dir, "repo")), newDisk(t, filepath.Join(dir, "data")))
	}
	files := map[string]string{"home/.config/adroit/agents/editor.md": powerAgent, "repo/log": "0\n", "repo/work.sh": powerWork}
	maps.Copy(files, kind.files)
	p := newPlaceIn(t, dir, files)
	p.bin = bin
	if code, out := p.run("tools", "call", "shell", `{"command": "true"}`, "--sandbox", sandbox); code != 0 {
		testenv.Missing(t, fmt.Sprintf("sandbox level %s does not work here: %s", sandbox, out))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"}, {"config", "user.email", "a@example.org"}, {"add", "log", "work.sh"}, {"commit", "-qm", "start"}} {
		p.gitOf(args...)
	}
	for _, d := range disks {
		d.sync()
	}
	cut := func() {
		t.Helper()
		for _, d := range disks {
			d.copy()
		}
		for _, d := range disks {
			d.cut()
		}
	}
	killed, out := p.kill(point, 0, append(kind.args, "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", sandbox)...)
	merged := kind.tree && !killed
	if merged {
		out = p.ok(0, "jobs", "merge", "last")
	}
	cut()
	id, finished, joined := p.finishedSteps()
	if id == "" {
		return killed // the job had not been acknowledged
	}
	roots := []string{p.path("repo")}
	if !joined && !merged { // the work is in a copy
		trees, err := filepath.Glob(p.path("data/worktrees/*"))
		dirtest.Must(t, err)
		roots = append(roots, trees...)
	}
	p.hold("after the cut", roots, finished)
	p.ok(0, "jobs", "show", id)
	asked := 0
	if killed {
		var code int
		if code, out = p.run("continue", id); code == 4 && strings.Contains(out, "may have happened, and nobody can tell") {
			asked++
			code, out = p.run("answer", "approve", id)
		}
		if code != 0 {
			t.Errorf("resume: exit code %d\n%s", code, out)
		}
		if strings.Contains(out, "not as its finished steps left them") {
			t.Errorf("resume misses files: %s", out)
		}
	}
	p.ok(0, "jobs", "diff", id)
	if kind.tree && !merged {
		p.ok(0, "jobs", "merge", id)
	}
	_, finished, _ = p.finishedSteps()
	p.hold("at the end", []string{p.path("repo")}, finished)
	for name, text := range p.files() {
		if strings.Contains(text, "\x00") {
			t.Errorf("at the end, %s has zeros: %.60q", name, text)
		}
	}
	twice := 0
	for line, n := range lineCounts(p.read("repo/log")) {
		if n > 1 {
			twice += n - 1
			t.Logf("command %s ran %d times", line, n)
		}
	}
	if twice > asked {
		t.Errorf("commands ran twice, and a person was asked %d times: %q\n%s", asked, p.read("repo/log"), out)
	}
	if kind.tree {
		p.gitOf("fsck", "--strict")
	} else {
		p.ok(0, "jobs", "undo", "--include-uncertain", id)
	}
	p.ok(0, "jobs", "rm", "--force", id)
	return killed
}

func lineCounts(text string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// hold checks that each file, or the lines of the log, are whole below one of the roots.
func (p *place) hold(when string, roots []string, files map[string]string) {
	p.t.Helper()
	for name, want := range files {
		var got []byte
		whole := slices.ContainsFunc(roots, func(root string) bool {
			b, err := os.ReadFile(filepath.Join(root, name))
			if err == nil {
				got = b
			}
			if name != "log" {
				return string(b) == want
			}
			have := lineCounts(string(b))
			for line := range lineCounts(want) {
				if have[line] == 0 {
					return false
				}
			}
			return true
		})
		if !whole {
			p.t.Errorf("%s, %s of a finished step has %d bytes, %d of them zeros, and begins with %.20q; want %.20q", when, name, len(got), bytes.Count(got, []byte{0}), got, want)
		}
	}
}

var powerCommand = regexp.MustCompile(`^sh work\.sh ([0-9])$`)

// finishedSteps are the job, what files have by its finished steps, and whether a copy of
// a sub-agent has been joined.
func (p *place) finishedSteps() (id string, files map[string]string, joined bool) {
	p.t.Helper()
	if _, err := os.Stat(p.path("data/adroit.db")); err != nil {
		return "", nil, false
	}
	db, err := sqlite.Open(p.t.Context(), p.path("data/adroit.db"), sqlite.Options{})
	dirtest.Must(p.t, err)
	defer func() { dirtest.Must(p.t, db.Close()) }()
	list, err := db.List(p.t.Context(), jobs.Query{})
	dirtest.Must(p.t, err)
	if len(list) == 0 {
		return "", nil, false
	}
	files = map[string]string{"log": "0\n"}
	for ev, err := range db.Events(p.t.Context(), list[0].ID, 0, false) {
		dirtest.Must(p.t, err)
		if ev.Kind != event.StepFinished || ev.Error != "" || len(ev.Data) == 0 {
			continue
		}
		if ev.Step == "worktree" {
			joined = joined || ev.Name == "join"
			continue
		}
		var call struct {
			Args   struct{ Command, Path, Content, New string }
			Failed bool
		}
		if ev.Step != "tool" {
			continue
		}
		dirtest.Must(p.t, json.Unmarshal(ev.Data, &call))
		if call.Failed {
			continue
		}
		if m := powerCommand.FindStringSubmatch(call.Args.Command); m != nil {
			n := m[1] + "\n"
			files["log"] += n
			files["big"+m[1]] = strings.Repeat(n, 15000)
			files["d/"+m[1]+"/z"] = "z\n"
		}
		switch ev.Name {
		case "write_file":
			files[call.Args.Path] = call.Args.Content
		case "edit_file":
			files[call.Args.Path] = call.Args.New + "\n"
		}
	}
	return list[0].ID, files, joined
}
