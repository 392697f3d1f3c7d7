package adroit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/transcript"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// RetryOptions are how the task of a job is done again.
type RetryOptions struct {
	// From has the new job go on from the end of this turn of the old one's
	// transcript, with the files as they are now. 0 begins anew.
	From int `json:"from,omitempty"`
	// Model does the task in place of the old one's; empty is the same.
	Model string `json:"model,omitempty"`
	// Message is what the person says there; it is for From.
	Message string `json:"message,omitempty"`
	executor.Attached
}

const branchNotice = "This is a new job that goes on from here. The files are as they are now, which may not be what you saw: what was changed later is still there, and some of your changes may have been undone. Read again what you rely on."

const branchTreeNotice = "This is a new job that goes on from here, in a new worktree of the last commit: what you changed without a commit is not in it. Read again what you rely on."

// branch makes a request that goes on from a turn of a job. images are kept for the
// job to be.
func (rt *Runtime) branch(ctx context.Context, old *jobs.Job, in *agents.Input, o RetryOptions, id string) error {
	if held(old) {
		return apierr.WithHint(fmt.Errorf("%s: %w", old.ID, jobs.ErrRunning), fmt.Sprintf("adroit jobs wait %s, or adroit jobs cancel %s", old.ID, old.ID))
	}
	if old.Workflow != agents.Workflow.Name {
		return apierr.Invalidf("adroit jobs retry "+old.ID+" runs all of it again", "%s was led by the workflow %s, which asks its agents by itself: there is no turn to go on from", old.ID, old.Workflow)
	}
	t, err := rt.Transcript(ctx, old.ID)
	if err != nil {
		return err
	}
	b, err := t.Branch(o.From)
	if err != nil {
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
	said.Text = cmp.Or(said.Text, "Go on with the task.")
	notice := branchNotice
	if in.Worktree {
		notice = branchTreeNotice
	}
	said.Text = notice + "\n\n" + said.Text
	b.History = append(b.History, said)
	in.Branch = b
	return nil
}

// taintOf is what is known of what a job has read; of one without an end, the worst.
func taintOf(j *jobs.Job) tools.Taint {
	var s executor.State
	if len(j.Output) == 0 || json.Unmarshal(j.Output, &s) != nil {
		return tools.Untrusted | tools.Secret
	}
	return s.Taint
}

type (
	// A Transcript is all that the models of a job were sent and answered.
	Transcript = transcript.Transcript
	// A TranscriptTurn is one request to a model and its response.
	TranscriptTurn = transcript.Turn
)

// Transcript implements [JobReader].
func (rt *Runtime) Transcript(ctx context.Context, ref string) (*Transcript, error) {
	j, m, err := rt.find(ctx, ref)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	inputs, err := m.Store.Inputs(ctx, j.ID)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	return transcript.Of(j, inputs), nil
}
