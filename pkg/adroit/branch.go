package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// RetryOptions control how a job's task is done again.
type RetryOptions struct {
	// From has the new job go on from the end of this turn of the old one's
	// transcript, with the files as they are now. 0 begins anew.
	From int `json:"from,omitempty"`
	// Model does the task in place of the old one's; empty is the same.
	Model string `json:"model,omitempty"`
	// Agent goes on from there in place of the old one's agent; it is for From.
	Agent string `json:"agent,omitempty"`
	// CarryOut has the new job carry out the plan that the old one ended with: it goes on
	// from there, may change files, and is done when all of the agent's definition of done
	// holds. Mode is its permission mode, also with From: empty is the old one's first, and for
	// CarryOut the configured one, or edits if that is plan.
	CarryOut bool `json:"carry_out,omitempty"`
	// Host, of an engine of several hosts, has the new job go on with that one, from the last turn
	// that the engine knows, and ends the old job. What that did to files is not there.
	Host string        `json:"host,omitempty"`
	Mode executor.Mode `json:"mode,omitempty"`
	// Message is the person's message there; it is for From and CarryOut.
	Message string `json:"message,omitempty"`
	executor.Attached
}

const branchNotice = "This is a new job that goes on from here. The files are as they are now, which may not be what you saw: what was changed later is still there, and some of your changes may have been undone. Read again what you rely on."

const branchTreeNotice = "This is a new job that goes on from here, in a new worktree of the last commit: what you changed without a commit is not in it. Read again what you rely on."

const planNotice = "The plan is accepted: carry it out. This is a new job, in which you may change files, and the definition of done holds in full."

// check refuses invalid options.
func (o *RetryOptions) check() error {
	switch {
	case o.Host != "":
		return problem.Invalidf("only an engine of several hosts has others", "all jobs of this runtime run here, not on %q", o.Host)
	case o.From < 0:
		return problem.Invalidf("turns count from 1", "--from is %d", o.From)
	case o.From > 0 && o.CarryOut:
		return problem.Invalidf("a plan is gone on from where it ended", "--from and --carry-out exclude each other")
	case o.Mode != "" && !o.CarryOut && o.From == 0:
		return problem.Invalidf("it goes with --from or --carry-out; "+hint.Command("run --mode MODE")+" begins in another mode", "--mode is for a job that goes on")
	case o.Agent != "" && o.From == 0:
		return problem.Invalidf(hint.Command("run AGENT \"...\"")+" begins anew with another agent", "another agent is for a conversation that goes on from a turn")
	case o.Mode == executor.ModePlan && o.CarryOut:
		return problem.Invalidf("it is edits or auto", "a plan cannot be carried out in mode plan")
	case o.Mode != "" && !slices.Contains(executor.Modes, o.Mode):
		return problem.Invalidf(oneOf(executor.Modes), "--mode is %q", o.Mode)
	case o.From == 0 && !o.CarryOut && o.Message != "":
		return problem.Invalidf(hint.Command("jobs retry ID --from TURN \"...\"")+" goes on from a turn; "+hint.Command("continue ID \"...\"")+" goes on with the job itself", "a job that begins anew takes no message")
	}
	return nil
}

// canBeCarriedOut reports whether a job has ended with a plan that its agent may carry
// out: not one that only plans, in any mode.
func (rt *Runtime) canBeCarriedOut(j *jobs.Job) bool {
	if j.Status != jobs.Planned || j.Workflow != agents.Workflow.Name {
		return false
	}
	a, err := rt.agentOf(j)
	return err == nil && a.Mode != executor.ModePlan
}

// agentOf is the agent of a job as it is now.
func (rt *Runtime) agentOf(j *jobs.Job) (*agents.DynamicAgent, error) {
	var in agents.Input
	if err := json.Unmarshal(j.Input, &in); err != nil {
		return nil, fmt.Errorf("%s: reading its request: %w", j.ID, err)
	}
	if in.Spec != nil {
		return in.Spec, nil
	}
	d, err := rt.trusts(in.Dir, rt.config(j).Trust)
	if err != nil {
		return nil, err
	}
	return rt.catalog.Agents(d).Lookup(in.Agent)
}

