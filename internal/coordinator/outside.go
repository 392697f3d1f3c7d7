package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Tools for what a repair may need beside changed files. A person approves each call. A
// task that was pinned before there were any does without.
const (
	outsideTool  = "run_outside"  // a command that needs the network, or credentials
	continueTool = "git_continue" // a merge whose conflicts are resolved
	statusTool   = "git_status"   // what a person has to stage who does that
)

// install is the next command of a package manager that may get what p misses. It takes no
// word of an output: problem has all of them.
func (c *Coordinator) install(p *Problem, sig string) (act Action, ok bool) {
	if p.Type != problem.Dependency || c.o.Repair != nil {
		return act, false
	}
	for _, run := range p.Installs {
		if !problem.IsInstall(run) || run == p.Command || slices.Contains(c.pending, run) || !c.first(sig, "install "+run) {
			continue
		}
		if !c.sc.Has(outsideTool) { // a rule denies it
			c.pending, c.missed = append(c.pending, run), "the tool run_outside, which would get it, may not be called"
			break
		}
		return Action{Decision: Delegate, Run: run, Outside: true, By: Rule("install"), Reasoning: "a package is missing, and this gets what the project declares: " + run}, true
	}
	if c.missed == "" || c.sc.Task.Model != NoModel {
		return act, false
	}
	return Action{Decision: Escalate, By: c.missedBy(), Reasoning: "a package is missing, and " + c.missed, Hint: c.missedHint}, true
}

// missedBy is the rule by which a person has to get a package.
func (c *Coordinator) missedBy() By {
	if len(c.pending) > 0 {
		return Rule("not-approved")
	}
	return Rule("install")
}

// notInstalled notes why a command of a package manager has not got a package.
func (c *Coordinator) notInstalled(run string, reply executor.ToolResult) {
	p := Of(c.sc.Task, reply)
	p.Command = run
	why := p.Message
	c.missedHint = "See why it fails."
	if act, _, _ := Classify(p); act != nil {
		why = act.Reasoning
		if act.Decision == Escalate {
			c.missedHint = act.Hint
		}
	} else if line := gist(p.Output); line != "" {
		why += ": " + clip(line, 300)
	}
	c.missed = run + " could not get it: " + why
}

// gist is the line of an output to show where there is room for one: the first with the
// word error, else the last.
func gist(output string) (line string) {
	for l := range strings.Lines(problem.Plain(output)) {
		if l = strings.TrimSpace(l); strings.Contains(strings.ToLower(l), "error") {
			return l
		} else if l != "" {
			line = l
		}
	}
	return line
}

// unapproved has a decision that hands p to a person say what was not approved and would
// go on.
func (c *Coordinator) unapproved(act Action) Action {
	if act.Decision == Escalate && len(c.pending) > 0 {
		act.Hint = strings.TrimSpace(fmt.Sprintf("Run it yourself: %s. %s", strings.Join(c.pending, ", or "), act.Hint))
	}
	return act
}
