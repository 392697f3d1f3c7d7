package define

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

func newLogin(e *kit.Env) *cobra.Command {
	var in config.ServerLogin
	var secretEnv string
	var noBrowser bool
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in at an MCP server behind an address",
		Long: "Opens the page of the server's login in the browser, waits for its answer on this machine, and\n" +
			"keeps the tokens with the keys of adroit login, in a file that only you can read. Jobs renew\n" +
			"them. adroit registers itself with the server, or is the client that --client-id names.",
		Example: "  adroit mcp login docs\n  adroit mcp login docs --client-id adroit --port 8765",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			if in.Secret = e.Getenv(secretEnv); secretEnv != "" && in.Secret == "" {
				return kit.Usagef("set it, or leave --client-secret-env out", "the variable %s is not set", secretEnv)
			}
			in.Server = args[0]
			in.Open = func(address string) error {
				fmt.Fprintf(e.Err, "log in at %s\n", kit.SanitizeLine(address))
				if !noBrowser {
					browse(address)
				}
				return nil
			}
			n, err := c.LoginServer(cmd.Context(), config.Program{Warn: func(text string) { e.Warn("%s", text) }}, in)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Out, "logged in at %s, which has %s\n", in.Server, kit.Plural(n, "tool"))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.ClientID, "client-id", "", "of a client that the server knows beforehand")
	f.StringVar(&secretEnv, "client-secret-env", "", "the variable that has that client's secret")
	f.IntVar(&in.Port, "port", 0, "wait for the answer at this port (default any)")
	kit.AllowZero(f, "port")
	f.BoolVar(&noBrowser, "no-browser", false, "print the address of the page only")
	return cmd
}

// browse opens a page, if there is something to open it with: its address has been
// printed.
func browse(address string) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if cmd := hostexec.Command(context.Background(), program, address); cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

func newLogout(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "logout NAME",
		Short:   "Forget a login at an MCP server, and have it revoked",
		Example: "  adroit mcp logout docs",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			l, err := logout(cmd.Context(), e, c, args[0])
			if err != nil {
				return err
			}
			name, how := kit.SanitizeLine(args[0]), ""
			switch {
			case !l.Was:
				fmt.Fprintf(e.Out, "there is no login at %s\n", name)
				return nil
			case l.Revoked:
				how = ", and the server has revoked it"
			}
			fmt.Fprintf(e.Out, "the login at %s is forgotten%s\n", name, how)
			return nil
		},
	}
}

// logout forgets a login and warns if it may still be good.
func logout(ctx context.Context, e *kit.Env, c *config.Config, name string) (mcp.Logout, error) {
	l, err := c.LogoutServer(ctx, config.Program{Warn: func(text string) { e.Warn("%s", text) }}, name)
	if l.Failed != nil {
		e.Warn("the login may still be good at the server, which did not revoke it: %v", l.Failed)
	}
	return l, err
}
