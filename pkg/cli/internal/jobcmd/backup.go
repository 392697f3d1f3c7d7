package jobcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/host/backup"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/spf13/cobra"
)

// NewBackup returns the command adroit backup.
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

// NewRestore is adroit restore.
func NewRestore(e *kit.Env) *cobra.Command {
	var asJSON, replace bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the jobs of a backup",
		Long: "Restores the jobs of a backup into the data directory. Jobs that are there already are an error unless\n" +
			"--replace moves them aside, into a directory that is named; nothing is deleted. The backup is checked\n" +
			"first: one that is damaged changes nothing. In another data directory it is a copy: worktrees are its own,\n" +
			"and one whose original is still there is named, with the command that connects it with its repository.",
		Example: "  adroit restore ~/adroit-2026-11-22.tar.gz\n  adroit restore ~/adroit-2026-11-22.tar.gz --data-dir /tmp/look",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := e.DataDir()
			if err != nil {
				return err
			}
			r, err := backup.Restore(cmd.Context(), dir, args[0], kit.Read().Version, replace)
			if err != nil {
				return kit.Fail(err, "the data directory is "+e.Home(dir)+"; --data-dir names another")
			}
			if asJSON {
				return kit.JSON(e.Out, r)
			}
			fmt.Fprintf(e.Out, "restored %s, copied %s, to %s\n", kit.Plural(r.Jobs, "job"), kit.Ago(e.Now(), r.Made), e.Home(dir))
			if r.Aside != "" {
				fmt.Fprintf(e.Err, "what was there before is in %s\n", e.Home(r.Aside))
			}
			for _, d := range r.Disconnected {
				fmt.Fprintln(e.Err, d.What)
				if d.Do != "" {
					fmt.Fprintf(e.Err, "  %s\n", d.Do)
				}
			}
			if len(r.Running) > 0 {
				fmt.Fprintf(e.Err, "not ended when the backup was made: %s. Resuming one repeats what it did after that.\n", strings.Join(r.Running, ", "))
			}
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&replace, "replace", false, "move the jobs that are there aside")
	return cmd
}
