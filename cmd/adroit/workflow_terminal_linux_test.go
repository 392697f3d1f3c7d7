package main

import (
	"strings"
	"testing"
)

// A sub-agent's question comes to the person at the terminal like any other,
// while its sibling works; the job goes on with the answer.
func TestApproveSubAgentAtTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"home/.config/adroit/agents/asks.md":     "---\ndescription: Has others look.\nworkflow: fanout_review\nspawn: [reviewer]\ninputs:\n  focus: {artifact: focus}\n---\nCode decides.\n",
		"home/.config/adroit/agents/reviewer.md": "---\ndescription: Reviews, with a shell.\ntools: [shell, report_findings]\ndone: {artifact: findings}\n---\nYou review.\n",
		"turns.yaml": `scenes:
  - when: for right only
    turns:
      - calls: [{name: shell, args: {command: "echo x >>log"}}]
      - calls: [{name: shell, args: {command: "echo y >>log"}}]
      - expect: {last: denied by a person}
        calls: [{name: report_findings, args: {summary: s, findings: []}}]
      - {text: No findings.}
turns:
  - calls: [{name: report_findings, args: {summary: s, findings: []}}]
  - {text: No findings.}
`})
	x, wait := p.terminal(100, []string{"TERM=xterm", "NO_COLOR=1"}, "run", "asks", "Look.", "-i", `focus=["left","right"]`, "-m", "script:../turns.yaml")
	x.expect("echo x >>log", "")
	x.expect("[v]iew all of it: ", "y\n")
	x.expect("echo y >>log", "")
	await(t, "the second question", func() bool { return strings.Count(x.text(), "[v]iew all of it: ") >= 2 })
	x.expect("echo y >>log", "n\n")
	x.expect("why? the model reads it", "\n")
	if code := wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, x.text())
	}
	if log := p.read("repo/log"); log != "x\n" {
		t.Errorf("the log is %q\n%s", log, x.text())
	}
	if !strings.Contains(x.text(), "no findings") {
		t.Errorf("screen:\n%s", x.text())
	}
}
