package serve

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// NewMCP is adroit mcp serve.
func NewMCP(e *kit.Env) *cobra.Command {
	var x exposed
	var address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve agents as tools of another program",
		Long: "Serves the Model Context Protocol on standard input and output, for a program such as\n" +
			"Claude Code, Codex or an editor that starts it. Each agent whose file says expose: true,\n" +
			"or each that --agent names, is a tool: a call runs a job to its end. Tools for jobs start,\n" +
			"follow, answer, resume and cancel them. Nothing else is exposed.\n\n" +
			"What a job asks is put to a person through the program if it can do that; else the job\n" +
			"waits for adroit approve. When the program goes away, its jobs are interrupted, and\n" +
			"adroit jobs resume goes on with them. --http serves programs that send the token, as\n" +
			"adroit serve does.",
		Example: "  adroit mcp serve --agent reviewer\n  claude mcp add adroit -- adroit mcp serve --agent builder\n" +
			"  adroit mcp serve --tool read_file --tool search",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := x.open(cmd.Context(), e)
			if err != nil {
				return err
			}
			if address != "" {
				return overHTTP(cmd.Context(), e, s, address)
			}
			if err := s.Serve(e.In, e.Out); err != nil {
				return kit.Fail(fmt.Errorf("reading from the client: %w", err), "")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve on this loopback address instead, as in 127.0.0.1:8765")
	x.flags(cmd.Flags())
	return cmd
}

func overHTTP(ctx context.Context, e *kit.Env, s *Server, address string) error {
	o := api.Options{Address: address}
	where, err := token(e, &o, "ADROIT_MCP_TOKEN", "ADROIT_TOKEN")
	if err != nil {
		return err
	}
	l, err := api.Open(o)
	if err != nil {
		return err
	}
	log := logger(e)
	log("listening on %s%s", l.URL(), Path)
	log("clients send the header Authorization: Bearer TOKEN; the token is %s", where)
	mux := http.NewServeMux()
	mux.Handle(Path, s.Handler())
	return l.Serve(ctx, mux)
}
