package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
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
func (c *coordinator) reviewed(p *Problem, act Action) (Action, *Review, error) {
	if c.o.Supervise == "" || c.sc.Task.Model == NoModel || act.Decision != Delegate && act.By.Code() {
		return act, nil, nil
	}
	if !May(c.sc.Task, c.o.Supervise) {
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
	if err := hard(err); err != nil {
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

// material returns a problem's description for models: JSON, in which no text can pass for
// anything but a value.
func (c *coordinator) material(p *Problem, offered []string) (map[string]json.RawMessage, error) {
	q := *p
	q.Output = clip(tail(problem.Plain(q.Output), mostShown), mostShown+100)
	history := c.tries()
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

// continuesRepairs is the first revision in which an agent goes on with its conversation
// after a repair that was not all.
const continuesRepairs = 8

// mostDiff bounds what is shown of a change, in bytes.
const mostDiff = 3000

// tries returns the earlier attempts, with the changes that were made: what an agent says
// of them is less.
func (c *coordinator) tries() any {
	if c.sc.Task.Revision < continuesRepairs {
		type tried struct{ Decision, Agent, Why, Summary, Outcome string }
		var history []tried
		for _, a := range c.res.Attempts {
			t := tried{Decision: string(a.Action.Decision), Agent: a.Action.Agent, Why: a.Action.Reasoning, Outcome: a.Outcome}
			if a.Repair != nil {
				t.Summary = clip(a.Repair.Summary, 500)
			}
			history = append(history, t)
		}
		return history
	}
	type tried struct {
		Decision string `json:"decision"`
		Agent    string `json:"agent,omitempty"`
		Why      string `json:"why,omitempty"`
		Diff     string `json:"diff,omitempty"`
		Says     string `json:"it_says,omitempty"`
		Outcome  string `json:"outcome,omitempty"`
	}
	var history []tried
	for _, a := range c.res.Attempts {
		t := tried{Decision: string(a.Action.Decision), Agent: a.Action.Agent, Why: a.Action.Reasoning, Outcome: outcomes[a.Outcome]}
		if m := a.Repair; m != nil {
			if t.Diff = clip(m.diff, mostDiff); t.Diff == "" {
				t.Says = clip(m.Summary, 500)
			}
			if len(a.Undone) > 0 {
				t.Outcome += "; the change was undone"
			}
		}
		history = append(history, t)
	}
	return history
}

// advice returns a person's words, for those who are asked next.
func (c *coordinator) advice() string {
	if c.words == "" {
		return ""
	}
	return " A person who was asked says: " + c.words
}

// mostShown bounds the output that a model is shown, in bytes.
const mostShown = 8 << 10

// Survived returns the part of a sub-agent's error that ends a workflow: the engine's,
// and, in jobs that know the difference, that a model could not be asked.
func Survived(t *executor.Task, err error) error {
	if Coded(t) {
		return hard(err)
	}
	return Reported(err)
}

// hard is an error of a sub-agent that ends the coordination: the engine's, or one
// of a model that could not be asked. That is an outage, and the job can be
// resumed when it is over.
func hard(err error) error {
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

// outages are the failures of a model's provider that say nothing about what the
// model was asked.
var outages = []string{"model.auth", "model.no_model", "model.rate_limit", "model.overloaded", "model.unreachable", "model.timeout", "model.no_program"}

// quoted is a value as JSON on one line, for models and people who read a transcript. In
// it no text of a failure can pass for anything but a value: marks that end a frame are
// escaped, and so are signs that change how text is shown, such as those of its direction.
func quoted(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if s := string(b); strings.ContainsFunc(s, invisible) {
		var out strings.Builder
		for _, r := range s {
			switch {
			case !invisible(r):
				out.WriteRune(r)
			case r > 0xffff:
				fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			default:
				fmt.Fprintf(&out, `\u%04x`, r)
			}
		}
		return json.RawMessage(out.String()), nil
	}
	return b, nil
}

// invisible reports what is read and not seen: directions, joiners, tags, controls.
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp) }
