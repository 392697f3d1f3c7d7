package jobcmd

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
)

func newTranscript(e *kit.Env) *cobra.Command {
	var turn int
	var request, asJSON, thinking bool
	cmd := &cobra.Command{
		Use:   "transcript ID",
		Short: "Print all that a job's models were sent and answered",
		Long: "Prints each request to a model and its response, whole: what was new in the request, the text,\n" +
			"the calls and their results. --thinking prints what the models thought, too. Turns count the requests of the job, those of sub-agents too.\n" +
			"--request prints one request as a whole, as JSON; without --turn it is the last.",
		Example: "  adroit jobs transcript last | less\n" +
			"  adroit jobs transcript last --turn 3 --request",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client()
			if err != nil {
				return err
			}
			t, err := c.Transcript(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if n := len(t.Turns); cmd.Flags().Changed("turn") && (turn < 1 || turn > n) {
				return kit.Usagef(hint.Command("jobs transcript %s", t.Job)+" prints them all", "%s has %s; --turn is %d", t.Job, kit.Plural(n, "turn"), turn)
			}
			if !thinking || request { // no request has what was thought before
				t.HideThinking()
			}
			return printTranscript(e, t, turn, request, asJSON)
		},
	}
	cmd.Flags().IntVar(&turn, "turn", 0, "only this turn, from 1")
	cmd.Flags().BoolVar(&request, "request", false, "print the whole request of the turn, as JSON")
	cmd.Flags().BoolVar(&thinking, "thinking", false, "print what the models thought, too")
	kit.JSONFlag(cmd, &asJSON)
	cmd.MarkFlagsMutuallyExclusive("json", "request")
	return cmd
}

// printTranscript prints the turn, all of them for 0.
func printTranscript(e *kit.Env, t *adroit.Transcript, turn int, request, asJSON bool) error {
	if request {
		if turn == 0 {
			turn = len(t.Turns)
		}
		r := t.Request(turn)
		if r == nil {
			return kit.Usagef("", "%s has not asked a model yet", t.Job)
		}
		return kit.JSON(e.Out, r)
	}
	if turn > 0 {
		if turn < len(t.Turns) {
			t.Rest = nil
		}
		t.Turns = t.Turns[turn-1 : turn]
	}
	if asJSON {
		return kit.JSON(e.Out, t)
	}
	show.Transcript(e.OutScreen(), t)
	return nil
}
