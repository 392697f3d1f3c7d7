package machine

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// New is adroit models.
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
