package work

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// A Side is the outcome of one side of a comparison.
type Side struct {
	Asked     string         `json:"asked"` // AGENT or PIPELINE, perhaps @MODEL
	Job       string         `json:"job"`
	Agent     string         `json:"agent"`
	Workflow  string         `json:"workflow"`
	Model     string         `json:"model"`
	Status    jobs.Status    `json:"status"`
	Reason    string         `json:"reason,omitempty"`
	Turns     int            `json:"turns"`
	Calls     int            `json:"calls"`
	Agents    int            `json:"agents,omitempty"` // sub-agents, whose figures are in these
	Requests  int            `json:"requests"`         // to models, those of tools too
	Usage     llm.Usage      `json:"usage"`
	Cost      float64        `json:"cost_usd,omitempty"`
	Seconds   float64        `json:"seconds"`
	Memory    string         `json:"memory,omitempty"`   // its scope; empty: the agent has none
	Recalled  int            `json:"recalled,omitempty"` // facts in the prompt, and calls of recall
	Artifacts map[string]int `json:"artifacts"`          // bytes as JSON

	Texts map[string]string `json:"-"` // of the artifacts
}

// Run runs one side to its end, and asks nobody.
func Run(ctx context.Context, e *kit.Env, c adroit.Client, asked string, r adroit.Request, silent bool) (*Side, error) {
	sub, err := request.Submit(ctx, e, c, r)
	if err != nil {
		return nil, err
	}
	id := sub.Job.ID
	end, err := request.Attach(ctx, e, c, id, request.Options{Silent: silent, Unattended: true, Window: sub.Plan.Task.Options.Window})
	if err != nil {
		return nil, err
	}
	d := end.Job
	j, all := d.Job, context.WithoutCancel(ctx)
	s := &Side{Asked: asked, Job: id, Agent: sub.Plan.Input.Agent, Workflow: j.Workflow, Model: j.Model, Status: j.Status, Reason: j.Reason,
		Seconds: end.Took.Round(time.Millisecond).Seconds(), Artifacts: map[string]int{}, Texts: map[string]string{}}
	if f := d.Final; f != nil {
		s.Turns, s.Calls, s.Agents, s.Usage, s.Cost = f.Turns, f.Calls, f.Agents, f.Usage, d.Usage.Cost
	}
	if err := s.count(all, c); err != nil {
		return nil, err
	}
	s.Memory, s.Recalled = sub.Plan.Task.Memory, s.Recalled+len(sub.Plan.Task.Recalled)
	made, err := c.Artifacts(all, id)
	if err != nil {
		return nil, err
	}
	for name, a := range made.Artifacts {
		s.Artifacts[name] = len(a.Value)
		var text string
		if json.Unmarshal(a.Value, &text) != nil {
			text = show.Readable(a.Value)
		}
		s.Texts[name] = text
	}
	return s, nil
}

// runs names what controls the job: an agent's model, a pipeline or a workflow's code.
func (s *Side) runs() string {
	switch s.Workflow {
	case agents.Workflow.Name:
		return "agent"
	case pipeline.Workflow.Name:
		return "pipeline"
	}
	return "workflow " + s.Workflow
}

// memory describes the side's access to memories of earlier jobs.
func (s *Side) memory() string {
	if s.Memory == "" || s.Memory == memory.Off {
		return memory.Off
	}
	return fmt.Sprintf("%s, %d recalled", s.Memory, s.Recalled)
}

// count counts what was asked of models, which is turns and what tools asked, and
// what was recalled.
func (s *Side) count(ctx context.Context, c adroit.Client) error {
	for ev, err := range c.Events(ctx, s.Job, adroit.EventOptions{}) {
		if err != nil {
			return err
		}
		if ev.Kind != event.StepFinished {
			continue
		}
		if ev.Step == "model" {
			s.Requests++
		}
		if ev.Step == "tool" && ev.Name == "recall" {
			s.Recalled++
		}
		var d struct{ Spent []executor.ModelCost }
		if json.Unmarshal(ev.Data, &d) == nil {
			for _, spent := range d.Spent {
				s.Requests += spent.Requests
			}
		}
	}
	return nil
}

// Print prints the sides beside each other.
func Print(w io.Writer, sides []*Side) {
	var rows kit.Table
	row := func(name string, cell func(*Side) string) {
		cells := []string{name}
		for _, s := range sides {
			cells = append(cells, cell(s))
		}
		rows.Row(cells...)
	}
	row("", func(s *Side) string { return s.Asked })
	row("job", func(s *Side) string { return s.Job })
	row("runs", func(s *Side) string { return s.runs() })
	row("model", func(s *Side) string { return s.Model })
	row("outcome", func(s *Side) string { return s.Status.Words() + ": " + kit.Cut(s.Reason, 60) })
	row("turns", func(s *Side) string { return kit.Count(s.Turns) })
	row("tool calls", func(s *Side) string { return kit.Count(s.Calls) })
	if sides[0].Agents > 0 || sides[1].Agents > 0 {
		row("sub-agents", func(s *Side) string { return kit.Count(s.Agents) })
	}
	row("model requests", func(s *Side) string { return kit.Count(s.Requests) })
	row("tokens in", func(s *Side) string { return kit.Count(s.Usage.In) })
	row("tokens out", func(s *Side) string { return kit.Count(s.Usage.Out) })
	if sides[0].Cost > 0 || sides[1].Cost > 0 {
		row("USD", func(s *Side) string { return fmt.Sprintf("%.4f", s.Cost) })
	}
	if sides[0].Memory != sides[1].Memory {
		row("memory", func(s *Side) string { return s.memory() })
	}
	row("time", func(s *Side) string { return kit.Duration(time.Duration(s.Seconds * float64(time.Second))) })
	names := map[string]bool{}
	for _, s := range sides {
		for name := range s.Artifacts {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row(name, func(s *Side) string {
			if n, ok := s.Artifacts[name]; ok {
				return kit.Count(n) + " bytes"
			}
			return "-"
		})
	}
	rows.Write(w)
}
