package agents

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A selection is an agent's equipment: its tools, those of its checks only, its model,
// skills and permissions.
type selection struct {
	own, checks *tools.Set
	route       executor.Route
	skills      []Skill
	mode        executor.Mode
	rules       permit.Rules
	acts        bool // whether it has, outside of ModePlan, tools that ModePlan takes from it
}

// selectTools narrows the tools of a to those that the host, the model's edit
// format and the permissions allow, and adds those that come with skills and
// sub-agents.
func selectTools(a *DynamicAgent, in Input, set *tools.Set, env Env) (sel selection, err error) {
	if sel.mode, sel.rules, err = permissionsOf(a, in, env); err != nil {
		return sel, err
	}
	if sel.own, sel.checks, err = Offer(a, set); err != nil {
		return sel, err
	}
	if sel.own, err = withAuto(a, sel.own, set, in, sel.mode, env); err != nil {
		return sel, err
	}
	if sel.own, err = onHost(a, sel.own, sel.checks, env.Host); err != nil {
		return sel, err
	}
	if sel.route, err = routeOf(env, modelOf(a, in, env)); err != nil {
		return sel, err
	}
	if env.Substitutes != nil {
		if sel.own, err = substituteTools(a, sel.own, set, env.Substitutes(sel.route.Model)); err != nil {
			return sel, err
		}
	}
	if sel.own, sel.skills, err = withSkills(a, sel.own, set, env.Skills); err != nil {
		return sel, err
	}
	sel.own = withSpawn(a, withMemory(a, withResults(a, sel.own, set), set, in), set)
	sel.acts = acts(a, sel.own, set, sel.rules)
	sel.own = permittedTools(a, sel.own, sel.mode, sel.rules)
	return sel, nil
}

