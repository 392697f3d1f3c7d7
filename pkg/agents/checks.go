package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// addChecks settles how the task's checks are run: by which command the tests,
// and which have nothing to check in the workspace as it is. A check that can
// never judge anything is refused before the first turn.
func addChecks(a *DynamicAgent, t *executor.Task, in Input, set *tools.Set, env Env) error {
	t.Test = cmp.Or(in.Test, env.Test)
	if in.Parent != nil {
		t.Test = in.Parent.Test // settled once for a job: its files may have changed
	}
	for _, c := range checksOf(t.Done) {
		name, args := c.Call()
		tool, ok := set.Lookup(name)
		if !ok {
			return fmt.Errorf("there is no tool %s, which its check runs", name)
		}
		if fault, hint := tool.CheckFault(args); fault != "" {
			return fmt.Errorf("%s; %s", fault, hint)
		}
		if tool.Missing == nil || env.Missing == nil || in.Dir == "" {
			continue
		}
		if words := env.Missing(in.Dir, tool, args, t.Test); words != "" {
			if t.NothingToCheck == nil {
				t.NothingToCheck = map[string]string{}
			}
			t.NothingToCheck[c.Label()] = words
		}
	}
	return nil
}

// checksOf lists the parts of a criterion that are checks.
func checksOf(c executor.Criterion) (out []executor.Criterion) {
	if c.IsCheck() {
		out = append(out, c)
	}
	parts := slices.Concat(c.All, c.Any)
	if c.IfMissing != nil {
		parts = append(parts, *c.IfMissing)
	}
	for _, part := range parts {
		out = append(out, checksOf(part)...)
	}
	return out
}

// nothingToCheckText tell the model before its first turn which checks have nothing
// to check, and what counts instead.
func nothingToCheckText(t *executor.Task) string {
	var lines []string
	for _, c := range checksOf(t.Done) {
		words, lacks := t.NothingToCheck[c.Label()]
		switch {
		case !lacks:
		case c.IfMissing == nil:
			lines = append(lines, fmt.Sprintf("%s has nothing to check in this project (%s), and nothing else counts instead: it has to have something to check when you are done.", c.Label(), words))
		default:
			lines = append(lines, fmt.Sprintf("%s has nothing to check in this project (%s). Unless that changes, this counts instead: %s. Say in your last words that it was not checked.", c.Label(), words, strings.Join(c.IfMissing.Describe(), " and ")))
		}
	}
	return strings.Join(slices.Compact(lines), "\n")
}
