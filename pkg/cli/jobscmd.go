package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// listed is how many jobs adroit jobs lists.
const listed = 100

func (a *app) jobsCommand() *cobra.Command {
	var asJSON bool
	var agent string
	limit := listed
	list := func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return env.Group(cmd, args)
		}
		if limit < 0 {
			return exit.Usagef("0 lists all jobs", "--limit is %d", limit)
		}
		if asJSON && !cmd.Flags().Changed("limit") {
			limit = 0
		}
		return a.listJobs(cmd.Context(), agent, limit, asJSON)
	}
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List jobs; show, follow, resume, cancel, undo one",
		Long:  "Lists jobs, newest first. Commands that take an ID also take its beginning or end, if that is unique, or last.",
		Args:  cobra.ArbitraryArgs,
		RunE:  list,
	}
	sub := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Args:  cobra.NoArgs,
		RunE:  list,
	}
	for _, c := range []*cobra.Command{cmd, sub} {
		c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
		c.Flags().StringVar(&agent, "agent", "", "only jobs of this agent")
		c.Flags().IntVar(&limit, "limit", listed, "list at most this many jobs, the newest; 0 lists all, as --json does")
	}
	cmd.AddCommand(sub, a.jobsShow(), a.jobsLogs(), a.jobsWait(), a.jobsResume(), a.jobsRetry(),
		a.jobsCancel(), a.jobsRemove(), a.jobsPrune(), a.jobsArtifacts(), a.jobsDiff(), a.jobsSteps(), a.jobsUndo(), a.jobsMerge())
	return cmd
}

