package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/spf13/cobra"
)

// worktree is that of a job, nil if it has none.
func (a *app) worktree(id string) (*worktree.Worktree, error) {
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return jobdir.OpenWorktree(data, id)
}

// worktreeBegins reports what of the work tree a job's worktree lacks.
func (a *app) worktreeBegins(w *worktree.Worktree) {
	if w != nil && w.Left > 0 {
		fmt.Fprintf(a.Stderr, "the worktree begins at commit %.10s: %s in %s not in it\n", w.Base, render.Plural(w.Left, "uncommitted change"), a.home(w.Repo)+isAre(w.Left))
	}
}

func isAre(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// place says where a job works.
func (a *app) place(j *jobs.Job) string {
	w, err := a.worktree(j.ID)
	if err != nil || w == nil {
		return a.home(j.Dir)
	}
	return fmt.Sprintf("%s, worktree of %s on branch %s", a.home(j.Dir), a.home(filepath.Join(w.Repo, filepath.FromSlash(w.Sub))), w.Branch)
}

// keptTrees are the worktrees of a job's sub-agents that are still there.
func (a *app) keptTrees(id string) ([]adroit.KeptTree, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	d, err := c.Job(context.Background(), id)
	if err != nil {
		return nil, err
	}
	return d.Trees, nil
}

// tellTrees is what show says of the worktrees of sub-agents.
func (a *app) tellTrees(j *jobs.Job, put func(label, value string)) {
	list, err := a.keptTrees(j.ID)
	if err != nil {
		put("worktrees", "not known: "+err.Error())
	}
	for _, t := range list {
		what := "in use"
		switch {
		case len(t.Conflicts) > 0:
			var names []string
			for _, c := range t.Conflicts {
				names = append(names, c.Path+" ("+c.Reason+")")
			}
			what = "not brought back: " + strings.Join(names, ", ")
		case j.Status != jobs.Running:
			what = "nothing brought back: its sub-agent is not done"
		}
		put("worktree "+t.Name, a.home(t.Dir)+", "+what)
		if t.Branch != "" && len(t.Conflicts) > 0 {
			put("", fmt.Sprintf("git diff %.10s %s shows its version", t.Base, t.Branch))
		}
	}
}

func (a *app) jobsMerge() *cobra.Command {
	var asJSON bool
	var message string
	cmd := &cobra.Command{
		Use:   "merge ID",
		Short: "Merge what a job did in its worktree into the repository's current branch",
		Long: "Commits what is not committed in the job's worktree on the job's branch, then merges that branch into\n" +
			"the one checked out in the repository. No hook runs. If files are in conflict or in the way, they are\n" +
			"listed and nothing is merged.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			w, err := a.worktree(j.ID)
			if err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			merged, err := c.Merge(ctx, j.ID, adroit.MergeOptions{Message: message})
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(merged.Merged)
			}
			if merged.Commit == "" {
				fmt.Fprintf(a.Stderr, "%s has nothing that %s does not have\n", j.ID, merged.Into)
				return nil
			}
			for _, p := range merged.Paths {
				fmt.Fprintf(a.Stdout, "%s\n", render.SanitizeLine(p))
			}
			fmt.Fprintf(a.Stderr, "%s merged into %s of %s as %.10s    adroit jobs rm %s\n", render.Plural(len(merged.Paths), "file"), merged.Into, a.home(w.Repo), merged.Commit, j.ID)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().StringVarP(&message, "message", "m", "", "commit with this message (default the job's title)")
	return cmd
}
