package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// politeACP is an Agent Client Protocol program that asks before it runs a
// command and prints the answer.
const politeACP = `#!/bin/sh
id() { printf '%s' "$l" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id)" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
read -r l && reply '{"protocolVersion":1,"agentCapabilities":{},"authMethods":[],"agentInfo":{"name":"polite","version":"1"}}'
read -r l && reply '{"sessionId":"s"}'
read -r l
prompt=$l
update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Run it","kind":"execute","status":"pending","rawInput":{"command":"echo hi >made.txt"}}'
printf '{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Run it","kind":"execute","rawInput":{"command":"echo hi >made.txt"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}\n'
read -r l
case "$l" in *'"yes"'*) echo hi >made.txt; done=completed; said=made ;; *) done=failed; said=refused ;; esac
update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"'$done'"}'
update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It was '$said'.\nDONE"}}'
l=$prompt
reply '{"stopReason":"end_turn"}'
cat >/dev/null
`

func acpPlace(t *testing.T) *place {
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": hand, "polite": politeACP,
		"home/.config/adroit/config.yaml": "cli: {polite: {format: acp, command: [~/../polite]}}\n"})
	if err := os.Chmod(filepath.Join(p.dir, "polite"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// What a model at work asks is asked at the terminal, and the answer is obeyed.
func TestPermissionAtTerminal(t *testing.T) {
	t.Parallel()
	for answer, made := range map[string]string{"y\n": "hi\n", "n\n\n": ""} {
		p := acpPlace(t)
		x, wait := p.terminal(100, []string{"TERM=xterm", "NO_COLOR=1"}, "run", "hand", "make it", "-m", "cli/polite")
		x.expect("may it? [y]es, [n]o", answer)
		if code := wait(); code != 0 {
			t.Errorf("exit code %d\n%s", code, x.text())
		}
		text := x.text()
		if got := p.read("repo/made.txt"); got != made {
			t.Errorf("after %q made.txt holds %q\n%s", answer, got, text)
		}
		for _, want := range []string{"echo hi >made.txt", "asked to execute: echo hi >made.txt: " + map[bool]string{true: "yes", false: "no, denied by a person"}[made != ""]} {
			if !strings.Contains(text, want) {
				t.Errorf("after %q the screen lacks %q:\n%s", answer, want, text)
			}
		}
	}
}

// With nobody there it is refused, and rules decide before anybody is asked.
func TestPermissionAlone(t *testing.T) {
	t.Parallel()
	p := acpPlace(t)
	code, out := p.run("run", "hand", "make it", "-m", "cli/polite", "--json")
	if code != 0 || p.read("repo/made.txt") != "" || !strings.Contains(out, "nobody can be asked while it works") {
		t.Errorf("code %d\n%s", code, out)
	}
	code, out = p.run("run", "hand", "make it", "-m", "cli/polite", "--approve", "all", "--json")
	if code != 0 || p.read("repo/made.txt") != "hi\n" {
		t.Errorf("code %d\n%s", code, out)
	}
}
