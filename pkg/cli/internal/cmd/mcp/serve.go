package mcp

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/cmd/version"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/mcpserver"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

func newServe(e *env.Env) *cobra.Command {
	var o mcpserver.Options
	var dir, address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve agents as tools of another program",
		Long: "Serves the Model Context Protocol on standard input and output, for a program such as\n" +
			"Claude Code, Codex or an editor that starts it. Each agent whose file says expose: true,\n" +
			"or each that --agent names, is a tool: a call runs a job to its end. Tools for jobs start,\n" +
			"follow, answer, resume and cancel them. Nothing else is exposed.\n\n" +
			"What a job asks is put to a person through the program if it can do that; else the job\n" +
			"waits for adroit approve. When the program goes away, its jobs are interrupted, and\n" +
			"adroit jobs resume goes on with them. --http serves programs that send the token of\n" +
			"ADROIT_MCP_TOKEN, or the one that it prints.",
		Example: "  adroit mcp serve --agent reviewer\n  claude mcp add adroit -- adroit mcp serve --agent builder\n" +
			"  adroit mcp serve --tool read_file --tool search",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var err error
			if o.Request.Dir, err = env.Directory(dir); err != nil {
				return err
			}
			o.Request.ForAll = o.Request.Model != ""
			o.Version = version.Read().Version
			o.Log = func(format string, args ...any) {
				fmt.Fprintln(e.Err, "adroit: "+render.SanitizeLine(fmt.Sprintf(format, args...)))
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			s, err := mcpserver.New(ctx, c, o)
			if err != nil {
				return err
			}
			if address != "" {
				return overHTTP(ctx, e, s, address)
			}
			if err := s.Serve(ctx, e.In, e.Out); err != nil {
				return exit.Fail(fmt.Errorf("reading from the client: %w", err), "")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Agents, "agent", nil, "expose this agent; else those that say expose: true")
	f.StringArrayVar(&o.Tools, "tool", nil, "expose this tool, which is called without a job and without asking")
	f.StringVar(&address, "http", "", "serve on this loopback address instead, as in 127.0.0.1:8765")
	f.StringVarP(&dir, "dir", "C", ".", "work in this directory")
	f.StringVarP(&o.Request.Model, "model", "m", "", "the model of all jobs, provider/model or script:FILE")
	f.StringVar((*string)(&o.Request.Approve), "approve", "", "what to ask a person about: ask, edits, all, none")
	f.StringVar((*string)(&o.Request.Mode), "mode", "", "permission mode of the jobs: plan, edits or auto")
	f.StringVar((*string)(&o.Request.Sandbox), "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off")
	f.BoolVar(&o.Request.Trust, "trust-project", false, "use what this project brings: agents, skills, AGENTS.md")
	f.BoolVar(&o.ModelApproves, "model-approves", false, "let the calling model approve calls of a job in a person's place")
	return cmd
}

// overHTTP serves clients that send the token of ADROIT_MCP_TOKEN, or one that is
// made here and printed.
func overHTTP(ctx context.Context, e *env.Env, s *mcpserver.Server, address string) error {
	l, err := mcpserver.Listen(address)
	if err != nil {
		return err
	}
	token := e.Getenv("ADROIT_MCP_TOKEN")
	if token == "" {
		token = mcpserver.NewToken()
		fmt.Fprintf(e.Err, "adroit: clients send the header Authorization: Bearer %s\n", token)
	} else if len(token) < minToken {
		return exit.Usagef("for example ADROIT_MCP_TOKEN=$(openssl rand -hex 16)", "the token of ADROIT_MCP_TOKEN has fewer than %d characters", minToken)
	}
	fmt.Fprintf(e.Err, "adroit: listening on http://%s%s\n", l.Addr(), mcpserver.Path)
	return s.ServeHTTP(ctx, l, token)
}

// minToken is how long a token is at least.
const minToken = 16
