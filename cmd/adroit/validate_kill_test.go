package main

import (
	"strings"
	"testing"
)

// stages is a validation of three stages, the second repaired once.
const stages = `[{"name": "first", "run": "echo x >>log"},
  {"name": "word", "run": "grep -q right word", "fix": true},
  {"name": "last", "run": "test -s log"}]`

const mends = `scenes:
  - when: attempt 1 of 3
    turns:
      - calls: [{name: write_file, args: {path: word, content: "right\n"}}]
      - calls: [{name: finish, args: {summary: The word is right.}}]
  - when: attempt 2 of 3
    turns:
      - calls: [{name: write_file, args: {path: word, content: "right\n"}}]
      - calls: [{name: finish, args: {summary: The word is right.}}]
`

// TestKillValidation kills a validation at its points (a sample of them: see
// points), and resumes it: it ends as one that was not killed,
// and the fixer was asked once. Commands that were cut short are run again,
// since a check may be.
func TestKillValidation(t *testing.T) {
	t.Parallel()
	killing{every: 7, least: 60, args: []string{"run", "validate", "-m", "script:../turns.yaml", "-i", "stages=@../stages.json", "--approve", "all"},
		files: map[string]string{"turns.yaml": mends, "stages.json": stages, "repo/word": "wrong\n"},
	}.test(t, func(p *place, at, out string) {
		for _, want := range []string{"first  passed", "word   fixed   after 1 attempt", "last   passed"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it does not say %q\n%s", at, want, out)
			}
		}
		if log := p.read("repo/log"); log != "x\n" && log != "x\nx\n" || p.read("repo/word") != "right\n" {
			t.Errorf("%s: the log is %q, the word %q", at, log, p.read("repo/word"))
		}
	})
}
