package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

// A serverPrompt is a prompt of an MCP server that is a command: /SERVER/PROMPT.
type serverPrompt struct {
	name, about string
	args        []string
}

// serverPrompts are those of servers that were started at some time.
func (s *Session) serverPrompts() (out []serverPrompt) {
	l, err := s.c.ToolServers(s.ctx, adroit.Scope{Dir: s.Dir})
	if err != nil {
		return nil // the command says what is wrong
	}
	for _, server := range l.Items {
		for _, p := range server.Prompts {
			one := serverPrompt{name: server.Name + "/" + p.Name, about: render.FirstSentence(p.Description)}
			for _, a := range p.Arguments {
				word := a.Name + "=…"
				if !a.Required {
					word = "[" + word + "]"
				}
				one.args = append(one.args, word)
			}
			out = append(out, one)
		}
	}
	return out
}

// serverPrompt sends a prompt of a server, with its arguments as key=value or in
// their order.
func (s *Session) serverPrompt(server, prompt, words string) {
	args := map[string]string{}
	var names []string
	for _, p := range s.serverPrompts() {
		if p.name == server+"/"+prompt {
			for _, a := range p.args {
				name, _, _ := strings.Cut(strings.Trim(a, "[]"), "=")
				names = append(names, name)
			}
		}
	}
	for i, w := range fields(words) {
		key, value, ok := strings.Cut(w, "=")
		switch {
		case ok:
			args[key] = value
		case i < len(names):
			args[names[i]] = w
		default:
			s.fail(fmt.Errorf("the prompt %s/%s has no argument for %q", server, prompt, w))
			return
		}
	}
	s.do(func(ctx context.Context) func() {
		got, err := s.c.ToolServerPrompt(ctx, adroit.ToolServerPrompt{Named: adroit.Named{Scope: adroit.Scope{Dir: s.Dir}, Name: server}, Prompt: prompt, Args: args})
		return func() {
			if err != nil {
				s.fail(err)
				return
			}
			s.send(got.Text)
		}
	})
}
