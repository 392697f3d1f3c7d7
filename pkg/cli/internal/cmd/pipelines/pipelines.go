// Package pipelines holds the commands of adroit pipelines.
package pipelines

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/catalog"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/spf13/cobra"
)

var noun = catalog.Noun{Word: "pipelines", Dirs: projectdir.Pipelines}

// New is adroit pipelines.
func New(e *env.Env) *cobra.Command {
	list := catalog.List(e, noun, adroit.Client.Pipelines, listText, func(l *adroit.Listing[adroit.PipelineInfo]) {
		if l.Problems.Err() != nil {
			fmt.Fprintln(e.Err, "some pipelines cannot be used; adroit pipelines lint says why")
		}
	})
	lint := catalog.Lint(e, noun, adroit.Client.LintPipelines, "Check pipelines: all problems at once, with their places", "name files of pipelines, or none for all")
	return env.Lister("pipelines", "List, show, check and draw pipelines", list, newShow(e), lint, newGraph(e), newSchema(e))
}

func listText(w io.Writer, list []adroit.PipelineInfo) {
	var t format.Table
	for _, p := range list {
		t.Row(p.Name, p.Layer, format.Plural(p.Steps, "step"), format.FirstSentence(p.Description))
	}
	t.Write(w)
}

func newShow(e *env.Env) *cobra.Command {
	var asJSON bool
	cmd := catalog.Show(e, noun, "show", "Show a pipeline: its steps, where they lead, what they need", adroit.Client.ShowPipeline, func(w io.Writer, p *adroit.PipelineDetail) error {
		if asJSON {
			return format.JSON(w, p.Pipeline)
		}
		showText(w, p, e.Home)
		return nil
	})
	env.JSONFlag(cmd, &asJSON)
	return cmd
}

// showText describes a pipeline; home shortens a path.
func showText(w io.Writer, p *adroit.PipelineDetail, home func(string) string) {
	var t format.Table
	t.Put("pipeline", p.Name)
	t.Put("description", p.Description)
	t.Put("from", strings.TrimSpace(p.Layer+" "+home(p.File)))
	for _, f := range p.Inputs {
		t.Put("input", strings.TrimSpace(f.Name+" "+f.Description))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		t.Put("variable", name+" = "+render.Readable(p.Variables[name]))
	}
	t.Put("model", p.Defaults.Model)
	t.Put("on failure", string(p.OnFailure))
	t.Write(w)
	fmt.Fprintf(w, "\n%s\n", format.Sanitize(p.Text()))
}

func newGraph(e *env.Env) *cobra.Command {
	var how string
	cmd := catalog.Show(e, noun, "graph", "Draw a pipeline, as text or in Mermaid's language", adroit.Client.ShowPipeline, func(w io.Writer, p *adroit.PipelineDetail) error {
		switch how {
		case "text":
			fmt.Fprintln(w, format.Sanitize(p.Text()))
		case "mermaid":
			fmt.Fprintln(w, format.Sanitize(p.Mermaid()))
		default:
			return exit.Usagef("it is one of text, mermaid", "--format is %q", how)
		}
		return nil
	})
	cmd.Flags().StringVar(&how, "format", "text", "text or mermaid")
	return cmd
}

func newSchema(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a pipeline's file",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := e.Out.Write(configs.PipelineSchema())
			return err
		},
	}
}
