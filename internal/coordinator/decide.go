package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// decide says what happens about p: the retries that were asked for, code where it
// can, the moves of a strategy, then the analyst on its own model, then on the job's.
func (c *Coordinator) decide(p *Problem) (Action, error) {
	if act, ok := c.retryMove(p); ok {
		return act, nil
	}
	if c.o.NoRules {
		if p.Inconclusive != "" {
			return Action{Decision: Fail, By: "rule inconclusive", Reasoning: p.Message}, nil
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
		return Action{Decision: Escalate, By: "rule attempts", Reasoning: fmt.Sprintf("it still fails after %d attempts: %s", c.o.attempts(), p.Message), Hint: "See what was tried, and repair it yourself."}, nil
	}
	if p.Interrupted {
		return Action{Decision: Retry, By: "rule interrupted", Reasoning: "the command was cut short with the process that ran it, so nobody knows how it would have ended"}, nil
	}
	if err := c.recall(p, sig); err != nil {
		return Action{}, err
	}
	offered := c.offered(p, sig)
	if act != nil && (act.Decision != Delegate || slices.Contains(offered, act.Agent)) {
		if act.Decision == Delegate {
			c.first(sig, act.Agent)
		}
		return *act, nil
	}
	own := c.strategy(p.Type)
	if p.Type == problem.Test && own == nil && known && c.first(sig, "rerun") && p.Attempt == 1 {
		return Action{Decision: Retry, By: "rule flaky", Reasoning: "a test that fails may be one that fails at times: it is run once more before anybody changes code"}, nil
	}
	if act, ok := c.remembered(sig); ok {
		return act, nil
	}
	if own != nil && !c.o.Only {
		if act, ok, err := c.move(p, p.Type, own); ok || err != nil {
			return act, err
		}
		return Action{Decision: Escalate, By: "rule strategy", Reasoning: "all that the strategy for " + p.Type + " has was tried: " + p.Message, Hint: "See what was tried, and repair it yourself."}, nil
	}
	if act, ok, err := c.move(p, "given", c.o.Strategy); ok || err != nil {
		return act, err
	}
	if c.o.Only {
		return c.spent(p), nil
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

// first reports whether something was not done yet about a signature, and notes it.
func (c *Coordinator) first(sig, what string) bool {
	if c.seen(sig, what) {
		return false
	}
	c.tried[sig+" "+what] = true
	return true
}

func (c *Coordinator) seen(sig, what string) bool { return c.tried[sig+" "+what] }

// failedBefore reports whether an agent has worked on a failure that is the same.
func (c *Coordinator) failedBefore(sig string) bool {
	return slices.ContainsFunc(c.res.Attempts, func(a Attempt) bool { return a.Repair != nil && a.Action.Replay == "" && a.Signature == sig })
}

// offered are the agents that may be tried for p, the best first: never one twice
// for the same failure.
func (c *Coordinator) offered(p *Problem, sig string) (out []string) {
	for _, a := range candidates(c.all, p.Type, capabilities(p), c.book.Types) {
		if a.Name != diagnostic && !c.seen(sig, a.Name) && !c.failedElsewhere(sig, a.Name) {
			out = append(out, a.Name)
		}
	}
	return out
}

// analyse asks the analyst: on its own model, which may be a cheap one, and where
// that gives no decision or gives up, on the job's.
func (c *Coordinator) analyse(p *Problem, sig string, offered []string) (Action, error) {
	sp := c.sc.Task.Spawn
	switch {
	case c.sc.Task.Model == NoModel:
		return c.giveUp(p, "code cannot tell what to do, and no model is configured"), nil
	case sp == nil || !slices.Contains(sp.Allowed, Analyst):
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

// analyses reports whether there is an analyst, and a model for it.
func (c *Coordinator) analyses() bool {
	sp := c.sc.Task.Spawn
	return !c.o.Only && c.sc.Task.Model != NoModel && sp != nil && slices.Contains(sp.Allowed, Analyst)
}

// advice is what a person has said, for those who are asked next.
func (c *Coordinator) advice() string {
	if c.words == "" {
		return ""
	}
	return " A person who was asked says: " + c.words
}

// giveUp hands a problem to a person.
func (c *Coordinator) giveUp(p *Problem, why string) Action {
	return Action{Decision: Escalate, By: "rule undecided", Reasoning: fmt.Sprintf("%s: %s", p.Message, why), Hint: "Look at the output; repair it."}
}

// strong is the analyst on the job's own model.
func (c *Coordinator) strong() (json.RawMessage, error) {
	var a agents.DynamicAgent
	if err := json.Unmarshal(c.sc.Task.Spawn.Agents[Analyst].Spec, &a); err != nil {
		return nil, fmt.Errorf("agent %s as it was pinned: %w", Analyst, err)
	}
	a.Model = ""
	return json.Marshal(a)
}

// consult has the analyst decide. An action without a decision is one that cannot
// be carried out. The error is the engine's, or that of a model that could not be
// asked.
func (c *Coordinator) consult(p *Problem, offered []string, spec json.RawMessage) (Action, executor.Report, error) {
	in, err := c.material(p, offered)
	if err == nil {
		err = c.showPast(p, in)
	}
	if err != nil {
		return Action{}, executor.Report{}, err
	}
	rep, err := c.sc.Spawn(executor.SubAgentRequest{Agent: Analyst, Spec: spec, Inputs: in, Prompt: fmt.Sprintf("A command failed. Decide what happens next; this is attempt %d.%s", p.Attempt, c.advice())})
	if err := Hard(err); err != nil {
		return Action{}, rep, err
	}
	var act Action
	if rep.As(&act) != nil {
		return Action{}, rep, c.sc.Note("the analyst gave no decision: %s: %s", rep.Status, rep.Reason)
	}
	if err := act.check(offered); err != nil {
		return Action{}, rep, c.sc.Note("the analyst's decision is not carried out: %v", err)
	}
	act.By = "agent " + Analyst
	if by := slices.Sorted(maps.Keys(rep.Usage.ByModel)); len(by) == 1 {
		act.By = "model " + by[0]
	}
	return act, rep, nil
}

// outages are the failures of a model's provider that say nothing about what the
// model was asked.
var outages = []string{"model.auth", "model.no_model", "model.rate_limit", "model.overloaded", "model.unreachable", "model.timeout", "model.no_program"}

// Hard is an error of a sub-agent that ends the coordination: the engine's, or one
// of a model that could not be asked. That is an outage, and the job can be
// resumed when it is over.
func Hard(err error) error {
	var spawned *executor.SpawnError
	if err == nil || !errors.As(err, &spawned) {
		return err
	}
	var code string
	var se *flow.StepError
	var stop *executor.StopError
	if errors.As(err, &se) {
		code = se.Code
	} else if errors.As(err, &stop) {
		code = stop.Outcome.Code
	}
	if slices.Contains(outages, code) {
		return &executor.StopError{Outcome: executor.Outcome{Status: executor.Failed, Code: code, Reason: "a model could not be asked, which says nothing about the command: " + spawned.Report.Reason}}
	}
	if spawned.Report.Status == executor.Limit && spawned.Report.Usage.Agents == 0 {
		return &executor.StopError{Outcome: executor.Outcome{Status: executor.Limit, Limit: spawned.Report.Limit, Reason: spawned.Report.Reason}}
	}
	return nil
}

// mostShown bounds the output that a model is shown, in bytes.
const mostShown = 8 << 10

// material is what a model is shown of a problem: JSON, in which no text can pass
// for anything but a value.
func (c *Coordinator) material(p *Problem, offered []string) (map[string]json.RawMessage, error) {
	q := *p
	q.Output = clip(tail(problem.Plain(q.Output), mostShown), mostShown+100)
	type tried struct{ Decision, Agent, Why, Summary, Outcome string }
	var history []tried
	for _, a := range c.res.Attempts {
		t := tried{Decision: string(a.Action.Decision), Agent: a.Action.Agent, Why: a.Action.Reasoning, Outcome: a.Outcome}
		if a.Repair != nil {
			t.Summary = clip(a.Repair.Summary, 500)
		}
		history = append(history, t)
	}
	var list []string
	for _, a := range c.all {
		if slices.Contains(offered, a.Name) {
			list = append(list, fmt.Sprintf("%s (%s): %s", a.Name, strings.Join(problem.All(a.ProblemTypes, c.book.Types...), ", "), a.Description))
		}
	}
	out := map[string]json.RawMessage{}
	for _, in := range []struct {
		name  string
		value any
	}{{"problem", q}, {"tried", history}, {"agents", list}} {
		b, err := quoted(in.value)
		if err != nil {
			return nil, err
		}
		if out[in.name] = b; string(b) == "null" {
			out[in.name] = json.RawMessage(`[]`)
		}
	}
	return out, nil
}
