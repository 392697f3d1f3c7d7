package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fixAsker is an agent that a coordinator knows for builds, and that runs commands.
const fixAsker = "---\nname: asker\ndescription: Repairs builds by commands.\ntools: [shell, edit_file, finish]\nproblem_types: [build]\npriority: 95\ngrant: [read, write, exec, shell]\n---\nYou run commands.\n"

// asking is a repair of code-fix and, at the same time, one of asker, by a command.
func asking(fix, command string) string {
	return `scenes:
  - when: You run commands
    turns:
      - {usage: {in: 100, out: 10}, calls: [{name: shell, args: {command: ` + command + `}}]}
      - {usage: {in: 100, out: 10}, calls: [{name: finish, args: {summary: I ran it.}}]}
  - when: You repair the code
    turns:
      - {usage: {in: 100, out: 10}, calls: [` + fix + `]}
      - {usage: {in: 100, out: 10}, calls: [{name: finish, args: {summary: It was wrong.}}]}
`
}

const (
	fixRight = `{name: edit_file, args: {path: a.txt, old: wrong, new: right}}`
	fixWorse = `{name: write_file, args: {path: worse.txt, content: "worse\n"}}`
)

// runs counts the processes with an argument, wherever they are in the tree.
func runs(arg string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		b, _ := os.ReadFile(name) // it may have ended
		for _, a := range bytes.Split(b, []byte{0}) {
			if string(a) == arg {
				n++
			}
		}
	}
	return n
}

// An attempt that has lost leaves nothing: its command, with a child in the background,
// one in a session of its own and one that ignores being asked to end, is gone, and so is
// its copy of the work tree. What it used counts.
func TestFixParallelLeavesNothing(t *testing.T) {
	t.Parallel()
	nap := fmt.Sprintf("36%06d", time.Now().UnixNano()%1e6)
	stubborn := fmt.Sprintf(`"sleep %[1]s & setsid sleep %[1]s & sh -c 'trap \"\" TERM HUP INT; sleep %[1]s; sleep %[1]s' & sleep %[1]s"`, nap)
	p := newPlace(t, map[string]string{"repo/a.txt": "wrong\n", "home/.config/adroit/agents/asker.md": fixAsker, "turns.yaml": asking(fixRight, stubborn)})
	// The one that wins waits for the other to be at it.
	put(t, p.path("repo/build.sh"), "if grep -q right a.txt; then while ! test -f '"+p.path("go")+"'; do sleep 0.05; done; echo built; exit 0; fi\necho 'a.c:1:1: error: it is wrong'; exit 1\n")
	cmd, out := p.command("fix", "--parallel", "2", "--approve", "all", "--sandbox", "landlock", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the commands of the slower one", func() bool { return runs(nap) >= 4 })
	put(t, p.path("go"), "")
	if code := ended(t, cmd.Wait()); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	await(t, "its commands to end", func() bool { return runs(nap) == 0 })
	if left, _ := filepath.Glob(p.path("data/worktrees/*")); len(left) > 0 {
		t.Errorf("copies of the work tree are left: %v", left)
	}
	p.raced("code-fix", "asker", 330, out.String())
}

// raced checks who won, who lost, and that what both used is what the job used.
func (p *place) raced(winner, loser string, tokens int, out string) {
	p.t.Helper()
	type repair struct {
		Agent, Status string
		Tokens        int
	}
	var fix struct {
		Status   string
		Attempts []struct {
			Outcome string
			Repair  repair
			Others  []repair
		}
	}
	text := p.ok(0, "jobs", "artifacts", "last", "fix")
	if err := json.Unmarshal([]byte(text), &fix); err != nil || len(fix.Attempts) != 1 || len(fix.Attempts[0].Others) != 1 {
		p.t.Fatalf("%v\n%s\n%s", err, text, out)
	}
	a := fix.Attempts[0]
	if fix.Status != "fixed" || a.Repair.Agent != winner || a.Others[0].Agent != loser || a.Repair.Tokens+a.Others[0].Tokens != tokens {
		p.t.Errorf("want %s before %s, and %d tokens:\n%s\n%s", winner, loser, tokens, text, out)
	}
	var stats struct{ Tokens int }
	if err := json.Unmarshal([]byte(p.ok(0, "fix", "stats", "--json")), &stats); err != nil || stats.Tokens != tokens {
		p.t.Errorf("the job counts %d tokens, want %d (%v)", stats.Tokens, tokens, err)
	}
}

// One of several that repair at once asks a person: the others go on. When one of them
// wins, the question is withdrawn; else the job waits for it, and the answer is taken
// once.
func TestFixParallelAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fix    string
		wins, answer string
	}{{"withdrawn", fixRight, "code-fix", ""}, {"approved", fixWorse, "asker", "approve"}, {"denied", fixWorse, "", "deny"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"repo/a.txt": "wrong\n", "home/.config/adroit/agents/asker.md": fixAsker, "turns.yaml": asking(c.fix, `"echo right >a.txt"`)})
			put(t, p.path("repo/build.sh"), "while test -f worse.txt -o -f a.txt && ! grep -q wrong a.txt && ! test -f '"+p.path("go")+"'; do sleep 0.05; done; grep -q right a.txt && echo built && exit 0\necho 'a.c:1:1: error: it is wrong'; exit 1\n")
			if c.answer != "" {
				put(t, p.path("go"), "")
			}
			cmd, out := p.command("fix", "--parallel", "2", "--attempts", "1", "--escalate", "report", "--sandbox", "landlock", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.answer == "" {
				await(t, "the question", func() bool {
					_, log := p.run("jobs", "logs", "last", "--json")
					return strings.Contains(log, "echo right") && strings.Contains(log, `"approval`)
				})
				put(t, p.path("go"), "")
				if code := ended(t, cmd.Wait()); code != 0 {
					t.Fatalf("exit code %d\n%s", code, out)
				}
				if code, said := p.run("answer", "approve"); code == 0 {
					t.Errorf("a question of nobody is answered:\n%s", said)
				}
				if _, shown := p.run("jobs", "show", "last", "--json"); strings.Contains(shown, "echo right") {
					t.Errorf("the question is still open\n%s", shown)
				}
				p.raced(c.wins, "asker", 330, out.String())
				return
			}
			if code := ended(t, cmd.Wait()); code != 4 || strings.Count(out.String(), "waiting for a person") != 1 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			want := map[string]int{"approve": 0, "deny": 1}[c.answer]
			text := p.ok(want, "answer", c.answer)
			if code, again := p.run("answer", c.answer); code == 0 {
				t.Errorf("the answer was taken twice:\n%s", again)
			}
			if c.wins != "" {
				p.raced(c.wins, "code-fix", 440, text)
				p.repaired(c.name)
			} else if p.read("repo/a.txt") != "wrong\n" {
				t.Errorf("a.txt is %q\n%s", p.read("repo/a.txt"), text)
			}
		})
	}
}

