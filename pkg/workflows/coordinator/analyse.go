package coordinator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// analyse asks the analyst: on its own model, which may be a cheap one, and where
// that gives no decision or gives up, on the job's.
func (c *coordinator) analyse(p *Problem, sig string, offered []string) (Action, error) {
	switch {
	case c.sc.Task.Model == NoModel:
		return c.giveUp(p, "code cannot tell what to do, and no model is configured"), nil
	case !May(c.sc.Task, Analyst):
		return c.giveUp(p, "nobody is there to analyse it"), nil
	}
	all := offered // an analyst may see a problem of another type in it
	for _, a := range c.all {
		if a.Name != diagnostic && !c.seen(sig, a.Name) && !c.failedElsewhere(sig, a.Name) && !slices.Contains(all, a.Name) {
			all = append(all, a.Name)
		}
	}
	act, rep, err := c.consult(p, all, nil)
	if err != nil {
		return act, err
	}
	weak := act.Decision == "" || act.Decision == Escalate || act.Decision == Fail
	if _, same := rep.Usage.ByModel[c.sc.Task.Model]; weak && !same && len(rep.Usage.ByModel) > 0 {
		strong, err := c.strong()
		if err != nil {
			return act, err
		}
		if act, _, err = c.consult(p, all, strong); err != nil {
			return act, err
		}
	}
	switch {
	case act.Decision == "":
		return c.giveUp(p, "no model gave a decision that can be carried out"), nil
	case act.Decision == Retry && !c.first(sig, "retry"):
		return c.giveUp(p, "it was run again without a change before, and fails in the same way"), nil
	case act.Decision == Delegate:
		c.first(sig, act.Agent)
	}
	return act, nil
}

// consult has the analyst decide. An action without a decision is one that cannot
// be carried out. The error is the engine's, or that of a model that could not be
// asked.
func (c *coordinator) consult(p *Problem, offered []string, spec json.RawMessage) (Action, executor.Report, error) {
	in, err := c.material(p, offered)
	if err == nil {
		err = c.showPast(p, in)
	}
	if err != nil {
		return Action{}, executor.Report{}, err
	}
	rep, err := c.sc.Spawn(executor.SubAgentRequest{Agent: Analyst, Spec: spec, Inputs: in, Prompt: fmt.Sprintf("A command failed. Decide what happens next; this is attempt %d.%s", p.Attempt, c.advice())})
	if err := hard(err); err != nil {
		return Action{}, rep, err
	}
	var act Action
	if rep.As(&act) != nil {
		return Action{}, rep, c.sc.Note("the analyst gave no decision: %s: %s", rep.Status, rep.Reason)
	}
	if err := act.check(offered); err != nil {
		return Action{}, rep, c.sc.Note("the analyst's decision is not carried out: %v", err)
	}
	act.By = By{"agent", Analyst}
	if by := slices.Sorted(maps.Keys(rep.Usage.ByModel)); len(by) == 1 {
		act.By = By{"model", by[0]}
	}
	return act, rep, nil
}

// analyses reports whether there is an analyst, and a model for it.
func (c *coordinator) analyses() bool {
	return !c.o.Only && c.sc.Task.Model != NoModel && May(c.sc.Task, Analyst)
}

// strong is the analyst on the job's own model.
func (c *coordinator) strong() (json.RawMessage, error) {
	a, _, err := Pinned(c.sc.Task, Analyst)
	if err != nil {
		return nil, err
	}
	a.Model = ""
	return json.Marshal(a)
}

// giveUp hands a problem to a person.
func (c *coordinator) giveUp(p *Problem, why string) Action {
	return Action{Decision: Escalate, By: Rule("undecided"), Reasoning: fmt.Sprintf("%s: %s", p.Message, why), Hint: "Look at the output; repair it."}
}

// offered are the agents that may be tried for p, the best first: never one twice
// for the same failure.
func (c *coordinator) offered(p *Problem, sig string) (out []string) {
	for _, a := range candidates(c.all, p.Type, capabilities(p), c.book.Types) {
		if a.Name != diagnostic && !c.seen(sig, a.Name) && !c.failedElsewhere(sig, a.Name) {
			out = append(out, a.Name)
		}
	}
	return out
}

// candidates orders agents for a problem and leaves out those that are not for it.
// An agent that names the type comes before one that only has one of the
// capabilities; then the higher priority, then the name decides.
func candidates(all []agents.DynamicAgent, typ string, capabilities, more []string) []agents.DynamicAgent {
	type candidate struct {
		agents.DynamicAgent
		byType bool
	}
	var found []candidate
	for _, a := range all {
		byType := slices.Contains(problem.All(a.ProblemTypes, more...), typ)
		able := slices.ContainsFunc(a.Capabilities, func(c string) bool { return slices.Contains(capabilities, strings.ToLower(c)) })
		if byType || able && len(a.ProblemTypes) > 0 {
			found = append(found, candidate{a, byType})
		}
	}
	able := func(c candidate) int {
		if slices.ContainsFunc(c.Capabilities, func(c string) bool { return slices.Contains(capabilities, strings.ToLower(c)) }) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		switch {
		case a.byType != b.byType && a.byType:
			return -1
		case a.byType != b.byType:
			return 1
		}
		return cmp.Or(cmp.Compare(able(b), able(a)), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	out := make([]agents.DynamicAgent, len(found))
	for i, c := range found {
		out[i] = c.DynamicAgent
	}
	return out
}
