package work

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// NewApprove is adroit approve.
func NewApprove(e *kit.Env) *cobra.Command {
	var a talkAnswer
	cmd := &cobra.Command{
		Use:   "approve [JOB]",
		Short: "Approve what a job waits for, and continue it",
		Long: "Approves the call that a waiting job asks about, shows it once more, and goes on\n" +
			"with the job in the foreground. Without JOB it is the one that waits in this\n" +
			"directory. --always also lets later calls run in this job, by the rule that the\n" +
			"question shows; adroit jobs show shows the question.",
		Example: "  adroit approve\n  adroit approve J4K2 --always",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "approve", args)
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&a.always, "always", false, "for the rest of the job, by the rule that the question shows")
	return cmd
}

// NewDeny is adroit deny.
func NewDeny(e *kit.Env) *cobra.Command {
	var a talkAnswer
	cmd := &cobra.Command{
		Use:   "deny [JOB] [WHY]",
		Short: "Deny what a job waits for, and continue it",
		Long: "Denies the call that a waiting job asks about, and goes on with the job in the\n" +
			"foreground. WHY, or --because, goes to the model; at a terminal it is asked for.\n" +
			"Without JOB it is the one that waits in this directory.",
		Example: "  adroit deny \"use the make target instead\"\n  adroit deny J4K2 --because \"not in this directory\"",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), e, "deny", args)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&a.because, "because", "", "why, for the model")
	kit.AllowEmpty(cmd.Flags(), "because")
	return cmd
}
