package main

import (
	"strings"
	"testing"
)

// fixRivals are a repair that does not help and one that does, of two agents.
const fixRivals = `scenes:
  - when: You repair the code
    turns:
      - calls: [{name: write_file, args: {path: worse.txt, content: "worse\n"}}]
      - calls: [{name: finish, args: {summary: Fixed.}}]
  - when: until it does what was asked
    turns:
      - calls: [{name: edit_file, args: {path: a.txt, old: wrong, new: right}}]
      - calls: [{name: finish, args: {summary: Right now.}}]
`

// TestKillFixParallel kills, at its points, a job whose agents repair at once: it ends
// as one that was not killed, and no copy of the work tree is left.
func TestKillFixParallel(t *testing.T) {
	t.Parallel()
	killing{every: 9, least: 40, args: []string{"fix", "--parallel", "2", "-m", "script:../turns.yaml", "--", "sh", "build.sh"},
		files: map[string]string{"turns.yaml": fixRivals, "repo/a.txt": "wrong\n", "repo/build.sh": fixBuild},
	}.test(t, func(p *place, at, out string) {
		_, fix := p.run("jobs", "artifacts", "last", "fix")
		if strings.Count(fix, `"outcome": "works"`) != 1 || !strings.Contains(fix, `"others"`) {
			t.Errorf("%s: the result is\n%s\n%s", at, fix, out)
		}
		if _, job := p.run("jobs", "show", "last", "--json"); strings.Contains(job, `"worktrees"`) {
			t.Errorf("%s: a copy of the work tree is left\n%s", at, job)
		}
		p.repaired(at)
	})
}
