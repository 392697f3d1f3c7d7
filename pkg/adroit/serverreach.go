package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/tools/describe"
	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// splitTools are the tools that a model is sent with each request, and those that it
// has to look for: if there are many, all that the agent does not name itself. Code
// that calls tools has them all.
func splitTools(a *agents.DynamicAgent, list []toolserver.Tool) (direct, hidden []toolserver.Tool) {
	if a.Workflow != "" || toolserver.Direct(list) {
		return list, nil
	}
	named := slices.Concat(a.Tools, a.Done.Tools(), a.Done.Checks())
	denied := &toolserver.Reach{Allow: a.Deny}
	for _, t := range list {
		switch {
		case slices.Contains(named, t.Name):
			direct = append(direct, t)
		case !denied.Has(t.Name):
			hidden = append(hidden, t)
		}
	}
	if toolserver.Direct(hidden) {
		return list, nil
	}
	return direct, hidden
}

// reachTools are the tools through which an agent reaches hidden tools and
// resources of its servers, none if there is nothing. It gives them to a.
func (rt *Runtime) reachTools(scope toolserver.Scope, a *agents.DynamicAgent, hidden []toolserver.Tool, out *serverSet) []tools.Tool {
	reach := toolserver.Reach{Deny: a.Deny}
	var list []tools.Tool
	if len(hidden) > 0 {
		for _, server := range a.MCPServers {
			reach.Allow = append(reach.Allow, toolserver.Prefix(server)+"*")
		}
		for _, name := range a.Tools {
			if ofServer(name) {
				reach.Allow = append(reach.Allow, name)
			}
		}
		list = append(list, describeTool(toolserver.Listing(hidden), unpinned), callTool(unpinned))
	}
	if known, err := rt.o.ToolServers.List(scope); err == nil {
		for _, s := range known {
			if s.Resources && slices.Contains(a.MCPServers, s.Name) {
				reach.Servers = append(reach.Servers, s.Name)
			}
		}
	}
	if len(reach.Servers) > 0 && a.Workflow == "" {
		list = append(list, readResource(reach.Servers, unpinned))
	}
	if len(list) == 0 {
		return nil
	}
	a.Tools = slices.Clip(a.Tools)
	for _, t := range list {
		a.Tools = append(a.Tools, t.Name)
	}
	out.reach = &reach
	return list
}

// giveReach pins with a task what it reaches.
func (s *serverSet) giveReach(t *executor.Task) error {
	if s.reach == nil {
		return nil
	}
	b, err := json.Marshal(s.reach)
	if err != nil {
		return err
	}
	given := map[string]json.RawMessage{toolserver.ReachArtifact: b}
	for name, v := range t.Artifacts {
		if name != toolserver.ReachArtifact {
			given[name] = v
		}
	}
	t.Artifacts = given
	return nil
}

// A nameInput is the input of the tools that are about a tool.
const (
	nameInput = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"The whole name of a tool, or words that say what it should do"}},"required":["name"],"additionalProperties":false}`
	callInput = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"The whole name of the tool"},"arguments":{"type":"object","description":"Its arguments"}},"required":["name"]}`
)

type toolBody = func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error)

// unpinned is the body of a tool of a task that is not pinned yet: it is found anew
// when it is called.
func unpinned(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
	return tools.Result{}, errors.New("the tools of this job are not known yet")
}

// describeTool finds tools of servers and shows how they are called.
func describeTool(listing string, body toolBody) tools.Tool {
	return tools.Func(tools.Metadata{
		Name: toolserver.DescribeTool, Category: "mcp", Effect: tools.Pure, Uses: []string{toolserver.ReachArtifact, describe.Artifact},
		Description: "Find a tool of a server by words, or show what one takes. Call it with " + toolserver.CallTool + " by its whole name, which begins as shown here. The names come from the servers:" + listing,
	}, json.RawMessage(nameInput), body)
}

// callTool calls a tool of a server. The loop takes a call of it for one of the tool
// that it names, so that its body sees only calls of tools that there are not.
func callTool(body toolBody) tools.Tool {
	return tools.Func(tools.Metadata{
		Name: toolserver.CallTool, Category: "mcp", Needs: tools.Net, Effect: tools.Pure, Uses: []string{toolserver.ReachArtifact},
		Description: "Call a tool of a server that " + toolserver.DescribeTool + " has found.",
		Examples:    []tools.Example{{Note: "one with an argument", Args: json.RawMessage(`{"name":"mcp__docs__search","arguments":{"query":"install"}}`)}},
	}, json.RawMessage(callInput), body)
}