// What a person changes while agents repair copies of the work tree stays as it is, also
// where the change that won is to the same file: that is not brought back.
func TestFixParallelLeavesPersonsWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"repo/a.txt": "wrong\n", "turns.yaml": fixRivals + "  - when: You decide what happens next\n    loop: true\n    turns:\n      - text: '{\"decision\": \"ESCALATE\", \"reasoning\": \"I cannot tell.\", \"agent\": \"\", \"instructions\": \"\", \"diagnose\": false, \"hint\": \"Look.\"}'\n"})
	put(t, p.path("repo/build.sh"), "if grep -q right a.txt; then echo up >'"+p.path("repo/up")+"'; while ! test -f '"+p.path("go")+"'; do sleep 0.05; done; echo built; exit 0; fi\necho 'a.c:1:1: error: it is wrong'; exit 1\n")
	cmd, out := p.command("fix", "--parallel", "2", "--attempts", "1", "--escalate", "report", "--sandbox", "landlock", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the command in the copy that is right", func() bool {
		_, log := p.run("jobs", "logs", "last", "--json")
		return strings.Count(log, `"kind":"step.started","step":"tool","name":"rerun"`) > 0 || strings.Contains(log, "Right now.")
	})
	for name, text := range map[string]string{"repo/a.txt": "mine, all of it\n", "repo/notes.txt": "mine\n", "go": ""} {
		put(t, p.path(name), text)
	}
	if code := ended(t, cmd.Wait()); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if p.read("repo/a.txt") != "mine, all of it\n" || p.read("repo/notes.txt") != "mine\n" || p.read("repo/worse.txt") != "" {
		t.Errorf("a person's work is lost: a.txt is %q, notes.txt %q\n%s", p.read("repo/a.txt"), p.read("repo/notes.txt"), out)
	}
	if _, report := p.run("jobs", "artifacts", "last", "fix"); !strings.Contains(report, "not brought back: a.txt") {
		t.Errorf("the result does not say what was left:\n%s", report)
	}
}

// In --worktree nothing of the person's tree is touched, and what is merged later does
// not overwrite it.
func TestFixWorktreeLeavesPersonsWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"repo/a.txt": "wrong\n", "repo/build.sh": fixBuild, "turns.yaml": fixOnce})
	p.env = append(p.env, "GIT_CONFIG_GLOBAL="+p.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "x"}, {"config", "user.email", "x@example.org"}, {"add", "."}, {"commit", "-qm", "Begin"}} {
		p.git(args...)
	}
	put(t, p.path("repo/a.txt"), "mine\n")
	out := p.ok(0, "fix", "--worktree", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
	if p.read("repo/a.txt") != "mine\n" {
		t.Errorf("a.txt is %q\n%s", p.read("repo/a.txt"), out)
	}
	if code, out := p.run("jobs", "merge", "last"); code == 0 || p.read("repo/a.txt") != "mine\n" {
		t.Errorf("merging: exit code %d, a.txt is %q\n%s", code, p.read("repo/a.txt"), out)
	}
	put(t, p.path("repo/a.txt"), "wrong\n")
	p.ok(0, "jobs", "merge", "last")
	p.repaired("merged")
}
