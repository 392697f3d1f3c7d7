package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

const fixBuild = `grep -q right a.txt && echo built && exit 0
echo "a.c:1:1: error: it is wrong"
exit 1
`

// fixTurns are a repair that does not help, a decision, a diagnosis and a repair
// that does.
const fixTurns = `scenes:
  - when: You repair the code
    turns:
      - calls: [{name: write_file, args: {path: worse.txt, content: "worse\n"}}]
      - calls: [{name: finish, args: {summary: Fixed.}}]
  - when: You decide what happens next
    turns:
      - text: '{"decision": "DELEGATE", "reasoning": "The file is wrong.", "agent": "environment-setup", "instructions": "Make a.txt right.", "diagnose": true, "hint": ""}'
  - when: You find the cause
    turns:
      - calls: [{name: finish, args: {summary: "a.txt says wrong."}}]
  - when: because of what surrounds it
    turns:
      - calls: [{name: edit_file, args: {path: a.txt, old: wrong, new: right}}]
      - calls: [{name: finish, args: {summary: Right now.}}]
`

// fixOnce is a repair that helps.
const fixOnce = `scenes:
  - when: You repair the code
    turns:
      - calls: [{name: edit_file, args: {path: a.txt, old: wrong, new: right}}]
      - calls: [{name: finish, args: {summary: It was wrong.}}]
`

// TestKillFix kills a coordinated job at its points (a sample of them: see points)
// and resumes it: it ends as one that was not killed, what did not help is
// undone, and each agent was asked once.
func TestKillFix(t *testing.T) {
	t.Parallel()
	killing{every: 9, least: 40, args: []string{"fix", "-m", "script:../turns.yaml", "--", "sh", "build.sh"},
		files: map[string]string{"turns.yaml": fixTurns, "repo/a.txt": "wrong\n", "repo/build.sh": fixBuild},
	}.test(t, func(p *place, at, _ string) {
		_, fix := p.run("jobs", "artifacts", "last", "fix")
		for what, want := range map[string]int{`"status": "fixed"`: 1, `"agent": "code-fix"`: 2, `"agent": "environment-setup"`: 2, `"outcome": "same"`: 1, `"outcome": "works"`: 1} {
			if got := strings.Count(fix, what); got != want {
				t.Errorf("%s: the result has %s %d times, want %d\n%s", at, what, got, want, fix)
			}
		}
		p.repaired(at)
	})
}

// repaired checks that the one file is right, and that what made it worse is gone.
func (p *place) repaired(at string) {
	p.t.Helper()
	if p.read("repo/a.txt") != "right\n" || p.read("repo/worse.txt") != "" {
		p.t.Errorf("%s: a.txt is %q, worse.txt %q", at, p.read("repo/a.txt"), p.read("repo/worse.txt"))
	}
}

