package machine

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

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
