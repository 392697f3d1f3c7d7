package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

func (a *app) modelsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List models and check that one answers",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	cmd.AddCommand(a.modelsList(), a.modelsCheck())
	return cmd
}

func (a *app) modelsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the models that can be named here",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := a.models("")
			if err != nil {
				return err
			}
			type entry struct {
				Model   string `json:"model"`
				Tools   bool   `json:"tools,omitempty"`
				Context int    `json:"context,omitempty"`
				Note    string `json:"note,omitempty"`
			}
			ctx, list := cmd.Context(), []entry{}
			client, err := ollama.NewClient(m.ollama())
			if err == nil && client.Up(ctx) {
				found, err := client.List(ctx)
				if err != nil {
					return modelFault(err)
				}
				for _, l := range found {
					e := entry{Model: ollamaProvider + "/" + l.Name}
					if info, err := client.Show(ctx, l.Name); err != nil {
						e.Note = err.Error()
					} else {
						e.Tools, e.Context = info.Can("tools"), info.Context
					}
					list = append(list, e)
				}
			} else {
				list = append(list, entry{Model: "ollama/NAME", Note: "Ollama does not answer; start it with: ollama serve"})
			}
			note := "OPENAI_API_KEY is not set"
			if a.Getenv("OPENAI_API_KEY") != "" {
				note = "OPENAI_API_KEY is set"
			}
			list = append(list, entry{Model: "openai/NAME", Note: note})
			for _, name := range slices.Sorted(maps.Keys(m.conf.Endpoints)) {
				list = append(list, entry{Model: name + "/NAME", Note: m.conf.Endpoints[name].BaseURL})
			}
			list = append(list, entry{Model: "script:FILE", Note: "plays turns from a file"})
			if asJSON {
				return a.json(list)
			}
			var t table
			for _, e := range list {
				var notes []string
				if e.Tools {
					notes = append(notes, "tools")
				}
				if e.Context > 0 {
					notes = append(notes, fmt.Sprintf("up to %s tokens", count(e.Context)))
				}
				if e.Note != "" {
					notes = append(notes, e.Note)
				}
				t.row(e.Model, strings.Join(notes, ", "))
			}
			t.write(a.Stdout)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func (a *app) modelsCheck() *cobra.Command {
	var asJSON bool
	var baseURL string
	cmd := &cobra.Command{
		Use:   "check [MODEL]",
		Short: "Ask a model for one word and say what came",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := a.models(baseURL)
			if err != nil {
				return err
			}
			var ref string
			if len(args) == 1 {
				ref, err = m.canonical(args[0])
			} else {
				ref, err = m.choose(cmd.Context())
			}
			if err != nil {
				return err
			}
			r, err := m.try(cmd.Context(), ref)
			if err != nil {
				return modelFault(err)
			}
			if asJSON {
				return a.json(r)
			}
			fmt.Fprintf(a.Stdout, "%s answers in %s: %s\n", line(r.Model), span(time.Duration(r.TookMS)*time.Millisecond), line(cut(r.Answer, 60)))
			if r.Window > 0 {
				fmt.Fprintf(a.Stdout, "window: %d asked, %d given\n", r.Window, r.Given)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().StringVar(&baseURL, "base-url", "", "address of the model's server")
	return cmd
}

// A trial is what came of asking a model for a word.
type trial struct {
	Model  string    `json:"model"`
	Answer string    `json:"answer"`
	Usage  llm.Usage `json:"usage"`
	TookMS int64     `json:"took_ms"`
	Window int       `json:"window,omitempty"` // asked for, in tokens
	Given  int       `json:"given,omitempty"`  // what the server loaded the model with
	Notes  []string  `json:"notes,omitempty"`
}

func (m *models) try(ctx context.Context, ref string) (*trial, error) {
	window, err := m.window(ctx, ref)
	if err != nil {
		return nil, err
	}
	model, name, err := m.open(ref)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	answer, err := model.Generate(ctx, &llm.Request{
		Model:    name,
		Messages: []llm.Message{{Role: llm.User, Text: "Answer with the single word: ready"}},
		Options:  llm.Options{Window: window, MaxTokens: 512},
	}, nil)
	if err != nil {
		return nil, err
	}
	return &trial{ref, strings.TrimSpace(answer.Message.Text), answer.Usage, time.Since(start).Milliseconds(),
		window, m.verify(ctx, ref, window), answer.Notes}, nil
}
