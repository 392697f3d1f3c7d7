package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
)

func (s *Server) scope() adroit.Scope {
	return adroit.Scope{Dir: s.o.Request.Dir, Trust: s.o.Request.Trust}
}

// chooseAgents are the agents that are exposed.
func (s *Server) chooseAgents(ctx context.Context) (chosen []*agents.DynamicAgent, err error) {
	if err := names(s.o.Agents); err != nil {
		return nil, err
	}
	for _, name := range s.o.Agents {
		a, err := s.c.ShowAgent(ctx, adroit.Named{Scope: s.scope(), Name: name})
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, a.DynamicAgent)
	}
	if s.o.Agents == nil {
		all, err := s.c.Agents(ctx, s.scope())
		if err != nil {
			return nil, err
		}
		for _, a := range all.Items {
			if a.Expose {
				chosen = append(chosen, a.DynamicAgent)
			}
		}
	}
	return chosen, nil
}

// exposeAgents adds agents, and what there is for their jobs.
func (s *Server) exposeAgents(chosen []*agents.DynamicAgent) error {
	for _, a := range chosen {
		if err := s.exposeAgent(a); err != nil {
			return err
		}
	}
	if len(s.agents) == 0 {
		return nil
	}
	s.exposeResources()
	s.promptJob()
	return s.addJobTools()
}

// jobToolPrefix begins the names of the tools for jobs.
const jobToolPrefix = "job_"

// exposeAgent makes an agent a tool.
func (s *Server) exposeAgent(a *agents.DynamicAgent) error {
	if strings.HasPrefix(a.Name, jobToolPrefix) {
		return problem.Invalidf("rename the agent", "the agent %s has a name like the tools for jobs", a.Name)
	}
	in, err := inputSchema(a)
	if err != nil {
		return fmt.Errorf("agent %s: its inputs: %w", a.Name, err)
	}
	out, err := outputSchema(a)
	if err != nil {
		return fmt.Errorf("agent %s: its output: %w", a.Name, err)
	}
	s.agents[a.Name] = a
	only := len(a.Tools)+len(a.Auto)+len(a.MCPServers) == 0 && a.Spawn == nil && a.Workflow == ""
	t := &sdk.Tool{Name: a.Name, Description: a.Description, OutputSchema: out, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: only}}
	s.add(t, in, func(ctx context.Context, k *call) (*sdk.CallToolResult, error) { return k.runAgent(ctx, a) })
	s.promptAgent(a, in)
	return nil
}

// promptArg is the argument that has the prompt, unless an input has that name.
const promptArg = "prompt"

// inputSchema is the schema of an agent's arguments: its inputs and the prompt.
func inputSchema(a *agents.DynamicAgent) (*schema.Schema, error) {
	type m = map[string]any
	required := []string{}
	properties := m{}
	if !declares(a, promptArg) {
		properties[promptArg] = m{"type": "string", "description": "What to do."}
		if len(a.Inputs) == 0 {
			required = append(required, promptArg)
			properties[promptArg].(m)["minLength"] = 1
		}
	}
	for _, f := range a.Inputs {
		p := m{"type": kind(f.Default)}
		if f.Description != "" {
			p["description"] = f.Description
		}
		if f.Default != nil {
			p["default"] = f.Default
		}
		properties[f.Name] = p
		if !f.Optional && f.Default == nil {
			required = append(required, f.Name)
		}
	}
	b, err := json.Marshal(m{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		return nil, err
	}
	return schema.Compile(b)
}

func declares(a *agents.DynamicAgent, name string) bool {
	return slices.ContainsFunc(a.Inputs, func(f agents.Field) bool { return f.Name == name })
}

// kind returns the JSON types of an input: the type of its default, else string, array
// and object.
func kind(v json.RawMessage) any {
	var x any
	if v != nil && json.Unmarshal(v, &x) == nil {
		switch x.(type) {
		case bool:
			return "boolean"
		case float64:
			return "number"
		}
	}
	return []string{"string", "array", "object"}
}

// outputSchema returns the schema of the result of an agent's job.
func outputSchema(a *agents.DynamicAgent) (json.RawMessage, error) {
	out, err := schema.Infer[jobView]()
	if err != nil {
		return nil, err
	}
	if a == nil || a.Output == nil {
		return out.JSON(), nil
	}
	answer, err := schema.Compile(a.Output)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(out.JSON(), &doc); err != nil {
		return nil, err
	}
	if p, ok := doc["properties"].(map[string]any); ok {
		p["output"] = answer.JSON()
	}
	return json.Marshal(doc)
}

// exposeTools adds the tools that were chosen. They are called without a job.
func (s *Server) exposeTools(ctx context.Context) error {
	if len(s.o.Tools) == 0 {
		return nil
	}
	if err := names(s.o.Tools); err != nil {
		return err
	}
	all, err := s.c.Tools(ctx)
	if err != nil {
		return err
	}
	var have []string
	for _, t := range all.Items {
		have = append(have, t.Name)
	}
	for _, name := range s.o.Tools {
		i := slices.Index(have, name)
		if i < 0 {
			return problem.Invalidf(hint.Command("tools list")+" lists the tools"+spelling.DidYouMean(name, have), "unknown tool %q", name)
		}
		if s.agents[name] != nil {
			return problem.Invalidf("expose one of them", "%s is an agent and a tool", name)
		}
		if err := s.exposeTool(all.Items[i]); err != nil {
			return fmt.Errorf("tool %s: %w", name, err)
		}
	}
	return nil
}

func (s *Server) exposeTool(t adroit.ToolInfo) error {
	in, err := schema.Compile(t.Input)
	if err != nil {
		return err
	}
	var needs tools.Caps
	if err := needs.UnmarshalText([]byte(t.Needs)); err != nil {
		return err
	}
	s.add(&sdk.Tool{Name: t.Name, Description: t.Description, Annotations: annotations(needs, t.Effect)}, in, func(ctx context.Context, k *call) (*sdk.CallToolResult, error) {
		r, err := s.c.CallTool(ctx, adroit.ToolCall{Name: t.Name, Args: k.args, Dir: s.o.Request.Dir, Sandbox: string(s.o.Request.Sandbox)})
		if err != nil {
			return nil, err
		}
		res := text(r.Text)
		res.IsError = r.Failed
		return res, nil
	})
	return nil
}

// annotations show a client what a tool does, from what it needs.
func annotations(needs tools.Caps, effect tools.Effect) *sdk.ToolAnnotations {
	changes, open := needs&(tools.Write|tools.Shell|tools.Exec|tools.Publish) != 0, needs&(tools.Net|tools.Publish|tools.Shell) != 0
	return &sdk.ToolAnnotations{ReadOnlyHint: !changes && effect == tools.Pure, DestructiveHint: &changes, IdempotentHint: effect != tools.Unsafe, OpenWorldHint: &open}
}
