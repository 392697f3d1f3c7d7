// Package jobs holds the commands of adroit jobs.
package jobs

import (
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
)

// New is adroit jobs.
func New(e *env.Env) *cobra.Command {
	cmd := newList(e, "jobs")
	cmd.Short = "List jobs; show, follow, resume, cancel, undo one"
	cmd.Long = "Lists jobs, newest first. Commands that take an ID also take its beginning or end, if that is unique, or last: the newest job of all directories."
	list := cmd.RunE
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return env.Group(cmd, args)
		}
		return list(cmd, args)
	}
	cmd.AddCommand(newList(e, "list"), newShow(e), newLogs(e), newTranscript(e), newWait(e), newResume(e), newRetry(e), newCancel(e), newRemove(e), newPrune(e), newArtifacts(e), newGraph(e),
		newDiff(e), newSteps(e), newUndo(e), newMerge(e))
	return cmd
}
