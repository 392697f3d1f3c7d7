package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
)

// Tools for what a repair may need beside changed files. A person approves each call. A
// task that was pinned before there were any does without.
const (
	outsideTool  = "run_outside"  // a command that needs the network, or credentials
	continueTool = "git_continue" // a merge whose conflicts are resolved
)

// install is the next command of a package manager that may get what p misses. It takes no
// word of an output: problem has all of them.
func (c *Coordinator) install(p *Problem, sig string) (act Action, ok bool) {
	if p.Type != problem.Dependency || c.o.Repair != nil || !c.sc.Has(outsideTool) {
		return act, false
	}
	for _, run := range p.Installs {
		if !problem.IsInstall(run) || run == p.Command || slices.Contains(c.pending, run) || !c.first(sig, "install "+run) {
			continue
		}
		return Action{Decision: Delegate, Run: run, Outside: true, By: Rule("install"), Reasoning: "a package is missing, and this gets what the project declares: " + run}, true
	}
	return act, false
}

// unapproved has a decision that hands p to a person say what was not approved and would
// go on.
func (c *Coordinator) unapproved(act Action) Action {
	if act.Decision == Escalate && len(c.pending) > 0 {
		act.Hint = strings.TrimSpace(fmt.Sprintf("Run it yourself: %s. %s", strings.Join(c.pending, ", or "), act.Hint))
	}
	return act
}
