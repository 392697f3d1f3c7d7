package jobcmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/host/backup"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

// New is adroit backup.
func NewBackup(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy all jobs and what undo needs into one file",
		Long: "Copies the data directory into FILE, a tar archive, compressed if its name ends in .gz or .tgz: jobs with\n" +
			"their logs, what undo needs, worktrees and trust decisions. Caches are left out. The copy is consistent\n" +
			"while jobs run. It holds prompts and file contents, and only you can read it.",
		Example: "  adroit backup ~/adroit-$(date +%F).tar.gz",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := e.DataDir()
			if err != nil {
				return err
			}
			m, err := backup.Write(cmd.Context(), dir, args[0], kit.Read().Version)
			if err != nil {
				help := ""
				if errors.Is(err, sqlite.ErrDamaged) {
					help = hint.Command("doctor --check") + " says what is damaged"
				}
				return kit.Fail(err, help)
			}
			if asJSON {
				return kit.JSON(e.Out, m)
			}
			fmt.Fprintf(e.Out, "%s: %s    %s\n", args[0], kit.Plural(m.Jobs, "job"), hint.Command("restore %s", args[0]))
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}
