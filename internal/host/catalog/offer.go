package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Offer gives an agent the servers that it has without naming them, and set
// the tools of all of its servers: directly if they are few, else through two
// tools that find and call them.
func (o Source) Offer(ctx context.Context, in agents.Input, cat *agents.Catalog, scope turn.Scope, set *tools.Set) (Offered, error) {
	out := Offered{In: in, Tools: set}
	a := in.Spec
	if a == nil {
		found, err := cat.Lookup(in.Agent)
		if err != nil {
			return out, nil // resolving it fails with this error
		}
		a = found
	}
	scope.Plan = scope.Plan || a.Mode == executor.ModePlan
	own := *a
	takes := a.Workflow == "" && (a.Grant == nil || a.Grant.Has(tools.Net))
	if given := o.Servers.For(a.Name); len(given) > 0 && takes {
		own.MCPServers = append(slices.Clip(a.MCPServers), given...)
	}
	if len(own.MCPServers) == 0 && len(scope.Client) == 0 && !Named(a) {
		return out, nil
	}
	known, err := o.Servers.List(scope)
	if err != nil {
		return out, err
	}
	var names, came []string
	for _, s := range known {
		if names = append(names, s.Name); s.Source == turn.OfClient {
			came = append(came, s.Name)
		}
	}
	if a.Source.Claude {
		own.MCPServers = slices.DeleteFunc(slices.Clone(own.MCPServers), func(name string) bool {
			lacks := !slices.Contains(names, name)
			if lacks {
				o.Warn("the agent %s goes without the MCP server %s, which is not configured; %s adds one", a.Name, name, hint.Command("mcp add"))
			}
			return lacks
		})
	}
	named := serversOf(&own, names)
	list, err := o.Servers.Tools(ctx, scope, named)
	if err != nil {
		return out, err
	}
	came = slices.DeleteFunc(came, func(name string) bool { return slices.Contains(named, name) })
	more, running := o.clientTools(ctx, scope, a, takes, came)
	list, own.MCPServers = append(list, more...), append(slices.Clip(own.MCPServers), running...)
	out.All = map[string]turn.Tool{}
	for _, t := range list {
		out.All[t.Name] = t
	}
	direct, hidden := splitTools(&own, list)
	bodies := o.reachTools(scope, &own, hidden, &out)
	for _, t := range direct {
		bodies = append(bodies, o.serverTool(t, func() (turn.Scope, error) { return scope, nil }))
	}
	for _, t := range bodies {
		out.Tools = out.Tools.Without(t.Name) // describe_tool is there without servers, too
	}
	if out.Tools, err = out.Tools.With(bodies...); err != nil {
		return out, err
	}
	out.In.Spec = &own
	return out, o.checkServerTools(a, out.Tools, hidden)
}

// clientTools returns the tools of servers that came with a job, as far as its agent may have them
// and the servers start: nobody wrote them for adroit.
func (o Source) clientTools(ctx context.Context, scope turn.Scope, a *agents.DynamicAgent, takes bool, names []string) (list []turn.Tool, running []string) {
	if len(names) > 0 && !takes {
		o.Warn("the MCP servers %s are not offered: the agent %s is not granted net", strings.Join(names, ", "), a.Name)
		return nil, nil
	}
	for _, name := range names {
		found, err := o.Servers.Tools(ctx, scope, []string{name})
		if err != nil {
			o.Warn("the tools of the MCP server %s are not offered: %v", name, err)
			continue
		}
		list, running = append(list, found...), append(running, name)
	}
	return list, running
}

