package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/sqlite"
)

func (a *app) backupCommand() *cobra.Command {
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
			dir, err := a.dataDir()
			if err != nil {
				return err
			}
			m, err := adroit.Backup(cmd.Context(), dir, args[0], version().Version)
			if err != nil {
				hint := ""
				if errors.Is(err, sqlite.ErrDamaged) {
					hint = "adroit doctor --check says what is damaged"
				}
				return exit.Fail(err, hint)
			}
			if asJSON {
				return a.json(m)
			}
			fmt.Fprintf(a.Stdout, "%s: %s    adroit restore %s\n", args[0], render.Plural(m.Jobs, "job"), args[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func (a *app) restoreCommand() *cobra.Command {
	var asJSON, replace bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Bring back what adroit backup copied",
		Long: "Brings the jobs of a backup back into the data directory. Jobs that are there already are an error unless\n" +
			"--replace moves them aside, into a directory that is named; nothing is deleted. The backup is checked\n" +
			"first: one that is damaged changes nothing.",
		Example: "  adroit restore ~/adroit-2026-11-22.tar.gz\n  adroit restore ~/adroit-2026-11-22.tar.gz --data-dir /tmp/look",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.dataDir()
			if err != nil {
				return err
			}
			r, err := adroit.Restore(cmd.Context(), dir, args[0], version().Version, replace)
			if err != nil {
				return exit.Fail(err, "the data directory is "+a.home(dir)+"; --data-dir names another")
			}
			if asJSON {
				return a.json(r)
			}
			fmt.Fprintf(a.Stdout, "restored %s, copied %s, to %s\n", render.Plural(r.Jobs, "job"), render.Ago(a.now(), r.Made), a.home(dir))
			if r.Aside != "" {
				fmt.Fprintf(a.Stderr, "what was there before is in %s\n", a.home(r.Aside))
			}
			if len(r.Running) > 0 {
				fmt.Fprintf(a.Stderr, "not ended when the backup was made: %s. Resuming one repeats what it did after that.\n", strings.Join(r.Running, ", "))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&replace, "replace", false, "move the jobs that are there aside")
	return cmd
}

// examineWhole reads all that is kept: the database, and what undo needs of
// every job.
func (a *app) examineWhole(ctx context.Context) []finding {
	const name, remedy = "check", "restore a backup: adroit restore FILE --replace"
	dir, err := a.dataDir()
	if err != nil {
		return nil // the row before this one has it
	}
	db, err := sqlite.OpenReadOnly(ctx, filepath.Join(dir, "adroit.db"))
	if err != nil {
		return []finding{{name, broke, err.Error(), remedy}}
	}
	defer db.Close()
	var out []finding
	faults, err := db.Verify(ctx)
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, f := range faults {
		out = append(out, finding{name, broke, f, remedy})
	}
	list, err := db.List(ctx, jobs.Query{})
	if err != nil {
		return append(out, finding{name, broke, err.Error(), remedy})
	}
	known := map[string]bool{}
	ledgers := 0
	for _, j := range list {
		known[j.ID] = true
		led, err := a.ledger(j)
		if err == nil && led != nil {
			ledgers++
			err = led.Verify(ctx)
			_ = led.Close()
		}
		if err != nil {
			out = append(out, finding{name, broke, fmt.Sprintf("%s: %v", j.ID, err), "undo of this job is incomplete; " + remedy})
		}
	}
	folders, _ := os.ReadDir(filepath.Join(dir, "jobs")) // there need not be any
	for _, f := range folders {
		if !known[f.Name()] {
			out = append(out, finding{name, report, "the folder of " + f.Name() + " has no job in the database",
				"adroit jobs undo " + f.Name() + " takes its changes back, adroit jobs rm " + f.Name() + " removes it"})
		}
	}
	if len(out) == 0 {
		out = append(out, finding{name, fine, fmt.Sprintf("database and %s", render.Plural(ledgers, "record")) + " of changes", ""})
	}
	return out
}
