package main

import (
	"strings"
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
	t.Parallel()
	changed, killed := 0, 0
	killing{every: 7, least: 30, args: []string{"run", "reader", "read", "-m", "script:../turns.yaml", "--trust-project"},
		files: map[string]string{
			"home/.config/adroit/agents/reader.md":      reader,
			"home/.config/adroit/skills/notes/SKILL.md": notes + "One line each.",
			"turns.yaml": words, "repo/top.txt": "top\n", "repo/AGENTS.md": "Mind the top.\n",
			"repo/sub/AGENTS.md": "Be brief in sub.\n", "repo/sub/a.txt": "a\n", "repo/sub/b.txt": "b\n",
		},
		after: func(p *place) {
			killed++
			// Once the first step is kept, what it pinned is what counts.
			if _, log := p.run("jobs", "logs", "last", "--json"); strings.Contains(log, `"kind":"step.finished","step":"resolve"`) {
				changed++
				for name, text := range map[string]string{
					"repo/sub/AGENTS.md": "Be wordy in sub.\n", "repo/AGENTS.md": "Never mind.\n",
					"home/.config/adroit/skills/notes/SKILL.md": notes + "Ten pages each.",
				} {
					put(t, p.path(name), text)
				}
			}
		},
	}.test(t, func(_ *place, at, out string) {
		if !strings.Contains(out, "Shown once.") {
			t.Errorf("%s: the job has not ended as it should\n%s", at, out)
		}
	})
	if changed < killed/2 {
		t.Errorf("only %d of %d kills came after the pinning", changed, killed)
	}
}
