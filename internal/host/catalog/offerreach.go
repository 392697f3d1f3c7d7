package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// splitTools divides the tools into those that a model is sent with each request and those that it
// has to search for: if there are many, all that the agent does not name itself. Code that calls
// tools has them all.
func splitTools(a *agents.DynamicAgent, list []turn.Tool) (direct, hidden []turn.Tool) {
	if a.Workflow != "" || turn.Direct(list) {
		return list, nil
	}
	named := slices.Concat(a.Tools, a.Done.Tools(), a.Done.Checks())
	denied := &turn.Reach{Allow: a.Deny}
	for _, t := range list {
		switch {
		case slices.Contains(named, t.Name):
			direct = append(direct, t)
		case !denied.Has(t.Name):
			hidden = append(hidden, t)
		}
	}
	if turn.Direct(hidden) {
		return list, nil
	}
	return direct, hidden
}

// reachTools returns the tools through which an agent reaches hidden tools and resources of its
// servers, if there are any, and adds them to a.
func (o Source) reachTools(scope turn.Scope, a *agents.DynamicAgent, hidden []turn.Tool, out *Offered) []tools.Tool {
	reach := turn.Reach{Deny: a.Deny}
	var list []tools.Tool
	if len(hidden) > 0 {
		for _, server := range a.MCPServers {
			reach.Allow = append(reach.Allow, turn.Prefix(server)+"*")
		}
		for _, name := range a.Tools {
			if ofServer(name) {
				reach.Allow = append(reach.Allow, name)
			}
		}
		list = append(list, describeTool(turn.Listing(hidden), unpinned), callTool(unpinned))
	}
	if known, err := o.Servers.List(scope); err == nil {
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

// Give pins the tools that a task reaches to it. A task that only plans, and would reach tools
// that act, ends as a plan.
func (s *Offered) Give(t *executor.Task) error {
	if s.reach == nil {
		return nil
	}
	b, err := json.Marshal(s.reach)
	if err != nil {
		return err
	}
	given := map[string]json.RawMessage{turn.ReachArtifact: b}
	for name, v := range t.Artifacts {
		if name != turn.ReachArtifact {
			given[name] = v
		}
	}
	t.Artifacts = given
	for name, tool := range s.All {
		if t.Mode == executor.ModePlan && s.reach.Has(name) && !executor.ModePlan.Allows(tool.Metadata) {
			t.PlanOnly = true
		}
		if w, ok := t.Modes[executor.ModePlan]; ok && s.reach.Has(name) && !executor.ModePlan.Allows(tool.Metadata) {
			w.PlanOnly = true
			t.Modes[executor.ModePlan] = w
		}
	}
	return nil
}

// A nameInput is the input of the tools that are about a tool.
const (
	nameInput = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"The whole name of a tool, or words that say what it should do"}},"required":["name"],"additionalProperties":false}`
	callInput = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"description":"The whole name of the tool"},"arguments":{"type":"object","description":"Its arguments"}},"required":["name"]}`
)

type toolBody = func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error)

// unpinned is the body of a task's tool that is not pinned yet: it is looked up when it is called.
func unpinned(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
	return tools.Result{}, errors.New("the tools of this job are not known yet")
}

// describeTool finds tools of servers and shows how they are called.
func describeTool(listing string, body toolBody) tools.Tool {
	return tools.Func(tools.Metadata{
		Name: turn.DescribeTool, Category: "mcp", Effect: tools.Pure, Uses: []string{turn.ReachArtifact, control.DescriptionsArtifact},
		Description: "Find a tool of a server by words, or show what one takes. Call it with " + turn.CallTool + " by its whole name, which begins as shown here. The names come from the servers:" + listing,
	}, json.RawMessage(nameInput), body)
}

// callTool calls a tool of a server. The loop takes a call of it for one of the tool
// that it names, so that its body sees only calls of tools that there are not.
func callTool(body toolBody) tools.Tool {
	return tools.Func(tools.Metadata{
		Name: turn.CallTool, Category: "mcp", Needs: tools.Net, Effect: tools.Pure, Uses: []string{turn.ReachArtifact},
		Description: "Call a tool of a server that " + turn.DescribeTool + " has found.",
		Examples:    []tools.Example{{Note: "one with an argument", Args: json.RawMessage(`{"name":"mcp__docs__search","arguments":{"query":"install"}}`)}},
	}, json.RawMessage(callInput), body)
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
		Name: turn.ReadResource, Category: "mcp", Optionality: tools.Optional, Needs: tools.Net, Effect: tools.Pure,
		Uses: []string{turn.ReachArtifact}, Produces: []string{turn.ReadResource + "/*"},
		Description: "Read a resource of a server, such as a document, or list those that it has.",
	}, input, body)
}
