package adroit

import (
	"context"

	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
)

// A ToolServerCheck names a server of a scope; Accept accepts its tools as they are.
type ToolServerCheck struct {
	Named
	Accept bool `json:"accept,omitempty"`
}

// A ToolServerPrompt names a prompt of a server of a scope, with its arguments.
type ToolServerPrompt struct {
	Named
	Prompt string            `json:"prompt"`
	Args   map[string]string `json:"args,omitempty"`
}

// ToolServers implements [Catalog].
func (rt *Runtime) ToolServers(_ context.Context, in Scope) (*Listing[ToolServerInfo], error) {
	l := &Listing[ToolServerInfo]{Items: []ToolServerInfo{}}
	if rt.o.ToolServers == nil {
		return l, nil
	}
	scope, err := rt.serverScope(in.Dir, in.Trust)
	if err == nil {
		l.Items, err = rt.o.ToolServers.List(scope)
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	return l, nil
}

// CheckToolServer implements [Catalog].
func (rt *Runtime) CheckToolServer(ctx context.Context, c ToolServerCheck) (*ToolServerReport, error) {
	if rt.o.ToolServers == nil {
		return nil, problem.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(c.Dir, c.Trust)
	if err != nil {
		return nil, problem.AsError(err)
	}
	r, err := rt.o.ToolServers.Check(ctx, scope, c.Name, c.Accept)
	if err != nil {
		return nil, problem.AsError(err)
	}
	return r, nil
}

// ToolServerPrompt implements [Catalog].
func (rt *Runtime) ToolServerPrompt(ctx context.Context, p ToolServerPrompt) (string, error) {
	if rt.o.ToolServers == nil {
		return "", problem.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(p.Dir, p.Trust)
	if err != nil {
		return "", problem.AsError(err)
	}
	text, err := rt.o.ToolServers.Prompt(ctx, scope, p.Name, p.Prompt, p.Args)
	if err != nil {
		return "", problem.AsError(err)
	}
	return text, nil
}

// serverScope is that of a workspace, with its own servers as far as it is trusted.
func (rt *Runtime) serverScope(dir string, all bool) (turn.Scope, error) {
	s := turn.Scope{Dir: dir}
	if dir == "" {
		return s, nil
	}
	d, err := rt.trusts(dir, all)
	if err == nil {
		s.Project, err = d.ToolServers()
	}
	if err == nil {
		s.Origin, err = jobdir.Origin(rt.data(), dir)
	}
	return s, err
}

// toolServers decides which tools of servers agents get.
func (rt *Runtime) toolServers() catalog.Source {
	return catalog.Source{Servers: rt.o.ToolServers, Warn: rt.warn}
}

// jobServers is the scope of a job, with the servers that came with it.
func (rt *Runtime) jobServers(dir string, c JobConfig) (turn.Scope, error) {
	s, err := rt.serverScope(dir, c.Trust)
	s.Client = c.Servers
	return s, err
}
