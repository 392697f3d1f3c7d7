// Package jobcmd has the commands for jobs that are there: adroit jobs, signal, failures,
// memory, stats, backup and restore.
package jobcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// New is adroit jobs.
func New(e *kit.Env) *cobra.Command {
	cmd := newList(e, "jobs")
	cmd.Short = "List jobs; show, follow, resume, cancel, undo one"
	cmd.Long = "Lists jobs, newest first. Commands that take an ID also take its beginning or end, if that is unique, or last:\n" +
		"the newest job of this directory's project, or of the one that -C names."
	list := cmd.RunE
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return kit.Group(cmd, args)
		}
		return list(cmd, args)
	}
	cmd.AddCommand(newList(e, "list"), newPrune(e))
	for _, one := range []*cobra.Command{newShow(e), newLogs(e), newTranscript(e), newWait(e), newResume(e), newRetry(e), newCancel(e), newArtifacts(e), newGraph(e), newDiff(e), newSteps(e)} {
		cmd.AddCommand(named(e, one, false))
	}
	for _, one := range []*cobra.Command{newRemove(e), newUndo(e), newMerge(e)} {
		cmd.AddCommand(named(e, one, true))
	}
	return cmd
}

// named has a command find the job that last means. One that cannot be taken back is
// careful: it does not guess between the newest job of this directory and a newer one
// of another.
func named(e *kit.Env, cmd *cobra.Command, careful bool) *cobra.Command {
	var dir string
	cmd.Flags().StringVarP(&dir, "dir", "C", "", "last is the newest job of this directory's project (default the current one)")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n := 1
		if cmd.Name() == "rm" {
			n = len(args)
		}
		for i, ref := range args[:n] {
			if !kit.IsLast(ref) {
				continue
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			if args[i], err = kit.Job(cmd.Context(), c, ref, dir); err != nil {
				return err
			}
			if careful && dir == "" {
				if err := unambiguous(cmd, c, args[i]); err != nil {
					return err
				}
			}
		}
		return run(cmd, args)
	}
	return cmd
}

// unambiguous refuses last where the newest job of all is another project's: somebody
// may have started it from here with -C.
func unambiguous(cmd *cobra.Command, c adroit.Client, id string) error {
	newest, err := kit.Last(cmd.Context(), c, "")
	if err != nil || newest.ID == id {
		return err
	}
	return kit.Usagef(fmt.Sprintf("%[1]s %[2]s and %[1]s %[3]s say which; -C . means that of this directory", cmd.CommandPath(), id, newest.ID),
		"last is %s in this directory, and the newest job of all is %s in %s", id, newest.ID, newest.Dir)
}