// reacher is a tool that reaches others, with its body.
func (p *pinnedTools) reacher(name string) (tools.Tool, bool) {
	p.mu.Lock()
	err := p.load()
	p.mu.Unlock()
	switch {
	case err != nil:
		p.rt.warn("the tools of servers of a job cannot be read: %v", err)
		return tools.Tool{}, false
	case name == toolserver.DescribeTool:
		return describeTool("", p.describe), len(p.tools) > 0
	case name == toolserver.CallTool:
		return callTool(p.missing), true
	}
	return readResource(nil, p.resource), true
}

// reachable are the pinned tools that a call reaches.
func (p *pinnedTools) reachable(env *tools.Env) []toolserver.Tool {
	reach := toolserver.ReadReach(env.Artifacts.Value(toolserver.ReachArtifact))
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []toolserver.Tool
	for name, t := range p.tools {
		if reach.Has(name) {
			out = append(out, t)
		}
	}
	return out
}

// describe is the body of describe_tool.
func (p *pinnedTools) describe(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Result{}, err
	}
	list := p.reachable(env)
	for _, t := range list {
		if t.Name == in.Name {
			text := tools.Func(t.Metadata, t.Input, nil).Describe() + "\nCall it with " + toolserver.CallTool + "."
			return tools.Result{Text: text, Summary: t.Name, Taint: tools.Untrusted, Artifacts: map[string]json.RawMessage{}}, nil
		}
	}
	if raw := env.Artifacts.Value(describe.Artifact); raw != nil {
		if r, err := describe.Tool.Call(ctx, env, args); err == nil && !r.Failed {
			return r, nil
		}
	}
	lines, more := toolserver.Find(list, in.Name)
	if len(lines) == 0 {
		return tools.Result{Failed: true, Text: fmt.Sprintf("None of %d tools is about %q; try other words.", len(list), in.Name), Artifacts: map[string]json.RawMessage{}}, nil
	}
	text := strings.Join(lines, "\n")
	if more > 0 {
		text += fmt.Sprintf("\nand %d more: use more words", more)
	}
	return tools.Result{Text: text, Summary: fmt.Sprintf("%d tools", len(lines)+more), Taint: tools.Untrusted, Artifacts: map[string]json.RawMessage{}}, nil
}

// missing is the body of call_tool.
func (p *pinnedTools) missing(_ context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
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
	} else if lines, _ := toolserver.Find(list, in.Name); len(lines) > 0 {
		text += ". These are:\n" + strings.Join(lines, "\n")
	}
	return tools.Result{Failed: true, Text: text, Artifacts: map[string]json.RawMessage{}}, nil
}

// readResource reads resources of servers.
func readResource(servers []string, body toolBody) tools.Tool {
	about := "The server"
	if len(servers) > 0 {
		about = "One of " + strings.Join(servers, ", ")
	}
	input, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"server"},
		"properties": map[string]any{
			"server": map[string]any{"type": "string", "description": about},
			"uri":    map[string]any{"type": "string", "description": "Which one; left out, the resources are listed"},
		},
	})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return tools.Func(tools.Metadata{
		Name: toolserver.ReadResource, Category: "mcp", Optionality: tools.Optional, Needs: tools.Net, Effect: tools.Pure,
		Uses: []string{toolserver.ReachArtifact}, Produces: []string{toolserver.ReadResource + "/*"},
		Description: "Read a resource of a server, such as a document, or list those that it has.",
	}, input, body)
}

// resource is the body of read_resource.
func (p *pinnedTools) resource(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	var in struct{ Server, URI string }
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Result{}, err
	}
	reach := toolserver.ReadReach(env.Artifacts.Value(toolserver.ReachArtifact))
	if reach == nil || !slices.Contains(reach.Servers, in.Server) {
		return tools.Result{Failed: true, Text: fmt.Sprintf("There is no server %q with resources here.", in.Server), Artifacts: map[string]json.RawMessage{}}, nil
	}
	scope, err := p.scope()
	if err != nil {
		return tools.Result{}, err
	}
	if p.rt.o.ToolServers == nil {
		return tools.Result{}, errors.New("this program has no MCP servers")
	}
	return p.rt.o.ToolServers.Resource(ctx, scope, in.Server, in.URI)
}
