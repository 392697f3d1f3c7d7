package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/llm/textcall"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

func (a *app) modelsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List, pull and test models",
		Args:  cobra.ArbitraryArgs,
		RunE:  env.Group,
	}
	cmd.AddCommand(a.modelsList(), a.modelsCheck(), a.modelsPull(), a.modelsForget())
	return cmd
}

// A drive is what a model can do and how adroit will have it call tools.
type drive struct {
	Tools        string   `json:"tools,omitempty"` // the way that comes first: native, constrained or text
	Can          []string `json:"can,omitempty"`
	Context      int      `json:"context,omitempty"` // what it was made for, in tokens
	Window       int      `json:"window,omitempty"`  // what adroit will ask for, in tokens
	Family       string   `json:"family,omitempty"`  // how it writes calls, if that is known
	Parameters   string   `json:"parameters,omitempty"`
	Quantisation string   `json:"quantisation,omitempty"`
}

func (m *models) drive(name string, info ollama.Info) drive {
	d := drive{
		Can:          info.Capabilities,
		Context:      info.Context,
		Window:       m.fit(info),
		Family:       string(textcall.Detect(info.Template, name, info.Family)),
		Parameters:   info.Parameters,
		Quantisation: info.Quantisation,
	}
	return d
}

func (a *app) modelsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the available models and how each calls tools",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := a.models("")
			if err != nil {
				return err
			}
			type entry struct {
				Model string `json:"model"`
				Size  int64  `json:"size,omitempty"` // bytes
				drive
				Note string `json:"note,omitempty"`
			}
			ctx, list := cmd.Context(), []entry{}
			ways := m.callings()
			client, err := ollama.NewClient(m.ollama())
			if err == nil && client.Up(ctx) {
				found, err := client.List(ctx)
				if err != nil {
					return modelFault(err)
				}
				for _, l := range found {
					e := entry{Model: ollamaProvider + "/" + l.Name, Size: l.Size}
					if info, err := client.Show(ctx, l.Name); err != nil {
						e.Note = err.Error()
					} else {
						e.drive = m.drive(l.Name, info)
						e.Tools = ways.first(ctx, e.Model)
					}
					list = append(list, e)
				}
				if len(found) == 0 {
					list = append(list, entry{Model: "ollama/NAME", Note: "Ollama has no models; get one with: adroit models pull qwen3:8b"})
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
			for _, s := range m.survey(ctx) {
				note := s.Version + ", " + s.Words
				if s.Path == "" {
					note = "not installed; " + s.Words
				}
				list = append(list, entry{Model: cliProvider + "/" + s.Name, Note: note})
			}
			list = append(list, entry{Model: "script:FILE", Note: "plays turns from a file"})
			if asJSON {
				return a.json(list)
			}
			var t render.Table
			for _, e := range list {
				var notes []string
				if e.Size > 0 {
					notes = append(notes, strings.TrimSpace(e.Parameters+" "+e.Quantisation), render.Bytes(e.Size))
				}
				notes = append(notes, e.drive.words()...)
				if e.Note != "" {
					notes = append(notes, e.Note)
				}
				t.Row(e.Model, strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), ", "))
			}
			t.Write(a.Stdout)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// words describe d for people.
func (d drive) words() []string {
	var out []string
	switch d.Tools {
	case "native":
		out = append(out, "calls tools natively")
	case "constrained":
		out = append(out, "calls tools by a schema its answers are held to")
	case "text":
		out = append(out, "calls tools as text")
	}
	for _, can := range d.Can {
		if can == "thinking" || can == "vision" {
			out = append(out, can)
		}
	}
	if d.Window > 0 {
		words := fmt.Sprintf("window %s", render.Count(d.Window))
		if d.Context > d.Window {
			words += " of " + render.Count(d.Context)
		}
		out = append(out, words)
	}
	return out
}

func (a *app) modelsCheck() *cobra.Command {
	var asJSON bool
	var baseURL string
	cmd := &cobra.Command{
		Use:   "check [MODEL]",
		Short: "Test a model with a one-word prompt",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := a.models(baseURL)
			if err != nil {
				return err
			}
			var ref string
			if len(args) == 1 {
				ref, err = m.Canonical(args[0])
			} else {
				ref, err = m.Choose(cmd.Context())
			}
			if err != nil {
				return err
			}
			r, err := m.try(cmd.Context(), ref)
			if err != nil {
				return modelFault(err)
			}
			if llm.IsAgent(ref) {
				r.Calling = m.cliWords(cmd.Context(), ref)
				return a.checked(r, asJSON)
			}
			c := m.callings()
			r.Calling = c.words(cmd.Context(), ref)
			if r.Drive != nil {
				r.Drive.Tools = c.first(cmd.Context(), ref)
			}
			return a.checked(r, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().StringVar(&baseURL, "base-url", "", "address of the model's server")
	return cmd
}

// checked prints what came of a trial.
func (a *app) checked(r *trial, asJSON bool) error {
	if asJSON {
		return a.json(r)
	}
	fmt.Fprintf(a.Stdout, "%s answers in %s: %s\n", render.SanitizeLine(r.Model), render.Duration(time.Duration(r.TookMS)*time.Millisecond), render.SanitizeLine(render.Cut(r.Answer, 60)))
	if r.Drive != nil {
		fmt.Fprintln(a.Stdout, strings.Join(r.Drive.words(), ", "))
	}
	for _, words := range r.Calling {
		fmt.Fprintln(a.Stdout, render.SanitizeLine(words))
	}
	if r.Window > 0 {
		fmt.Fprintf(a.Stdout, "window: %d asked, %d given\n", r.Window, r.Given)
	}
	return nil
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
	Drive  *drive    `json:"drive,omitempty"`
	// Calling describes how it calls tools, and the dialect of its server.
	Calling []string `json:"calling,omitempty"`
}

func (m *models) try(ctx context.Context, ref string) (*trial, error) {
	window, err := m.Window(ctx, ref)
	if err != nil {
		return nil, err
	}
	model, name, err := m.Open(ref)
	if err != nil {
		return nil, err
	}
	d, err := m.look(ctx, ref)
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
	return &trial{Model: ref, Answer: strings.TrimSpace(answer.Message.Text), Usage: answer.Usage, TookMS: time.Since(start).Milliseconds(),
		Window: window, Given: m.verify(ctx, ref, window), Notes: answer.Notes, Drive: d}, nil
}

// look is what is known of the model, nil where the provider does not tell.
func (m *models) look(ctx context.Context, ref string) (*drive, error) {
	provider, name, err := m.split(ref)
	if err != nil || provider != ollamaProvider {
		return nil, err
	}
	client, err := ollama.NewClient(m.ollama())
	if err != nil {
		return nil, err
	}
	info, err := client.Show(ctx, name)
	if err != nil {
		return nil, modelFault(err)
	}
	d := m.drive(name, info)
	return &d, nil
}
