package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

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
			args, err := x.filler().value(args)
			if err != nil {
				return failed("%v", err), nil
			}
			return x.call(s.Tool, args)
		case "pipeline":
			return x.within(s)
		case "parallel":
			return x.group(s)
		}
		return failed("the step does nothing"), nil
	})
}

// grace is how much longer a command's step may take than the command.
const grace = 5 * time.Second

// seconds is a timeout as the tool shell takes it. A command of a pipeline is
// more often a test suite than a question.
func seconds(d time.Duration) int {
	if d == 0 {
		return 600
	}
	return int(min(max((d+time.Second-1)/time.Second, 1), 3600))
}

func (x *run) agent(s *Step, ch coordinator.Adjustments) (outcome, error) {
	f := x.filler()
	prompt, err := f.fill(s.Input)
	if err != nil {
		return failed("%v", err), nil
	}
	o := executor.SubAgentRequest{Agent: s.Agent.Name, Prompt: prompt, Model: s.Model, Limits: s.Limits, Worktree: s.Worktree}
	for _, name := range sorted(s.Inputs) {
		v, err := f.value(s.Inputs[name])
		if err != nil {
			return failed("%v", err), nil
		}
		if o.Inputs == nil {
			o.Inputs = map[string]json.RawMessage{}
		}
		o.Inputs[name] = v
	}
	own := o.Limits.Time
	own = cmp.Or(own, s.Agent.Spec.Limits.Time)
	if s.Timeout > 0 && (own <= 0 || s.Timeout < own) {
		o.Limits.Time = s.Timeout
	}
	ch.Apply(&o)
	rep, err := x.sc.Spawn(o)
	if err == nil {
		out := quote(rep.Summary)
		if len(rep.Output) > 0 {
			out = rep.Output
		}
		d := done(out)
		d.artifacts = rep.Artifacts
		return d, nil
	}
	if !errors.As(err, new(*executor.SpawnError)) {
		return outcome{}, err
	}
	bad := failed("%s", rep.Reason)
	bad.output, bad.ended, bad.limit, bad.artifacts = quote(rep.Summary), rep.Status, rep.Limit, rep.Artifacts
	if rep.Status == executor.Done { // but in conflict
		bad.ended = executor.Failed
	}
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		bad.code = se.Code
	}
	if rep.Status == executor.Limit && rep.Usage.Agents == 0 {
		// It was not begun: nothing that follows would be.
		bad.spent = &executor.StopError{Outcome: executor.Outcome{Status: executor.Limit, Limit: rep.Limit, Reason: rep.Reason}}
	}
	return bad, nil
}

// command has the step's command run. What it said is its output, without the
// line about it that models get.
func (x *run) command(s *Step) (outcome, error) {
	o, err := x.call(shell, map[string]any{"command": s.Run, "timeout_s": seconds(s.Timeout)})
	if o.problem != nil {
		o.problem.Command = s.Run
	}
	if err == nil && o.status == Done {
		o.output = quote(printed(text(o.output)))
	}
	return o, err
}

// printed is the output of a command, out of the result of the tool shell: a
// line about the command, the output, and lines in brackets with what models
// should know besides.
func printed(said string) string {
	about, rest, ok := strings.Cut(said, "\n")
	if !ok || !strings.HasPrefix(about, "exit code 0 ") {
		return said
	}
	var id string
	var size int
	if n, _ := fmt.Sscanf(about, "exit code 0 (%s %d bytes of output)", &id, &size); n == 2 && size <= len(rest) {
		if after := strings.TrimPrefix(rest[size:], "\n"); after == "" || strings.HasPrefix(after, "[") {
			return strings.TrimRight(rest[:size], "\n")
		}
	}
	// A secret in it was replaced, or the middle was left out.
	lines := strings.Split(strings.TrimRight(rest, "\n"), "\n")
	for len(lines) > 0 && (strings.HasPrefix(lines[len(lines)-1], "[changed: ") || strings.HasPrefix(lines[len(lines)-1], "[the middle is left out; ")) {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

// call has a tool called, under the rules that hold for those of agents.
func (x *run) call(tool string, args any) (outcome, error) {
	reply, err := x.sc.Tool(tool, args)
	if stop, ok := errors.AsType[*executor.StopError](err); ok {
		o := failed("%s", stop.Outcome.Reason)
		o.ended, o.spent = stop.Outcome.Status, stop
		return o, nil
	}
	if err != nil {
		return outcome{}, err
	}
	o := done(quote(reply.Text))
	if reply.Failed {
		o = failed("%s", strings.TrimSpace(headAndTail(reply.Text, mostOutput)))
		o.output, o.problem = quote(reply.Text), coordinator.Of(reply)
	}
	o.artifacts = reply.Artifacts
	return o, nil
}

// A Question is what a person is asked who is waited for.
type Question struct {
	Pipeline string `json:"pipeline"`
	Step     string `json:"step"`
	Signal   string `json:"signal"`
	Question string `json:"question,omitempty"`
}

// await waits for a person. Their time is not the step's.
func (x *run) await(s *Step) (outcome, error) {
	words, err := x.filler().fill(s.Await.Question)
	if err != nil {
		return failed("%v", err), nil
	}
	sig, err := flow.AwaitAny(x.sc.Run, Question{x.p.Name, s.ID, s.Await.Signal, words}, s.Timeout, s.Await.Signal)
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		o := failed("nobody sent the signal %s within %s", s.Await.Signal, s.Timeout)
		o.code = se.Code
		return o, nil
	}
	if err != nil {
		return outcome{}, err
	}
	x.sc.Untrusted() // whoever may send signals may not be who runs the job
	if len(sig.Value) == 0 {
		return done(quote("")), nil
	}
	return done(sig.Value), nil
}

// within runs another pipeline as one step, with values of its own.
func (x *run) within(s *Step) (outcome, error) {
	f := x.filler()
	input, err := f.fill(s.Input)
	if err != nil {
		return failed("%v", err), nil
	}
	y := &run{p: s.Pipeline.Spec, sc: x.sc, models: x.models, inner: true, input: quote(input), vars: map[string]json.RawMessage{}}
	for _, in := range y.p.Inputs {
		v, ok := s.Inputs[in.Name]
		switch {
		case ok:
			if v, err = f.value(v); err != nil {
				return failed("%v", err), nil
			}
		case in.Default != nil:
			v = in.Default
		default:
			v = quote("")
		}
		y.vars[in.Name] = v
	}
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
	if y.spent {
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
	for some := range slices.Chunk(s.Parallel, stepio.SpawnFanOut) {
		got, err := executor.Parallel(x.sc, some, func(sc *executor.Scope, kid Step) (branch, error) {
			y := x.branch(sc)
			row, out, err := y.step(&kid)
			if err != nil && out.spent == nil {
				return branch{}, err
			}
			if out.status == Done || !out.skipped && x.p.policy(&kid) == Continue || out.status == Skipped && !out.skipped {
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
			if b.out.spent != nil {
				o.spent = b.out.spent
			}
			if b.out.status == Failed && x.p.policy(kid) != Continue {
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
		o.status, o.err = Failed, join(bad)
		if len(bad) > 1 {
			o.ended = executor.Failed
		}
	}
	return o, nil
}

func join(list []string) string {
	out := list[0]
	for _, s := range list[1:] {
		out += "; " + s
	}
	return out
}
