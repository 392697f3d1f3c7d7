// Package jobcmd has the commands for jobs that are there: adroit jobs, signal, failures,
// memory, stats, backup and restore.
package jobcmd

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/spf13/cobra"
)

// NewJobs is adroit jobs.
func NewJobs(e *kit.Env) *cobra.Command {
	cmd := newList(e, "jobs")
	cmd.Short = "List jobs; show, follow, cancel, undo, merge one"
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
	cmd.AddCommand(newList(e, "list"), newPrune(e), newAudit(e))
	for _, one := range []*cobra.Command{newShow(e), newLogs(e), newTranscript(e), newWait(e), newRetry(e), newCancel(e), newArtifacts(e), newGraph(e), newDiff(e), newSteps(e)} {
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

// A detailView is a job as --json prints it.
type detailView struct {
	*jobs.Job
	Final   *jobs.Final       `json:"final,omitempty"`
	Parts   []jobs.Part       `json:"parts,omitempty"`
	Pending *jobs.Question    `json:"pending,omitempty"`
	Trees   []adroit.KeptTree `json:"worktrees,omitempty"`
	Queue   int               `json:"queue,omitempty"`
	Todo    json.RawMessage   `json:"todo,omitempty"`
}

func newShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	var how string
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a job's status, the reason, and what to do next",
		Example: "  adroit jobs show last\n  adroit jobs show last --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Client()
			if err != nil {
				return err
			}
			d, err := c.Job(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case cmd.Flags().Changed("graph"):
				return draw(cmd.Context(), e, c, d.Job, "--graph", how)
			case asJSON:
				v := detailView{Job: d.Job, Final: d.Final, Parts: d.Usage.Parts, Trees: d.Trees, Queue: d.Queue, Todo: d.Todo}
				if len(d.Questions) > 0 {
					v.Pending = &d.Questions[0]
				}
				return kit.JSON(e.Out, v)
			}
			show.Job(e.OutScreen(), d, e.Home)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with input and output")
	cmd.Flags().StringVar(&how, "graph", "", "draw what ran: --graph or --graph=mermaid; see jobs graph")
	cmd.Flags().Lookup("graph").NoOptDefVal = show.Text
	cmd.MarkFlagsMutuallyExclusive("json", "graph")
	return cmd
}

func newLogs(e *kit.Env) *cobra.Command {
	var asJSON bool
	var o adroit.EventOptions
	cmd := &cobra.Command{
		Use:     "logs ID",
		Short:   "Print a job's events; -f follows it",
		Example: "  adroit jobs logs last -f",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			id := args[0]
			v := show.NewLog(e.OutScreen())
			for ev, err := range c.Events(ctx, id, o) {
				switch {
				case err != nil && ctx.Err() != nil:
					return kit.Stopped(ctx)
				case err != nil:
					return err
				case asJSON:
					show.Event(e.Out, ev)
				default:
					v.Log(ev)
				}
				id = ev.Job
			}
			if ctx.Err() != nil {
				return kit.Stopped(ctx)
			}
			d, err := c.Job(ctx, id)
			if err != nil {
				return err
			}
			for _, r := range d.Changes.Incomplete {
				fmt.Fprintf(e.Err, "incomplete: %s\n", kit.SanitizeLine(r))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one event a line, as JSON")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow until the job stops")
	cmd.Flags().Int64Var(&o.After, "after", 0, "only events after this number")
	kit.AllowZero(cmd.Flags(), "after")
	return cmd
}

func newGraph(e *kit.Env) *cobra.Command {
	var how string
	cmd := &cobra.Command{
		Use:     "graph ID",
		Short:   "Draw what a job did, as text or in Mermaid's language",
		Example: "  adroit jobs graph last\n  adroit jobs graph last --format mermaid > job.mmd",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			d, err := c.Job(ctx, args[0])
			if err != nil {
				return err
			}
			return draw(ctx, e, c, d.Job, "--format", how)
		}),
	}
	cmd.Flags().StringVar(&how, "format", show.Text, "text or mermaid")
	return cmd
}

// draw prints a drawing of what a job did so far.
func draw(ctx context.Context, e *kit.Env, c adroit.Client, j *jobs.Job, flag, how string) error {
	if how != show.Text && how != show.Mermaid {
		return kit.Usagef("it is one of text, mermaid", "%s is %q", flag, how)
	}
	var evs []event.Event
	for ev, err := range c.Events(ctx, j.ID, adroit.EventOptions{}) {
		if err != nil {
			return err
		}
		evs = append(evs, ev)
	}
	d := show.NewGraph(j, evs, e.Rate())
	if how == show.Mermaid {
		fmt.Fprint(e.Out, d.Mermaid())
	} else {
		fmt.Fprint(e.Out, d.Text())
	}
	return nil
}

func newWait(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "wait ID",
		Short:   "Wait until a job has stopped; the exit code says how",
		Example: "  id=$(adroit run builder PROMPT -d); adroit jobs wait $id",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			j, err := c.Wait(ctx, args[0])
			if err != nil && ctx.Err() != nil {
				return kit.Stopped(ctx)
			}
			if err != nil {
				return err
			}
			d, err := c.Job(ctx, j.ID)
			if err != nil {
				return err
			}
			if asJSON {
				show.Event(e.Out, show.LastEvent(d, e.Now()))
			} else {
				show.Outcome(e.Screen(), e.OutScreen(), show.Ending{Job: d, Took: j.Updated.Sub(j.Started), Artifacts: request.Products(ctx, c, d)})
			}
			return kit.With(kit.OfJob(ctx, j.Status))
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the job's last event as JSON")
	return cmd
}

func newCancel(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a job, wherever it runs, and wait until it has stopped",
		Long: "Cancels a job, even one that another process runs, and waits until it has stopped. A cancelled job cannot be\n" +
			"resumed: adroit jobs retry runs its task again from the start. To stop a job and resume it later, interrupt its\n" +
			"process with Ctrl-C or SIGTERM.",
		Example: "  adroit jobs cancel J4K2",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			j, err := c.Cancel(ctx, args[0])
			if err != nil {
				return err
			}
			d, err := c.Job(ctx, j.ID)
			if err != nil {
				return err
			}
			next := hint.Command("jobs logs %s", j.ID)
			if d.Changes.Changed {
				next = hint.Command("jobs undo %s", j.ID)
			}
			fmt.Fprintf(e.Out, "%s cancelled    %s\n", j.ID, next)
			return nil
		}),
	}
}
