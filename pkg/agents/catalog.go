package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Catalog is the agents of some layers, later ones over earlier ones. It
// never changes and is safe for concurrent use. A nil Catalog is empty.
type Catalog struct {
	agents   Set[DynamicAgent]
	aliases  func() map[string]string // to names
	problems func() Problems
}

var definition = Kind[DynamicAgent]{
	Noun: "agent", Suffix: ".md", Limit: maxFile,
	Name: func(a *DynamicAgent) string { return a.Name },
	Front: func(text string) string {
		text, opened := strings.CutPrefix(text, "---\n")
		if front, _, closed := strings.Cut(text, "\n---\n"); opened && closed {
			return front
		}
		return ""
	},
	Read: func(l Layer, file string, text []byte) (*DynamicAgent, Problems) {
		return parseFile(Source{Layer: l.Name, File: file, Text: string(text), Claude: l.Claude}, text)
	},
}

// Load finds the agents of the layers. A file that cannot be used does not
// keep the others from loading, and does not uncover the agent it was to
// replace: [Catalog.Lookup] states what is wrong with it.
func Load(layers ...Layer) *Catalog {
	c := &Catalog{}
	c.agents, c.problems = definition.Load(layers...)
	c.aliases = sync.OnceValue(func() map[string]string {
		aliases := map[string]string{}
		for _, name := range c.Names() {
			e := c.agents[name]
			if !e.Former {
				continue
			}
			a, _ := e.Value()
			if a == nil {
				continue
			}
			for _, alias := range a.Aliases {
				if _, taken := c.agents[alias]; !taken { // an agent's own name is stronger than a former one
					aliases[alias] = name
				}
			}
		}
		return aliases
	})
	return c
}

// Problems returns what is wrong with any file.
func (c *Catalog) Problems() Problems {
	if c == nil || c.problems == nil {
		return nil
	}
	return c.problems()
}

// With returns a catalog that also has the given agents, over those of the
// same name.
func (c *Catalog) With(more ...DynamicAgent) *Catalog {
	out := &Catalog{agents: Set[DynamicAgent]{}}
	if c != nil {
		out.agents, out.problems = c.agents.Clone(), c.problems
	}
	added := map[string]string{}
	for _, a := range more {
		out.agents[a.Name] = Of(&a)
		for _, alias := range a.Aliases {
			added[alias] = a.Name
		}
	}
	out.aliases = sync.OnceValue(func() map[string]string {
		aliases := map[string]string{}
		if c != nil {
			maps.Copy(aliases, c.aliases())
		}
		maps.Copy(aliases, added)
		return aliases
	})
	return out
}

// Names lists the agents, sorted.
func (c *Catalog) Names() []string {
	if c == nil {
		return nil
	}
	return c.agents.Names()
}

// List gives the agents that can be used, by name.
func (c *Catalog) List() []*DynamicAgent {
	if c == nil {
		return nil
	}
	return c.agents.Usable()
}

// Renamed reports the name that a former one stands for. Using a former name
// works; a caller may tell its user.
func (c *Catalog) Renamed(name string) (now string, ok bool) {
	if c == nil || c.agents[name] != nil {
		return "", false
	}
	now, ok = c.aliases()[name]
	return now, ok
}

// An UnknownError reports a name that no agent has.
type UnknownError struct {
	Name  string
	Near  string // what was probably meant; may be empty
	Names []string
}

func (e *UnknownError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("there is no agent %s; did you mean %s?", e.Name, e.Near)
	}
	if len(e.Names) == 0 {
		return fmt.Sprintf("there is no agent %s, nor any other", e.Name)
	}
	return fmt.Sprintf("there is no agent %s; there are %s", e.Name, strings.Join(e.Names, ", "))
}

// Lookup finds an agent by its name or a former one. The error is an
// *UnknownError, or Problems if its file cannot be used.
func (c *Catalog) Lookup(name string) (*DynamicAgent, error) {
	if now, ok := c.Renamed(name); ok {
		name = now
	}
	var e *entry[DynamicAgent]
	if c != nil {
		e = c.agents[name]
	}
	if e == nil {
		names := c.Names()
		return nil, &UnknownError{name, spelling.Nearest(name, names), names}
	}
	a, problems := e.Value()
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

// repairers are the agents of a catalog that name one of the types of s.
func repairers(s *Spawn, cat *Catalog) (out []string) {
	if s == nil || len(s.Problems) == 0 {
		return nil
	}
	for _, name := range cat.Names() {
		if a, err := cat.Lookup(name); err == nil && repairs(s, a.ProblemTypes) {
			out = append(out, name)
		}
	}
	return out
}

// pinnedRepairers returns the repairers that a job has pinned.
func pinnedRepairers(s *Spawn, pinned map[string]executor.Spawnable) (out []string) {
	if s == nil || len(s.Problems) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(pinned)) {
		var a struct {
			ProblemTypes []string `json:"problem_types"`
		}
		if json.Unmarshal(pinned[name].Spec, &a) == nil && repairs(s, a.ProblemTypes) {
			out = append(out, name)
		}
	}
	return out
}

func repairs(s *Spawn, types []string) bool {
	all := problem.Known()
	want := problem.All(s.Problems, all...)
	if slices.Contains(s.Problems, "*") {
		want = all
	}
	return slices.ContainsFunc(problem.All(types, all...), func(t string) bool { return slices.Contains(want, t) })
}

// Routes performs "resolve" steps with resolver, which is [Resolve] bound to
// a catalog, tools and defaults. It is called once in the life of a job.
func Routes(resolver func(ctx context.Context, in Input) (executor.Task, error)) flow.Mux {
	return flow.Mux{turn.ResolveStep: {
		Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in Input
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("resolve %s: decoding input: %w", s.Name, err)
			}
			task, err := resolver(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(task)
		},
		Describe: func(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var t executor.Task
			if json.Unmarshal(out, &t) != nil {
				return "", nil
			}
			data, err := json.Marshal(map[string]any{"model": t.Model, "window": t.Options.Window, "tools": len(t.Tools)})
			if err != nil {
				return "", nil
			}
			return fmt.Sprintf("%s with %d tools", t.Model, len(t.Tools)), data
		},
	}}
}

// substituteTools offers the model the tools of its form in place of those the agent
// names: an agent states that it edits files, not in which form a model writes
// edits best. A tool that the agent's criterion wants called stays, and so
// does one for which there is no other in set. What the agent denies or its
// grant does not cover is not brought in.
func substituteTools(a *DynamicAgent, own, set *tools.Set, forms map[string][]string) (*tools.Set, error) {
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		if _, ok := own.Lookup(name); !ok || slices.Contains(a.Done.Tools(), name) {
			continue
		}
		var more []tools.Tool
		found := false
		for _, other := range forms[name] {
			if _, ok := own.Lookup(other); ok {
				found = true
				continue
			}
			t, ok := set.Without(a.Deny...).Lookup(other)
			if ok && (a.Grant == nil || a.Grant.Has(t.Needs)) {
				more, found = append(more, t), true
			}
		}
		if !found {
			continue
		}
		var err error
		if own, err = own.Without(name).With(more...); err != nil {
			return nil, err
		}
	}
	return own, nil
}
