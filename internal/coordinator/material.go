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

// material is what a model is shown of a problem: JSON, in which no text can pass
// for anything but a value.
func (c *Coordinator) material(p *Problem, offered []string) (map[string]json.RawMessage, error) {
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

// tries are what was tried before, with the changes that were made: what an agent says of
// them is less.
func (c *Coordinator) tries() any {
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

// advice is what a person has said, for those who are asked next.
func (c *Coordinator) advice() string {
	if c.words == "" {
		return ""
	}
	return " A person who was asked says: " + c.words
}

// mostShown bounds the output that a model is shown, in bytes.
const mostShown = 8 << 10

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

// outages are the failures of a model's provider that say nothing about what the
// model was asked.
var outages = []string{"model.auth", "model.no_model", "model.rate_limit", "model.overloaded", "model.unreachable", "model.timeout", "model.no_program"}
