package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// sweep frees the former content of files that no job has any more.
func (a *app) sweep() (int64, error) {
	dir, err := a.dataDir()
	if err != nil {
		return 0, err
	}
	return ledger.SweepContent(adroit.ContentDir(dir))
}

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
			removed, err := a.prune(cmd.Context(), age, dry)
			for _, id := range removed {
				fmt.Fprintf(a.Stdout, "%s %s\n", id, map[bool]string{false: "removed", true: "would be removed"}[dry])
			}
			if len(removed) == 0 && err == nil {
				fmt.Fprintf(a.Stderr, "no job ended longer ago than %s\n", older)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "the age, as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list them")
	return cmd
}

// prune removes the jobs that ended longer ago than age. One that cannot be
// removed keeps no other from it.
func (a *app) prune(ctx context.Context, age time.Duration, dry bool) (removed []string, err error) {
	store, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	all, err := store.List(ctx, jobs.Query{})
	if err != nil {
		return nil, err
	}
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, j := range all {
		if !j.Status.Final() || j.Finished.IsZero() || a.now().Sub(j.Finished) < age {
			continue
		}
		if !dry {
			if _, err := c.Remove(ctx, j.ID, adroit.RemoveOptions{}); err != nil {
				errs = append(errs, fmt.Errorf("%s is kept: %w", j.ID, err))
				continue
			}
		}
		removed = append(removed, j.ID)
	}
	if !dry {
		_, err = a.sweep()
	}
	return removed, errors.Join(append(errs, err)...)
}

// retire removes what the setting retention says is old. It is done when a job
// begins, and fails no job.
func (a *app) retire(ctx context.Context) {
	conf, err := a.config()
	if err != nil || conf.Retention == "" {
		return
	}
	if age, err := config.ParseAge(conf.Retention); err == nil {
		if _, err := a.prune(ctx, age, false); err != nil {
			a.note("retention: %v", err)
		}
	}
}
