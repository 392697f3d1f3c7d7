package jobcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// defaultLimit is the default number of jobs in a list.
const defaultLimit = 20

// A listing is adroit jobs with its flags.
type listing struct {
	adroit.ListOptions
	status []string
	all    bool
}

func newList(e *kit.Env, use string) *cobra.Command {
	l := listing{ListOptions: adroit.ListOptions{Limit: defaultLimit}}
	below := "jobs "
	if use != "jobs" {
		below += use + " "
	}
	cmd := &cobra.Command{
		Use:     use,
		Short:   "List jobs, newest first",
		Example: "  adroit " + below + "--status failed,stuck\n  adroit " + below + "--all --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := l.read(); err != nil {
				return err
			}
			return l.list(cmd, e)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&l.Full, "json", false, "as JSON")
	f.StringVar(&l.Agent, "agent", "", "only jobs of this agent")
	f.StringSliceVar(&l.status, "status", nil, "only jobs with one of these statuses, as in --status failed,stuck")
	f.StringVarP(&l.Dir, "dir", "C", ".", "only jobs that work in this directory, around or below it")
	f.BoolVar(&l.all, "all", false, "jobs of all directories")
	f.IntVarP(&l.Limit, "limit", "n", defaultLimit, "list at most this many jobs, the newest; 0 lists all")
	kit.AllowZero(f, "limit")
	return cmd
}

// A listView is a job of the list as JSON.
type listView struct {
	*jobs.Job
	Queue int `json:"queue,omitempty"`
}

// statuses lists the statuses of jobs.
func statuses() []string {
	var names []string
	for _, s := range jobs.Statuses {
		names = append(names, string(s))
	}
	return names
}

// read makes options of the flags.
func (l *listing) read() (err error) {
	for _, s := range l.status {
		if !slices.Contains(statuses(), s) {
			help := "it is one of " + strings.Join(statuses(), ", ")
			if n := spelling.Nearest(s, statuses()); n != "" {
				help = fmt.Sprintf("did you mean %q?\n%s", n, help)
			}
			return kit.Usagef(help, "--status is %q", s)
		}
		l.Status = append(l.Status, jobs.Status(s))
	}
	if l.all {
		l.Dir = ""
		return nil
	}
	l.Dir, err = kit.Directory(l.Dir)
	return err
}

func (l *listing) list(cmd *cobra.Command, e *kit.Env) error {
	c, err := e.Client()
	if err != nil {
		return err
	}
	o := l.ListOptions
	if o.Limit > 0 {
		o.Limit++ // whether there are more
	}
	all, err := c.Jobs(cmd.Context(), o)
	if err != nil {
		return err
	}
	more := l.Limit > 0 && len(all) > l.Limit
	if more {
		all = all[:l.Limit]
	}
	if l.Full {
		list := []listView{}
		for _, j := range all {
			list = append(list, listView{j.Job, j.Queue})
		}
		return kit.JSON(e.Out, list)
	}
	home := e.Home
	if !l.all {
		home = nil
	}
	show.Jobs(e.OutScreen(), all, e.Now(), home)
	if id := lost(cmd.Context(), e, c); id != "" {
		fmt.Fprintf(e.Err, "the database does not have the job %s, which ran: it was lost, or an older copy is in its place; %s lists such jobs, and what can be done\n", id, hint.Command("doctor --check"))
		return nil
	}
	switch {
	case more:
		fmt.Fprintf(e.Err, "these are the newest %s; --limit 0 lists all\n", kit.Plural(l.Limit, "job"))
	case len(all) == 0 && len(l.Status)+len(l.Agent) > 0 && l.Dir != "":
		fmt.Fprintln(e.Err, "no such jobs in this directory; --all lists those of others")
	case len(all) == 0 && len(l.Status)+len(l.Agent) > 0:
		fmt.Fprintln(e.Err, "no such jobs; "+hint.Command("jobs --all")+" lists the others")
	case len(all) == 0 && l.Dir != "":
		fmt.Fprintln(e.Err, "no jobs yet in this directory; --all lists those of others, "+hint.Command("run AGENT PROMPT")+" starts one")
	case len(all) == 0:
		fmt.Fprintln(e.Err, "no jobs yet; "+hint.Command("run AGENT PROMPT")+" starts one")
	case e.OutScreen().IsTerminal():
		if n := show.Next(all[0].Actions); len(n) > 0 {
			fmt.Fprintf(e.Err, "the newest: %s\n", strings.Join(n, "    "))
		}
	}
	return nil
}

// lost is the newest job with a folder, if it ran and the database does not know it.
func lost(ctx context.Context, e *kit.Env, c adroit.Client) string {
	data, err := e.DataDir()
	known, lerr := c.Jobs(ctx, adroit.ListOptions{Limit: 1})
	d, oerr := os.Open(filepath.Join(data, "jobs")) // there need not be any
	if err != nil || lerr != nil || oerr != nil || e.Served() {
		return ""
	}
	defer d.Close()
	ids, _ := d.Readdirnames(-1)
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(known) > 0 && id <= known[0].ID })
	slices.Sort(ids)
	for _, id := range slices.Backward(ids) {
		if _, err := os.Lstat(filepath.Join(data, "jobs", id, jobdir.JobFile)); err != nil {
			continue
		}
		_, err := c.Job(ctx, id)
		if !errors.Is(err, jobs.ErrNotExist) {
			break
		}
		if _, err := os.Lstat(filepath.Join(data, "jobs", id, jobdir.JobFile)); err == nil && !jobdir.Removing(data, id) {
			return id
		}
	}
	return ""
}
