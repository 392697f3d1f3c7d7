package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the lists of a server besides its tools.
const (
	maxResources = 200
	maxPrompts   = 200
	maxPrompt    = 256 << 10 // of the text of one
)

// Resource implements [turn.Servers].
func (p *Pool) Resource(ctx context.Context, in turn.Scope, server, uri string) (tools.Result, error) {
	s, err := p.entry(in, server)
	if err != nil {
		return failed("%s", err), nil
	}
	l := p.reading(ctx, in, server, s)
	c, err := p.session(ctx, l, "")
	if err != nil {
		return p.lost(ctx, err)
	}
	var r tools.Result
	if uri == "" {
		r, err = c.resources(ctx)
	} else {
		r, err = c.resource(ctx, uri)
	}
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case err != nil:
		return failed("The MCP server %s did not give it: %s", server, c.connectionError(ctx, err)), nil
	}
	p.noteUse(l)
	return p.withoutTokens(server, s, r), nil
}

// resources lists the resources of a server, and the forms of those that it makes.
func (c *session) resources(ctx context.Context) (tools.Result, error) {
	a, n := answer{name: turn.ReadResource}, 0
	say := func(uri, name, about string) bool {
		if n++; n <= maxResources {
			a.say(strings.TrimRight(fmt.Sprintf("%s  %s: %s", line(uri), line(name), line(about)), ": "))
		}
		return n <= maxListed
	}
	for r, err := range c.cs.Resources(ctx, nil) {
		if err != nil {
			return tools.Result{}, err
		}
		if r != nil && !say(r.URI, r.Name, r.Description) {
			break
		}
	}
	for r, err := range c.cs.ResourceTemplates(ctx, nil) {
		if err != nil || r != nil && !say(r.URITemplate, r.Name, r.Description) {
			break // a server need not have any
		}
	}
	if n > maxResources {
		a.say(fmt.Sprintf("and %d more", n-maxResources))
	}
	return a.result(false), nil
}

// resource reads one.
func (c *session) resource(ctx context.Context, uri string) (tools.Result, error) {
	r, err := c.cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return tools.Result{}, err
	}
	a := answer{name: turn.ReadResource}
	for i, part := range r.Contents {
		if part != nil {
			a.resource(i+1, part)
		}
	}
	return a.result(false), nil
}

// listPrompts reads the prompts of a server.
func (c *session) listPrompts(ctx context.Context) (out []turn.Prompt) {
	for q, err := range c.cs.Prompts(ctx, nil) {
		if err != nil || len(out) >= maxPrompts {
			return out // what there is
		}
		if q == nil || q.Name == "" || line(q.Name) != q.Name {
			continue
		}
		prompt := turn.Prompt{Name: q.Name, Description: spelling.Clip(rootfs.Visible(q.Description), maxDescription)}
		for _, arg := range q.Arguments {
			if arg != nil {
				prompt.Arguments = append(prompt.Arguments, turn.Argument{Name: line(arg.Name), Required: arg.Required})
			}
		}
		out = append(out, prompt)
	}
	return out
}

// Prompt implements [turn.Servers].
func (p *Pool) Prompt(ctx context.Context, in turn.Scope, server, name string, args map[string]string) (string, error) {
	s, err := p.entry(in, server)
	if err != nil {
		return "", err
	}
	l := p.reading(ctx, in, server, s)
	c, err := p.session(ctx, l, "")
	if err != nil {
		return "", err
	}
	r, err := p.record(server, s)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(r.Prompts, func(q turn.Prompt) bool { return q.Name == name })
	if i < 0 {
		var names []string
		for _, q := range r.Prompts {
			names = append(names, q.Name)
		}
		return "", problem.Invalidf("it has "+strings.Join(names, ", "), "the MCP server %s has no prompt %q", server, name)
	}
	var lacks []string
	for _, arg := range r.Prompts[i].Arguments {
		if _, ok := args[arg.Name]; arg.Required && !ok {
			lacks = append(lacks, arg.Name)
		}
	}
	if lacks != nil {
		return "", problem.Invalidf("for example "+lacks[0]+"=VALUE", "the prompt %s/%s needs %s", server, name, strings.Join(lacks, ", "))
	}
	got, err := c.cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("the MCP server %s did not give its prompt %s: %w", server, name, c.connectionError(ctx, err))
	}
	text := promptText(got)
	if text == "" {
		return "", errors.New("the prompt is empty")
	}
	return text, nil
}

// promptText returns a prompt as one text: the user's words, and the words of others under their
// role.
func promptText(r *sdk.GetPromptResult) string {
	var parts []string
	for _, m := range r.Messages {
		if m == nil {
			continue
		}
		var text string
		switch c := m.Content.(type) {
		case *sdk.TextContent:
			text = rootfs.Visible(c.Text)
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				text = fmt.Sprintf("[resource %s]\n%s", line(c.Resource.URI), rootfs.Visible(c.Resource.Text))
			}
		default:
			text = fmt.Sprintf("[%T, which is not shown]", c)
		}
		if m.Role != "user" {
			text = string(m.Role) + ": " + text
		}
		parts = append(parts, text)
	}
	return spelling.Clip(strings.Join(parts, "\n\n"), maxPrompt)
}
