package coordinator

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/executor"
)

// Supervisor is the agent that reviews decisions where no other is named.
const Supervisor = "fix-supervisor"

// What a Supervisor makes of a decision.
const (
	approves  = "approve"
	replaces  = "replace"  // by another decision
	escalates = "escalate" // a person decides
)

// reviewed has the supervisor look at a decision, if there is to be one: at each to have
// an agent repair, and at what a model has decided. What code decides otherwise changes
// nothing. A replacement is checked like any decision, and not reviewed again.
func (c *Coordinator) reviewed(p *Problem, act Action) (Action, *Review, error) {
	if c.o.Supervise == "" || c.sc.Task.Model == NoModel || act.Decision != Delegate && act.By.Code() {
		return act, nil, nil
	}
	if sp := c.sc.Task.Spawn; sp == nil || !slices.Contains(sp.Allowed, c.o.Supervise) {
		return act, nil, fmt.Errorf("decisions are to be reviewed, and the agent %s may not be spawned", c.o.Supervise)
	}
	var offered []string
	for _, a := range c.all {
		if sig := p.Signature(); a.Name != diagnostic && (a.Name == act.Agent || !c.seen(sig, a.Name)) {
			offered = append(offered, a.Name)
		}
	}
	in, err := c.material(p, offered)
	if err != nil {
		return act, nil, err
	}
	if in["decision"], err = quoted(act); err != nil {
		return act, nil, err
	}
	rep, err := c.sc.Spawn(executor.SubAgentRequest{Agent: c.o.Supervise, Inputs: in, Prompt: "Review this decision before it is carried out." + c.advice()})
	if err := Hard(err); err != nil {
		return act, nil, err
	}
	var got struct {
		Verdict string
		Action
	}
	if rep.As(&got) != nil {
		got.Verdict, got.Reasoning = escalates, "the supervisor gave no verdict: "+rep.Status+": "+rep.Reason
	}
	r := &Review{Verdict: got.Verdict, Reasoning: clip(got.Reasoning, 2000), Of: &act}
	switch next := got.Action; got.Verdict {
	case approves:
		r.Of = nil
		return act, r, nil
	case replaces:
		if err := next.check(offered); err == nil {
			next.By = By{"agent", c.o.Supervise}
			if next.Decision == Delegate {
				c.first(p.Signature(), next.Agent)
			}
			return next, r, nil
		}
		r.Reasoning += " (its own decision cannot be carried out)"
	}
	return Action{Decision: Escalate, By: By{"agent", c.o.Supervise}, Reasoning: r.Reasoning, Hint: clip(got.Hint, 1000)}, r, nil
}
