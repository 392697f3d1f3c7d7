package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/config"
)

func (a *app) jobsPrune() *cobra.Command {
	var older string
	var dry bool
	cmd := &cobra.Command{
		Use:   "prune [--older-than AGE]",
		Short: "Remove jobs that ended long ago",
		Long: "Forgets the jobs that ended longer ago than an age such as 30d or 12h: journal, log and what undo needs.\n" +
			"Without --older-than the age is the setting retention. A job whose worktree has something that is not\n" +
			"committed or merged is kept and named; adroit jobs rm --force removes it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := a.config()
			if err != nil {
				return err
			}
			if older == "" {
				older = conf.Retention
			}
			if older == "" {
				return exit.Usagef("for example adroit jobs prune --older-than 30d", "an age is missing: --older-than, or retention in the configuration")
			}
			age, err := config.ParseAge(older)
			if err != nil {
				return exit.Usagef("for example 30d, 2w or 12h", "--older-than: %v", err)
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			r, err := c.Prune(cmd.Context(), adroit.PruneOptions{Age: age, DryRun: dry})
			if err != nil {
				return err
			}
			for _, id := range r.Removed {
				fmt.Fprintf(a.Stdout, "%s %s\n", id, map[bool]string{false: "removed", true: "would be removed"}[dry])
			}
			if len(r.Removed)+len(r.Kept) == 0 {
				fmt.Fprintf(a.Stderr, "no job ended longer ago than %s\n", older)
			}
			return r.Err()
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "the age, as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list them")
	return cmd
}

// retire removes what the setting retention says is old. It is done when a job
// begins, and fails no job.
func (a *app) retire(ctx context.Context) {
	conf, err := a.config()
	if err != nil || conf.Retention == "" {
		return
	}
	age, err := config.ParseAge(conf.Retention)
	if err != nil {
		return
	}
	c, err := a.client()
	if err == nil {
		var r *adroit.PruneReport
		if r, err = c.Prune(ctx, adroit.PruneOptions{Age: age}); err == nil {
			err = r.Err()
		}
	}
	if err != nil {
		a.note("retention: %v", err)
	}
}
