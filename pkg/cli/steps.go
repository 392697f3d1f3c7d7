package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A portion is the part of a job's changes that diff and undo are about.
type portion struct {
	step, from string
	uncertain  bool
}

func (s *portion) flags(f *pflag.FlagSet) {
	f.StringVar(&s.step, "step", "", "only what this step changed; adroit jobs steps lists them")
	f.StringVar(&s.from, "from", "", "what this step and all later ones changed")
	f.BoolVar(&s.uncertain, "include-uncertain", false, "also what changed while a command ran, which may be somebody else's work")
}

// part cuts the portion out of a ledger.
func (s portion) part(id string, led *workspace.Ledger) (workspace.Part, error) {
	part, err := s.certain(id, led)
	if err == nil && s.uncertain {
		part = part.IncludeUncertain()
	}
	return part, err
}

func (s portion) certain(id string, led *workspace.Ledger) (workspace.Part, error) {
	var part workspace.Part
	var err error
	switch {
	case s.step != "" && s.from != "":
		return part, exit.Usagef("--from has --step in it", "--step and --from exclude each other")
	case s.step != "":
		part, err = led.Step(s.step)
	case s.from != "":
		part, err = led.From(s.from)
	default:
		return led.All(), nil
	}
	var none *workspace.StepError
	if errors.As(err, &none) {
		return part, exit.Usagef("adroit jobs steps "+id+" lists those that did", "%s: %v", id, err)
	}
	return part, err
}

// A stepRow is a step that changed files, and what it was.
type stepRow struct {
	workspace.StepChanges
	Name string `json:"name,omitempty"` // the tool
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
			j, err := a.job(ctx, args[0])
			if err != nil {
				return err
			}
			rows, err := a.steps(j)
			if err != nil {
				return err
			}
			names := map[string]string{}
			for ev, err := range a.db.Events(ctx, j.ID, 0, false) {
				if err != nil {
					return err
				}
				if ev.Kind == event.StepStarted && (ev.Step == render.StepTool || ev.Step == render.StepModel || ev.Step == render.StepWorktree) {
					names[ev.Path] = ev.Name
				}
			}
			for i, r := range rows {
				rows[i].Name = names[r.Step]
			}
			if asJSON {
				if rows == nil {
					rows = []stepRow{}
				}
				return a.json(rows)
			}
			if len(rows) == 0 {
				fmt.Fprintf(a.Stderr, "%s changed nothing\n", j.ID)
				return nil
			}
			var t render.Table
			for _, r := range rows {
				t.Row(r.Step, r.Name, render.Changes(r.Changes))
			}
			t.Write(a.Stdout)
			return a.incomplete(a.missing(j))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// steps are those of a job that changed files.
func (a *app) steps(j *jobs.Job) ([]stepRow, error) {
	led, err := a.ledger(j)
	if err != nil || led == nil {
		return nil, err
	}
	defer led.Close()
	all, err := led.Steps()
	var rows []stepRow
	for _, s := range all {
		rows = append(rows, stepRow{StepChanges: s})
	}
	return rows, err
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
