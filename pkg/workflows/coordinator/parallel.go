package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// together is the decision that several agents repair at once, each in a copy of the
// work tree. ok is false where there are not several.
func (c *coordinator) together(p *Problem, sig string, by By, offered []string) (act Action, ok bool) {
	if c.o.Parallel < 2 || c.o.Works == nil || len(offered) < 2 {
		return act, false
	}
	names := offered[:min(len(offered), c.o.Parallel)]
	for _, name := range names {
		c.first(sig, name)
	}
	return Action{Decision: Delegate, Agent: names[0], Together: names, By: by, Instructions: "Repair the cause with the smallest change.",
		Reasoning: fmt.Sprintf("the output is that of a problem of type %s (%s); %s repair it at once, and the first after whose repair it works wins", p.Type, by, strings.Join(names, ", "))}, true
}

// A rival is the result of one of several agents.
type rival struct {
	repair *Repair
	tree   string
	works  bool
	outage error
}

// race has several agents repair p, each in a copy of the work tree. What the first has
// changed after whose repair it works is brought back as one change; the others are
// stopped, and their copies removed.
func (c *coordinator) race(p *Problem, at *Attempt) (bool, error) {
	in, err := c.material(p, nil)
	if err != nil {
		return false, err
	}
	delete(in, "agents")
	rivals, winner, err := executor.Race(c.sc, at.Action.Together, func(sc *executor.Scope, agent string) (rival, bool, error) {
		r, err := c.repairApart(sc, agent, at.Action.Instructions, in)
		return r, r.works, err
	})
	if err != nil {
		return false, err
	}
	if winner >= 0 {
		w := rivals[winner]
		at.Action.Agent, at.Repair = at.Action.Together[winner], w.repair
		if err := c.bringBack(w); err != nil {
			return false, err
		}
	} else {
		at.Action.Agent = ""
		at.Repair = &Repair{Agent: strings.Join(at.Action.Together, ", "), Status: executor.Failed, Reason: "it worked after none of the repairs"}
	}
	return len(at.Repair.Changed) > 0, c.settle(p, at, rivals, winner)
}

// repairApart has an agent repair a copy of the work tree, and runs there what failed.
func (c *coordinator) repairApart(sc *executor.Scope, agent, words string, in map[string]json.RawMessage) (r rival, err error) {
	r.repair = &Repair{Agent: agent, Status: executor.Failed}
	stopped := func(err error) error {
		if se, ok := errors.AsType[*flow.StepError](err); ok {
			r.repair.Status, r.repair.Reason = executor.Failed, se.Message
			return nil
		}
		return err
	}
	own, err := sc.InTree()
	if err != nil {
		return r, stopped(err)
	}
	r.tree = own.Task.At
	spec, err := c.bounded(agent)
	if err != nil {
		return r, err
	}
	rep, done, err := Delegated(own, executor.SubAgentRequest{Agent: agent, Spec: spec, Inputs: in, Prompt: "A command fails. " + words})
	r.repair = done
	r.repair.Path = done.Step
	if err := Reported(err); err != nil {
		return r, err
	}
	if r.outage = hard(err); r.outage != nil {
		return r, nil
	}
	if rep.Status != executor.Done {
		return r, nil
	}
	r.works, err = c.o.Works(own)
	return r, stopped(err)
}

// bringBack makes the change of the winner in the work tree.
func (c *coordinator) bringBack(w rival) error {
	path := c.sc.Run.Next()
	got, err := c.sc.JoinTree(w.tree)
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		w.repair.Changed, w.repair.Reason = nil, "what it changed could not be brought back: "+se.Message
		return nil
	}
	if err != nil {
		return err
	}
	if len(got.Conflicts) > 0 {
		w.repair.Reason = "not brought back: " + got.ConflictList()
	}
	w.repair.Path = path
	w.repair.Changed, err = c.changed(path)
	return err
}

// settle removes the copies of those that have not won, and keeps what they came to.
func (c *coordinator) settle(p *Problem, at *Attempt, rivals []rival, winner int) error {
	if !slices.ContainsFunc(rivals, func(r rival) bool { return r.outage == nil }) {
		return rivals[0].outage // the copies stay, for the job goes on in them
	}
	for i, r := range rivals {
		if i == winner {
			continue
		}
		at.Others = append(at.Others, *r.repair)
		if r.tree != "" {
			err := c.sc.DropTree(r.tree)
			if se := new(flow.StepError); errors.As(err, &se) {
				err = c.sc.Note("the worktree %s could not be removed: %s", r.tree, se.Message)
			}
			if err != nil {
				return err
			}
		}
		if r.outage == nil && r.repair.Status == executor.Done && !r.works && winner < 0 {
			one := Attempt{Type: at.Type, Signature: at.Signature, Message: at.Message, Repair: r.repair, Action: Action{Decision: Delegate, Agent: r.repair.Agent, By: at.Action.By}}
			if err := c.remember(p, &one, problem.Same); err != nil {
				return err
			}
		}
	}
	return nil
}