// TestKillFixMemory kills, at its points, a job that makes a known change again: it
// ends as one that was not killed, and each attempt is remembered once.
func TestKillFixMemory(t *testing.T) {
	t.Parallel()
	killing{every: 7, least: 15, args: []string{"fix", "-m", "script:../none.yaml", "--", "sh", "build.sh"},
		files: map[string]string{"turns.yaml": fixOnce, "none.yaml": "turns:\n  - error: {kind: auth, message: nobody may ask}\n", "repo/a.txt": "wrong\n", "repo/build.sh": fixBuild},
		before: func(p *place) {
			p.ok(0, "fix", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
			put(t, p.path("repo/a.txt"), "wrong\n")
		},
	}.test(t, func(p *place, at, _ string) {
		known := p.ok(0, "fix", "failures", "--json")
		if got := strings.Count(known, `"outcome": "works"`); got != 2 {
			t.Errorf("%s: %d outcomes are remembered, want 2\n%s", at, got, known)
		}
		p.repaired(at)
	})
}

// TestKillFixRaised kills, at its points, a job that a limit stopped between two steps and
// that goes on with a higher one: it ends as one that was not killed.
func TestKillFixRaised(t *testing.T) {
	t.Parallel()
	turns := strings.Replace(fixTurns, `"diagnose": true, "hint": ""}'`, `"diagnose": false, "hint": ""}'
        usage: {in: 5000, out: 100}`, 1)
	killing{every: 7, least: 8, args: []string{"continue", "last", "--max-tokens", "90000"},
		files: map[string]string{"turns.yaml": turns, "repo/a.txt": "wrong\n", "repo/build.sh": fixBuild},
		before: func(p *place) {
			p.ok(3, "fix", "--max-tokens", "3000", "-m", "script:../turns.yaml", "--", "sh", "build.sh")
		},
	}.test(t, func(p *place, at, _ string) { p.repaired(at) })
}

// TestKillFixPolicy kills a pipeline whose step a coordinator repairs, with a strategy
// of the user's, and resumes it: it ends as one that was not killed.
func TestKillFixPolicy(t *testing.T) {
	t.Parallel()
	killing{every: 11, least: 40, args: []string{"run", "build", "-m", "script:../turns.yaml", "--approve", "all"},
		files: map[string]string{"turns.yaml": fixTurns, "repo/a.txt": "wrong\n", "repo/build.sh": fixBuild,
			"home/.config/adroit/problems/wrong.yaml":  "detectors:\n  - {name: it-is-wrong, pattern: it is wrong}\nstrategy:\n  - {retry: 1, wait: 1ms}\n  - {agent: code-fix}\n  - {analyse: true, undo: true}\n",
			"home/.config/adroit/pipelines/build.yaml": "steps:\n  - {id: build, run: sh build.sh, onFailure: {coordinate: {attempts: 5, escalate: never}}}\n  - {id: after, tool: list_files}\n"},
	}.test(t, func(p *place, at, _ string) {
		_, got := p.run("jobs", "artifacts", "last", "pipeline")
		for what, want := range map[string]int{`"by": "rule retries"`: 1, `"by": "rule strategy"`: 1, `"outcome": "works"`: 1} {
			if n := strings.Count(got, what); n != want {
				t.Errorf("%s: the result has %s %d times, want %d\n%s", at, what, n, want, got)
			}
		}
		p.repaired(at)
		// A command that was killed is reported and run again: what was done before it
		// counts neither as what helped nor as what did not.
		_, known := p.run("fix", "failures", "--json")
		works, unknown := strings.Count(known, `"outcome": "works"`), strings.Count(known, `"outcome": "unfinished"`)
		if works > 1 || works == 0 && unknown != 1 || strings.Count(known, `"agent": "code-fix"`) != 1 || strings.Contains(known, `"changed"`) {
			t.Errorf("%s: the memory has %d that works and %d of which nothing is known, want 1, or the other\n%s", at, works, unknown, known)
		}
	})
}

// What a person changes while agents repair is not lost, also in a file that a
// repair changed and that is to be undone.
func TestFixLeavesPersonsWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"repo/a.txt": "wrong\nend\n", "repo/build.sh": `if grep -q worse a.txt; then while ! test -f go; do sleep 0.05; done; fi
echo "a.c:1:1: error: it is wrong"
exit 1
`, "turns.yaml": `scenes:
  - when: You repair the code
    turns:
      - calls: [{name: edit_file, args: {path: a.txt, old: wrong, new: worse}}, {name: write_file, args: {path: other.txt, content: "x\n"}}]
      - calls: [{name: finish, args: {summary: Fixed.}}]
  - when: You decide what happens next
    turns:
      - text: '{"decision": "ESCALATE", "reasoning": "I cannot tell.", "agent": "", "instructions": "", "diagnose": false, "hint": "Look."}'
`})
	cmd, out := p.command("fix", "-m", "script:../turns.yaml", "--escalate", "report", "--sandbox", "landlock", "--", "sh", "build.sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Minute); !strings.HasPrefix(p.read("repo/a.txt"), "worse") || p.read("repo/other.txt") == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			_ = cmd.Process.Kill()
			t.Fatalf("the agent has changed nothing\n%s", out)
		}
	}
	for name, text := range map[string]string{"repo/a.txt": "mine, all of it\n", "repo/notes.txt": "mine\n", "repo/go": ""} {
		if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code := ended(t, cmd.Wait()); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if p.read("repo/a.txt") != "mine, all of it\n" || p.read("repo/notes.txt") != "mine\n" {
		t.Errorf("a person's work is lost: a.txt is %q, notes.txt %q\n%s", p.read("repo/a.txt"), p.read("repo/notes.txt"), out)
	}
	if p.read("repo/other.txt") != "" {
		t.Errorf("what did not help is still there\n%s", out)
	}
	if _, report := p.run("jobs", "artifacts", "last", "report"); !strings.Contains(report, "not undone: a.txt") {
		t.Errorf("the report does not say what was left:\n%s", report)
	}
}
