package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// words is a job that twice reads below a directory with an AGENTS.md: the
// first turn that does is shown it, once for two parallel calls, and no later
// one. The script fails if a request has anything else.
const words = `turns:
  - calls: [{name: read_file, args: {path: top.txt}}]
  - calls:
      - {name: read_file, args: {path: sub/a.txt}}
      - {name: read_file, args: {path: sub/b.txt}}
  - expect: {contains: "Be brief in sub.", last: '^(?s)[^B]*$'}
    calls: [{name: write_file, args: {path: sub/c.txt, content: "c\n"}}]
  - expect: {last: '^(?s)[^B]*$'}
    calls: [{name: read_skill, args: {name: notes}}]
  - expect: {last: '^One line each\.$'}
    calls: [{name: finish, args: {summary: Shown once.}}]
`

const reader = `---
name: reader
description: Reads.
tools: [read_file, write_file, finish]
skills: [notes]
done: {all: [{signal: DONE}, {artifact: diff}]}
---
You read.
`

const notes = "---\nname: notes\ndescription: How notes are written.\n---\n"

// TestWordsSurviveKill kills the runner at each point (a sample of them: see
// points), changes the project's words and the skill, and wants the job to go on
// with those it began with.
func TestWordsSurviveKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some hundred processes; run it without -short")
	}
	t.Parallel()
	bin := program(t)
	run := []string{"run", "reader", "read", "-m", "script:../turns.yaml", "--trust-project"}
	changed := 0
	last, killed := points(t, 7, func(n int) bool {
		p := newPlace(t, map[string]string{
			"home/.config/adroit/agents/reader.md":      reader,
			"home/.config/adroit/skills/notes/SKILL.md": notes + "One line each.",
			"turns.yaml": words, "repo/top.txt": "top\n", "repo/AGENTS.md": "Mind the top.\n",
			"repo/sub/AGENTS.md": "Be brief in sub.\n", "repo/sub/a.txt": "a\n", "repo/sub/b.txt": "b\n",
		})
		p.bin = bin
		p.env = append(p.env, fmt.Sprintf("ADROIT_KILL_AT=%d", n))
		code, out := p.run(run...)
		if code == 0 {
			return false
		}
		if code != -int(syscall.SIGKILL) {
			t.Fatalf("point %d: exit code %d\n%s", n, code, out)
		}
		p.env = p.env[:len(p.env)-1]
		// Once the first step is kept, what it pinned is what counts.
		if _, log := p.run("jobs", "logs", "last", "--json"); strings.Contains(log, `"kind":"step.finished","step":"resolve"`) {
			changed++
			for name, text := range map[string]string{
				"repo/sub/AGENTS.md": "Be wordy in sub.\n", "repo/AGENTS.md": "Never mind.\n",
				"home/.config/adroit/skills/notes/SKILL.md": notes + "Ten pages each.",
			} {
				if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if code, out = p.run("jobs", "resume", "last"); code != 0 || !strings.Contains(out, "Shown once.") {
			t.Errorf("point %d: resume: exit code %d\n%s", n, code, out)
		}
		return true
	})
	if last < 30 || changed < killed/2 {
		t.Errorf("%d points, %d of %d kills after the pinning; the job cannot have been killed everywhere", last, changed, killed)
	}
}
