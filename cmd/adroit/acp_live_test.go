package main

import (
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
