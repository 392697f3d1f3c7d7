package define

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	render "github.com/adroit-run/adroit/pkg/cli/internal/show"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

var pipelinesNoun = Noun{Word: "pipelines", Dirs: configs.PipelinesDir, Ext: ".yaml"}

// New is adroit pipelines.
func NewPipelines(e *kit.Env) *cobra.Command {
	list := List(e, pipelinesNoun, adroit.Client.Pipelines, pipelinesListText, func(l *adroit.Listing[adroit.PipelineInfo]) {
		if l.Problems.Err() != nil {
			fmt.Fprintln(e.Err, "some pipelines cannot be used; "+hint.Command("pipelines lint")+" says why")
		}
	})
	lint := Lint(e, pipelinesNoun, adroit.Client.LintPipelines, "Check pipelines: all problems at once, with their places", "name pipelines or their files, or none for all")
	return kit.Lister("pipelines", "List, show, check and draw pipelines", list, pipelinesNewShow(e), lint, newGraph(e), newSchema(e))
}

func pipelinesListText(w io.Writer, list []adroit.PipelineInfo) {
	var t kit.Table
	for _, p := range list {
		t.Row(p.Name, p.Layer, kit.Plural(p.Steps, "step"), kit.FirstSentence(p.Description))
	}
	t.Write(w)
}

func pipelinesNewShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := Show(e, pipelinesNoun, "show", "Show a pipeline: its steps, where they lead, what they need", adroit.Client.ShowPipeline, func(w io.Writer, p *adroit.PipelineDetail) error {
		if asJSON {
			return kit.JSON(w, p.Pipeline)
		}
		pipelinesShowText(w, p, e.Home)
		return nil
	})
	kit.JSONFlag(cmd, &asJSON)
	cmd.Example = "  adroit pipelines show feature"
	return cmd
}

// showText describes a pipeline; home shortens a path.
func pipelinesShowText(w io.Writer, p *adroit.PipelineDetail, home func(string) string) {
	var t kit.Table
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
	fmt.Fprintf(w, "\n%s\n", kit.Sanitize(p.Text()))
}

// show finds a pipeline by its name, or reads its file.
func show(c adroit.Client, ctx context.Context, n adroit.Named) (*adroit.PipelineDetail, error) {
	text, ok, err := pipelinesNoun.ReadFile(n.Name)
	if !ok {
		return c.ShowPipeline(ctx, n)
	}
	if err != nil {
		return nil, kit.Usagef("name a pipeline or its file", "%v", err)
	}
	p, problems := pipeline.Parse(n.Name, text)
	if err := problems.Err(); err != nil {
		return nil, kit.Fail(err, hint.Command("pipelines lint %s", n.Name))
	}
	return &adroit.PipelineDetail{Pipeline: p, File: n.Name}, nil
}

func newGraph(e *kit.Env) *cobra.Command {
	var how string
	cmd := Show(e, pipelinesNoun, "graph", "Draw a pipeline, as text or in Mermaid's language", show, func(w io.Writer, p *adroit.PipelineDetail) error {
		switch how {
		case "text":
			fmt.Fprintln(w, kit.Sanitize(p.Text()))
		case "mermaid":
			fmt.Fprintln(w, kit.Sanitize(p.Mermaid()))
		default:
			return kit.Usagef("it is one of text, mermaid", "--format is %q", how)
		}
		return nil
	})
	cmd.Use = "graph NAME|FILE"
	cmd.Example = "  adroit pipelines graph feature --format mermaid\n  adroit pipelines graph ./mine.yaml"
	cmd.Flags().StringVar(&how, "format", "text", "text or mermaid")
	return cmd
}

func newSchema(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of a pipeline's file",
		Example: "  adroit pipelines schema > pipeline.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := e.Out.Write(configs.PipelineSchema())
			return err
		},
	}
}
