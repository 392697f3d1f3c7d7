package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// A serverPrompt is a prompt of an MCP server that is a command: /SERVER/PROMPT.
type serverPrompt struct {
	name, about string
	args        []string
}

// serverPrompts are those of servers that were started at some time, as they were
// read last.
type serverPrompts struct {
	list    []serverPrompt
	reading bool
	then    func() // of the last that asked meanwhile
}

// withServerPrompts reads the prompts of servers elsewhere, and calls then on the
// owner's goroutine if others were known so far.
func (s *Session) withServerPrompts(then func()) {
	p := &s.prompts
	p.then = then
	if p.reading {
		return
	}
	p.reading = true
	dir := s.Dir
	s.do(func(context.Context) func() {
		list := s.readServerPrompts(dir)
		return func() {
			same := slices.EqualFunc(list, p.list, func(a, b serverPrompt) bool {
				return a.name == b.name && a.about == b.about && slices.Equal(a.args, b.args)
			})
			p.list, p.reading = list, false
			if !same {
				p.then()
			}
		}
	})
}

// readServerPrompts are the prompts of the servers that there are.
func (s *Session) readServerPrompts(dir string) []serverPrompt {
	out, _ := s.readServers(dir)
	return out
}

// readServers waits until completionTime at most, and not for a session that has
// ended. It also reports whether a server is known to be none. Any goroutine may
// call it.
func (s *Session) readServers(dir string) (out []serverPrompt, none func(server string) bool) {
	ctx, cancel := context.WithTimeout(s.ctx, completionTime)
	defer cancel()
	l, err := s.c.ToolServers(ctx, adroit.Scope{Dir: dir})
	if err != nil {
		return nil, func(string) bool { return false } // the command says what is wrong
	}
	for _, server := range l.Items {
		for _, p := range server.Prompts {
			one := serverPrompt{name: server.Name + "/" + p.Name, about: kit.FirstSentence(p.Description)}
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
	return out, func(name string) bool {
		return len(l.Problems) == 0 && !slices.ContainsFunc(l.Items, func(i adroit.ToolServerInfo) bool { return i.Name == name })
	}
}

// serverPrompt sends a prompt of a server, with its arguments as key=value or in
// their order. Where there is no such server, line is a message that begins with a
// path.
func (s *Session) serverPrompt(server, prompt, words, line string) {
	dir := s.Dir
	s.do(func(context.Context) func() {
		prompts, none := s.readServers(dir)
		if none(server) {
			return func() { s.send(line) }
		}
		args, err := arguments(prompts, server+"/"+prompt, words)
		var text string
		if err == nil { // a server may be silent: leaving does not wait for it
			text, err = s.c.ToolServerPrompt(s.ctx, adroit.ToolServerPrompt{Named: adroit.Named{Scope: adroit.Scope{Dir: dir}, Name: server}, Prompt: prompt, Args: args})
		}
		return func() {
			if err != nil {
				s.fail(err)
				return
			}
			s.send(text)
		}
	})
}

// arguments are the words for the prompt of this name.
func arguments(known []serverPrompt, prompt, words string) (map[string]string, error) {
	args := map[string]string{}
	var names []string
	if i := slices.IndexFunc(known, func(p serverPrompt) bool { return p.name == prompt }); i >= 0 {
		for _, a := range known[i].args {
			name, _, _ := strings.Cut(strings.Trim(a, "[]"), "=")
			names = append(names, name)
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
			return nil, fmt.Errorf("the prompt %s has no argument for %q", prompt, w)
		}
	}
	return args, nil
}
