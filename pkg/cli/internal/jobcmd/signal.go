package jobcmd

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

// NewSignal returns the command adroit signal.
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
		Example: "  adroit signal last approve && adroit jobs resume last",
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

// jsonOrString is text as it stands if it is JSON, else as a JSON string.
func jsonOrString(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}
