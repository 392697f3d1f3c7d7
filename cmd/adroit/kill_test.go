package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// ten is a job of ten tool calls, edits and commands, that counts how often it
// did what may not be done twice.
const ten = `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "one\ntwo\n"}}]
  - calls: [{name: edit_file, args: {path: a.txt, old: two, new: three}}]
  - calls:
      - {name: read_file, args: {path: a.txt}}
      - {name: read_file, args: {path: b.txt}}
  - calls: [{name: shell, args: {command: "echo x >>log"}}]
  - calls: [{name: write_file, args: {path: sub/c.txt, content: "c\n"}}]
  - calls: [{name: edit_file, args: {path: b.txt, old: old, new: new}}]
  - calls: [{name: write_file, args: {path: d.txt, content: "d\n"}}]
  - calls: [{name: edit_file, args: {path: d.txt, old: d, new: e}}]
  - calls: [{name: finish, args: {summary: Ten calls made.}}]
`

const editor = `---
name: editor
description: Edits.
tools: [read_file, write_file, edit_file, shell, finish]
done: {all: [{signal: DONE}, {artifact: diff}]}
---
You edit.
`

// TestKillAtEveryPoint kills the runner at each point of each step of a job (a
// sample of them: see points), resumes the job in a new process, and wants the
// same end as without the kill: the job's state and the tree. A call that was at
// work when the power went may have happened or not; it never happened twice,
// and its result said so to the model.
func TestKillAtEveryPoint(t *testing.T) {
	testenv.Long(t, "starts some two hundred processes")
	t.Parallel()
	k := killing{every: 7, least: 80, args: kinds, // each of some twenty steps has four points, a checkpoint two
		files: map[string]string{"home/.config/adroit/agents/editor.md": editor, "turns.yaml": ten, "repo/b.txt": "old\n"}}
	whole := newPlace(t, k.files)
	whole.ok(0, kinds...)
	want := whole.end()
	if want.tree["log"] != "x\n" {
		t.Fatalf("without a kill: log holds %q", want.tree["log"])
	}
	if want.calls != 10 {
		t.Fatalf("without a kill: %d calls, want 10", want.calls)
	}
	k.test(t, func(p *place, at, out string) {
		p.same(at, want, strings.Contains(out, "may or may not have happened"), out)
		if code, out := p.run("jobs", "undo", "last"); code != 0 {
			t.Errorf("%s: undo: exit code %d\n%s", at, code, out)
		}
		if got := p.tree(); len(got) != 1 || got["b.txt"] != "old\n" {
			t.Errorf("%s: after undo the tree is %v", at, got)
		}
	})
}

var kinds = []string{"run", "editor", "edit", "-m", "script:../turns.yaml", "--approve", "all"}

// A finish is the result of a job as far as it is compared.
type finish struct {
	status, summary string
	turns, calls    int
	artifacts       []string
	tree            map[string]string
}

func (p *place) end() finish {
	p.t.Helper()
	_, out := p.run("jobs", "wait", "last", "--json")
	var ev struct {
		Data struct {
			Status, Summary string
			Turns, Calls    int
			Artifacts       []string
		}
	}
	if err := json.Unmarshal([]byte(out), &ev); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return finish{ev.Data.Status, ev.Data.Summary, ev.Data.Turns, ev.Data.Calls, ev.Data.Artifacts, p.tree()}
}

// differences lists what is not as wanted, but for the tree.
func (f finish) differences(want finish) (lines []string) {
	for _, fact := range []struct {
		name      string
		got, want any
	}{
		{"status", f.status, want.status},
		{"summary", f.summary, want.summary},
		{"turns", f.turns, want.turns},
		{"calls", f.calls, want.calls},
		{"artifacts", strings.Join(f.artifacts, ", "), strings.Join(want.artifacts, ", ")},
	} {
		if fact.got != fact.want {
			lines = append(lines, fmt.Sprintf("%s: %v, want %v", fact.name, fact.got, fact.want))
		}
	}
	return lines
}

// same compares the end of a resumed job with that of one that was not
// killed. unknown means that a call was interrupted and not repeated.
func (p *place) same(at string, want finish, unknown bool, out string) {
	p.t.Helper()
	got := p.end()
	for _, line := range got.differences(want) {
		p.t.Errorf("%s: %s\n%s", at, line, out)
	}
	if strings.Count(got.tree["log"], "x") > 1 {
		p.t.Errorf("%s: the command ran twice", at)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "may or may not have happened") && !strings.Contains(line, "shell") {
			p.t.Errorf("%s: the ledger knows what became of an edit: %s", at, line)
		}
	}
	if unknown {
		return // what the interrupted call left is either side of it
	}
	for name, text := range want.tree {
		if got.tree[name] != text {
			p.t.Errorf("%s: %s holds %q, want %q\n%s", at, name, got.tree[name], text, out)
		}
	}
	if len(got.tree) != len(want.tree) {
		p.t.Errorf("%s: the tree is %v, want %v", at, got.tree, want.tree)
	}
}

// tree is every file of the workspace and what it holds.
func (p *place) tree() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	root := p.path("repo")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path) // path came from root
		out[rel] = string(b)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// Each agent that works in a directory is shown which files in it are not as they were left, the
