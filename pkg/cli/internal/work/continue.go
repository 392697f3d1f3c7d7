package work

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
	var asJSON, deltas, detach bool
	cmd := &cobra.Command{
		Use:   "continue [JOB] [MESSAGE|-]",
		Short: "Continue a job with another message",
		Long: "Goes on with a job that ended, was stopped or was cancelled: in the same\n" +
			"conversation, with the same record of changes for diff and undo. Its definition of\n" +
			"done is judged anew, and its limits begin anew; the flags set others.\n" +
			"A job that is running reads the message at its next turn. Without JOB, with the\n" +
			"message in quotes, it is the newest of this directory; - reads the message from\n" +
			"stdin, and behind a message adds stdin to it as data. The message is durable as soon as the command has accepted it: after a\n" +
			"crash, adroit jobs resume goes on.",
		Example: "  adroit continue \"also add a test\"\n" +
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
			m.Model = request.Script(m.Model)
			begun, err := send(ctx, e, c, id, m)
			if err != nil || !begun {
				return err
			}
			if detach {
				return request.Detach(ctx, e, c, id, adroit.StartOptions{})
			}
			return request.Run(ctx, e, c, id, request.Options{JSON: asJSON || deltas, Deltas: deltas})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	f.BoolVar(&deltas, "deltas", false, "--json, with the pieces of responses as they come (kind delta), which are not kept")
	f.BoolVarP(&detach, "detach", "d", false, "go on in the background")
	f.StringVarP(&m.Model, "model", "m", "", "ask this model from here on")
	request.Limits(f, &m.Limits, request.LimitText{Turns: "model calls of a job that has ended, from here on", Tokens: "tokens of a job that has ended, from here on",
		Cost: "USD of a job that has ended, from here on", Time: "active time of a job that has ended, from here on"})
	return cmd
}

// send sends a message and reports whether the job is to be started here: one that
// is running reads it where it runs. A job that has only to go on gets none.
func send(ctx context.Context, e *kit.Env, c adroit.Client, id string, m executor.Message) (start bool, err error) {
	if m.Text == "" && m.Model == "" {
		d, err := c.Job(ctx, id)
		if err != nil {
			return false, err
		}
		if d.Unread == 0 {
			help := hint.Command("continue %s \"also add a test\"", d.Job.ID)
			if !d.Job.Status.Final() {
				help += "; " + hint.Command("jobs resume %s", d.Job.ID) + " goes on without a message"
			}
			return false, kit.Usagef(help, "the message is empty")
		}
	}
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

// reference matches a reference to a job: last, or a part of an id with a digit in it.
var reference = lazyregexp.New(`^(?i:last|J?[0-9A-HJKMNP-TV-Z]*[0-9][0-9A-HJKMNP-TV-Z]*)$`)

// minReference is the least length of an id that names a job before a message.
const minReference = 4

// target finds the job that arguments name, or else the newest of this directory,
// and returns what is left of them. A single argument that could be some of an id and
// is none of any job is a message; the first of several names a job, since a mistyped
// one would send the message to another.
func target(ctx context.Context, c adroit.Client, args []string) (id string, rest []string, err error) {
	words := len(args) == 2 && args[1] == "-" && strings.ContainsAny(args[0], " \t\n") // with what is piped in
	several := len(args) > 1 && !words
	if len(args) > 0 && (several || len(args[0]) >= minReference && reference.MatchString(args[0])) {
		d, err := named(ctx, c, args[0])
		if err == nil {
			return d.Job.ID, args[1:], nil
		}
		missing := errors.Is(err, jobs.ErrNotExist)
		if several && missing {
			return "", nil, kit.Usagef(hint.Command("continue %s", strings.Join(args, " "))+" sends all of it to the newest job of this directory", "no such job %q", args[0])
		}
		if full := len(args[0]) == len("J-------------"); several || full || !missing {
			return "", nil, err
		}
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
