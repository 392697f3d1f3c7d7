package show

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/mcp"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// asks lists the effects that a file of a project would have, one a line: commands,
// variables, the network, files that are written. It is nil for a file that only
// instructs.
func asks(f trust.File) []string {
	switch f.Kind {
	case trust.Servers:
		return serversAsk(f.Text)
	case trust.Stages:
		return stagesAsk(f.Text)
	case trust.Agent:
		if a, _ := agents.Parse(f.Path, []byte(f.Text)); a != nil {
			return agentAsks(a)
		}
	case trust.Pipeline:
		if p, _ := pipeline.Parse(path.Base(f.Path), []byte(f.Text)); p != nil {
			return stepsAsk(p.Steps)
		}
	}
	return nil
}

func serversAsk(text string) (out []string) {
	servers, problems, err := mcp.ParseFile([]byte(text))
	if err != nil {
		return []string{"cannot be read: " + err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		for _, ask := range servers[name].Asks() {
			out = append(out, "server "+name+" "+ask)
		}
	}
	for _, p := range problems {
		out = append(out, "is not used: "+p.Error())
	}
	if servers != nil && slices.ContainsFunc(out, func(l string) bool { return strings.Contains(l, " wants ") }) {
		out = append(out, "nothing that a server wants is granted by this file: mcp_projects in your configuration grants it")
	}
	return out
}

func stagesAsk(text string) (out []string) {
	s, _, err := catalog.ParseStages([]byte(text))
	if err != nil {
		return []string{"cannot be read: " + err.Error()}
	}
	add := func(what, value string) {
		if value != "" {
			out = append(out, what+" "+value)
		}
	}
	add("runs as the tests:", s.Test)
	for _, one := range s.List {
		add("runs", one.Run)
		add("calls", one.Check)
		add("repairs by", one.Repair)
		add("repairs by the agent", string(one.Fix))
	}
	return out
}

func agentAsks(a *agents.DynamicAgent) (out []string) {
	each := func(what string, list []string) {
		if len(list) > 0 {
			out = append(out, what+" "+strings.Join(list, ", "))
		}
	}
	each("has the tools", a.Tools)
	each("in mode auto also has the tools", a.Auto)
	each("has the MCP servers", a.MCPServers)
	if a.Spawn != nil {
		each("starts the agents", a.Spawn.Agents)
	}
	out = append(out, checks(a.Done)...)
	for _, r := range a.Permissions {
		if r.Narrows() {
			out = append(out, fmt.Sprintf("narrows: %s", r))
		} else {
			out = append(out, fmt.Sprintf("would allow, which a project cannot: %s", r))
		}
	}
	return out
}

// checks lists the checks that the executor runs for a criterion.
func checks(c executor.Criterion) (out []string) {
	if c.IsCheck() {
		out = append(out, "runs "+c.Label())
	}
	parts := slices.Concat(c.All, c.Any)
	if c.IfMissing != nil {
		parts = append(parts, *c.IfMissing)
	}
	for _, part := range parts {
		out = append(out, checks(part)...)
	}
	return out
}

func stepsAsk(steps []pipeline.Step) (out []string) {
	for _, s := range steps {
		if s.Run != "" {
			out = append(out, "runs "+s.Run)
		}
		if s.Tool != "" {
			out = append(out, strings.TrimSpace("calls "+s.Tool+" "+string(s.Args)))
		}
		if s.Agent != nil && s.Agent.Spec != nil {
			out = append(out, agentAsks(s.Agent.Spec)...)
		} else if s.Agent != nil {
			out = append(out, "has the agent "+s.Agent.Name+" work")
		}
		if len(s.MCPServers) > 0 {
			out = append(out, "has the MCP servers "+strings.Join(s.MCPServers, ", "))
		}
		out = append(out, stepsAsk(s.Parallel)...)
	}
	return out
}
