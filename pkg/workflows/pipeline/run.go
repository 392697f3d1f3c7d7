package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// all runs the steps from the first to the end. The output comes from the step
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
		// The job has no outcome yet, but it shows its progress.
		if errors.As(err, new(*flow.ParkedError)) {
			res.Status = "waiting"
		} else if errors.Is(err, context.Canceled) {
			res.Status = "interrupted"
		}
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
		case rec.status == statusSkipped && rec.skipped:
			i = next
			continue
		case rec.status == Failed:
			last = &executor.StopError{Outcome: executor.Outcome{Status: rec.ended, Reason: fmt.Sprintf("step %s: %s", s.ID, row.why()), Code: rec.code, Limit: rec.limit}}
			to := slices.IndexFunc(p.Steps, func(t Step) bool { return t.ID == s.OnFailure })
			if to < 0 && p.policy(s) != policyContinue {
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
			if rec.status == statusDone {
				output = rec.output
			}
			if s.OnSuccess == endID {
				next = len(p.Steps)
			} else if to := slices.IndexFunc(p.Steps, func(t Step) bool { return t.ID == s.OnSuccess }); to >= 0 {
				next = to
			}
		}
		i = next
	}
	return output, last, nil
}

// step runs a step until its rounds and attempts are over. The error ends the
// pipeline.
func (x *run) step(s *Step) (Row, outcome, error) {
	row := Row{ID: s.ID, Name: s.Name, Kind: s.Kind()}
	if s.Agent != nil {
		row.Agent = s.Agent.Name
	}
	before := x.sc.State.Spent()
	o, err := x.rounds(s, &row)
	if err != nil {
		return row, o, err
	}
	used := x.sc.State.Spent().Since(before)
	row.Turns, row.In, row.Out, row.Cost, row.Took = used.Turns, used.In, used.Out, used.Cost, used.Took
	row.Status, row.Error, row.Diagnosis, row.Rows = o.status, o.err, o.diagnosis, o.rows
	row.Output = headAndTail(text(o.output), mostOutput)
	x.steps[s.ID] = o.record
	if err := x.sc.Run.Emit(event.StageFinished, s.ID, row); err != nil {
		return row, o, err
	}
	x.denied = x.denied || o.denied
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
		return outcome{record: record{status: statusSkipped, output: quote(""), err: why}, skipped: true}, nil
	}
	for {
		x.counts[s.ID]++
		x.total++
		if row.Round = x.counts[s.ID]; row.Round == 1 && s.Until == nil {
			row.Round = 0
		}
		o, err := x.attempts(s, row)
		if err != nil || s.Until == nil || o.spent != nil || o.denied && o.status == Failed || o.status == statusSkipped {
			return o, err
		}
		if o.status == statusDone {
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
			o = failed("after %s, %s", spelling.Plural(x.counts[s.ID], "round"), why)
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

// attempts tries a step, then again as its retries and the recovery agent say.
func (x *run) attempts(s *Step, row *Row) (outcome, error) {
	begun := map[string]any{"name": s.Title(), "kind": s.Kind()}
	if row.Agent != "" {
		begun["agent"] = row.Agent
	}
	if row.Round > 0 {
		begun["round"] = row.Round
	}
	if err := x.sc.Run.Emit(event.StageStarted, s.ID, begun); err != nil {
		return outcome{}, err
	}
	return x.coordinated(s, row)
}

// coordinated tries a step, then again as a coordinator decides: after the retries of
// the step by its policy.
func (x *run) coordinated(s *Step, row *Row) (outcome, error) {
	t := &repaired{x: x, s: s, row: row}
	row.Attempts = 0
	p, err := t.try()
	if err != nil || p == nil {
		return t.o, err
	}
	res, err := coordinator.Coordinate(x.sc, t.options(), p, func(coordinator.Action) (*coordinator.Problem, error) { return t.try() })
	if t.x.coordinates(s) {
		row.Add(res)
	}
	if err != nil || res.Solved {
		return t.o, err
	}
	last := res.Attempts[len(res.Attempts)-1]
	if t.o.diagnosis = t.diagnosis; last.Action.Skip {
		t.o.status = statusSkipped
	}
	return t.o, nil
}

// try makes one attempt. It returns no problem if that is the end of it, as after the
// denial of a person, who would be asked again.
func (t *repaired) try() (*coordinator.Problem, error) {
	t.row.Attempts++
	o, err := t.x.once(t.s, t.changes)
	t.o = o
	t.o.diagnosis = t.diagnosis
	if err != nil || o.status == statusDone || o.spent != nil || o.denied {
		return nil, err
	}
	p := o.problem
	if p == nil {
		p = &coordinator.Problem{Output: text(o.output)}
	}
	if p.Step, p.Message = t.s.ID, o.err; p.Command == "" {
		p.Command = t.s.Tool
	}
	return p, nil
}

// once makes one attempt. The error is the engine's.
func (x *run) once(s *Step, ch coordinator.Adjustments) (outcome, error) {
	limit := s.Timeout
	switch {
	case s.Await != nil:
		return x.await(s)
	case s.Run != "" && limit > 0:
		limit += grace // the tool ends the command in time, and reports it
	}
	return flow.Within(x.sc.Run, limit, func(*flow.Run) (outcome, error) {
		switch s.Kind() {
		case "agent":
			return x.agent(s, ch)
		case "run":
			return x.command(s)
		case "tool":
			args := s.Args
			if args == nil {
				args = json.RawMessage("{}")
			}
			f := x.argsFiller()
			f.genuine = x.sc.Task.Revision >= turn.GenuineArguments
			args, err := f.value(args)
			if err != nil {
				return failed("%v", err), nil
			}
			return x.call(s, s.Tool, args)
		case "pipeline":
			return x.within(s)
		case "parallel":
			return x.group(s)
		}
		return failed("the step does nothing"), nil
	})
}

// within runs another pipeline as one step, with values of its own.
func (x *run) within(s *Step) (outcome, error) {
	f := x.valueFiller()
	input, err := f.fill(s.Input)
	if err != nil {
		return failed("%v", err), nil
	}
	y := &run{p: s.Pipeline.Spec, sc: x.sc, models: x.models, inner: true, input: quote(input), vars: map[string]json.RawMessage{}}
	given := map[string]json.RawMessage{}
	for _, in := range y.p.Inputs {
		if v, ok := s.Inputs[in.Name]; ok {
			if given[in.Name], err = f.value(v); err != nil {
				return failed("%v", err), nil
			}
		}
	}
	y.take(given)
	res, output, err := y.all()
	var stop *executor.StopError
	if err == nil {
		o := done(output)
		o.rows = res.Rows
		return o, nil
	}
	if !errors.As(err, &stop) {
		return outcome{}, err
	}
	o := failed("%s", stop.Outcome.Reason)
	o.output, o.ended, o.code, o.limit, o.rows = output, stop.Outcome.Status, stop.Outcome.Code, stop.Outcome.Limit, res.Rows
	if o.denied = y.denied; y.spent {
		o.spent = stop
	}
	return o, nil
}

// group runs the steps of a group at once, no more at a time than agents may
// work. All finish, whatever becomes of the others.
func (x *run) group(s *Step) (outcome, error) {
	type branch struct {
		row  Row
		out  outcome
		vars map[string]json.RawMessage
	}
	o := done(nil)
	x.total += len(s.Parallel)
	outputs := map[string]json.RawMessage{}
	var bad []string
	for some := range slices.Chunk(s.Parallel, turn.SpawnFanOut) {
		got, err := executor.Parallel(x.sc, some, func(sc *executor.Scope, kid Step) (branch, error) {
			y := x.branch(sc)
			row, out, err := y.step(&kid)
			if err != nil && out.spent == nil {
				return branch{}, err
			}
			if out.status == statusDone || !out.skipped && x.p.policy(&kid) == policyContinue || out.status == statusSkipped && !out.skipped {
				y.bind(&kid, out)
			}
			return branch{row, out, y.vars}, nil
		})
		if err != nil {
			return outcome{}, err
		}
		for i, b := range got {
			kid := &some[i]
			o.rows = append(o.rows, b.row)
			x.steps[kid.ID] = b.out.record
			if v, ok := b.vars[kid.Output]; ok && kid.Output != "" {
				x.vars[kid.Output] = v
			}
			outputs[kid.ID] = b.out.output
			o.denied = o.denied || b.out.denied
			if b.out.spent != nil {
				o.spent = b.out.spent
			}
			if b.out.status == Failed && x.p.policy(kid) != policyContinue {
				bad = append(bad, fmt.Sprintf("%s: %s", kid.ID, b.row.why()))
				o.ended, o.limit = b.out.ended, b.out.limit
			}
		}
	}
	all, err := json.Marshal(outputs)
	if err != nil {
		return outcome{}, err
	}
	o.output = all
	switch {
	case o.spent != nil:
		o.status, o.err, o.ended = Failed, o.spent.Outcome.Reason, o.spent.Outcome.Status
	case len(bad) > 0:
		o.status, o.err = Failed, strings.Join(bad, "; ")
		if len(bad) > 1 {
			o.ended = executor.Failed
		}
	}
	return o, nil
}
