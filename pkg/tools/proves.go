package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/hint"
)

func (t Tool) checkProves(bad func(string, ...any)) {
	if len(t.ProvesWith) > 0 && t.Proves == "" {
		bad("has ProvesWith without Proves: say what a successful call proves")
	}
	if t.Input == nil {
		return
	}
	for _, arg := range t.ProvesWith {
		if !slices.ContainsFunc(t.Input.Params(), func(p schema.Param) bool { return p.Name == arg }) {
			bad("proves something with %q, which is none of its arguments", arg)
		}
	}
}

// CheckFault returns why calls with args cannot be a check, "" if they can, and
// what to write instead. A nil args is no arguments.
func (t Tool) CheckFault(args json.RawMessage) (fault, help string) {
	given := map[string]json.RawMessage{}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(args, &given); err != nil {
		return "with is not an object of arguments", fmt.Sprintf("write it like check: {tool: %s, with: {…}}", t.Name)
	}
	with := fmt.Sprintf("see %s for its arguments", hint.Name("tools show %s", t.Name))
	if len(t.ProvesWith) > 0 {
		with = fmt.Sprintf("write it like check: {tool: %s, with: {%s: …}}", t.Name, t.ProvesWith[0])
	}
	if faults := t.Input.Validate(args); len(faults) > 0 {
		return fmt.Sprintf("%s cannot be a check: %s", t.Name, faults[0]), with
	}
	needs := len(t.ProvesWith) > 0 && !slices.ContainsFunc(t.ProvesWith, func(arg string) bool {
		v := strings.TrimSpace(string(given[arg]))
		return v != "" && v != "null" && v != `""` && v != "[]"
	})
	if needs {
		return fmt.Sprintf("%s proves nothing without %s", t.Name, strings.Join(t.ProvesWith, " or ")), with
	}
	return "", ""
}

// Lacks returns the tool with missing as its Missing.
func (t Tool) Lacks(missing func(env *Env, args json.RawMessage) string) Tool {
	t.Missing = missing
	return t
}
