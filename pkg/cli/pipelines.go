package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/pipeline"
)

func (a *app) pipelinesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pipelines",
		Short: "List, show, check and draw pipelines",
		Args:  cobra.ArbitraryArgs,
		RunE:  env.Group,
	}
	cmd.AddCommand(a.pipelinesList(), a.pipelinesShow(), a.pipelinesLint(), a.pipelinesGraph(), a.pipelinesSchema())
	return cmd
}

// pipelinesHere loads the pipelines with what is trusted of the current
// directory, or all of it.
func (a *app) pipelinesHere(all bool) (*pipeline.Catalog, agents.Problems, error) {
	rt, err := a.runtime()
	if err != nil {
		return nil, nil, err
	}
	cat, problems := rt.PipelineCatalog(".", all)
	return cat, problems, nil
}

func trustPipelines(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "trust-project", false, "also read the pipelines in "+adroit.ProjectPipelines+" here")
}

func (a *app) pipelinesList() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the pipelines",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cat, problems, err := a.pipelinesHere(trusted)
			if err != nil {
				return err
			}
			type entry struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Steps       int    `json:"steps"`
				Layer       string `json:"layer"`
				File        string `json:"file"`
			}
			list := []entry{}
			var t render.Table
			for _, p := range cat.List() {
				list = append(list, entry{p.Name, p.Description, len(p.Steps), p.Source.Layer, p.Source.File})
				t.Row(p.Name, p.Source.Layer, render.Plural(len(p.Steps), "step"), render.FirstSentence(p.Description))
			}
			if asJSON {
				return a.json(list)
			}
			t.Write(a.Stdout)
			if problems.Err() != nil {
				fmt.Fprintln(a.Stderr, "some pipelines cannot be used; adroit pipelines lint says why")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustPipelines(cmd, &trusted)
	return cmd
}

func (a *app) pipelinesShow() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a pipeline: its steps, where they lead, what they need",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cat, _, err := a.pipelinesHere(trusted)
			if err != nil {
				return err
			}
			p, err := adroit.FindPipeline(cat, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(p)
			}
			var t render.Table
			put := func(label, value string) {
				if value != "" {
					t.Row(label, value)
				}
			}
			put("pipeline", p.Name)
			put("description", p.Description)
			put("from", strings.TrimSpace(p.Source.Layer+" "+a.home(p.Source.File)))
			for _, f := range p.Inputs {
				put("input", strings.TrimSpace(f.Name+" "+f.Description))
			}
			for _, name := range sorted(p.Variables) {
				put("variable", name+" = "+render.Readable(p.Variables[name]))
			}
			put("model", p.Defaults.Model)
			put("on failure", string(p.OnFailure))
			t.Write(a.Stdout)
			fmt.Fprintf(a.Stdout, "\n%s\n", render.Sanitize(p.Text()))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustPipelines(cmd, &trusted)
	return cmd
}

func (a *app) pipelinesLint() *cobra.Command {
	var asJSON, trusted bool
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Check pipelines: all problems at once, with their places",
		RunE: func(_ *cobra.Command, args []string) error {
			rt, err := a.runtime()
			if err != nil {
				return err
			}
			k, err := rt.Known(".", trusted)
			if err != nil {
				return err
			}
			cat := k.Pipelines
			var found agents.Problems
			checked := len(args)
			if len(args) == 0 {
				found, checked = cat.Lint(k), len(cat.Names())
			}
			for _, file := range args {
				b, err := readBounded(file)
				if err != nil {
					return exit.Usagef("name files of pipelines, or none for all", "%v", err)
				}
				p, problems := pipeline.Parse(file, b)
				found = append(found, problems...)
				if p != nil {
					k.Pipelines = cat.With(p)
					found = append(found, pipeline.Lint(p, k)...)
				}
			}
			found = found.Sort()
			if asJSON {
				if found == nil {
					found = agents.Problems{}
				}
				if err := a.json(found); err != nil {
					return err
				}
			} else {
				for _, p := range found {
					fmt.Fprintln(a.Stdout, render.Sanitize(p.String()))
				}
				fmt.Fprintf(a.Stderr, "%s, %s\n", render.Plural(checked, "pipeline"), render.Plural(len(found), "problem"))
			}
			if found.Err() != nil {
				return exit.With(exit.Failed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	trustPipelines(cmd, &trusted)
	return cmd
}

// readBounded reads a file as far as a pipeline may be long, and a byte more.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20+1))
}

func (a *app) pipelinesGraph() *cobra.Command {
	var format string
	var trusted bool
	cmd := &cobra.Command{
		Use:   "graph NAME",
		Short: "Draw a pipeline, as text or in Mermaid's language",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cat, _, err := a.pipelinesHere(trusted)
			if err != nil {
				return err
			}
			p, err := adroit.FindPipeline(cat, args[0])
			if err != nil {
				return err
			}
			switch format {
			case "text":
				fmt.Fprintln(a.Stdout, render.Sanitize(p.Text()))
			case "mermaid":
				fmt.Fprintln(a.Stdout, render.Sanitize(p.Mermaid()))
			default:
				return exit.Usagef("it is one of text, mermaid", "--format is %q", format)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or mermaid")
	trustPipelines(cmd, &trusted)
	return cmd
}

func (a *app) pipelinesSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a pipeline's file",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Stdout.Write(configs.PipelineSchema())
			return err
		},
	}
}
