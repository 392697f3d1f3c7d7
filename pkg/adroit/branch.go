package adroit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
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
	b, err := t.branch(o.From)
	if err != nil {
		return err
	}
	in.Taint |= taintOf(old)
	if o.Mentions != "" || len(o.Attachments) > 0 {
		m := executor.Message{Text: o.Message, Model: o.Model, Attached: o.Attached}
		if err := rt.checkMessage(ctx, old, &m); err != nil {
			return err
		}
		if err := rt.keepImages(id, m.Attachments); err != nil {
			return err
		}
		in.Taint |= m.Taint
		o.Attached = m.Attached
	}
	said := o.To(o.Message)
	if said.Text == "" {
		said.Text = "Go on with the task."
	}
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

// branch is the conversation of a job at the end of a turn.
func (t *Transcript) branch(turn int) (*executor.Branch, error) {
	hint := "adroit jobs transcript " + t.Job + " shows them"
	if len(t.Turns) == 0 {
		return nil, apierr.Invalidf("adroit jobs retry "+t.Job+" begins anew", "%s has no turns", t.Job)
	}
	r := t.Request(turn)
	if r == nil {
		return nil, apierr.Invalidf(hint, "%s has %d turns; --from is %d", t.Job, len(t.Turns), turn)
	}
	if !t.own(r.Messages) {
		return nil, apierr.Invalidf(hint, "turn %d of %s is a sub-agent's; those of the job's own conversation can be gone on from", turn, t.Job)
	}
	answer := t.Turns[turn-1].Response
	if answer == nil {
		return nil, apierr.Invalidf(hint, "turn %d of %s has no response yet: the job was stopped before its end", turn, t.Job)
	}
	b := &executor.Branch{Job: t.Job, Turn: turn, Opening: r.Messages[1]}
	b.History = append(slices.Clone(r.Messages[2:]), *answer)
	for _, m := range t.after(turn) {
		if m.Role != llm.Tool {
			break
		}
		b.History = append(b.History, m)
	}
	return b, nil
}

// own reports whether a request is one of the job's own conversation, also after a
// compaction.
func (t *Transcript) own(msgs []llm.Message) bool {
	first := t.Turns[0].New
	return len(msgs) > 1 && len(first) > 1 && msgs[0].Text == first[0].Text && msgs[1].Role == llm.User && strings.HasPrefix(msgs[1].Text, first[1].Text)
}

// after is what followed the response of a turn.
func (t *Transcript) after(turn int) []llm.Message {
	for i := range t.Turns {
		if t.Turns[i].After == turn {
			return t.Turns[i].New
		}
	}
	return t.Rest // of the last turn; another has no call of its own in it
}
