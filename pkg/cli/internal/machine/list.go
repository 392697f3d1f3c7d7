package machine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

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
