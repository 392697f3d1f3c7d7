package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// grace is the time a command's step may take beyond the command's.
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
	given := f
	if x.whole() {
		given = x.argsFiller()
	}
	for _, name := range sorted(s.Inputs) {
		in := f
		if !s.Agent.shows(name) {
			in = given
		}
		v, err := in.value(s.Inputs[name])
		if err != nil {
			return failed("%v", err), nil
		}
		if o.Inputs == nil {
			o.Inputs = map[string]json.RawMessage{}
		}
		o.Inputs[name] = v
	}
	if f.cut > 0 && x.whole() {
		if err := x.sc.Note("%s: %d bytes of values are left out of what the agent %s reads; defaults.context of the pipeline allows more", s.ID, f.cut, s.Agent.Name); err != nil {
			return outcome{}, err
		}
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
	if err := coordinator.Reported(err); err != nil {
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

// shows reports whether the agent's prompt has an input: others go where no model
// reads them, or are shortened as the agent wants it.
func (a *Agent) shows(input string) bool {
	i := slices.IndexFunc(a.Spec.Inputs, func(f agents.Field) bool { return f.Name == input })
	return i < 0 || a.Spec.Inputs[i].Artifact == "" && a.Spec.Inputs[i].Bytes <= 0
}

// command has the step's command run. Its output is the step's.
func (x *run) command(s *Step) (outcome, error) {
	command, terr := commandText(s.Run)
	if terr != nil {
		return failed("%s", terr.words), nil
	}
	o, err := x.call(s, shell, map[string]any{"command": command, "timeout_s": seconds(s.Timeout)})
	if o.problem != nil {
		o.problem.Command = command
	}
	if err == nil && o.status == statusDone && !x.typed() {
		o.output = quote(turn.Output(text(o.output)))
	}
	return o, err
}

// overdue returns why a command of a step was stopped, with what its time is called
// there.
func overdue(timeout time.Duration) string {
	if timeout == 0 {
		return fmt.Sprintf("timed out: %s are over, which a command has whose step sets no timeout", time.Duration(seconds(0))*time.Second)
	}
	return fmt.Sprintf("timed out: the step's timeout of %s is over", timeout)
}

// call has a tool called, under the rules that hold for those of agents.
func (x *run) call(s *Step, tool string, args any) (outcome, error) {
	reply, err := coordinator.Call{Tool: tool, Args: args, Interrupted: coordinator.Interruption(permit.Publishes(s.ID+" "+s.Name), s.Repeatable || s.Check)}.Make(x.sc)
	if stop, ok := errors.AsType[*executor.StopError](err); ok {
		o := failed("%s", stop.Outcome.Reason)
		o.ended, o.spent = stop.Outcome.Status, stop
		return o, nil
	}
	if err != nil {
		return outcome{}, err
	}
	value, err := x.output(s, &reply.ToolResult)
	if err != nil {
		return outcome{}, err
	}
	o := done(value)
	if reply.Failed {
		o = failed("%s", strings.TrimSpace(headAndTail(reply.Text, mostOutput)))
		if o.output = value; !x.whole() {
			o.output = quote(reply.Text)
		}
		o.denied = reply.Denied && x.sc.Task.Revision >= turn.FinalDenials
		o.problem = reply.Problem
		if tool == shell && o.problem.TimedOut && x.sc.Task.Revision >= turn.OwnTimeouts { // the tool has words for who sets its argument
			o.err = strings.TrimSpace(overdue(s.Timeout) + "\n" + o.problem.Output)
		}
	}
	o.artifacts, o.value = reply.Artifacts, reply.Value
	return o, nil
}

// output is the output of a step with a call, also of a failed one: what a command
// printed, the text that a tool returns to programs, else its words.
func (x *run) output(s *Step, reply *executor.ToolResult) (json.RawMessage, error) {
	var c turn.CommandResult
	var text string
	switch {
	case !x.typed() || reply.Failed && !x.whole() || len(reply.Value) == 0:
	case json.Unmarshal(reply.Value, &text) == nil:
		return reply.Value, nil
	case json.Unmarshal(reply.Value, &c) == nil && c.ID != "":
		if c.Dropped > 0 {
			if err := x.sc.Note("%s: %d bytes of the middle of its output are left out; %d are the most that a value has", s.ID, c.Dropped, turn.MaxValue); err != nil {
				return nil, err
			}
		}
		if len(c.Unjoined) > 0 {
			if err := x.sc.Note("%s: its command changed what is not in the workspace: %s", s.ID, spelling.PathLine(strings.Join(c.Unjoined, ", "))); err != nil {
				return nil, err
			}
		}
		return quote(strings.TrimRight(c.Output, "\n")), nil
	}
	return quote(reply.Text), nil
}

// A question is an open question to a person.
type question struct {
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
	sig, err := flow.AwaitAny(x.sc.Run, question{x.p.Name, s.ID, s.Await.Signal, words}, s.Timeout, s.Await.Signal)
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
