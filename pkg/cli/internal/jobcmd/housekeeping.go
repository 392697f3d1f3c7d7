package jobcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/internal/host/backup"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/spf13/cobra"
)

// NewBackup returns the command adroit jobs backup.
func NewBackup(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy all jobs and what undo needs into one file",
		Long: "Copies the data directory into FILE, a tar archive, compressed if its name ends in .gz or .tgz: jobs with\n" +
			"their logs, what undo needs, worktrees and trust decisions. Caches are left out. The copy is consistent\n" +
			"while jobs run. It holds prompts and file contents, and only you can read it.",
		Example: "  adroit jobs backup ~/adroit-$(date +%F).tar.gz",
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
			fmt.Fprintf(e.Out, "%s: %s    %s\n", args[0], kit.Plural(m.Jobs, "job"), hint.Command("jobs restore %s", args[0]))
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

// NewRestore is adroit jobs restore.
func NewRestore(e *kit.Env) *cobra.Command {
	var asJSON, replace bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the jobs of a backup",
		Long: "Restores the jobs of a backup into the data directory. Jobs that are there already are an error unless\n" +
			"--replace moves them aside, into a directory that is named; nothing is deleted. The backup is checked\n" +
			"first: one that is damaged changes nothing. In another data directory it is a copy: worktrees are its own,\n" +
			"and one whose original is still there is named, with the command that connects it with its repository.",
		Example: "  adroit jobs restore ~/adroit-2026-11-22.tar.gz\n  adroit jobs restore ~/adroit-2026-11-22.tar.gz --data-dir /tmp/look",
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
			printLost(e, r)
			if len(r.Running) > 0 {
				fmt.Fprintf(e.Err, "not ended when the backup was made: %s. Resuming one repeats what it did after that.\n", spelling.List(r.Running, 8))
			}
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&replace, "replace", false, "move the jobs that are there aside")
	return cmd
}

// printLost names what a restored file does not have.
func printLost(e *kit.Env, r *backup.Restored) {
	const most = 20
	words := map[string]string{
		"fifo": "the named pipe is not there", "socket": "the socket is not there", "device": "the device is not there",
		"setuid": "has lost its setuid bit", "setgid": "has lost its setgid bit", "link": "is a file of its own, not another name of one",
	}
	for _, l := range r.Lost[:min(most, len(r.Lost))] {
		name := kit.SanitizeLine(string(l.Path))
		if w, ok := words[l.What]; ok {
			fmt.Fprintf(e.Err, "%s: %s\n", name, w)
		} else {
			fmt.Fprintf(e.Err, "%s: has lost the attribute %s\n", name, kit.SanitizeLine(l.What))
		}
	}
	if n := len(r.Lost) - most + r.LostMore; n > 0 {
		fmt.Fprintf(e.Err, "%d more; --json lists them\n", n)
	}
}

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

func newRemove(e *kit.Env) *cobra.Command {
	var o adroit.RemoveOptions
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove jobs: journal, log, worktree and undo data",
		Long: "Forgets jobs. A job's worktree goes too, and its branch if it is merged. What is not committed there,\n" +
			"what the job wrote and git ignores, a commit on no branch, and what a submodule or another repository in it\n" +
			"has and the clone in the repository does not, is an error, unless --force throws it away, with the branch.\n" +
			"So is what a command that was killed has changed and is in no tree yet, and a status of a newer version.\n" +
			"The worktrees of its sub-agents go with what was not brought back of them.",
		Example: "  adroit jobs rm J4K2 J7QX",
		Args:    cobra.MinimumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			for _, ref := range args {
				j, err := c.Remove(ctx, ref, o)
				if err != nil {
					return err
				}
				fmt.Fprintf(e.Out, "%s removed\n", j.ID)
				for _, note := range j.Notes {
					e.Warn("%s", note)
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "also throw away what is not committed or merged in a job's worktree")
	return cmd
}
