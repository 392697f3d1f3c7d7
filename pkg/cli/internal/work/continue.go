package work

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// NewContinue is adroit continue.
func NewContinue(e *kit.Env) *cobra.Command {
	var m executor.Message
	var o adroit.StartOptions
	var asJSON, deltas, detach bool
	var on string
	cmd := &cobra.Command{
		Use:   "continue [JOB] [MESSAGE|-]",
		Short: "Continue a job where it stopped, or with another message",
		Long: "Goes on with a job, the newest of this directory if none is named.\n\n" +
			"Without a MESSAGE it goes on where it stopped. Finished steps are recalled from the journal, not repeated. Of a\n" +
			"job that failed, the step that failed is tried again, with what depends on it: a sub-agent, a branch, a\n" +
			"pipeline's step. A job that a limit stopped goes on with a higher one; one that was stuck goes on after you\n" +
			"changed something.\n\n" +
			"With a MESSAGE a job that ended, was stopped or was cancelled goes on in the same conversation, with the same\n" +
			"record of changes for diff and undo. Its definition of done is judged anew, and its limits begin anew; the\n" +
			"flags set others. A job that is running reads the message at its next turn. The message is durable as soon as\n" +
			"the command has accepted it. - reads the message from stdin, and behind a message adds stdin to it as data.\n\n" +
			"With --host HOST a job of Temporal goes on with another host, as a new job, and the old one ends. The host needs\n" +
			"the directory of the job, such as a clone at the same path. The model learns what it cannot see any more.\n\n" +
			"adroit jobs retry runs the task again, as a new job.",
		Example: "  adroit continue \"also add a test\"\n" +
			"  adroit continue last --max-turns 80\n" +
			"  adroit continue J4K2 \"use the standard library\" -m openai/gpt-5",
		Args: cobra.ArbitraryArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			id, words, err := target(ctx, c, args)
			if err != nil {
				return err
			}
			typed, text, err := request.Words(e, words)
			if err != nil {
				return err
			}
			if m.Text = strings.TrimSpace(text); typed != "" {
				m.Attached = request.Attached(typed, "")
			}
			m.Model, m.Limits = request.Script(m.Model), o.Limits
			if len(words) > 0 && m.Text == "" {
				return kit.Usagef(hint.Command("continue %s", id)+" goes on without one", "the message is empty")
			}
			begun := true
			if on != "" {
				id, err = move(ctx, e, c, id, on, m)
			} else {
				begun, err = send(ctx, e, c, id, m, &o)
			}
			if err != nil || !begun {
				return err
			}
			if detach {
				check := o
				check.DryRun = true
				if _, err := c.Start(ctx, id, check); err != nil {
					return request.StartError(err)
				}
				return request.Detach(ctx, e, c, id, o)
			}
			return request.Run(ctx, e, c, id, request.Options{StartOptions: o, JSON: asJSON || deltas, Deltas: deltas})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	f.BoolVar(&deltas, "deltas", false, "--json, with the pieces of responses as they come (kind delta), which are not kept")
	request.AtOnce(f, &o)
	f.BoolVarP(&detach, "detach", "d", false, "go on in the background")
	f.StringVarP(&m.Model, "model", "m", "", "ask this model from here on")
	f.StringVar(&on, "host", "", "with --engine temporal: go on with this host, in a new job, when the old one's is gone")
	request.Limits(f, &o.Limits, request.LimitText{
		Turns:  "go on past the limit of model calls, up to this many for the agent that was stopped; with a message: from here on",
		Tokens: "go on past the limit of tokens, up to this many for the whole job; with a message: from here on",
		Cost:   "go on past the limit of money, up to this many USD for the whole job; with a message: from here on",
		Time:   "go on past the time limit, up to this much for the whole job; with a message: from here on"})
	request.Start(f, &o)
	return cmd
}

// move has a new job go on with another host, and returns its id.
func move(ctx context.Context, e *kit.Env, c adroit.Client, id, host string, m executor.Message) (string, error) {
	if m.Limits.String() != "" {
		return "", kit.Usagef("give them when it goes on next", "a job that goes on with another host begins with the limits of the old one")
	}
	again, err := c.Retry(ctx, id, adroit.RetryOptions{Host: host, Message: m.Text, Model: m.Model, Attached: m.Attached})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(e.Err, "%s goes on with %s as %s; what it changed on the old host, and did not push, is lost there\n", id, host, again.Job.ID)
	for _, call := range again.Lost {
		fmt.Fprintf(e.Err, "  may have changed files there: %s\n", rootfs.Visible(call))
	}
	request.Begins(e, again)
	return again.Job.ID, nil
}

// send sends a message, if there is one, and reports whether the job is to be started here: one
// that is running reads it where it runs. A message takes the limits out of o.
func send(ctx context.Context, e *kit.Env, c adroit.Client, id string, m executor.Message, o *adroit.StartOptions) (start bool, err error) {
	if m.Text == "" {
		d, err := c.Job(ctx, id)
		if err != nil {
			return false, err
		}
		if d.Unread == 0 && m.Model != "" {
			return false, kit.Usagef(hint.Command("continue %s \"also add a test\"", d.Job.ID)+" has one", "-m goes with a message")
		}
		if d.Unread == 0 {
			if err := waitingError(e, d); err != nil {
				return false, err
			}
			return true, nil
		}
	}
	o.Limits = executor.Limits{}
	j, err := c.Send(ctx, id, m)
	if err != nil {
		return false, err
	}
	request.WarnReplaced(e, j)
	switch j.Status {
	case jobs.Running:
		fmt.Fprintf(e.Err, "%s is running: it reads the message at its next turn    %s\n", j.ID, hint.Command("jobs logs %s -f", j.ID))
		return false, nil
	case jobs.Waiting:
		if len(j.Questions) > 0 && !e.Interactive() && !j.Questions[0].Over(e.Now()) {
			return false, &kit.Error{Code: kit.Waiting, Err: fmt.Errorf("%s has the message and still waits for a person: %s", j.ID, show.QuestionLine(&j.Questions[0])),
				Hint: show.Answers(j.ID, j.Questions[0].Signals[0], "")}
		}
	}
	return true, nil
}

// waitingError returns an error if the job waits for a person and nobody can be asked
// here.
func waitingError(e *kit.Env, d *adroit.JobDetail) error {
	if d.Job.Status != jobs.Waiting || len(d.Questions) == 0 || e.Interactive() || d.Questions[0].Over(e.Now()) {
		return nil
	}
	id := d.Job.ID
	if len(d.Questions) > 1 {
		return &kit.Error{Code: kit.Waiting, Err: fmt.Errorf("%s still waits for a person: %d questions", id, len(d.Questions)), Hint: strings.Join(show.Asked(d), "\n")}
	}
	return &kit.Error{Code: kit.Waiting, Err: fmt.Errorf("%s still waits for a person: %s", id, show.QuestionLine(&d.Questions[0])),
		Hint: show.Answers(id, d.Questions[0].Signals[0], "")}
}

// reference matches a reference to a job: last, or a part of an id with a digit in it.
var reference = lazyregexp.New(`^(?i:last|J?[0-9A-HJKMNP-TV-Z]*[0-9][0-9A-HJKMNP-TV-Z]*)$`)

// minReference is the least length of an id that names a job before a message.
const minReference = 4

// target finds the job that arguments name, or else the newest of this directory,
// and returns what is left of them. An argument that could be some of an id, and the first of
// several, names a job: a mistyped one would send a message to another.
func target(ctx context.Context, c adroit.Client, args []string) (id string, rest []string, err error) {
	words := len(args) == 2 && args[1] == "-" && strings.ContainsAny(args[0], " \t\n") // with what is piped in
	several := len(args) > 1 && !words
	if len(args) > 0 && (several || len(args[0]) >= minReference && reference.MatchString(args[0])) {
		d, err := named(ctx, c, args[0])
		if err == nil {
			return d.Job.ID, args[1:], nil
		}
		missing := errors.Is(err, jobs.ErrNotExist)
		if several && missing && !strings.EqualFold(args[0], "last") {
			return "", nil, kit.Usagef(hint.Command("continue %s", strings.Join(args, " "))+" sends all of it to the newest job of this directory", "no such job %q", args[0])
		}
		if missing && !several && !strings.EqualFold(args[0], "last") {
			return "", nil, problem.WithHint(err, hint.Command("continue last %s", args[0])+" sends it as a message")
		}
		return "", nil, err
	}
	id, err = kit.Job(ctx, c, "last", "")
	return id, args, err
}

// named is the job that an argument names.
func named(ctx context.Context, c adroit.Client, ref string) (*adroit.JobDetail, error) {
	id, err := kit.Job(ctx, c, ref, "")
	if err != nil {
		return nil, err
	}
	return c.Job(ctx, id)
}