// job finds the one job that ref means: an id, its unique beginning or end,
// or last.
func (a *app) job(ctx context.Context, ref string) (*jobs.Job, error) {
	store, err := a.readStore(ctx)
	if err != nil {
		return nil, err
	}
	ref = strings.ToUpper(strings.TrimSpace(ref))
	if ref == "LAST" {
		got, err := store.List(ctx, jobs.Query{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			return nil, exit.Usagef("adroit run AGENT PROMPT starts one", "there are no jobs")
		}
		return got[0], nil
	}
	all, err := store.List(ctx, jobs.Query{})
	if err != nil {
		return nil, err
	}
	var found []*jobs.Job
	for _, j := range all {
		if j.ID == ref {
			return j, nil
		}
		if len(ref) >= 2 && (strings.HasPrefix(j.ID, ref) || strings.HasSuffix(j.ID, ref)) {
			found = append(found, j)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, exit.Usagef("adroit jobs lists them", "no such job: %q", ref)
	}
	var ids []string
	for _, j := range found[:min(len(found), 4)] {
		ids = append(ids, j.ID)
	}
	return nil, exit.Usagef("give more of the id", "%q means any of %s jobs: %s", ref, render.Count(len(found)), strings.Join(ids, ", "))
}

func (a *app) listJobs(ctx context.Context, agent string, limit int, asJSON bool) error {
	store, err := a.readStore(ctx)
	if err != nil {
		return err
	}
	q := jobs.Query{Agent: agent, Brief: !asJSON}
	if limit > 0 {
		q.Limit = limit + 1
	}
	all, err := store.List(ctx, q)
	if err != nil {
		return err
	}
	if more := limit > 0 && len(all) > limit; more {
		all = all[:limit]
		defer fmt.Fprintf(a.Stderr, "these are the newest %s jobs; --limit 0 lists all\n", render.Count(limit))
	}
	if asJSON {
		if all == nil {
			all = []*jobs.Job{}
		}
		return a.json(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.Stderr, "no jobs yet; adroit run AGENT PROMPT starts one")
		return nil
	}
	var t render.Table
	for _, j := range all {
		next := ""
		if n := a.next(j); len(n) > 0 {
			next = n[0]
		}
		status := string(j.Status)
		if j.Status == jobs.Interrupted {
			h, err := render.ReadHistory(store.Events(ctx, j.ID, 0, false), nil)
			if err != nil {
				return err
			}
			status = h.Place()
		}
		t.Row(j.ID, j.Agent, status, fmt.Sprintf("%q", render.Cut(j.Title, 40)), render.Ago(a.now(), j.Created), next)
	}
	t.Write(a.Stdout)
	return nil
}

func (a *app) jobsShow() *cobra.Command {
	var asJSON bool
	var graph string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a job's status, the reason, and what to do next",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("graph") {
				return a.showGraph(ctx, j, graph)
			}
			h, err := render.ReadHistory(a.db.Events(ctx, j.ID, 0, false), a.rate())
			if err != nil {
				return err
			}
			q, err := pending(ctx, a.db, j.ID)
			if err != nil {
				return err
			}
			if asJSON {
				trees, err := a.keptTrees(j.ID)
				if err != nil {
					return err
				}
				all, _ := h.SubAgents(j.Status, 0)
				return a.json(struct {
					*jobs.Job
					Final   *jobs.Final       `json:"final,omitempty"`
					Parts   []jobs.Part       `json:"parts,omitempty"`
					Pending *jobs.Question    `json:"pending,omitempty"`
					Trees   []adroit.KeptTree `json:"worktrees,omitempty"`
				}{j, h.Final, all, q, trees})
			}
			a.show(j, h, q)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with input and output")
	cmd.Flags().StringVar(&graph, "graph", "", "draw what ran: text, or mermaid")
	cmd.Flags().Lookup("graph").NoOptDefVal = render.GraphText
	cmd.MarkFlagsMutuallyExclusive("json", "graph")
	return cmd
}

func (a *app) show(j *jobs.Job, h render.History, q *jobs.Question) {
	var t render.Table
	put := func(label, value string) {
		if value != "" {
			t.Row(label, value)
		}
	}
	status := string(j.Status)
	if j.Status == jobs.Interrupted {
		status = h.Place()
	}
	put("job", j.ID)
	put("agent", j.Agent)
	put("title", j.Title)
	put("model", j.Model)
	put("directory", a.place(j))
	put("status", status)
	put("reason", j.Reason)
	if j.Cancel && !j.Status.Final() {
		put("cancel", "asked for, not confirmed yet")
	}
	if j.Crashes > 0 {
		put("crashes", fmt.Sprint(j.Crashes))
	}
	put("created", j.Created.Local().Format(time.DateTime))
	if !j.Finished.IsZero() {
		put("finished", j.Finished.Local().Format(time.DateTime))
	}
	if f := h.Final; f == nil || h.Last != h.End.Seq && !j.Status.Final() {
		h.Usage.Rows(put) // it has not got to say its figures
	} else {
		for _, m := range f.Met {
			put("met", m)
		}
		for _, u := range f.Unmet {
			put("not met", u)
		}
		put("artifacts", strings.Join(f.Artifacts, ", "))
		if f.Turns > 0 {
			put("turns", fmt.Sprint(f.Turns))
		}
		if f.Usage.In > 0 {
			put("tokens", fmt.Sprintf("%s in (%s cached), %s out", render.Count(f.Usage.In), render.Count(f.Usage.Cached), render.Count(f.Usage.Out)))
		}
		if usd := a.cost(j.Model, f); usd > 0 {
			put("cost", fmt.Sprintf("%.4f USD", usd))
		}
		a.shares(f, put)
		put("context", render.JobContext(j))
	}
	a.trace(j, put)
	a.tellTrees(j, put)
	put("next", strings.Join(a.next(j), "    "))
	t.Write(a.Stdout)
	if text := render.SubAgents(j, &h); text != "" {
		fmt.Fprintf(a.Stdout, "\n%s", text)
	}
	if q != nil {
		text, _ := render.Question(q, -1)
		fmt.Fprint(a.Stdout, "\n", text)
	}
	if f := h.Final; f != nil && strings.TrimSpace(f.Summary) != "" {
		fmt.Fprintf(a.Stdout, "\n%s\n", render.Sanitize(strings.TrimSpace(f.Summary)))
	}
}

func (a *app) jobsLogs() *cobra.Command {
	var asJSON, follow bool
	var after int64
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print a job's events; -f follows it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			v := render.NewLogViewer(a.Stdout)
			for ev, err := range a.db.Events(ctx, j.ID, after, follow) {
				switch {
				case err != nil && ctx.Err() != nil:
					return exit.Stopped(ctx)
				case err != nil:
					return err
				case asJSON:
					render.Event(a.Stdout, ev)
				default:
					v.Log(ev)
				}
			}
			if ctx.Err() != nil {
				return exit.Stopped(ctx)
			}
			for _, m := range a.missing(j) {
				fmt.Fprintf(a.Stderr, "incomplete: %s\n", render.SanitizeLine(m))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one event a line, as JSON")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow until the job stops")
	cmd.Flags().Int64Var(&after, "after", 0, "only events after this number")
	return cmd
}

func (a *app) jobsWait() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until a job has stopped; the exit code says how",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			m, err := a.manager(ctx)
			if err != nil {
				return err
			}
			if j, err = m.Wait(ctx, j.ID); err != nil {
				if ctx.Err() != nil {
					return exit.Stopped(ctx)
				}
				return err
			}
			if err := a.standing(ctx, j, asJSON); err != nil {
				return err
			}
			return exit.With(exit.OfJob(ctx, j.Status))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the job's last event as JSON")
	return cmd
}

// standing prints how a job stands now: its last event, or the same in words.
func (a *app) standing(ctx context.Context, j *jobs.Job, asJSON bool) error {
	h, err := render.ReadHistory(a.db.Events(ctx, j.ID, 0, false), nil)
	if err != nil {
		return err
	}
	if asJSON {
		if h.End.Seq == 0 || h.Last != h.End.Seq {
			// Its runner died before it could say a last word.
			f, err := json.Marshal(jobs.Final{Status: j.Status, Stopped: string(j.Status), Reason: j.Reason})
			if err != nil {
				return err
			}
			h.End.Job, h.End.Time, h.End.Kind, h.End.Data = j.ID, a.now(), "job.finished", f
		}
		render.Event(a.Stdout, h.End)
		return nil
	}
	a.tell(j, h, j.Updated.Sub(j.Started))
	return nil
}
