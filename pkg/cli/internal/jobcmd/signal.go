package jobcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// NewSignal returns the command adroit answer signal.
func NewSignal(e *kit.Env) *cobra.Command {
	var question string
	cmd := &cobra.Command{
		Use:   "signal ID NAME [JSON]",
		Short: "Answer a job that waits: approve, deny, continue, abort, answer",
		Long: "Sends a signal to a job. approve and deny answer the question the job asks now; deny takes a reason.\n" +
			"approve takes {\"always\": true} to hold for the rest of the job, where the question offers it.\n" +
			"continue, abort, answer, cancel_stages and those that workflows and pipelines name may come early: they\n" +
			"are kept until the job asks for them. cancel_stages ends a validation after the stage that runs. A value\n" +
			"that is not JSON is sent as a string.",
		Example: "  adroit answer signal last approve && adroit continue last",
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := adroit.Signal{Name: args[1], Question: question}
			if len(args) == 3 {
				text, err := e.Content(args[2])
				if err != nil {
					return err
				}
				if s.Value, err = jsonOrString(text); err != nil {
					return err
				}
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			job, err := kit.Job(cmd.Context(), c, args[0], "")
			if err != nil {
				return err
			}
			sent, err := c.Signal(cmd.Context(), job, s)
			if err != nil {
				return err
			}
			if sent.Early {
				e.Warn("%s does not wait for %s now; it is kept until the job asks for it", sent.Job.ID, s.Name)
			}
			show.SignalSent(e.Out, s.Name, sent)
			return nil
		},
	}
	cmd.Flags().StringVar(&question, "question", "", "only if this is what the job asks: the question as adroit jobs show names it")
	return cmd
}

// An auditEntry is one answer: who gave it, when, what, and from where.
type auditEntry struct {
	Job    string    `json:"job"`
	Time   time.Time `json:"time"`
	Signal string    `json:"signal"`
	jobs.Answer
}

// newAudit returns the command adroit jobs audit.
func newAudit(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit [ID]",
		Short: "List who answered, messaged or cancelled jobs",
		Long: "Lists the answers, signals, messages and cancels that were sent to a job, or to all jobs: when, by whom, what, and from\n" +
			"where. You are the owner; others have the names of their tokens, which adroit serve token makes. Answers\n" +
			"are in the event logs of the jobs, and go with a job that is removed. Jobs of before this version have none.",
		Example: "  adroit jobs audit\n  adroit jobs audit --json last",
		Args:    cobra.MaximumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			events := c.AllEvents(ctx, adroit.EventOptions{})
			if len(args) > 0 {
				id, err := kit.Job(ctx, c, args[0], "")
				if err != nil {
					return err
				}
				events = c.Events(ctx, id, adroit.EventOptions{})
			}
			all := []auditEntry{}
			for ev, err := range events {
				if err != nil {
					return err
				}
				if ev.Kind != event.Answer {
					continue
				}
				a := auditEntry{Job: ev.Job, Time: ev.Time, Signal: ev.Name}
				if err := json.Unmarshal(ev.Data, &a.Answer); err != nil {
					return err
				}
				all = append(all, a)
			}
			if asJSON {
				return kit.JSON(e.Out, all)
			}
			var t kit.Table
			for _, a := range all {
				t.Row(a.Job, a.Time.Local().Format(time.DateTime), a.By, a.From, a.Signal, kit.SanitizeLine(jsontext.Text(a.Value)))
			}
			t.Write(e.Out)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// jsonOrString is text as it stands if it is JSON, else as a JSON string.
func jsonOrString(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}

func newRetry(e *kit.Env) *cobra.Command {
	var asJSON, deltas, detach bool
	var o adroit.StartOptions
	var r adroit.RetryOptions
	cmd := &cobra.Command{
		Use:   "retry ID [MESSAGE]",
		Short: "Run a job's task again, as a new job",
		Long: "Runs the task of a job again from the start. With --from TURN the new job has the\n" +
			"conversation as it was at the end of that turn, which adroit jobs transcript\n" +
			"numbers, and MESSAGE behind it. With --carry-out it carries out the plan with which\n" +
			"a job in mode plan ended, and is done when all of the agent's definition of done\n" +
			"holds. The files are as they are now: adroit jobs undo takes back what the old job\n" +
			"did. The old job stays as it is.",
		Example: "  adroit jobs retry J4K2\n  adroit jobs retry J4K2 --from 3 \"use a map instead\"\n  adroit jobs retry J4K2 -m ollama/qwen3:8b\n  adroit jobs retry last --carry-out",
		Args:    cobra.MinimumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			if r.Message = strings.Join(args[1:], " "); r.Message != "" {
				r.Attached = request.Attached(r.Message, "")
			}
			r.Model = request.Script(r.Model)
			again, err := c.Retry(ctx, args[0], r)
			if err != nil {
				return err
			}
			if r.From > 0 {
				fmt.Fprintf(e.Err, "goes on from turn %d of %s, with the files as they are now\n", r.From, args[0])
			}
			if r.CarryOut {
				fmt.Fprintf(e.Err, "carries out the plan of %s, with the files as they are now\n", args[0])
			}
			request.Begins(e, again)
			if detach {
				return request.Detach(ctx, e, c, again.Job.ID, o)
			}
			return request.Run(ctx, e, c, again.Job.ID, request.Options{StartOptions: o, JSON: asJSON || deltas, Deltas: deltas})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	cmd.Flags().BoolVar(&deltas, "deltas", false, "--json, with the pieces of responses as they come (kind delta), which are not kept")
	request.AtOnce(cmd.Flags(), &o)
	cmd.Flags().StringVarP(&r.Model, "model", "m", "", "do it with this model instead of the old job's")
	cmd.Flags().IntVar(&r.From, "from", 0, "go on from the end of this turn")
	cmd.Flags().BoolVar(&r.CarryOut, "carry-out", false, "carry out the plan that the job ended with")
	cmd.Flags().StringVar((*string)(&r.Mode), "mode", "", "of --from and --carry-out: edits, auto, and plan with --from; the configured one if left out")
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "run it in the background")
	return cmd
}
