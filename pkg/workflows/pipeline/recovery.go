package pipeline

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/plaintemplate"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// What a recovery agent decides about a step that has failed for good.
const (
	decideRetry = "retry" // with its changes
	decideSkip  = "skip"  // go on, with what there is of an output
	decideStop  = "stop"  // the pipeline fails, with the diagnosis
)

// A decision is the answer of a recovery agent.
type decision struct {
	Decision  string                  `json:"decision"`
	Diagnosis string                  `json:"diagnosis"`
	Changes   coordinator.Adjustments `json:"changes,omitzero"`
}

// coded reports whether code decides about what fails, as it does in pipelines that
// were pinned since it can.
func (x *run) coded() bool { return coordinator.Coded(x.sc.Task) }

// action converts the decision to a coordinator's.
func (d decision) action() coordinator.Action {
	act := coordinator.Action{Decision: coordinator.Fail, Reasoning: d.Diagnosis, By: coordinator.By{Kind: "agent", Name: "recovery"}, Changes: d.Changes}
	switch d.Decision {
	case decideRetry:
		act.Decision = coordinator.Retry
	case decideSkip:
		act.Skip = true
	}
	return act
}

// decisionOf converts an action of code to a recovery agent's decision.
func decisionOf(act coordinator.Action) decision {
	d := decision{Decision: decideStop, Diagnosis: act.Reasoning, Changes: act.Changes}
	switch {
	case act.Decision == coordinator.Retry, act.Decision == coordinator.Delegate:
		d.Decision = decideRetry
	case act.Skip:
		d.Decision = decideSkip
	}
	if act.Hint != "" && d.Decision == decideStop {
		d.Diagnosis += ". " + act.Hint
	}
	return d
}

//go:embed decision.schema.json
var decisionSchema json.RawMessage

//go:embed recovery.md
var recoveryTemplate string

// Bounds of what a recovery agent is shown, in bytes.
const (
	mostError  = 4 << 10
	mostTask   = 4 << 10
	mostPrompt = 4 << 10
)

// recover asks the recovery agent about a failed step. One that gives no
// decision decides to stop. The error is the engine's.
func (x *run) recover(s *Step, attempts int, o *outcome) (decision, error) {
	prompt, err := x.question(s, attempts, o)
	if err != nil {
		return decision{Decision: decideStop, Diagnosis: err.Error()}, nil
	}
	rep, err := x.sc.Spawn(executor.SubAgentRequest{Agent: x.p.Recovery.Agent.Name, Prompt: prompt, Model: x.p.Recovery.Model})
	if err := coordinator.Survived(x.sc.Task, err); err != nil {
		return decision{}, err // an outage is no decision to stop
	}
	var d decision
	if err == nil {
		if err = rep.As(&d); err == nil {
			d.Changes.Model = x.allowed(d.Changes.Model, &d)
			return d, nil
		}
	}
	return decision{Decision: decideStop, Diagnosis: "the recovery agent gave no decision: " + spelling.FirstLine(err.Error())}, nil
}

// allowed is the model that a recovery may change to: a model's words must not
// choose one that nobody has meant for this.
func (x *run) allowed(model string, d *decision) string {
	if model == "" || slices.Contains(x.models, model) {
		return model
	}
	d.Diagnosis += fmt.Sprintf(" (it asked for the model %s, which this pipeline does not name; the model is as it was)", model)
	return ""
}

// question returns the recovery agent's prompt.
func (x *run) question(s *Step, attempts int, o *outcome) (string, error) {
	v := struct {
		Pipeline, ID, Name, Kind, Does, Asked, Error, Partial, Task string
		Attempts                                                    int
		Models                                                      string
		Agent                                                       bool
	}{
		Pipeline: x.p.Name, ID: s.ID, Name: s.Title(), Kind: s.Kind(), Does: x.does(s), Agent: s.Agent != nil, Attempts: attempts,
		Error: headAndTail(o.err, mostError), Partial: headAndTail(strings.TrimSpace(text(o.output)), mostPrompt), Task: headAndTail(text(x.input), mostTask),
		Models: strings.Join(x.models, ", "),
	}
	if s.Input != "" {
		if asked, err := x.filler().fill(s.Input); err == nil {
			v.Asked = headAndTail(asked, mostPrompt)
		}
	}
	var b strings.Builder
	t, err := plaintemplate.Parse("recovery", recoveryTemplate, nil)
	if err == nil {
		err = t.Execute(&b, v)
	}
	if err != nil {
		return "", fmt.Errorf("asking the recovery agent: %w", err)
	}
	return b.String(), nil
}

// does describes a step, for the recovery agent.
func (x *run) does(s *Step) string {
	switch s.Kind() {
	case "agent":
		a := s.Agent.Spec
		model := s.Model
		model = cmp.Or(model, a.Model, x.sc.Task.Model)
		l := a.Limits.Or(executor.DefaultLimits)
		out := fmt.Sprintf("agent %s, model %s, tools %s, at most %d turns", a.Name, model, list(a.Tools), l.Turns)
		return out + "\nIts prompt:\n" + headAndTail(a.Prompt, mostPrompt)
	case "run":
		return "the command " + s.Run
	case "tool":
		return fmt.Sprintf("the tool %s with %s", s.Tool, headAndTail(string(s.Args), mostPrompt))
	case "pipeline":
		return "the pipeline " + s.Pipeline.Name
	}
	return s.Kind()
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