// carryOut makes a request that carries out the plan that a job ended with.
func (rt *Runtime) carryOut(ctx context.Context, old *jobs.Job, in *agents.Input, o RetryOptions, id string) error {
	switch {
	case old.Status != jobs.Planned:
		return problem.Invalidf(hint.Command("jobs retry %s", old.ID)+" runs its task again", "%s has no plan to carry out: it is %s", old.ID, old.Status.Words())
	case !rt.canBeCarriedOut(old):
		return problem.Invalidf("have another agent do it: "+hint.Command("run AGENT PROMPT"), "the agent %s, which made the plan of %s, only plans, or is not there any more", old.Agent, old.ID)
	}
	in.Mode = o.Mode
	if in.Mode == "" && rt.o.Defaults.Mode == executor.ModePlan {
		in.Mode = executor.ModeEdits
	}
	return rt.branch(ctx, old, in, o, id)
}

// branch makes a request that goes on from a turn of a job. images are kept for the
// job to be.
func (rt *Runtime) branch(ctx context.Context, old *jobs.Job, in *agents.Input, o RetryOptions, id string) error {
	if held(old) {
		return problem.WithHint(fmt.Errorf("%s: %w", old.ID, jobs.ErrRunning), fmt.Sprintf("%s, or %s", hint.Command("jobs wait %s", old.ID), hint.Command("jobs cancel %s", old.ID)))
	}
	if old.Workflow != agents.Workflow.Name {
		return problem.Invalidf(hint.Command("jobs retry %s", old.ID)+" runs all of it again", "%s was led by the workflow %s, which asks its agents by itself: there is no turn to go on from", old.ID, old.Workflow)
	}
	t, err := rt.Transcript(ctx, old.ID)
	if err != nil {
		return err
	}
	from := o.From
	if o.CarryOut {
		from = t.Last()
	}
	b, err := t.Branch(from)
	if err != nil {
		return err
	}
	in.Mode = cmp.Or(o.Mode, in.Mode)
	if err := rt.otherAgent(old, in, o.Agent); err != nil {
		return err
	}
	in.Taint |= taintOf(old)
	if o.Mentions != "" || len(o.Attachments) > 0 {
		m := executor.Message{Text: o.Message, Model: o.Model, Attached: o.Attached}
		if err := rt.checkMessage(ctx, old, &m); err != nil {
			return err
		}
		if err := jobdir.KeepImages(rt.data(), id, m.Attachments); err != nil {
			return err
		}
		in.Taint |= m.Taint
		o.Attached = m.Attached
	}
	said := o.To(o.Message)
	r := rt.typedSecrets(in.Dir, rt.jobOpens(ctx, old, rt.config(old)))
	said.Text, _ = rt.hideTyped(r, "the message", said.Text)
	b.Said, _ = r.String(o.Message)
	if !o.CarryOut {
		said.Text = cmp.Or(said.Text, "Go on with the task.")
	}
	notice := branchNotice
	if in.Worktree {
		notice = branchTreeNotice
	}
	if o.CarryOut {
		notice += "\n\n" + planNotice
	}
	said.Text = strings.TrimSpace(notice + "\n\n" + said.Text)
	b.History = append(b.History, said)
	in.Branch = b
	return nil
}

// otherAgent has a request go to another agent, which takes the conversation over.
func (rt *Runtime) otherAgent(old *jobs.Job, in *agents.Input, name string) error {
	if name == "" || name == in.Agent && in.Spec == nil {
		return nil
	}
	d, err := rt.trusts(in.Dir, rt.config(old).Trust)
	if err != nil {
		return err
	}
	a, err := rt.catalog.Agents(d).Lookup(name)
	if err != nil {
		return err
	}
	if a.Workflow != "" {
		return problem.Invalidf(hint.Command("run %s \"...\"", name)+" begins anew with it", "%s is led by the workflow %s, which goes on with no conversation", name, a.Workflow)
	}
	in.Agent, in.Spec, in.Inputs = name, nil, nil
	return nil
}

// taintOf returns the taint of a job's reading; of one without an end, the worst.
func taintOf(j *jobs.Job) tools.Taint {
	var s executor.State
	if len(j.Output) == 0 || json.Unmarshal(j.Output, &s) != nil {
		return tools.Untrusted | tools.Secret
	}
	return s.Taint
}

// Transcript implements [JobReader].
func (rt *Runtime) Transcript(ctx context.Context, ref string) (*Transcript, error) {
	j, m, err := rt.findFor(ctx, ScopeRead, ref)
	if err != nil {
		return nil, err
	}
	inputs, err := m.Store.Inputs(ctx, j.ID)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return Of(j, inputs), nil
}
