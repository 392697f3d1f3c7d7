package machine

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

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
			for p, err := range c.PullModel(ctx, adroit.ModelPull{Model: name, Insecure: insecure}) {
				switch {
				case err != nil && context.Cause(ctx) == context.DeadlineExceeded:
					return kit.Fail(fmt.Errorf("%s is not complete after %s", name, limit), "the same command goes on where this one stopped")
				case err != nil:
					return err
				case asJSON:
					_ = kit.JSON(e.Out, p) // what stdout cannot take is noticed at the end
				default:
					show(p)
				}
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
