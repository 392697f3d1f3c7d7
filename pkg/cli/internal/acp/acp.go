package acp

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/chat"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
)

// New is adroit acp.
func New(e *kit.Env) *cobra.Command {
	var q request.Flags
	cmd := &cobra.Command{
		Use:   "acp [AGENT]",
		Short: "Let an editor talk with an agent",
		Long: "Serves the Agent Client Protocol on standard input and output, for editors such as Zed, JetBrains,\n" +
			"neovim and Emacs. Without AGENT it is the agent chat. A session is a job: it is on disk before a\n" +
			"prompt counts as sent, the editor can load it again, and adroit jobs shows it. docs/acp.md has the\n" +
			"lines for each editor.",
		Example: "  adroit acp\n  adroit acp builder -m ollama/qwen3:8b --mode plan",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = "chat"
			if len(args) == 1 {
				q.Target = args[0]
			}
			return run(cmd.Context(), e, &q)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "provider/model, or script:FILE (or ADROIT_MODEL)")
	f.StringVar(&q.BaseURL, "base-url", "", "address of the model's server")
	f.StringVar((*string)(&q.Mode), "mode", "", "permission mode that sessions begin with: plan, edits, auto (or ADROIT_MODE)")
	f.StringVar((*string)(&q.Approve), "approve", "", "what is approved without asking: ask (nothing), edits, all; none denies what would be asked")
	f.StringVar((*string)(&q.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	f.StringVar(&q.Memory, "memory", "", "what is recalled of earlier jobs: project, user, off; else what the agent's file says")
	f.BoolVar(&q.Trust, "trust-project", false, "load each project's agents, skills and AGENTS.md")
	return cmd
}

func run(ctx context.Context, e *kit.Env, q *request.Flags) error {
	q.Workspace = "."
	if err := q.Read(e); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	err = Serve(ctx, c, Options{Request: q.Request, In: e.In, Out: e.Out, Log: e.Err, Version: kit.Read().Version,
		Commands: func(ctx context.Context, dir string) ([]Command, error) {
			list, err := chat.Commands(ctx, e.Getenv, c, dir)
			var out []Command
			for _, t := range list {
				out = append(out, Command(t))
			}
			return out, err
		},
		Attend: func(ask func(context.Context, []byte) (string, error)) func() {
			return e.Attendant.Attend(func(ctx context.Context, about json.RawMessage) (string, error) { return ask(ctx, about) })
		}})
	if ctx.Err() != nil {
		return kit.Stopped(ctx)
	}
	return err
}