// one that has spawned another and waits for it, too.
func TestKilledAndEachLearns(t *testing.T) {
	t.Parallel()
	const lost = "expect: {contains: 'Look at them before you go on. deleted: a.txt'}"
	write := func(name string) string {
		return fmt.Sprintf("{name: write_file, args: {path: %[1]s.txt, content: %[1]s}}", name)
	}
	for name, run := range map[string]string{"in a pipeline": "p", "of a job": "boss"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, map[string]string{
				"home/.config/adroit/agents/editor.md": editor,
				"home/.config/adroit/agents/boss.md":   "---\nname: boss\ndescription: Leads.\ntools: [write_file, spawn_agent]\nspawn: [editor]\ndone: {signal: DONE}\n---\nYou lead.\n",
				"home/.config/adroit/pipelines/p.yaml": "steps:\n  - {id: lead, agent: boss, input: Lead}\n",
				"turns.yaml": "scenes:\n  - when: You edit.\n    turns:\n      - calls: [" + write("b") + "]\n      - calls: [" + write("c") + "]\n      - {" + lost + ", calls: [" + write("d") + "]}\n      - text: DONE\n" +
					"turns:\n  - calls: [" + write("a") + "]\n  - calls: [{name: spawn_agent, args: {agent: editor, task: Edit.}}]\n  - {" + lost + ", text: DONE}\n",
			})
			p.bin = program(t)
			env := p.env
			p.env = append(env[:len(env):len(env)], "ADROIT_KILL_AT=3 performed write_file")
			if code, out := p.run("run", run, "lead", "-m", "script:../turns.yaml", "--approve", "all"); code != -int(syscall.SIGKILL) {
				t.Fatalf("it was not killed: exit code %d\n%s", code, out)
			}
			p.env = env
			if err := os.Remove(p.path("repo/a.txt")); err != nil {
				t.Fatal(err)
			}
			out := p.ok(0, "continue", "last")
			if p.tree()["d.txt"] != "d" {
				t.Errorf("the agent that was spawned did not learn of it\n%s", out)
			}
		})
	}
}

// What the finished steps of an interrupted job have changed and is not there any more, or
// is different, is reported once to the person who resumes it and to its model. Files of
// the interrupted step are not.
func TestKilledAndLost(t *testing.T) {
	t.Parallel()
	turns := "turns:\n  - calls: [{name: write_file, args: {path: a.txt, content: a}}]\n  - calls: [{name: write_file, args: {path: b.txt, content: b}}]\n" +
		"  - calls: [{name: write_file, args: {path: c.txt, content: c}}]\n  - {%stext: DONE}\n"
	for name, c := range map[string]struct {
		run, expect, said string
		damage            func(p *place) error
	}{
		"nothing": {"editor", "", "", func(*place) error { return nil }},
		"in a copy": {"p", "expect: {contains: 'Look at them before you go on. deleted: a.txt'}, ", "In the copy w1-2 of a sub-agent: deleted: a.txt", func(p *place) error {
			found, err := filepath.Glob(p.path("data/worktrees/*/a.txt"))
			if len(found) != 1 {
				return fmt.Errorf("the copies have %q, %v", found, err)
			}
			return os.Remove(found[0])
		}},
		"in a sub-agent without a copy": {"q", "expect: {contains: 'Look at them before you go on. deleted: a.txt'}, ", "deleted: a.txt", func(p *place) error {
			return os.Remove(p.path("repo/a.txt"))
		}},
		"both": {"editor", "expect: {contains: 'changed: a.txt; deleted: b.txt'}, ", "changed: a.txt; deleted: b.txt", func(p *place) error {
			return errors.Join(os.WriteFile(p.path("repo/a.txt"), []byte{0}, 0o644), os.Remove(p.path("repo/b.txt")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, map[string]string{"turns.yaml": fmt.Sprintf(turns, c.expect), "home/.config/adroit/agents/editor.md": editor,
				"home/.config/adroit/pipelines/p.yaml": "steps:\n  - {id: edit, agent: editor, input: Edit, worktree: true}\n",
				"home/.config/adroit/pipelines/q.yaml": "steps:\n  - {id: edit, agent: editor, input: Edit}\n"})
			p.bin = program(t)
			env := p.env
			p.env = append(env[:len(env):len(env)], "ADROIT_KILL_AT=3 performed write_file")
			if code, out := p.run("run", c.run, "edit", "-m", "script:../turns.yaml", "--approve", "all"); code != -int(syscall.SIGKILL) {
				t.Fatalf("it was not killed: exit code %d\n%s", code, out)
			}
			p.env = env
			if err := c.damage(p); err != nil {
				t.Fatal(err)
			}
			out := p.ok(0, "continue", "last")
			if strings.Contains(out, "not as its finished steps left them") != (c.said != "") || !strings.Contains(out, c.said) {
				t.Errorf("resume prints\n%s", out)
			}
			if strings.Contains(out, `{"changed"`) {
				t.Errorf("resume prints a record as it is stored\n%s", out)
			}
			if got := p.read("repo/c.txt"); got != "c" {
				t.Errorf("the interrupted step left %q", got)
			}
		})
	}
}
