package jobcmd

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

func newPrune(e *kit.Env) *cobra.Command {
	var older string
	var o adroit.PruneOptions
	cmd := &cobra.Command{
		Use:   "prune [--older-than AGE]",
		Short: "Remove jobs that ended long ago",
		Long: "Forgets the jobs that ended longer ago than an age such as 30d or 12h: journal, log and what undo needs.\n" +
			"Without --older-than the age is the setting retention. A job whose worktree has what is\n" +
			"nowhere else (see adroit jobs rm) is kept and named; adroit jobs rm --force removes it. A branch that is not\n" +
			"merged stays.",
		Example: "  adroit jobs prune --older-than 30d --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := e.Config()
			if err != nil {
				return err
			}
			older := cmp.Or(older, conf.Retention)
			if older == "" {
				return kit.Usagef("for example "+hint.Command("jobs prune --older-than 30d"), "an age is missing: --older-than, or retention in the configuration")
			}
			if o.Age, err = config.ParseAge(older); err != nil {
				return kit.Usagef("for example 30d, 2w or 12h", "--older-than: %v", err)
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			r, err := c.Prune(cmd.Context(), o)
			if err != nil {
				return err
			}
			for _, id := range r.Removed {
				fmt.Fprintf(e.Out, "%s %s\n", id, map[bool]string{false: "removed", true: "would be removed"}[o.DryRun])
			}
			for _, note := range r.Notes {
				e.Warn("%s", note)
			}
			if len(r.Removed)+len(r.Kept) == 0 {
				fmt.Fprintf(e.Err, "no job ended longer ago than %s\n", older)
			}
			return r.Err()
		},
	}
	cmd.Flags().StringVar(&older, "older-than", "", "the age, as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only list them")
	return cmd
}
