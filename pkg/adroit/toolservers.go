package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
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

// A ToolServerPromptText is a prompt of a server that is filled in.
type ToolServerPromptText struct {
	Text string `json:"text"`
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
		return nil, apierr.AsError(err)
	}
	return l, nil
}

// CheckToolServer implements [Catalog].
func (rt *Runtime) CheckToolServer(ctx context.Context, c ToolServerCheck) (*ToolServerReport, error) {
	if rt.o.ToolServers == nil {
		return nil, apierr.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(c.Dir, c.Trust)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	r, err := rt.o.ToolServers.Check(ctx, scope, c.Name, c.Accept)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	return r, nil
}

// ToolServerPrompt implements [Catalog].
func (rt *Runtime) ToolServerPrompt(ctx context.Context, p ToolServerPrompt) (*ToolServerPromptText, error) {
	if rt.o.ToolServers == nil {
		return nil, apierr.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(p.Dir, p.Trust)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	text, err := rt.o.ToolServers.Prompt(ctx, scope, p.Name, p.Prompt, p.Args)
	if err != nil {
		return nil, apierr.AsError(err)
	}
	return &ToolServerPromptText{text}, nil
}

// serverScope is that of a workspace, with its own servers as far as it is trusted.
func (rt *Runtime) serverScope(dir string, all bool) (toolserver.Scope, error) {
	s := toolserver.Scope{Dir: dir}
	if dir == "" {
		return s, nil
	}
	d, err := rt.trusts(dir, all)
	if err != nil || !d.trusted(toolserver.ProjectFile) {
		return s, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, err
	}
	defer root.Close()
	s.Project, err = fs.ReadFile(d.files(root), toolserver.ProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	return s, err
}

// jobServers is the scope of a job, with the servers that came with it.
func (rt *Runtime) jobServers(dir string, c JobConfig) (toolserver.Scope, error) {
	s, err := rt.serverScope(dir, c.Trust)
	s.Client = c.Servers
	return s, err
}

// serverSecrets are the values in servers that came with a job whose names say that
// they are secrets, and all headers.
func serverSecrets(servers json.RawMessage) []secret.Known {
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

// A serverSet is what the tool servers add to the resolving of a request.
type serverSet struct {
	in    agents.Input // with an agent that has its servers
	set   *tools.Set   // with their tools
	tools map[string]toolserver.Tool
	reach *toolserver.Reach // what is behind call_tool and read_resource; nil for nothing
}

// withServers gives an agent the servers that it has without naming them, and set
// the tools of all of its servers: directly if they are few, else through two
// tools that find and call them.
func (rt *Runtime) withServers(ctx context.Context, in agents.Input, cat *agents.Catalog, scope toolserver.Scope, set *tools.Set) (serverSet, error) {
	out := serverSet{in: in, set: set}
	a := in.Spec
	if a == nil {
		found, err := cat.Lookup(in.Agent)
		if err != nil {
			return out, nil // resolving it fails with this error
		}
		a = found
	}
	own := *a
	takes := a.Workflow == "" && (a.Grant == nil || a.Grant.Has(tools.Net))
	if given := rt.o.ToolServers.For(a.Name); len(given) > 0 && takes {
		own.MCPServers = append(slices.Clip(a.MCPServers), given...)
	}
	if len(own.MCPServers) == 0 && len(scope.Client) == 0 && !namesServerTools(a) {
		return out, nil
	}
	known, err := rt.o.ToolServers.List(scope)
	if err != nil {
		return out, err
	}
	var names, came []string
	for _, s := range known {
		if names = append(names, s.Name); s.Source == toolserver.OfClient {
			came = append(came, s.Name)
		}
	}
	named := serversOf(&own, names)
	list, err := rt.o.ToolServers.Tools(ctx, scope, named)
	if err != nil {
		return out, err
	}
	came = slices.DeleteFunc(came, func(name string) bool { return slices.Contains(named, name) })
	more, running := rt.clientTools(ctx, scope, a, takes, came)
	list, own.MCPServers = append(list, more...), append(slices.Clip(own.MCPServers), running...)
	out.tools = map[string]toolserver.Tool{}
	for _, t := range list {
		out.tools[t.Name] = t
	}
	direct, hidden := splitTools(&own, list)
	bodies := rt.reachTools(scope, &own, hidden, &out)
	for _, t := range direct {
		bodies = append(bodies, rt.serverTool(t, func() (toolserver.Scope, error) { return scope, nil }))
	}
	for _, t := range bodies {
		out.set = out.set.Without(t.Name) // describe_tool is there without servers, too
	}
	if out.set, err = out.set.With(bodies...); err != nil {
		return out, err
	}
	out.in.Spec = &own
	return out, checkServerTools(a, out.set, hidden)
}

// clientTools are the tools of servers that came with a job, as far as its agent
// may have them and the servers start: nobody wrote them for adroit.
func (rt *Runtime) clientTools(ctx context.Context, scope toolserver.Scope, a *agents.DynamicAgent, takes bool, names []string) (list []toolserver.Tool, running []string) {
	if len(names) > 0 && !takes {
		rt.warn("the MCP servers %s are not offered: the agent %s is not granted net", strings.Join(names, ", "), a.Name)
		return nil, nil
	}
	for _, name := range names {
		found, err := rt.o.ToolServers.Tools(ctx, scope, []string{name})
		if err != nil {
			rt.warn("the tools of the MCP server %s are not offered: %v", name, err)
			continue
		}
		list, running = append(list, found...), append(running, name)
	}
	return list, running
}

// serverTool is a tool of a server with its body.
func (rt *Runtime) serverTool(t toolserver.Tool, scope func() (toolserver.Scope, error)) tools.Tool {
	return tools.Func(t.Metadata, t.Input, func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
		in, err := scope()
		if err != nil {
			return tools.Result{}, err
		}
		return rt.o.ToolServers.Call(ctx, in, t, env, args)
	})
}

// findServerTool finds the tool of a server by the name that it has there.
func (rt *Runtime) findServerTool(ctx context.Context, c ToolCall) (tools.Tool, error) {
	if rt.o.ToolServers == nil {
		return tools.Tool{}, apierr.Invalidf("", "this program has no MCP servers")
	}
	scope, err := rt.serverScope(c.Dir, false)
	if err != nil {
		return tools.Tool{}, err
	}
	list, err := rt.o.ToolServers.Tools(ctx, scope, []string{c.Server})
	if err != nil {
		return tools.Tool{}, err
	}
	var names []string
	for _, t := range list {
		if names = append(names, t.Tool); t.Tool == c.Name {
			return rt.serverTool(t, func() (toolserver.Scope, error) { return scope, nil }), nil
		}
	}
	hint := "adroit mcp check " + c.Server + " lists its tools"
	if near := spelling.Nearest(c.Name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return tools.Tool{}, apierr.Invalidf(hint, "the MCP server %s offers no tool %q", c.Server, c.Name)
}

// serverToolsFile has, in the directory of a job, the tools of servers that its
// tasks were given.
const serverToolsFile = "server-tools.json"

// pinnedTools are the tools of servers that a job was given. It is safe for
// concurrent use.
type pinnedTools struct {
	rt    *Runtime
	home  string // of the job
	scope func() (toolserver.Scope, error)

	mu    sync.Mutex
	tools map[string]toolserver.Tool // nil until they are read
}

// pin adds the tools of servers that a task has or reaches, once they are known.
func (p *pinnedTools) pin(task executor.Task, all map[string]toolserver.Tool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil {
		return err
	}
	changed := false
	add := func(name string) {
		tool, ok := all[name]
		if was, had := p.tools[name]; ok && (!had || was.Digest != tool.Digest) {
			p.tools[name], changed = tool, true
		}
	}
	for _, t := range task.Tools {
		add(t.Name)
	}
	if reach := toolserver.ReadReach(task.Artifacts[toolserver.ReachArtifact]); reach != nil {
		for name := range all {
			if reach.Has(name) {
				add(name)
			}
		}
	}
	if !changed {
		return nil
	}
	b, err := json.Marshal(p.tools)
	if err != nil {
		return err
	}
	return jobdir.WriteFile(p.home, serverToolsFile, b)
}

// load reads what an earlier process has pinned.
func (p *pinnedTools) load() error {
	if p.tools != nil {
		return nil
	}
	found := map[string]toolserver.Tool{}
	b, err := os.ReadFile(filepath.Join(p.home, serverToolsFile))
	if err == nil {
		err = json.Unmarshal(b, &found)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.tools = found
	return nil
}

// lookup finds one by name, or one that reaches them.
func (p *pinnedTools) lookup(name string) (tools.Tool, bool) {
	switch name {
	case toolserver.DescribeTool, toolserver.CallTool, toolserver.ReadResource:
		return p.reacher(name)
	}
	if !ofServer(name) {
		return tools.Tool{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil {
		p.rt.warn("the tools of servers of a job cannot be read: %v", err)
		return tools.Tool{}, false
	}
	t, ok := p.tools[name]
	if !ok {
		return tools.Tool{}, false
	}
	return p.rt.serverTool(t, p.scope), true
}

// ofServer reports whether a name of a tool is that of a server's.
func ofServer(name string) bool { return strings.HasPrefix(name, toolserver.Prefix("")) }

// namesServerTools reports whether an agent names tools of servers.
func namesServerTools(a *agents.DynamicAgent) bool { return slices.ContainsFunc(a.Tools, ofServer) }

// serversOf are the servers that an agent has tools of, among those that there are:
// it names them, or tools of theirs.
func serversOf(a *agents.DynamicAgent, all []string) []string {
	out := slices.Clone(a.MCPServers)
	for _, server := range all {
		prefix := toolserver.Prefix(server)
		if slices.ContainsFunc(a.Tools, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			out = append(out, server)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkServerTools fails if an agent names tools of servers that there are not.
func checkServerTools(a *agents.DynamicAgent, set *tools.Set, hidden []toolserver.Tool) error {
	for _, name := range a.Tools {
		reached := &toolserver.Reach{Allow: []string{name}}
		if ofServer(name) && set.Unknown(name) != nil && !slices.ContainsFunc(hidden, func(t toolserver.Tool) bool { return reached.Has(t.Name) }) {
			return fmt.Errorf("agent %s: %w", a.Name, set.Unknown(name))
		}
	}
	return nil
}
