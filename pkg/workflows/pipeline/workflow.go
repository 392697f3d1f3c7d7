package pipeline

import (
	"encoding/json"
	"strconv"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Workflow runs a pipeline. Its input is an agents.Input, its output an
// executor.State, whose artifact "pipeline" is the [Result].
var Workflow = stored.Define("pipeline", func(r *flow.Run, in agents.Input) (*executor.State, error) {
	pin, err := stored.Do[Pinned](r, pinning, in.Pipeline, in)
	if err != nil {
		return nil, err
	}
	if err := stored.Unknown("its revision", strconv.Itoa(pin.Task.Revision), pin.Task.Revision <= turn.Revision); err != nil {
		return nil, err
	}
	return flow.Call(r, in.Pipeline, runPipeline, job{pin, in})
})

type job struct {
	Pinned
	in agents.Input
}

func runPipeline(r *flow.Run, j job) (*executor.State, error) {
	sc := executor.NewScope(r, j.Task)
	x := &run{p: j.Pipeline, sc: sc, models: j.Models, input: quote(j.in.Prompt), vars: map[string]json.RawMessage{}}
	for _, f := range j.Pipeline.Inputs {
		v, ok := j.in.Inputs[f.Name]
		if !ok {
			v = f.Default
		}
		if v == nil {
			v = quote("")
		}
		x.vars[f.Name] = v
	}
	res, output, err := x.all()
	if berr := sc.Bind("pipeline", res); berr != nil {
		return sc.State, berr
	}
	sc.State.Last = text(output)
	s, err := sc.Finish(err)
	if s.Outcome != nil && s.Outcome.Status == executor.Done {
		s.Outcome.Reason = res.Reason
	}
	if s.Outcome != nil && s.Outcome.Summary == "" {
		s.Outcome.Summary = s.Last
	}
	s.Attribute(j.Task.Model)
	return s, err
}
