package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// spawning pins the agents that a may spawn, and those that they may, by value.
func spawning(a *DynamicAgent, in Input, cat *Catalog, set *tools.Set) (*executor.SpawnLimits, error) {
	if a.Spawn == nil {
		return nil, nil
	}
	if p := in.Parent; p != nil && p.Spawn != nil {
		own := *p.Spawn
		own.FanOut = cmp.Or(a.Spawn.FanOut, turn.SpawnFanOut)
		own.Depth = min(own.Depth, cmp.Or(a.Spawn.Depth, turn.SpawnDepth))
		own.Total = min(own.Total, cmp.Or(a.Spawn.Total, turn.SpawnTotal))
		if own.Depth > 0 {
			own.Allowed = append(matching(slices.Sorted(maps.Keys(own.Agents)), a.Spawn.Agents), pinnedRepairers(a.Spawn, own.Agents)...)
			slices.Sort(own.Allowed)
			own.Allowed = slices.Compact(own.Allowed)
		}
		return &own, nil
	}
	sp := &executor.SpawnLimits{
		Agents: map[string]executor.Spawnable{},
		Depth:  cmp.Or(a.Spawn.Depth, turn.SpawnDepth),
		FanOut: cmp.Or(a.Spawn.FanOut, turn.SpawnFanOut),
		Total:  cmp.Or(a.Spawn.Total, turn.SpawnTotal),
	}
	if err := pinSpawned(a, sp, cat, set, sp.Depth); err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(matching(cat.Names(), a.Spawn.Agents), repairers(a.Spawn, cat)) {
		if _, pinned := sp.Agents[name]; pinned {
			sp.Allowed = append(sp.Allowed, name)
		}
	}
	slices.Sort(sp.Allowed)
	sp.Allowed = slices.Compact(sp.Allowed)
	return sp, nil
}

// pinSpawned adds the agents that a may spawn, as far as depth lets them be: level by
// level, so that each has below it what it may spawn where it is nearest.
func pinSpawned(a *DynamicAgent, sp *executor.SpawnLimits, cat *Catalog, set *tools.Set, depth int) error {
	level := []*DynamicAgent{a}
	for range depth {
		var next []*DynamicAgent
		for _, above := range level {
			names, err := spawns(above, cat)
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, ok := sp.Agents[name]; ok {
					continue
				}
				b, who, err := spawnable(name, cat, set)
				if err != nil && slices.Contains(above.Spawn.Agents, name) {
					return err
				}
				if err != nil {
					continue // a pattern is for those that can run; agents lint reports what is wrong
				}
				sp.Agents[name], next = who, append(next, b)
			}
			for _, name := range repairers(above.Spawn, cat) {
				if _, ok := sp.Agents[name]; ok {
					continue
				}
				b, who, err := spawnable(name, cat, set)
				if err != nil {
					continue // nobody has named it; agents lint reports what is wrong
				}
				sp.Agents[name], next = who, append(next, b)
			}
		}
		level = next
	}
	return nil
}

// spawns are the names of the agents that a may spawn.
func spawns(a *DynamicAgent, cat *Catalog) (out []string, err error) {
	if a.Spawn == nil {
		return nil, nil
	}
	for _, pattern := range a.Spawn.Agents {
		names := matching(cat.Names(), []string{pattern})
		if len(names) == 0 {
			_, err := cat.Lookup(pattern)
			return nil, fmt.Errorf("spawn: %w", err)
		}
		out = append(out, names...)
	}
	return out, nil
}

// spawnable is an agent as it is pinned to be spawned.
func spawnable(name string, cat *Catalog, set *tools.Set) (*DynamicAgent, executor.Spawnable, error) {
	b, err := cat.Lookup(name)
	if err != nil {
		return nil, executor.Spawnable{}, fmt.Errorf("spawn: %w", err)
	}
	if err := faults(b, set).list.Sort().Err(); err != nil {
		return nil, executor.Spawnable{}, fmt.Errorf("spawn: agent %s: %w", name, err)
	}
	pinned := ByValue(b, set)
	spec, err := json.Marshal(&pinned)
	if err != nil {
		return nil, executor.Spawnable{}, fmt.Errorf("spawn: encoding agent %s: %w", name, err)
	}
	own, _, err := Offer(b, set)
	if err != nil {
		return nil, executor.Spawnable{}, fmt.Errorf("spawn: agent %s: %w", name, err)
	}
	who := executor.Spawnable{Workflow: b.Runs(), Description: b.Description, Spec: spec}
	for t := range own.All() {
		who.Needs |= t.Needs
	}
	if len(b.MCPServers) > 0 || slices.ContainsFunc(b.Tools, ofServer) {
		who.Needs |= tools.Net // whatever their tools are: they are known when it begins
	}
	return b, who, nil
}

// actBelow reports whether an agent that sp allows, or one below it, acts: see acts. One whose
// tools are not known yet may.
func actBelow(sp *executor.SpawnLimits, set *tools.Set) bool {
	if sp == nil || sp.Depth <= 0 {
		return false
	}
	seen := map[string]bool{}
	for list := slices.Clone(sp.Allowed); len(list) > 0; list = list[1:] {
		name := list[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		var b DynamicAgent
		if json.Unmarshal(sp.Agents[name].Spec, &b) != nil {
			return true
		}
		own, _, err := Offer(&b, set)
		if err != nil || acts(&b, own, set, nil) || len(b.MCPServers) > 0 || slices.ContainsFunc(b.Tools, ofServer) {
			return true
		}
		if b.Spawn != nil {
			list = append(list, matching(slices.Sorted(maps.Keys(sp.Agents)), b.Spawn.Agents)...)
		}
	}
	return false
}

// spawnList tell the model which agents there are.
func spawnList(t *executor.Task) string {
	if t.Spawn == nil || !slices.ContainsFunc(t.Tools, func(x executor.Tool) bool { return x.Name == spawnAgent }) {
		return ""
	}
	var b strings.Builder
	b.WriteString("Agents that spawn_agent can have work:\n")
	for _, name := range t.Spawn.Allowed {
		fmt.Fprintf(&b, "- %s: %s\n", name, t.Spawn.Agents[name].Description)
	}
	return b.String()
}

// matching are the names that one of the patterns names.
func matching(names, patterns []string) []string {
	var out []string
	for _, name := range names {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			out = append(out, name)
		}
	}
	return out
}

// applyParent bounds a task by what its parent hands on.
func applyParent(in Input, t *executor.Task) {
	t.Dir = in.Dir
	p := in.Parent
	if p == nil {
		t.ForceModel = in.ForAll
		return
	}
	t.At, t.Home, t.ForceModel = p.At, p.Home, p.Force
	t.Limits = t.Limits.Within(p.Limits)
	t.Rules = append(slices.Clip(t.Rules), p.Rules...)
}

// withGrant is a, whose tools may need no more than a parent that made it on the
// fly may give.
func withGrant(a *DynamicAgent, p *executor.Parent) *DynamicAgent {
	if p == nil || p.Grant == nil {
		return a
	}
	own, most := *a, *p.Grant
	if a.Grant != nil {
		most &= *a.Grant
	}
	own.Grant = &most
	return &own
}
