package coordinator

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/problem"
)

// decide says what happens about p: the retries that were asked for, code where it
// can, the moves of a strategy, then the analyst on its own model, then on the job's.
func (c *Coordinator) decide(p *Problem) (Action, error) {
	act, err := c.decision(p)
	return c.unapproved(act), err
}

func (c *Coordinator) decision(p *Problem) (Action, error) {
	if act, ok := c.retryMove(p); ok {
		return act, nil
	}
	if c.o.NoRules {
		if p.Inconclusive != "" {
			return Action{Decision: Fail, By: Rule("inconclusive"), Reasoning: p.Message}, nil
		}
		if act, ok, err := c.move(p, "given", c.o.Strategy); ok || err != nil {
			return act, err
		}
		return c.spent(p), nil
	}
	if c.advised {
		c.advised = false
		return c.ruling(p, 0)
	}
	act, by, known, err := c.detect(p)
	if err != nil {
		return Action{}, err
	}
	sig := p.Signature()
	if c.left <= 0 && !c.o.Only {
		return Action{Decision: Escalate, By: Rule("attempts"), Reasoning: fmt.Sprintf("it still fails after %d attempts: %s", c.o.attempts(), p.Message), Hint: "See what was tried, and repair it yourself."}, nil
	}
	if p.Interrupted { // in a journal of a version that did not ask a person
		return Action{Decision: Retry, By: Rule("interrupted"), Reasoning: "the command was cut short with the process that ran it, so nobody knows how it would have ended"}, nil
	}
	if err := c.recall(p, sig); err != nil {
		return Action{}, err
	}
	offered := c.offered(p, sig)
	if act != nil && act.Decision == Delegate && act.Hint != "" && c.sc.Task.Model == NoModel {
		act.Decision, act.Agent = Escalate, "" // code knows what is missing, and nobody is there to repair it
	}
	if act != nil && (act.Decision != Delegate || slices.Contains(offered, act.Agent)) {
		if act.Decision == Delegate {
			c.first(sig, act.Agent)
		}
		return *act, nil
	}
	own := c.strategy(p.Type)
	if p.Type == problem.Test && own == nil && known && c.first(sig, "rerun") && p.Attempt == 1 {
		return Action{Decision: Retry, By: Rule("flaky"), Reasoning: "a test that fails may be one that fails at times: it is run once more before anybody changes code"}, nil
	}
	if act, ok := c.remembered(sig); ok {
		return act, nil
	}
	if own != nil && !c.o.Only {
		if act, ok, err := c.move(p, p.Type, own); ok || err != nil {
			return act, err
		}
		return Action{Decision: Escalate, By: Rule("strategy"), Reasoning: "all that the strategy for " + p.Type + " has was tried: " + p.Message, Hint: "See what was tried, and repair it yourself."}, nil
	}
	if act, ok, err := c.move(p, "given", c.o.Strategy); ok || err != nil {
		return act, err
	}
	if c.o.Only {
		return c.spent(p), nil
	}
	if act, ok := c.install(p, sig); ok {
		return act, nil
	}
	if known && len(offered) > 0 && !c.failedBefore(sig) {
		if act, ok := c.together(p, sig, by, offered); ok {
			return act, nil
		}
		name := offered[0]
		c.first(sig, name)
		return Action{Decision: Delegate, Agent: name, By: by, Instructions: "Repair the cause with the smallest change.",
			Reasoning: fmt.Sprintf("the output is that of a problem of type %s (%s), which %s repairs", p.Type, by, name)}, nil
	}
	return c.ruling(p, 0)
}

// failedBefore reports whether an agent has worked on a failure that is the same.
func (c *Coordinator) failedBefore(sig string) bool {
	return slices.ContainsFunc(c.res.Attempts, func(a Attempt) bool { return a.Repair != nil && a.Action.Replay == "" && a.Signature == sig })
}