// Find finds the tool of a server by the name that it has there.
func (o Source) Find(ctx context.Context, scope turn.Scope, server, name string) (tools.Tool, error) {
	if o.Servers == nil {
		return tools.Tool{}, problem.Invalidf("", "this program has no MCP servers")
	}
	only := scope
	only.Tool = name
	list, err := o.Servers.Tools(ctx, only, []string{server})
	if err != nil {
		return tools.Tool{}, err
	}
	var names []string
	for _, t := range list {
		if names = append(names, t.Tool); t.Tool == name {
			return o.serverTool(t, func() (turn.Scope, error) { return scope, nil }), nil
		}
	}
	help := hint.Command("mcp check %s", server) + " lists its tools"
	if near := spelling.Nearest(name, names); near != "" {
		help = fmt.Sprintf("did you mean %q?", near)
	}
	return tools.Tool{}, problem.Invalidf(help, "the MCP server %s offers no tool %q", server, name)
}

// Named reports whether an agent names tools of servers.
func Named(a *agents.DynamicAgent) bool { return slices.ContainsFunc(a.Tools, ofServer) }

// serversOf returns the servers that an agent has tools of, among all: it names them, or tools of
// theirs.
func serversOf(a *agents.DynamicAgent, all []string) []string {
	out := slices.Clone(a.MCPServers)
	for _, server := range all {
		prefix := turn.Prefix(server)
		if slices.ContainsFunc(a.Tools, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			out = append(out, server)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkServerTools fails if an agent names tools of servers that there are not. One of
// Claude Code goes without them, as it does there.
func (o Source) checkServerTools(a *agents.DynamicAgent, set *tools.Set, hidden []turn.Tool) error {
	for _, name := range a.Tools {
		reached := &turn.Reach{Allow: []string{name}}
		if ofServer(name) && set.Unknown(name) != nil && !slices.ContainsFunc(hidden, func(t turn.Tool) bool { return reached.Has(t.Name) }) {
			if !a.Source.Claude {
				return fmt.Errorf("agent %s: %w", a.Name, set.Unknown(name))
			}
			o.Warn("the agent %s goes without the tool %s, which no configured MCP server has", a.Name, name)
		}
	}
	return nil
}

// Secrets returns the values in servers that came with a job whose names mark them as secrets, and
// all headers.
func Secrets(servers json.RawMessage) []secret.Known {
	var file struct {
		Servers map[string]struct{ Env, Headers map[string]string } `json:"mcpServers"`
	}
	if json.Unmarshal(servers, &file) != nil {
		return nil // none, or they cannot be used
	}
	var out []secret.Known
	for name, s := range file.Servers {
		var env []string
		for k, v := range s.Env {
			env = append(env, k+"="+v)
		}
		out = append(out, secret.Environ(env)...)
		for k, v := range s.Headers {
			if _, token, ok := strings.Cut(v, " "); ok {
				v = token // behind Bearer
			}
			out = append(out, secret.Known{Name: name + " " + k, Value: v})
		}
	}
	return out
}

// A Source has the tools of servers. It is safe for concurrent use.
type Source struct {
	Servers turn.Servers // nil: there are none
	Warn    func(format string, args ...any)
}

// Offered is a resolved request with the additions of the tool servers.
type Offered struct {
	In    agents.Input         // with an agent that has its servers
	Tools *tools.Set           // with their tools
	All   map[string]turn.Tool // the tools of its servers, by name
	reach *turn.Reach          // what is behind call_tool and read_resource; nil for nothing
}

// serverTool returns a tool of a server with its body.
func (o Source) serverTool(t turn.Tool, scope func() (turn.Scope, error)) tools.Tool {
	m := t.Metadata
	m.Timeout = callTime
	return tools.Func(m, t.Input, func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
		in, err := scope()
		if err != nil {
			return tools.Result{}, err
		}
		if env.Files != nil && !same(env.Files.Dir(), in.Dir) { // the work tree of a sub-agent
			in.Origin, in.Dir = cmp.Or(in.Origin, in.Dir), env.Files.Dir()
		}
		return o.Servers.Call(ctx, in, t, env, args)
	})
}

// callTime is above the limits of calls, which their servers' progress extends: the caller
// enforces those.
const callTime = 24 * time.Hour

// same reports whether two names are of one directory.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// ofServer reports whether a tool's name belongs to a tool server.
func ofServer(name string) bool { return strings.HasPrefix(name, turn.Prefix("")) }
