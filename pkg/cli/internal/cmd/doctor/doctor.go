// Package doctor holds adroit doctor.
package doctor

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/config"
)

// New is adroit doctor.
func New(e *env.Env) *cobra.Command {
	var asJSON bool
	q := adroit.DoctorQuery{Home: e.Getenv("HOME")}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems that keep jobs from running, and how to fix them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Dir, _ = env.Directory(".") // without one, a finding says so
			found, err := examine(cmd.Context(), e, q)
			if err != nil {
				return err
			}
			if err := env.Print(e.Out, asJSON, found, text); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f adroit.Finding) bool { return f.Status == adroit.Broken }) {
				return exit.With(exit.Failed)
			}
			return nil
		},
	}
	env.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&q.Check, "check", false, "also verify the database and undo data of every job")
	return cmd
}

func text(w io.Writer, found []adroit.Finding) {
	var t render.Table
	for _, f := range found {
		what := f.What
		if f.Do != "" {
			what += "; " + f.Do
		}
		t.Row(string(f.Status), f.Name, what)
	}
	t.Write(w)
}

// examine asks the client. Where none can be opened, what can be seen without
// one has to do.
func examine(ctx context.Context, e *env.Env, q adroit.DoctorQuery) ([]adroit.Finding, error) {
	path := config.Path(e.Getenv)
	first := adroit.Finding{Name: "config", Status: adroit.Fine, What: e.Home(path)}
	conf, err := e.Config()
	if err != nil {
		first = adroit.Finding{Name: "config", Status: adroit.Broken, What: err.Error(), Do: "correct the file; adroit config path says where it is"}
		return append([]adroit.Finding{first}, adroit.Diagnose(ctx, adroit.Options{Tools: e.Own}, err, q)...), nil
	}
	if path == "" {
		first.What = "there is no home directory"
	} else if _, err := os.Stat(path); err != nil {
		first.What += " (not there; defaults apply)"
	}
	c, err := e.Client()
	if err != nil {
		o, _ := conf.Options(config.Program{Tools: e.Own}) // as far as they are known
		return append([]adroit.Finding{first}, adroit.Diagnose(ctx, o, err, q)...), nil
	}
	found, err := c.Doctor(ctx, q)
	return append([]adroit.Finding{first}, found...), err
}
