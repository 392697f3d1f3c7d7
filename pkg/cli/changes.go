package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/internal/workspace/overlay"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// ledger opens the record of what a job changed, nil if it never began to
// work on files.
func (a *app) ledger(j *jobs.Job) (*ledger.Ledger, error) {
	home, err := a.jobDir(j.ID)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "ledger")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.Open(dir, overlay.Recover)
}

func (a *app) jobsDiff() *cobra.Command {
	var asJSON bool
	var about adroit.Selection
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show what a job changed, and nothing else",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.client()
			if err != nil {
				return err
			}
			d, err := c.Diff(ctx, args[0], about)
			if err != nil {
				return err
			}
			if asJSON {
				return errors.Join(a.json(d), a.incomplete(d.Incomplete))
			}
			a.printDiff(d.Diff)
			if unsure := a.printUncertain(d.Changes, about.Uncertain); unsure && !about.Uncertain {
				fmt.Fprintf(a.Stderr, "adroit jobs diff %s --include-uncertain shows what is uncertain as well\n", d.Job)
			} else if d.Diff == "" {
				fmt.Fprintf(a.Stderr, "%s changed nothing\n", d.Job)
			}
			return a.incomplete(d.Incomplete)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with the list of changed files")
	selectionFlags(&about, cmd.Flags())
	return cmd
}

// incomplete prints why a job's record is not complete. If it is not, that is
// the exit code, too.
func (a *app) incomplete(missing []string) error {
	for _, m := range missing {
		fmt.Fprintf(a.Stderr, "incomplete: %s\n", render.SanitizeLine(m))
	}
	if len(missing) > 0 {
		return exit.With(exit.Failed)
	}
	return nil
}

// missing is why a job's record is not complete, nil if it is.
func (a *app) missing(j *jobs.Job) []string {
	led, err := a.ledger(j)
	if err != nil {
		return []string{err.Error()}
	}
	if led == nil {
		return nil
	}
	defer led.Close()
	return led.Incomplete(context.Background())
}

// printUncertain names, in lines that git apply passes over, the uncertain
// changes that a diff leaves out.
func (a *app) printUncertain(changes []ledger.Change, shown bool) (unsure bool) {
	for _, c := range changes {
		unsure = unsure || c.Uncertain
		if c.Uncertain && !shown {
			fmt.Fprintf(a.Stdout, "# uncertain: %s %s while step %s ran, perhaps by somebody else\n", c.Kind, render.SanitizeLine(c.Path), render.SanitizeLine(c.Step))
		}
	}
	return unsure
}

// printDiff prints a diff: escaped and in colour on a terminal, byte for byte
// into a pipe, so that git apply takes it.
func (a *app) printDiff(diff string) {
	s := a.output()
	if !s.IsTerminal() {
		fmt.Fprint(s, diff)
		return
	}
	for l := range strings.Lines(diff) {
		style := term.Plain
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "):
			style = term.Bold
		case strings.HasPrefix(l, "+"):
			style = term.Green
		case strings.HasPrefix(l, "-"):
			style = term.Red
		case strings.HasPrefix(l, "@@"):
			style = term.Dim
		}
		fmt.Fprintln(s, s.Paint(style, render.Sanitize(strings.TrimSuffix(l, "\n"))))
	}
}

func (a *app) jobsUndo() *cobra.Command {
	var asJSON bool
	var about adroit.Selection
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Give the files a job changed their former content back",
		Long: "Gives every file that the job changed its content from before the job, or from before one of its steps.\n" +
			"A file that somebody, or a later step, changed since is left alone and named. What somebody wrote between\n" +
			"two edits of the job stays, or the file is left alone. So is what changed while a command ran and may be\n" +
			"somebody else's work, unless --include-uncertain is given. An undo is a step of the job, and can be\n" +
			"undone by its name: adroit jobs undo ID --step undo.1.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.client()
			if err != nil {
				return err
			}
			report, err := c.Undo(ctx, args[0], about)
			if err != nil {
				return err
			}
			if asJSON {
				if err := a.json(report.UndoReport); err != nil {
					return err
				}
			} else {
				a.printUndo(report.Job, report.UndoReport)
			}
			for _, c := range report.Commits {
				fmt.Fprintf(a.Stderr, "its commit %s stays: an undo changes files only; git revert %s takes it back\n", render.SanitizeLine(c), render.SanitizeLine(strings.Fields(c + " HEAD")[0]))
			}
			if err := a.incomplete(report.Incomplete); err != nil || len(report.Skipped) == 0 {
				return err
			}
			return exit.With(exit.Failed)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	selectionFlags(&about, cmd.Flags())
	return cmd
}

func (a *app) printUndo(id string, r ledger.UndoReport) {
	for _, p := range r.Restored {
		fmt.Fprintf(a.Stdout, "restored %s\n", render.SanitizeLine(p))
	}
	for _, p := range r.Removed {
		fmt.Fprintf(a.Stdout, "removed %s\n", render.SanitizeLine(p))
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(a.Stdout, "left alone %s: %s\n", render.SanitizeLine(s.Path), render.SanitizeLine(s.Reason))
	}
	switch {
	case r.Step != "":
		fmt.Fprintf(a.Stderr, "adroit jobs undo %s --step %s takes this back\n", id, r.Step)
	case len(r.Skipped) == 0:
		fmt.Fprintf(a.Stderr, "%s has nothing left to undo\n", id)
	}
}

func (a *app) jobsArtifacts() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "artifacts ID [NAME]",
		Short: "List what a job produced, or print one of it",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := a.job(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var st executor.State
			if len(j.Output) > 0 {
				if err := json.Unmarshal(j.Output, &st); err != nil {
					return fmt.Errorf("%s: reading its output: %w", j.ID, err)
				}
			}
			if len(args) == 2 {
				return a.printArtifact(j, &st, args[1], asJSON)
			}
			if asJSON {
				if st.Artifacts == nil {
					st.Artifacts = map[string]executor.Artifact{}
				}
				return a.json(st.Artifacts)
			}
			if len(st.Artifacts) == 0 {
				fmt.Fprintf(a.Stderr, "%s has produced nothing so far\n", j.ID)
				return nil
			}
			var t render.Table
			for _, name := range st.Names() {
				art := st.Artifacts[name]
				t.Row(name, render.Plural(len(art.Value), "byte"), "by "+art.Tool, fmt.Sprintf("version %d", art.Version))
			}
			t.Write(a.Stdout)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func (a *app) printArtifact(j *jobs.Job, st *executor.State, name string, asJSON bool) error {
	v := st.Value(name)
	if v == nil {
		hint := "adroit jobs artifacts " + j.ID + " lists them"
		if n := nearest(name, st.Names()); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		return exit.Fail(fmt.Errorf("%s has no artifact %q", j.ID, name), hint)
	}
	if asJSON {
		return a.json(v)
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return a.json(v)
	}
	if a.output().IsTerminal() {
		s = render.Sanitize(s)
	}
	fmt.Fprintln(a.Stdout, strings.TrimSuffix(s, "\n"))
	return nil
}
