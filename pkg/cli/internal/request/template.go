package request

import (
	"context"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Template is a prompt of an MCP server that a request begins with.
type Template struct {
	Name  string   // SERVER/PROMPT, "" for none
	Pairs []string // its arguments, as key=value
}

// Begin puts the text of a template before the prompt. Others have written it.
func (f *Flags) Begin(ctx context.Context, c adroit.Client, t Template) error {
	server, prompt, ok := strings.Cut(t.Name, "/")
	switch {
	case t.Name == "" && len(t.Pairs) == 0:
		return nil
	case !ok:
		return kit.Usagef("for example --template docs/review --set file=a.go", "--template is SERVER/PROMPT")
	}
	args := map[string]string{}
	for _, p := range t.Pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return kit.Usagef("for example --set file=a.go", "--set %q is not key=value", p)
		}
		args[key] = value
	}
	text, err := c.ToolServerPrompt(ctx, adroit.ToolServerPrompt{Named: adroit.Named{Scope: adroit.Scope{Dir: f.Dir, Trust: f.Trust}, Name: server}, Prompt: prompt, Args: args})
	if err != nil {
		return err
	}
	f.Prompt = strings.TrimSpace(text + "\n\n" + f.Prompt)
	f.Taint |= tools.Untrusted
	return nil
}