// Offer picks from set the tools of a and, apart, those that only its
// criterion runs. It fails if one does not exist or needs more than a grants.
func Offer(a *DynamicAgent, set *tools.Set) (own, checks *tools.Set, err error) {
	if names := toolPatterns(a, set); len(names) > 0 {
		if own, err = set.Only(names...); err != nil {
			return nil, nil, err
		}
		own = own.Without(a.Deny...)
	}
	var more []string
	for _, name := range a.Done.Checks() {
		if _, ok := own.Lookup(name); !ok {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		if checks, err = set.Only(more...); err != nil {
			return nil, nil, err
		}
	}
	if a.Grant == nil {
		return own, checks, nil
	}
	var over []string
	for _, s := range []*tools.Set{own, checks} {
		for t := range s.All() {
			if !a.Grant.Has(t.Needs) {
				over = append(over, fmt.Sprintf("%s needs %s", t.Name, t.Needs&^*a.Grant))
			}
		}
	}
	if over != nil {
		return nil, nil, fmt.Errorf("its grant is %s, but %s", *a.Grant, strings.Join(over, ", "))
	}
	return own, checks, nil
}

// offeredTo are the tools that a model gets of own: an external agent has tools of
// its own and none of ours, so that nothing it is sent may name one.
func offeredTo(model string, own *tools.Set) *tools.Set {
	if extagent.IsAgent(model) {
		return nil
	}
	return own
}

// reachable refuses an external agent for an agent that cannot be done without a
// call of one of our tools: all its work would be for nothing.
func reachable(a *DynamicAgent, set *tools.Set, model string) error {
	if a.Workflow != "" || !extagent.IsAgent(model) {
		return nil
	}
	lacks := a.Done.Tools()
	for _, name := range a.Done.Checks() {
		lacks = slices.DeleteFunc(lacks, func(s string) bool { return s == name })
	}
	for _, artifact := range a.Done.Artifacts() {
		if artifact == "diff" {
			continue
		}
		for tool := range set.All() {
			if slices.Contains(tool.Produces, artifact) {
				lacks = append(lacks, tool.Name)
			}
		}
	}
	if len(lacks) > 0 && a.Done.Any == nil {
		return fmt.Errorf("it is not done without %s, which %s does not have: name a model of another provider", strings.Join(lacks, ", "), model)
	}
	return nil
}

// onHost leaves out of own what this host lacks the programs for, and fails if
// the agent cannot be done without it: a tool that cannot run is better not
// offered than tried.
func onHost(a *DynamicAgent, own, checks *tools.Set, host func(string) error) (*tools.Set, error) {
	for t := range checks.All() {
		if err := lacks(t, host); err != nil {
			return nil, err
		}
	}
	needed := a.Done.Tools()
	var out []string
	for t := range own.All() {
		err := lacks(t, host)
		if err != nil && slices.Contains(needed, t.Name) {
			return nil, err
		}
		if err != nil {
			out = append(out, t.Name)
		}
	}
	return own.Without(out...), nil
}

func lacks(t tools.Tool, host func(string) error) error {
	if host == nil {
		host = tools.OnPath
	}
	for _, c := range t.Requires {
		if err := host(c); err != nil {
			return fmt.Errorf("%s is needed: %w", t.Name, err)
		}
	}
	return nil
}

// reads reports whether an agent with these tools gets to see the workspace:
// one that does not has no use for how things are done there.
func reads(own *tools.Set) bool {
	for t := range own.All() {
		if t.Needs&(tools.Read|tools.Write|tools.Shell) != 0 {
			return true
		}
	}
	return false
}

// withSpawn gives own with the tool that spawns, if the agent may and a model
// rather than code decides what it does.
func withSpawn(a *DynamicAgent, own, set *tools.Set) *tools.Set {
	if a.Spawn == nil || a.Workflow != "" {
		return own
	}
	with, err := set.Only(append(own.Names(), spawnAgent)...)
	if err != nil {
		return own // it is not part of this program
	}
	return with.Without(a.Deny...)
}

const spawnAgent = "spawn_agent"

// ofServer reports whether a tool's name is a tool server's: these are
// known only when the server is, which is when a job begins.
func ofServer(name string) bool { return strings.HasPrefix(name, turn.Prefix("")) }

// unknownTools are the tools that an agent in the form of Claude Code names and this
// program does not have: it goes without them, as it does there.
func unknownTools(a *DynamicAgent, set *tools.Set) (names []string) {
	if !a.Source.Claude {
		return nil
	}
	for _, name := range a.Tools {
		if !ofServer(name) && set.Unknown(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// LintPlace returns what a names and the place where it runs does not have: what tools need,
// servers, their tools, and skills. An agent in the form of Claude Code goes without the first two, and a
// run of any other is refused.
func LintPlace(a *DynamicAgent, set *tools.Set, servers []string, skills []Skill) Problems {
	rep := &report{src: a.Source}
	sev, key, without := Error, "mcp_servers", "" // the place is at fault, not the file
	if a.Source.Claude {
		sev, key, without = Warning, "tools", "; it is left out"
	}
	help := hint.Command("mcp add") + " adds one"
	for i, name := range a.Tools {
		if one, err := set.Only(name); err == nil && a.Source.Layer != builtIn {
			missing := tools.Missing(one, tools.OnPath)
			for _, c := range slices.Sorted(maps.Keys(missing)) {
				rep.key(fmt.Sprintf("tools.%d", i), Warning, "", "%v", missing[c])
			}
		}
		if ofServer(name) && !slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(name, turn.Prefix(s)) }) {
			rep.key(fmt.Sprintf("tools.%d", i), sev, help, "no configured MCP server has %s%s", name, without)
		}
	}
	for _, s := range a.MCPServers {
		if !slices.Contains(servers, s) {
			rep.key(key, sev, help, "there is no MCP server %s%s", s, without)
		}
	}
	for i, name := range a.Skills {
		if _, err := chooseSkills(&DynamicAgent{Skills: []string{name}}, skills); err != nil && !errors.Is(err, path.ErrBadPattern) {
			rep.key(fmt.Sprintf("skills.%d", i), Error, "", "%v", err)
		}
	}
	return rep.list
}

// toolPatterns returns the patterns that select the tools of a from a set: its names,
// without tools of servers that the set does not have and those that it goes without, and
// all of its servers.
func toolPatterns(a *DynamicAgent, set *tools.Set) []string {
	var out []string
	without := unknownTools(a, set)
	for _, name := range a.Tools {
		if slices.Contains(without, name) {
			continue
		}
		if !ofServer(name) || set.Unknown(name) == nil {
			out = append(out, name)
		}
	}
	for _, server := range a.MCPServers {
		if all := turn.Prefix(server) + "*"; set.Unknown(all) == nil {
			out = append(out, all)
		}
	}
	return out
}
