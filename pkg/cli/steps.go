package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/workspace/ledger"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// selectionFlags adds the flags that select changes.
func selectionFlags(s *adroit.Selection, f *pflag.FlagSet) {
	f.StringVar(&s.Step, "step", "", "only what this step changed; adroit jobs steps lists them")
	f.StringVar(&s.From, "from", "", "what this step and all later ones changed")
	f.BoolVar(&s.Uncertain, "include-uncertain", false, "also what changed while a command ran, which may be somebody else's work")
}

func (a *app) jobsSteps() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "steps ID",
		Short: "List the steps of a job that changed files",
		Long: "Lists the steps that changed files, as jobs diff and jobs undo take them with --step and --from.\n" +
			"An undo is a step too, and can be undone. Uncertain is what changed while a command ran and may be somebody\n" +
			"else's work: diff and undo leave it out, unless --include-uncertain is given.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.client()
			if err != nil {
				return err
			}
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			rows, err := c.Steps(ctx, j.ID)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(rows.Steps)
			}
			if len(rows.Steps) == 0 {
				fmt.Fprintf(a.Stderr, "%s changed nothing\n", j.ID)
				return nil
			}
			var t render.Table
			for _, r := range rows.Steps {
				t.Row(r.Step, r.Name, render.Changes(r.Changes))
			}
			t.Write(a.Stdout)
			return a.incomplete(rows.Incomplete)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// steps are those of a job that changed files.
func (a *app) steps(j *jobs.Job) ([]ledger.StepChanges, error) {
	led, err := a.ledger(j)
	if err != nil || led == nil {
		return nil, err
	}
	defer led.Close()
	return led.Steps()
}

// shadow is how many bytes of former content are kept for undo.
func (a *app) shadow(j *jobs.Job) (int64, error) {
	led, err := a.ledger(j)
	if err != nil || led == nil {
		return 0, err
	}
	defer led.Close()
	return led.Size(), nil
}

// trace is what show says of the files a job changed.
func (a *app) trace(j *jobs.Job, put func(label, value string)) {
	rows, err := a.steps(j)
	if err != nil {
		put("changes", "not known: "+err.Error())
		return
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Step)
	}
	if n := len(names); n > 8 {
		names = append(names[:8], fmt.Sprintf("and %d more", n-8))
	}
	put("changed by", strings.Join(names, ", "))
	for _, m := range a.missing(j) {
		put("incomplete", m)
	}
	if n, err := a.shadow(j); err == nil && n > 0 {
		put("kept for undo", render.Bytes(n))
	}
}
