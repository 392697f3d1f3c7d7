package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/workspace/sandbox"
)

// checkMode says what is wrong with a mode, nil if it can be left as it is.
func checkMode(where string, m executor.Mode) error {
	if m != "" && !slices.Contains(executor.Modes, m) {
		return broken(fmt.Errorf("%s: mode is %q", where, m), "it is one of plan, edits, auto")
	}
	return nil
}

// checkPermissions judges the rules of the configuration, so that a mistake in
// one is said before anything runs under it.
func checkPermissions(where string, rules []permit.Rule) error {
	for i, r := range rules {
		if err := r.Check(); err != nil {
			return broken(fmt.Errorf("%s: permissions, rule %d: %w", where, i+1, err), "for example - {tool: shell, command: \"go test *\", do: allow}")
		}
	}
	return nil
}

// permissionSetting shows the rules on one line.
func permissionSetting(rules []permit.Rule) setting {
	var out []string
	for _, r := range rules {
		out = append(out, r.String())
	}
	if out == nil {
		return setting{"permissions", "none", false}
	}
	return setting{"permissions", strings.Join(out, "; "), true}
}

// fence is what stands around commands at a level, the configured one if it is
// empty.
func (a *app) fence(level string) executor.Fence {
	off := executor.Fence{Sandbox: string(sandbox.Off), Network: "open"}
	c, err := a.config()
	if err != nil {
		return off
	}
	l, err := sandbox.Parse(cmp.Or(level, c.Sandbox.Level))
	if err != nil {
		return off
	}
	r := sandbox.Choose(l)
	if r.Err() != nil || r.Level == sandbox.Off {
		return off
	}
	f := executor.Fence{Sandbox: string(r.Level), Network: "private"}
	if c.Sandbox.Net == "open" {
		f.Network = "open"
	}
	return f
}

// warnIgnored tells which of an agent's permissions do not hold.
func (a *app) warnIgnored(agent *agents.DynamicAgent) {
	for _, words := range agent.Ignored() {
		fmt.Fprintf(a.Stderr, "adroit: warning: %s\n", line(words))
	}
}
