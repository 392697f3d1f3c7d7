package jobcmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// NewFailures returns the command adroit fix failures.
func NewFailures(e *kit.Env) *cobra.Command {
	return kit.Lister("failures", "Show, use and forget what coordinators remember of failures", failuresNewList(e), newPropose(e), failuresNewForget(e))
}

func failuresNewList(e *kit.Env) *cobra.Command {
	var all, asJSON bool
	var most int
	dir := "."
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List failures of this project, what was done and what came of it",
		Long: "Lists the failures that adroit fix met in this directory, the newest first: what was\n" +
			"done about each, and whether it helped. What helped is tried first when the same\n" +
			"failure comes again, and what did not help is not repeated.",
		Example: "  adroit fix failures\n  adroit fix failures list --all --json",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			q := adroit.FailureQuery{Limit: most}
			var err error
			if !all {
				if q.Project, err = filepath.Abs(dir); err != nil {
					return err
				}
			}
			list, err := c.Failures(ctx, q)
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, list, func(w io.Writer, list []adroit.Failure) { text(e, w, list) })
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "those of all projects")
	f.IntVarP(&most, "limit", "n", 50, "at most this many")
	f.StringVarP(&dir, "dir", "C", ".", "the directory of the project")
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func text(e *kit.Env, w io.Writer, list []adroit.Failure) {
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing is remembered")
		return
	}
	var t kit.Table
	for _, f := range list {
		did := f.Action.Decision
		switch {
		case f.Action.Of != "":
			did += " memory (" + f.Action.Agent + ")"
		case f.Action.Agent != "":
			did += " " + f.Action.Agent
		}
		t.Row(f.Key, kit.Ago(e.Now(), f.At), f.Type, did, f.Outcome)
	}
	t.Write(w)
}

func failuresNewForget(e *kit.Env) *cobra.Command {
	var all bool
	dir := "."
	cmd := &cobra.Command{
		Use:   "forget [JOB]",
		Short: "Forget the failures of this project, or of a job",
		Long: "Forgets what adroit fix remembers of the failures in this directory, or of a job as\n" +
			"adroit fix failures names it. Agents that did not help are tried again then. What is\n" +
			"older than 180 days is forgotten by itself.",
		Example: "  adroit fix failures forget\n  adroit fix failures forget J1M823TPCXY6MM\n  adroit fix failures forget --all",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var q adroit.FailureQuery
			var err error
			switch {
			case all && len(args) > 0:
				return kit.Usagef("give one of them", "--all and a job exclude each other")
			case len(args) > 0:
				q.Key = args[0]
				if !strings.Contains(q.Key, "/") {
					q.Key += "/"
				}
			case !all:
				q.Project, err = filepath.Abs(dir)
			}
			if err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			n, err := c.ForgetFailures(cmd.Context(), q)
			switch {
			case err != nil:
				return err
			case n == 0 && len(args) > 0:
				return kit.Fail(fmt.Errorf("nothing is remembered of %s", args[0]), hint.Command("fix failures --all")+" lists what is")
			case n == 1:
				fmt.Fprintln(e.Out, "forgot 1 failure")
			default:
				fmt.Fprintf(e.Out, "forgot %d failures\n", n)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "those of all projects")
	f.StringVarP(&dir, "dir", "C", ".", "the directory of the project")
	return cmd
}
