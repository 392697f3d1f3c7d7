package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func (a *app) signalCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "signal ID NAME [JSON]",
		Short: "Answer a job that waits: approve, deny, continue, abort, answer",
		Long: "Sends a signal to a job. approve and deny answer the question the job asks now; deny takes a reason.\n" +
			"approve takes {\"always\": true} to hold for the rest of the job, where the question offers it.\n" +
			"continue, abort, answer, cancel_stages and those that workflows and pipelines name may come early: they\n" +
			"are kept until the job asks for them. cancel_stages ends a validation after the stage that runs. A value\n" +
			"that is not JSON is sent as a string.",
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var value json.RawMessage
			if len(args) == 3 {
				text, err := a.env().Content(args[2])
				if err != nil {
					return err
				}
				if value, err = jsonOrString(text); err != nil {
					return err
				}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			sent, err := c.Signal(ctx, args[0], adroit.Signal{Name: args[1], Value: value})
			if err != nil {
				return err
			}
			j, q := sent.Job, sent.Question
			if sent.Early {
				a.note("%s does not wait for %s now; it is kept until the job asks for it", j.ID, args[1])
			}
			next := "adroit jobs resume " + j.ID
			if j.Status == jobs.Running {
				next = "adroit jobs logs " + j.ID + " -f"
			}
			fmt.Fprintf(a.Stdout, "%s: %s sent    %s\n", j.ID, render.SanitizeLine(args[1]), next)
			if render.ToolQuestion(q) != nil {
				text, _ := render.Question(q, -1)
				fmt.Fprint(a.Stdout, text)
			}
			return nil
		},
	}
}

// jsonOrString is text as it stands if it is JSON, else as a JSON string.
func jsonOrString(text string) (json.RawMessage, error) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}
