package catalog

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

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// serverToolsFile has, in the directory of a job, the tools of servers that its
// tasks were given.
const serverToolsFile = "server-tools.json"

// Pinned are the tools of servers that a job was given. It is safe for
// concurrent use.
type Pinned struct {
	from  Source
	home  string // of the job
	scope func() (turn.Scope, error)

	mu    sync.Mutex
	tools map[string]turn.Tool // nil until they are read
}

// Pinned returns the pinned tools of the job whose directory is home. scope returns the scope in
// which its calls are made.
func (o Source) Pinned(home string, scope func() (turn.Scope, error)) *Pinned {
	return &Pinned{from: o, home: home, scope: scope}
}

// Pin adds the tools of servers that a task has or reaches, once they are known.
func (p *Pinned) Pin(task executor.Task, all map[string]turn.Tool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load()
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
	if reach := turn.ReadReach(task.Artifacts[turn.ReachArtifact]); reach != nil {
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
	return rootfs.WriteFile(filepath.Join(p.home, serverToolsFile), b)
}

// load reads the tools that an earlier process has pinned.
func (p *Pinned) load() {
	if p.tools != nil {
		return
	}
	found := map[string]turn.Tool{}
	b, err := os.ReadFile(filepath.Join(p.home, serverToolsFile))
	if err == nil {
		err = json.Unmarshal(b, &found)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.from.Warn("the tools of servers that the job was given are unknown, and it goes on without: %s: %v", filepath.Join(p.home, serverToolsFile), err)
		found = map[string]turn.Tool{}
	}
	p.tools = found
}

// Lookup finds one by name, or one that reaches them.
func (p *Pinned) Lookup(name string) (tools.Tool, bool) {
	switch name {
	case turn.DescribeTool, turn.CallTool, turn.ReadResource:
		return p.reacher(name)
	}
	if !ofServer(name) {
		return tools.Tool{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load()
	t, ok := p.tools[name]
	if !ok {
		return tools.Tool{}, false
	}
	return p.from.serverTool(t, p.scope), true
}

// reacher returns a tool that reaches others, with its body.
func (p *Pinned) reacher(name string) (tools.Tool, bool) {
	p.mu.Lock()
	p.load()
	p.mu.Unlock()
	switch name {
	case turn.DescribeTool:
		return describeTool("", p.describe), len(p.tools) > 0
	case turn.CallTool:
		return callTool(p.missing), true
	}
	return readResource(nil, p.resource), true
}

// reachable returns the pinned tools that a call reaches.
func (p *Pinned) reachable(env *tools.Env) []turn.Tool {
	reach := turn.ReadReach(env.Artifacts.Value(turn.ReachArtifact))
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []turn.Tool
	for name, t := range p.tools {
		if reach.Has(name) {
			out = append(out, t)
		}
	}
	return out
}

// describe implements describe_tool.
func (p *Pinned) describe(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Result{}, err
	}
	list := p.reachable(env)
	for _, t := range list {
		if t.Name == in.Name {
			text := tools.Func(t.Metadata, t.Input, nil).Describe() + "\nCall it with " + turn.CallTool + "."
			return tools.Result{Text: text, Summary: t.Name, Taint: tools.Untrusted, Artifacts: map[string]json.RawMessage{}}, nil
		}
	}
	if raw := env.Artifacts.Value(control.DescriptionsArtifact); raw != nil {
		if r, err := control.Describe.Call(ctx, env, args); err == nil && !r.Failed {
			return r, nil
		}
	}
	lines, more := turn.FindServer(list, in.Name)
	if len(lines) == 0 {
		return tools.Result{Failed: true, Text: fmt.Sprintf("None of %d tools is about %q; try other words.", len(list), in.Name), Artifacts: map[string]json.RawMessage{}}, nil
	}
	text := strings.Join(lines, "\n")
	if more > 0 {
		text += fmt.Sprintf("\nand %d more: use more words", more)
	}
	return tools.Result{Text: text, Summary: fmt.Sprintf("%d tools", len(lines)+more), Taint: tools.Untrusted, Artifacts: map[string]json.RawMessage{}}, nil
}

// missing implements call_tool.
func (p *Pinned) missing(_ context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Result{}, err
	}
	list := p.reachable(env)
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	text := fmt.Sprintf("There is no tool %q within reach", in.Name)
	if near := spelling.Nearest(in.Name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else if lines, _ := turn.FindServer(list, in.Name); len(lines) > 0 {
		text += ". These are:\n" + strings.Join(lines, "\n")
	}
	return tools.Result{Failed: true, Text: text, Artifacts: map[string]json.RawMessage{}}, nil
}

// resource implements read_resource.
func (p *Pinned) resource(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	var in struct{ Server, URI string }
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Result{}, err
	}
	reach := turn.ReadReach(env.Artifacts.Value(turn.ReachArtifact))
	if reach == nil || !slices.Contains(reach.Servers, in.Server) {
		return tools.Result{Failed: true, Text: fmt.Sprintf("There is no server %q with resources here.", in.Server), Artifacts: map[string]json.RawMessage{}}, nil
	}
	scope, err := p.scope()
	if err != nil {
		return tools.Result{}, err
	}
	if p.from.Servers == nil {
		return tools.Result{}, errors.New("this program has no MCP servers")
	}
	return p.from.Servers.Resource(ctx, scope, in.Server, in.URI)
}
