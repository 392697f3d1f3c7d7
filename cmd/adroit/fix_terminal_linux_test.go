package main

import (
	"os"
	"strings"
	"testing"
)

const fixNeeds = `if test -f there.txt; then echo there; exit 0; fi
no-such-program-x
`

// The escalation of adroit fix is answered where it is asked: continue, abort, or
// words, which the agents get.
func TestFixAtTerminal(t *testing.T) {
	t.Parallel()
	const ask = "or type what the agents should know: "
	for _, c := range []struct {
		name, answer, want string
		code               int
		before             func(t *testing.T, p *place)
	}{
		{"continue", "c\n", "there", 0, func(t *testing.T, p *place) {
			if err := os.WriteFile(p.path("repo/there.txt"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		{"abort", "abort\n", "Given up, as a person said", 1, nil},
		{"words", "write there.txt instead\n", "DELEGATE to environment-setup", 0, nil},
		{"nothing", "\n", "waiting for a person", 4, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"repo/needs.sh": fixNeeds, "turns.yaml": `scenes:
  - when: You decide what happens next
    turns:
      - expect: {contains: "A person who was asked says: write there.txt instead"}
        text: '{"decision": "DELEGATE", "reasoning": "The person knows.", "agent": "environment-setup", "instructions": "Write there.txt.", "diagnose": false, "hint": ""}'
  - when: because of what surrounds it
    turns:
      - expect: {contains: "A person who was asked says: write there.txt instead"}
        calls: [{name: write_file, args: {path: there.txt, content: "x\n"}}]
      - calls: [{name: finish, args: {summary: It is there.}}]
`})
			x, wait := p.terminal(120, []string{"TERM=xterm", "NO_COLOR=1"}, "fix", "-m", "script:../turns.yaml", "--", "sh", "needs.sh")
			x.expect("asks: the program no-such-program-x is not installed", "")
			if c.before != nil {
				c.before(t, p)
			}
			x.expect(ask, c.answer)
			if code := wait(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, x.text())
			}
			if !strings.Contains(x.text(), c.want) {
				t.Errorf("the screen does not show %q:\n%s", c.want, x.text())
			}
		})
	}
}
