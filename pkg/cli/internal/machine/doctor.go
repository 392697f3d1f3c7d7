// Package machine has the commands for what a machine and its user have: adroit config,
// doctor, init, login, logout, models and trust.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"

	"github.com/spf13/cobra"
)

// NewDoctor returns the command adroit doctor.
func NewDoctor(e *kit.Env) *cobra.Command {
	var asJSON bool
	q := adroit.DoctorQuery{Home: e.Getenv("HOME")}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems that keep jobs from running, and how to fix them",
		Long: "Looks at the configuration, the data directory, models, programs, the sandbox and the tests of\n" +
			"the directory. What keeps every job from running comes first, with what to do next; the exit code\n" +
			"is then 1. What only some jobs need is listed as missing, and does not count.",
		Example: "  adroit doctor",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Dir, _ = kit.Directory(".") // without one, a finding says so
			found, err := examine(cmd.Context(), e, q)
			if err != nil {
				return err
			}
			if err := kit.Print(e.Out, asJSON, found, text); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f adroit.Finding) bool { return f.Status == adroit.Broken }) {
				return kit.With(kit.Failed)
			}
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&q.Check, "check", false, "also verify the database and undo data of every job")
	return cmd
}

// order sorts findings: the blocking ones first.
var order = []adroit.FindingStatus{adroit.Broken, adroit.Lacking, adroit.Note, adroit.Fine}

// text leads with what keeps jobs from running, and what to do next about it.
func text(w io.Writer, found []adroit.Finding) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b adroit.Finding) int {
		return slices.Index(order, a.Status) - slices.Index(order, b.Status)
	})
	if len(found) > 0 && found[0].Status == adroit.Broken {
		fmt.Fprintf(w, "no job can run: %s: %s\n", kit.SanitizeLine(found[0].Name), kit.SanitizeLine(found[0].What))
		if do := found[0].Do; do != "" {
			fmt.Fprintf(w, "next: %s\n", kit.SanitizeLine(do))
		}
		fmt.Fprintln(w)
	}
	var t kit.Table
	for _, f := range found {
		what := f.What
		if f.Do != "" {
			what += "; " + f.Do
		}
		t.Row(string(f.Status), f.Name, what)
	}
	t.Write(w)
}

// examine asks the client. If none can be opened, it reports the findings that need none.
func examine(ctx context.Context, e *kit.Env, q adroit.DoctorQuery) ([]adroit.Finding, error) {
	path := config.Path(e.Getenv)
	first := adroit.Finding{Name: "config", Status: adroit.Fine, What: e.Home(path)}
	conf, err := e.Config()
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // without the lines of the file
		first = adroit.Finding{Name: "config", Status: adroit.Broken, What: what, Do: cmp.Or(problem.Hint(err), "correct the file")}
		others := adroit.Diagnose(ctx, adroit.Options{Tools: adroit.ToolsOf(e.Parts), Examine: adroit.ExaminationsOf(e.Parts)}, err, q)
		return append([]adroit.Finding{first}, slices.DeleteFunc(others, func(f adroit.Finding) bool { return f.What == err.Error() })...), nil
	}
	if path == "" {
		first.What = "there is no home directory"
	} else if _, err := os.Stat(path); err != nil {
		first.What += " (not there; defaults apply)"
	}
	c, err := e.Client()
	if err != nil {
		o, _ := conf.Options(config.Program{}) // as far as they are known
		return append([]adroit.Finding{first}, adroit.Diagnose(ctx, o, err, q)...), nil
	}
	found, err := c.Doctor(ctx, q)
	return append([]adroit.Finding{first}, found...), err
}
