package coordinator

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Coordinate repairs p until retry, which runs again what failed and is given what
// was decided, returns no problem. The error comes from the engine, a limit, or
// a model that could not be asked: that says nothing about the problem. What
// there is of a result comes with it.
func Coordinate(sc *executor.Scope, o Options, p *Problem, retry func(Action) (*Problem, error)) (Result, error) {
	c, err := newCoordinator(sc, o)
	if err != nil {
		return Result{}, err
	}
	return c.run(p, retry)
}

func (c *coordinator) run(p *Problem, retry func(Action) (*Problem, error)) (Result, error) {
	before := c.sc.State.Spent()
	res, err := c.coordinate(p, retry)
	used := c.sc.State.Spent().Since(before)
	res.ended = Ended{Status: res.Status, Decisions: len(res.Attempts), Arms: res.Arms, Took: used.Took, Tokens: used.In + used.Out, Cost: used.Cost}
	return res, err
}

func (c *coordinator) coordinate(p *Problem, retry func(Action) (*Problem, error)) (Result, error) {
	c.res.Command, c.res.Problem = p.Command, p
	c.left = c.o.attempts()
	if err := c.begin(); err != nil {
		return c.res, err
	}
	for n := 1; ; n++ {
		p.Attempt = n
		p.since(c.sc.Task)
		act, err := c.decide(p)
		var review *Review
		if err == nil {
			act, review, err = c.reviewed(p, act)
		}
		if err != nil {
			return *c.end(nil, Failed, err.Error(), ""), err
		}
		at := Attempt{Type: p.Type, Signature: p.Signature(), Message: clip(p.Message, 300), Action: act, Review: review}
		if err := c.show(p, &at); err != nil {
			return c.res, err
		}
		again, end, err := c.perform(p, &at)
		switch {
		case err != nil:
			return *c.end(&at, Failed, err.Error(), ""), err
		case end != nil:
			return *end, c.remember(p, &at, problem.Given)
		}
		if act.Decision != Retry || !act.By.Code() {
			c.left--
		}
		if !again {
			at.Outcome = problem.NoChange
			if err := c.keep(p, &at, at.Outcome); err != nil {
				return c.res, err
			}
			continue
		}
		next, err := retry(act)
		switch {
		case err != nil:
			return *c.end(&at, Failed, err.Error(), ""), err
		case next == nil:
			at.Outcome = problem.Works
			return *c.end(&at, Fixed, "", ""), c.remember(p, &at, at.Outcome)
		}
		if next.further {
			c.left++
		}
		next.Type = c.typeOf(next, p)
		if err = c.judge(&at, next); err == nil {
			learned := at.Outcome
			if next.Interrupted { // which says nothing about what was done
				learned = problem.Unfinished
			}
			err = c.keep(p, &at, learned)
		}
		if err != nil {
			return c.res, err
		}
		p, c.res.Problem = next, next
	}
}

// perform carries out what was decided, up to running again what failed. end is the
// result if nothing is to be done any more.
func (c *coordinator) perform(p *Problem, at *Attempt) (again bool, end *Result, err error) {
	switch act := at.Action; act.Decision {
	case Fail:
		return false, c.end(at, Failed, act.Reasoning, act.Hint), nil
	case Escalate:
		end, err = c.escalate(p, at)
		return !c.advised, end, err
	case Retry:
		if act.Wait > 0 {
			err = flow.Sleep(c.sc.Run, act.Wait)
		}
		if act.Replay != "" {
			again, err = c.replay(at)
			return again, nil, err
		}
	case Delegate:
		again, err = c.repair(p, at)
		return again, nil, err
	}
	return true, end, err
}

// repair carries out a delegation.
func (c *coordinator) repair(p *Problem, at *Attempt) (again bool, err error) {
	switch {
	case c.o.Repair != nil:
		return c.o.Repair(p, at)
	case at.Action.Run != "":
		return c.command(at)
	}
	if len(at.Action.Together) > 1 {
		return c.race(p, at)
	}
	return c.delegate(p, at)
}

// typeOf is the type of the next problem before it is classified: so that the
// signatures of two that are the same are the same.
func (c *coordinator) typeOf(next, before *Problem) string {
	if c.o.NoRules {
		return before.Type
	}
	q := *next
	q.since(c.sc.Task)
	if typ, known := c.typed(&q); known {
		return typ
	}
	return before.Type
}

// show shows a decision to those who watch.
func (c *coordinator) show(p *Problem, at *Attempt) error {
	if c.o.Show != nil {
		return c.o.Show(p, at)
	}
	return Announce(c.sc, at)
}

// Announce shows a decision to those who watch.
func Announce(sc *executor.Scope, at *Attempt) error {
	text := fmt.Sprintf("%s (%s): %s", at.Action.Decision, at.Action.By, spelling.FirstLine(at.Action.Reasoning))
	if at.Action.Agent != "" {
		text = fmt.Sprintf("%s to %s (%s): %s", at.Action.Decision, at.Action.Agent, at.Action.By, spelling.FirstLine(at.Action.Reasoning))
	}
	return sc.Run.Report(map[string]any{"problem": at.Type, "signature": at.Signature, "action": at.Action}, "%s", text)
}

// judge finishes an attempt after which it still fails: what did not help is
// taken back, unless it is to be kept.
func (c *coordinator) judge(at *Attempt, next *Problem) error {
	at.Outcome = failsOtherwise
	if next.Signature() == at.Signature {
		at.Outcome = "same"
	}
	if at.Repair == nil || at.Repair.Path == "" || at.Outcome != "same" || c.o.Keep || len(at.Repair.Changed) == 0 {
		return nil
	}
	got, err := c.undo(at.Repair.Path)
	at.Undone, at.Kept = got.Undone, got.Kept
	return err
}
