package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Workflow runs a pipeline. Its input is an agents.Input, its output an
// executor.State, whose artifact "pipeline" is the [Result].
var Workflow = flow.Define("pipeline", func(r *flow.Run, in agents.Input) (*executor.State, error) {
	pin, err := flow.Do[Pinned](r, pinning, in.Pipeline, in)
	if err != nil {
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

// A run is one of a pipeline: what it knows so far. Branches of a group have
// one of their own.
type run struct {
	p      *Pipeline
	sc     *executor.Scope
	models []string
	input  json.RawMessage
	vars   map[string]json.RawMessage
	steps  map[string]record
	counts map[string]int
	total  int
	inner  bool // within another pipeline
	spent  bool // the job's own limits are used up
}

// all runs the steps from the first to the end. The output is that of the step
// that was done last. The error is a *executor.StopError if the pipeline is not
// done; any other is the engine's.
func (x *run) all() (Result, json.RawMessage, error) {
	p := x.p
	x.steps, x.counts = map[string]record{}, map[string]int{}
	for _, name := range sorted(p.Variables) {
		x.vars[name] = p.Variables[name]
	}
	res := Result{Pipeline: p.Name, Status: executor.Failed, Within: x.inner}
	var ids []string
	for i := range p.Steps {
		ids = append(ids, p.Steps[i].ID)
	}
	if err := x.sc.Run.Emit(event.PipelineStarted, p.Name, map[string]any{"steps": ids}); err != nil {
		return res, nil, err
	}
	output, last, err := x.follow(&res)
	var stop *executor.StopError
	switch {
	case err != nil && !errors.As(err, &stop):
		return res, output, err
	case err != nil:
		res.Status, res.Reason = stop.Outcome.Status, stop.Outcome.Reason
	case last != nil:
		// It was let go on from, and there was nothing to go on with.
		stop = last
		res.Reason, err = stop.Outcome.Reason, stop
	default:
		res.Status, res.Reason = executor.Done, summary(res.Rows)
	}
	words := fmt.Sprintf("%s: %s: %s", p.Name, res.Status, res.Reason)
	if terr := x.sc.Run.Emit(event.PipelineFinished, words, res); terr != nil {
		return res, output, terr
	}
	return res, output, err
}

// follow goes from step to step. last is the failure of the step that was run
// last, if the pipeline went on from it.
func (x *run) follow(res *Result) (output json.RawMessage, last *executor.StopError, err error) {
	p := x.p
	output = quote("")
	for i := 0; i < len(p.Steps); {
		s := &p.Steps[i]
		if err := x.capped(s); err != nil {
			return output, nil, err
		}
		row, rec, err := x.step(s)
		if rec.status != "" {
			res.Rows = append(res.Rows, row)
		}
		if err != nil {
			return output, nil, err
		}
		next := i + 1
		switch {
		case rec.status == Skipped && rec.skipped:
			i = next
			continue
		case rec.status == Failed:
			last = &executor.StopError{Outcome: executor.Outcome{Status: rec.ended, Reason: fmt.Sprintf("step %s: %s", s.ID, row.why()), Code: rec.code, Limit: rec.limit}}
			to := slices.IndexFunc(p.Steps, func(t Step) bool { return t.ID == s.OnFailure })
			if to < 0 && p.policy(s) != Continue {
				return output, nil, last
			}
			if to >= 0 {
				next = to
				last = nil
			} else {
				x.bind(s, rec)
			}
		default:
			last = nil
			x.bind(s, rec)
			if rec.status == Done {
				output = rec.output
			}
			if s.OnSuccess == End {
				next = len(p.Steps)
			} else if to := slices.IndexFunc(p.Steps, func(t Step) bool { return t.ID == s.OnSuccess }); to >= 0 {
				next = to
			}
		}
		i = next
	}
	return output, last, nil
}

// bind gives the step's variable its value.
func (x *run) bind(s *Step, o outcome) {
	if s.Output != "" {
		x.vars[s.Output] = o.output
	}
}

// capped reports that a step must not be run once more.
func (x *run) capped(s *Step) error {
	most := x.p.MaxSteps
	most = cmp.Or(most, DefaultMaxSteps)
	switch {
	case s.Max > 0 && x.counts[s.ID] >= s.Max:
		return stopped("max", "step %s was run %d times, as often as its max allows", s.ID, s.Max)
	case x.total >= most:
		return stopped("max_steps", "%d steps were run, as many as max_steps allows; %s would be next", most, s.ID)
	}
	return nil
}

func stopped(limit, format string, args ...any) error {
	return &executor.StopError{Outcome: executor.Outcome{Status: executor.Limit, Limit: limit, Reason: fmt.Sprintf(format, args...)}}
}

// An outcome is what one attempt at a step came to, or all of them.
type outcome struct {
	record
	ended     string // of a failure: the status of an executor.Outcome
	code      string
	limit     string // that an agent has reached
	skipped   bool   // by its condition, not by a recovery
	diagnosis string
	spent     *executor.StopError // the job's own limits are used up
	rows      []Row
	problem   *coordinator.Problem // of a failed call: what there is to decide by
}

func done(output json.RawMessage) outcome {
	return outcome{record: record{status: Done, output: output}}
}

func failed(format string, args ...any) outcome {
	return outcome{record: record{status: Failed, output: quote(""), err: fmt.Sprintf(format, args...)}, ended: executor.Failed}
}

// step runs a step until its rounds and attempts are over. The error ends the
// pipeline.
func (x *run) step(s *Step) (Row, outcome, error) {
	row := Row{ID: s.ID, Name: s.Name, Kind: s.Kind()}
	if s.Agent != nil {
		row.Agent = s.Agent.Name
	}
	before := accountOf(x.sc.State)
	o, err := x.rounds(s, &row)
	if err != nil {
		return row, o, err
	}
	row.charge(before, accountOf(x.sc.State))
	row.Status, row.Error, row.Diagnosis, row.Rows = o.status, o.err, o.diagnosis, o.rows
	row.Output = headAndTail(text(o.output), mostOutput)
	x.steps[s.ID] = o.record
	if err := x.sc.Run.Emit(event.StageFinished, s.ID, row); err != nil {
		return row, o, err
	}
	if o.spent != nil {
		x.spent = true
		return row, o, o.spent
	}
	return row, o, nil
}

// rounds repeats a step until what it is to be repeated for holds.
func (x *run) rounds(s *Step, row *Row) (outcome, error) {
	why, err := x.withheld(s)
	if err != nil {
		return failed("%v", err), nil
	}
	if why != "" {
		return outcome{record: record{status: Skipped, output: quote(""), err: why}, skipped: true}, nil
	}
	for {
		x.counts[s.ID]++
		x.total++
		if row.Round = x.counts[s.ID]; row.Round == 1 && s.Until == nil {
			row.Round = 0
		}
		o, err := x.attempts(s, row)
		if err != nil || s.Until == nil || o.spent != nil || o.status == Skipped {
			return o, err
		}
		if o.status == Done {
			x.steps[s.ID] = o.record
			x.bind(s, o)
			why, err := s.Until.holds(x.look)
			if err != nil {
				return failed("%v", err), nil
			}
			if why == "" {
				return o, nil
			}
			output := o.output
			o = failed("after %s, %s", several(x.counts[s.ID], "round", "rounds"), why)
			o.output = output
		}
		if x.counts[s.ID] >= s.Max {
			return o, nil
		}
		if x.capped(s) != nil {
			return o, x.capped(s)
		}
		if err := x.sc.Note("%s: round %d of %d: %s", s.ID, x.counts[s.ID]+1, s.Max, spelling.FirstLine(o.err)); err != nil {
			return o, err
		}
	}
}

// withheld states why a step is skipped, "" if it is not.
func (x *run) withheld(s *Step) (string, error) {
	for _, id := range s.Needs {
		switch r, ok := x.steps[id]; {
		case !ok:
			return "it needs " + id + ", which has not run", nil
		case r.status != Done:
			return "it needs " + id + ", which is " + r.status, nil
		}
	}
	if s.When == nil {
		return "", nil
	}
	return s.When.holds(x.look)
}

// look finds the value that a path names.
func (x *run) look(path string) (json.RawMessage, error) {
	parts := strings.Split(path, ".")
	switch parts[0] {
	case "input":
		return into(x.input, parts[1:], path)
	case "steps":
		if len(parts) < 3 {
			return nil, fmt.Errorf("{{%s}} is not a value", path)
		}
		r, ok := x.steps[parts[1]]
		if !ok && parts[2] != "status" {
			return nil, fmt.Errorf("{{%s}} has no value: step %s has not run", path, parts[1])
		}
		v, err := r.field(parts[2])
		if err != nil {
			return nil, fmt.Errorf("{{%s}}: %w", path, err)
		}
		return into(v, parts[3:], path)
	}
	v, ok := x.vars[parts[0]]
	if !ok {
		return nil, fmt.Errorf("{{%s}} has no value: no step that ran has written it", path)
	}
	return into(v, parts[1:], path)
}

// filler puts values into the texts of one step.
func (x *run) filler() *filler {
	f := &filler{look: x.look, each: x.p.Defaults.Context.Each, all: x.p.Defaults.Context.All}
	f.each = cmp.Or(f.each, defaultEach)
	if f.all == 0 {
		f.all = max(defaultAll, f.each)
	}
	return f
}

// branch is a run of x for one step of a group.
func (x *run) branch(sc *executor.Scope) *run {
	y := *x
	y.sc, y.vars, y.steps, y.counts = sc, maps.Clone(x.vars), maps.Clone(x.steps), map[string]int{}
	return &y
}

// why is the row's error, with what the recovery agent makes of it.
func (r *Row) why() string {
	if r.Diagnosis != "" {
		return r.Error + "; " + r.Diagnosis
	}
	return r.Error
}

// summary describes in a line how a pipeline went that is done.
func summary(rows []Row) string {
	var ok int
	var bad, left []string
	for i := range rows {
		switch rows[i].Status {
		case Done:
			ok++
		case Failed:
			bad = append(bad, rows[i].ID)
		default:
			left = append(left, rows[i].ID)
		}
	}
	out := fmt.Sprintf("%d of %d steps done", ok, len(rows))
	if bad != nil {
		out += ", failed: " + strings.Join(bad, ", ")
	}
	if left != nil {
		out += ", skipped: " + strings.Join(left, ", ")
	}
	return out
}
