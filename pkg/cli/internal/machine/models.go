package machine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/spf13/cobra"
)

// NewModels returns the command adroit models.
func NewModels(e *kit.Env) *cobra.Command {
	return kit.Lister("models", "List, pull and test models", newList(e), newCheck(e), newPull(e), newForget(e))
}

func newForget(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "forget [MODEL]",
		Short:   "Forget which ways to call tools did not work with a model and the window that a refusal named, or those of all",
		Example: "  adroit models forget ollama/qwen3:8b",
		Args:    cobra.MaximumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			n, err := c.ForgetModel(ctx, first(args))
			if err != nil {
				return err
			}
			switch n {
			case 0:
				fmt.Fprintln(e.Out, "nothing was remembered")
			case 1:
				fmt.Fprintln(e.Out, "forgot 1 entry")
			default:
				fmt.Fprintf(e.Out, "forgot %d entries\n", n)
			}
			return nil
		}),
	}
}

func newCheck(e *kit.Env) *cobra.Command {
	var asJSON bool
	var baseURL string
	cmd := &cobra.Command{
		Use:     "check [MODEL]",
		Short:   "Test a model with a one-word prompt",
		Example: "  adroit models check ollama/qwen3:8b",
		Args:    cobra.MaximumNArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			r, err := c.CheckModel(ctx, adroit.ModelQuery{Model: request.Script(first(args)), BaseURL: baseURL})
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, r, checkText)
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&baseURL, "base-url", "", "address of the model's server")
	return cmd
}

func checkText(w io.Writer, r *adroit.ModelReport) {
	took := time.Duration(r.TookMS) * time.Millisecond
	fmt.Fprintf(w, "%s answers in %s: %s\n", kit.SanitizeLine(r.Model), kit.Duration(took), kit.SanitizeLine(kit.Cut(r.Answer, 60)))
	if r.Drive != nil {
		fmt.Fprintln(w, strings.Join(capabilities(*r.Drive), ", "))
	}
	for _, words := range r.Calling {
		fmt.Fprintln(w, kit.SanitizeLine(words))
	}
	if r.Window > 0 {
		fmt.Fprintf(w, "window: %d asked, %d given\n", r.Window, r.Given)
	}
}

// first is the argument of a command that takes at most one.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func newList(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the available models and how each calls tools",
		Example: "  adroit models list --json",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			list, err := c.Models(ctx)
			if err != nil {
				return err
			}
			return kit.Print(e.OutScreen(), asJSON, list, listText)
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func listText(w io.Writer, list []adroit.ModelInfo) {
	var t kit.Table
	for _, m := range list {
		var notes []string
		if m.Size > 0 {
			notes = append(notes, strings.TrimSpace(m.Parameters+" "+m.Quantisation), kit.Bytes(m.Size))
		}
		notes = append(append(notes, capabilities(m.ModelCapabilities)...), m.Note)
		t.Row(m.Model, strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), ", "))
	}
	t.Write(w)
}

// capabilities describes what a model can do.
func capabilities(c adroit.ModelCapabilities) []string {
	var out []string
	switch c.Tools {
	case "native":
		out = append(out, "calls tools natively")
	case "constrained":
		out = append(out, "calls tools by a schema its answers are held to")
	case "text":
		out = append(out, "calls tools as text")
	}
	for _, can := range c.Can {
		if can == "thinking" || can == "vision" {
			out = append(out, can)
		}
	}
	if c.Window > 0 {
		words := fmt.Sprintf("window %s", kit.Count(c.Window))
		if c.Context > c.Window {
			words += " of " + kit.Count(c.Context)
		}
		out = append(out, words)
	}
	return out
}

func newPull(e *kit.Env) *cobra.Command {
	var asJSON, insecure bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:     "pull NAME",
		Short:   "Have Ollama fetch a model, going on where an earlier pull stopped",
		Example: "  adroit models pull qwen3:8b",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			ctx, name := ctx, strings.TrimPrefix(args[0], "ollama/")
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			show := progress(e.Err)
			if asJSON {
				show = func(p adroit.PullProgress) { _ = kit.JSON(e.Out, p) } // what stdout cannot take is noticed at the end
			}
			err := pull(ctx, c, adroit.ModelPull{Model: name, Insecure: insecure}, show)
			if err != nil && context.Cause(ctx) == context.DeadlineExceeded {
				return kit.Fail(fmt.Errorf("%s is not complete after %s", name, limit), "the same command goes on where this one stopped")
			}
			if err != nil {
				return err
			}
			if !asJSON {
				fmt.Fprintf(e.Out, "%s is there; try it with: %s\n", kit.SanitizeLine(name), hint.Command("models check ollama/%s", name))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "progress as JSON objects")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "permit a registry without TLS")
	cmd.Flags().DurationVar(&limit, "timeout", 0, "give up after this long; 0 for no limit")
	kit.AllowZero(cmd.Flags(), "timeout")
	return cmd
}

// Pull has Ollama fetch a model, and shows how far it is.
func Pull(ctx context.Context, e *kit.Env, c adroit.Client, name string) error {
	return pull(ctx, c, adroit.ModelPull{Model: name}, progress(e.Err))
}

func pull(ctx context.Context, c adroit.Client, p adroit.ModelPull, show func(adroit.PullProgress)) error {
	for p, err := range c.PullModel(ctx, p) {
		if err != nil {
			return err
		}
		show(p)
	}
	return nil
}

// progress writes progress for people: one line when a part begins, and one
// at each tenth of it.
func progress(w io.Writer) func(adroit.PullProgress) {
	status, tenth := "", int64(-1)
	return func(p adroit.PullProgress) {
		if p.Status != status {
			status, tenth = p.Status, -1
			if p.Total == 0 {
				fmt.Fprintln(w, kit.SanitizeLine(p.Status))
			}
		}
		if p.Total <= 0 {
			return
		}
		if now := min(p.Done, p.Total) * 10 / p.Total; now > tenth {
			tenth = now
			fmt.Fprintf(w, "%s  %d%% of %s\n", kit.SanitizeLine(p.Status), now*10, kit.Bytes(p.Total))
		}
	}
}
