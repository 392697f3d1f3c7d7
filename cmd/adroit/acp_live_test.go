package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

const acpLiveTurns = `turns:
  - calls: [{name: shell, args: {command: "echo begun; until test -e go; do sleep 0.05; done; echo over"}}]
  - text: It ran.
  - expect: {contains: "and more"}
    calls: [{name: shell, args: {command: echo asked}}]
  - expect: {contains: "something else"}
    text: Something else it is.
`

// TestACPLive shows an editor what a command prints while it runs, the title of the
// session, and its models; a call that was cancelled at its question is not asked
// about again.
func TestACPLive(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": acpLiveTurns, "other.yaml": "turns:\n" + strings.Repeat("  - text: I am another.\n", 5), // a script counts the turns of the conversation
		"repo/a.txt":                         "one\n",
		"home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Works.\ntools: [shell]\n---\nYou work.\n"})
	e := edit(t, p, "hand")
	s := e.session(p.path("repo"))
	model := func(options []sdk.SessionConfigOption) *sdk.SessionConfigOptionSelect {
		t.Helper()
		if len(options) != 1 || options[0].Select == nil || options[0].Select.Id != "model" || *options[0].Select.Category != sdk.SessionConfigOptionCategoryModel {
			t.Fatalf("%+v", options)
		}
		return options[0].Select
	}
	if m := model(s.ConfigOptions); !strings.HasSuffix(string(m.CurrentValue), "turns.yaml") || (*m.Options.Ungrouped)[0].Value != m.CurrentValue {
		t.Errorf("%+v", m)
	}
	ran := make(chan string, 1)
	go func() { ran <- e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("run it")) }()
	await(t, "what the command prints", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(strings.Join(e.lines, "\n"), `update: in_progress shows "begun\n"`)
	})
	if err := os.WriteFile(p.path("repo/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, <-ran, "info: run it", "update: shell echo begun; until test -e go; do sleep 0.05; done; echo over in_progress", "completed shows", "over", "agent: It ran.")

	e.answers = []string{"cancel"}
	contains(t, e.prompt(s.SessionId, sdk.StopReasonCancelled, sdk.TextBlock("and more")), "update: shell echo asked pending")
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("something else")), "agent: Something else it is.")
	if len(e.asked) != 2 { // the first is about the command that ran
		t.Errorf("asked %d times: %+v", len(e.asked), e.asked)
	}

	set := func(id, value string) ([]sdk.SessionConfigOption, error) {
		r, err := e.SetSessionConfigOption(t.Context(), sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
			SessionId: s.SessionId, ConfigId: sdk.SessionConfigId(id), Value: sdk.SessionConfigValueId(value)}})
		return r.ConfigOptions, err
	}
	for id, value := range map[string]string{"model": "none/such", "speed": "fast"} {
		if _, err := set(id, value); err == nil {
			t.Errorf("%s is set to %s", id, value)
		}
	}
	options, err := set("model", "script:"+p.path("other.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if m := model(options); !strings.HasSuffix(string(m.CurrentValue), "other.yaml") {
		t.Errorf("%+v", m)
	}
	contains(t, e.prompt(s.SessionId, sdk.StopReasonEndTurn, sdk.TextBlock("who are you?")), "agent: I am another.")
}

// TestACPDelete deletes sessions by the protocol's own words, which the library lacks: one
// that no message was sent to, and one whose job goes with it; what it cannot mean is an error.
func TestACPDelete(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": "turns:\n  - text: Hello.\n", "repo/a.txt": "one\n",
		"home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Works.\ntools: [read_file]\n---\nYou work.\n"})
	cmd, _ := p.command("serve", "acp", "hand", "-m", "script:"+p.path("turns.yaml"))
	cmd.Stdout, cmd.Stderr = nil, nil
	in, out := piped(t, cmd)
	answers, id := bufio.NewReader(out), 0
	ask := func(method, params, want string) (result struct{ SessionID string }) {
		t.Helper()
		id++
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var m struct {
				ID     int
				Result struct{ SessionID string }
			}
			if json.Unmarshal([]byte(line), &m) != nil || m.ID != id {
				continue // an update
			}
			if !strings.Contains(line, want) {
				t.Errorf("%s: %s; want %s", method, line, want)
			}
			return m.Result
		}
	}
	cwd := fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, p.path("repo"))
	session := func(id string) string { return fmt.Sprintf(`{"sessionId":%q}`, id) }
	ask("initialize", `{"protocolVersion":1}`, `"sessionCapabilities":{"delete":{},`)
	ask("authenticate", `{"methodId":"login"}`, `"result":{}`)
	ask("authenticate", `{"methodId":"oauth"}`, "there is no method oauth")
	empty := ask("session/new", cwd, `"sessionId"`).SessionID
	ask("session/delete", session(empty), `"result":{}`)
	ask("session/prompt", `{"sessionId":"`+empty+`","prompt":[{"type":"text","text":"hi"}]}`, "there is no session")
	used := ask("session/new", cwd, `"sessionId"`).SessionID
	ask("session/prompt", `{"sessionId":"`+used+`","prompt":[{"type":"text","text":"say session/delete"}]}`, "end_turn")
	ask("session/list", `{}`, used)
	ask("session/delete", session(used), `"result":{}`)
	ask("session/list", `{}`, `"sessions":[]`)
	ask("session/delete", session(used), "there is no session")
	ask("session/delete", `{}`, "sessionId is missing")
	ask("session/delete", `{"sessionId":"`+strings.Repeat("x", 1<<16)+`"}`, "there is no session")
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if code, list := p.run("jobs", "--json", "--all"); code != 0 || strings.TrimSpace(list) != "[]" {
		t.Errorf("jobs: %s", list)
	}
}
