package jobcmd

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
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
		Short: "List who answered what jobs asked",
		Long: "Lists the answers and signals that were sent to a job, or to all jobs: when, by whom, what, and from\n" +
			"where. You are the owner; others have the names of their tokens, which adroit serve token makes. Answers\n" +
			"are in the event logs of the jobs, and go with a job that is removed. Jobs of before this version have none.",
		Example: "  adroit jobs audit\n  adroit jobs audit --json last",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client()
			if err != nil {
				return err
			}
			events := c.AllEvents(cmd.Context(), adroit.EventOptions{})
			if len(args) > 0 {
				id, err := kit.Job(cmd.Context(), c, args[0], "")
				if err != nil {
					return err
				}
				events = c.Events(cmd.Context(), id, adroit.EventOptions{})
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
				t.Row(a.Job, a.Time.Local().Format(time.DateTime), a.By, a.From, a.Signal, string(a.Value))
			}
			t.Write(e.Out)
			return nil
		},
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
