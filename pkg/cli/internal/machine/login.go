package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

// maxKey bounds a key that is read.
const maxKey = 16 << 10

// NewLogin returns the command adroit config login.
func NewLogin(e *kit.Env) *cobra.Command {
	var all, unverified, asJSON bool
	cmd := &cobra.Command{
		Use:   "login PROVIDER",
		Short: "Keep the API key of a model provider",
		Long: "Asks for the key without showing it, or reads it from standard input, checks it with a request\n" +
			"that costs nothing, and keeps it in a file that only you can read. PROVIDER is openai, anthropic,\n" +
			"gemini, openrouter, ollama or an endpoint of the configuration. A variable such as OPENAI_API_KEY\n" +
			"goes before it.",
		Example: "  adroit config login anthropic\n  pass show openai | adroit config login openai\n  adroit config login --list",
		Args: func(_ *cobra.Command, args []string) error {
			if all != (len(args) == 0) || len(args) > 1 {
				return kit.Usagef("for example: "+hint.Command("config login anthropic")+", or "+hint.Command("config login --list"), "login needs one provider, or --list")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			if all {
				return list(e, c, asJSON)
			}
			return login(cmd.Context(), e, c, args[0], !unverified)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "list", false, "list providers and where the key of each is from")
	f.BoolVar(&unverified, "no-verify", false, "keep the key without asking the provider's server")
	f.BoolVar(&asJSON, "json", false, "--list as JSON")
	return cmd
}

// Login asks for the key of a provider, verifies it and keeps it.
func Login(ctx context.Context, e *kit.Env, provider string) error {
	c, err := e.Config()
	if err != nil {
		return err
	}
	return login(ctx, e, c, provider, true)
}

func login(ctx context.Context, e *kit.Env, c *config.Config, provider string, verify bool) error {
	if err := c.CheckLogin(provider); err != nil {
		return err
	}
	key, err := read(ctx, e, provider)
	if err != nil {
		return err
	}
	if verify {
		if err := c.VerifyLogin(ctx, provider, key); err != nil {
			return err
		}
	}
	path, err := c.KeepLogin(provider, key)
	if err != nil {
		return err
	}
	how := "not verified"
	if verify {
		how = "verified"
	}
	fmt.Fprintf(e.Out, "the key of %s is kept in %s (%s)\n", provider, e.Home(path), how)
	logins, err := c.Logins()
	if err != nil {
		return err
	}
	for _, l := range logins {
		if l.Provider == provider && l.Variable != "" && l.From == l.Variable {
			e.Warn("%s is set and goes before it", l.Variable)
		}
	}
	return nil
}

// read asks for a key, or reads all of standard input.
func read(ctx context.Context, e *kit.Env, provider string) (string, error) {
	var key string
	if e.Interactive() {
		b, err := kit.ReadSecret(ctx, e.In, e.Err, fmt.Sprintf("key of %s (is not shown): ", provider))
		fmt.Fprintln(e.Err)
		if err != nil {
			return "", err
		}
		key = b
	} else {
		b, err := io.ReadAll(io.LimitReader(e.In, maxKey+1))
		if err != nil {
			return "", kit.Fail(errors.New("the key cannot be read from standard input"), "")
		}
		key = string(b)
	}
	key = transport.Secret(key)
	switch {
	case key == "":
		return "", kit.Usagef("type it at the terminal, or pipe it: pass show NAME | "+hint.Command("config login %s", provider), "there is no key on standard input")
	case len(key) > maxKey, strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", kit.Usagef("give the key alone, in one line", "what was given is not a key")
	}
	return key, nil
}

func list(e *kit.Env, c *config.Config, asJSON bool) error {
	logins, err := c.Logins()
	if err != nil {
		e.Warn("%v", err)
	}
	return kit.Print(e.Out, asJSON, logins, func(w io.Writer, logins []config.Login) {
		var t kit.Table
		for _, l := range logins {
			from := l.From
			switch {
			case from == "" && l.Variable == "":
				from = "no key"
			case from == "":
				from = "no key (" + hint.Command("config login %s", l.Provider) + ", or " + l.Variable + ")"
			case l.Kept && from == l.Variable:
				from += ", before that of " + hint.Name("config login")
			}
			t.Row(l.Provider, from)
		}
		t.Write(w)
	})
}

// NewLogout is adroit config logout.
func NewLogout(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "logout PROVIDER",
		Short:   "Forget the API key that adroit config login keeps",
		Example: "  adroit config logout anthropic",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			was, err := c.ForgetLogin(args[0])
			switch {
			case err != nil:
				return err
			case !was:
				fmt.Fprintf(e.Out, "no key of %s is kept\n", kit.SanitizeLine(args[0]))
			default:
				fmt.Fprintf(e.Out, "the key of %s is forgotten; it holds until you revoke it at the provider\n", kit.SanitizeLine(args[0]))
			}
			return nil
		},
	}
}
