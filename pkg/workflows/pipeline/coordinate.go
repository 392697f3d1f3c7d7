package pipeline

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/event"
)

// A repaired is a step while a coordinator tries to get it done.
type repaired struct {
	x   *run
	s   *Step
	row *Row
	o   outcome // of the last attempt

	changes   coordinator.Adjustments // for the next attempt
	diagnosis string
}

// options are how the step is coordinated: its retries, then its policy.
func (t *repaired) options() coordinator.Options {
	o := coordinator.Options{Escalate: coordinator.Never, Only: true, NoRules: true}
	if n := t.s.Retries.Attempts; n > 0 {
		o.Strategy = append(o.Strategy, coordinator.Move{Retry: true, Times: n, Wait: t.s.Retries.Backoff})
	}
	if t.x.recovers(t.s) {
		o.Strategy = append(o.Strategy, coordinator.Move{Decide: true, Times: t.x.p.Recovery.most()})
		o.NoRules = !t.x.coded() || t.s.Kind() != "run" && t.s.Kind() != "tool" // what agents say is no output of a program
	}
	if t.x.coordinates(t.s) {
		return t.repairs(o)
	}
	o.Decide = func(*coordinator.Problem, int) (coordinator.Action, error) {
		d, err := t.x.recover(t.s, t.row.Attempts, &t.o)
		return d.action(), err
	}
	o.Show = t.show
	return o
}

// coordinates reports whether a coordinator is the policy of s.
func (x *run) coordinates(s *Step) bool {
	return !x.p.jumps(s) && x.p.policy(s) == Repair && s.commands()
}

// repairs are the options of a step that a coordinator repairs.
func (t *repaired) repairs(o coordinator.Options) coordinator.Options {
	b := t.s.Coordinate
	if b == nil {
		b = t.x.p.Coordinate
	}
	if b == nil {
		b = &Coordinate{}
	}
	o.Only, o.NoRules = false, false
	o.Attempts, o.Escalate, o.Patience, o.Names, o.Keep = b.Attempts, b.Escalate, b.Wait, b.Agents, b.Keep
	o.Memory, o.Supervise = b.Memory, b.Supervise
	o.Show = func(p *coordinator.Problem, at *coordinator.Attempt) error {
		if at.Action.By == coordinator.Rule("retries") {
			return t.show(p, at)
		}
		t.diagnosis = decisionOf(at.Action).Diagnosis
		return coordinator.Announce(t.x.sc, at)
	}
	return o
}

// show reports a retry, or what was decided.
func (t *repaired) show(_ *coordinator.Problem, at *coordinator.Attempt) error {
	x, act := t.x, at.Action
	switch act.By {
	case coordinator.Rule("strategy"):
		return nil // nothing is left to try
	case coordinator.Rule("retries"):
		return x.sc.Run.Emit(event.StageRetried, t.s.ID, map[string]any{"error": t.o.err, "attempt": t.row.Attempts + 1, "of": t.s.Retries.Attempts + 1, "wait_ns": act.Wait})
	}
	d := decisionOf(act)
	t.changes, t.diagnosis = act.Changes, d.Diagnosis
	return x.sc.Run.Emit(event.StageRecovery, fmt.Sprintf("%s: %s: %s", t.s.ID, d.Decision, spelling.FirstLine(d.Diagnosis)), d)
}

// recovers reports whether the recovery agent is asked about s. The steps of a
// group have been asked about each when the group fails.
func (x *run) recovers(s *Step) bool {
	if x.p.Recovery == nil || x.p.jumps(s) {
		return false
	}
	if s.Parallel != nil && s.OnFailure == "" {
		return false
	}
	return x.p.policy(s) == Recover
}
