package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/tools"
)

func (l *linter) step(key string, s *Step) {
	switch s.Kind() {
	case "agent":
		l.agent(s.Agent, key+".agent")
		l.model(s.Model, key+".model")
		if s.Input == "" && len(s.Inputs) == 0 {
			l.bad(key, `say what it is asked, as in input: "Plan this: {{input}}"`, "%s asks its agent nothing", s.called())
		}
	case "run":
		l.command(key, s)
	case "tool":
		l.tool(key, s)
	case "pipeline":
		l.pipeline(key, s)
	case "parallel":
		l.group(key, s)
	case "await": // parsing has seen all of it
	default:
		l.built(key, giveKind, "%s does nothing", s.called())
	}
	l.jump(key+".onSuccess", s.OnSuccess, []string{endID})
	l.jump(key+".onFailure", s.OnFailure, policyNames())
	l.coordinate(key+".onFailure", s.Coordinate)
	if s.OnFailure == string(policyCoordinate) && !s.commands() {
		l.bad(key+".onFailure", "it is for steps with run, tool or check; for an agent there is recovery", "a coordinator cannot repair %s", s.called())
	}
	for i, id := range s.Needs {
		l.need(fmt.Sprintf("%s.needs.%d", key, i), key, id)
	}
	if l.circle(s.ID) {
		l.bad(key+".needs", "take one of the needs out", "%s needs steps that need it, so that none of them ever runs", s.called())
	}
	for _, c := range []struct {
		name string
		c    *condition
	}{{"when", s.When}, {"until", s.Until}} {
		c.c.each(key+"."+c.name, l.condition)
	}
	if s.Retries.Attempts > maxRetries || s.Retries.Attempts < 0 {
		l.bad(key+".retries", "", "retries is %d; it is from 0 to %d", s.Retries.Attempts, maxRetries)
	}
	if s.Until != nil && s.Max == 0 {
		l.built(key+".until", "add max: 3", "%s is repeated until something holds, without a cap", s.called())
	}
}

// top reports whether a key belongs to a step in no group.
func top(key string) bool { return strings.Count(key, ".") == 1 }

// jump checks the target of one, which may be a word.
func (l *linter) jump(key, to string, words []string) {
	step := strings.TrimSuffix(strings.TrimSuffix(key, ".onSuccess"), ".onFailure")
	switch target, ok := l.ids[to]; {
	case to == "" || slices.Contains(words, to):
		if !top(step) && to == endID {
			l.bad(key, "let the group have it", "a step of a group cannot end the pipeline")
		}
	case !ok:
		l.bad(key, near(to, append(sorted(l.ids), words...), ""), "there is no step %s", to)
	case !top(step):
		l.bad(key, "let the group jump; for a step of it, say stop, continue or recovery", "a step of a group cannot jump")
	case !top(target):
		l.bad(key, "jump to the group", "%s is a step of a group, which runs as a whole", to)
	}
}

func (l *linter) need(at, key, id string) {
	target, ok := l.ids[id]
	group, _, inside := cutGroup(key)
	switch {
	case !ok:
		l.bad(at, near(id, sorted(l.ids), ""), "there is no step %s", id)
	case target == key:
		l.bad(at, "take it out", "the step needs itself")
	case inside && strings.HasPrefix(target, group+".parallel."):
		l.bad(at, "put the step behind the group", "%s runs at the same time", id)
	}
}

// circle reports whether a step needs itself by way of others.
func (l *linter) circle(id string) bool {
	seen := map[string]bool{}
	var leads func(from string) bool
	leads = func(from string) bool {
		for _, next := range l.needs[from] {
			if next == id && from != id {
				return true
			}
			if !seen[next] && next != id {
				if seen[next] = true; leads(next) {
					return true
				}
			}
		}
		return false
	}
	return leads(id)
}

// cutGroup gives the key of the group that a step is in.
func cutGroup(key string) (group, rest string, ok bool) {
	i := strings.LastIndex(key, ".parallel.")
	if i < 0 {
		return "", key, false
	}
	return key[:i], key[i:], true
}

func (l *linter) command(key string, s *Step) {
	if _, ok := l.k.Tools.Lookup(shell); !ok {
		l.bad(key+".run", "use a tool: step", "this program has no tool %s to run commands with", shell)
	}
	if _, err := commandText(s.Run); err != nil {
		l.bad(key+".run", err.hint, "%s", err.words)
	}
}

func (l *linter) tool(key string, s *Step) {
	t, ok := l.k.Tools.Lookup(s.Tool)
	if !ok {
		l.bad(key+".tool", near(s.Tool, l.k.Tools.Names(), hint.Command("tools list")+" lists the tools"), "there is no tool %s", s.Tool)
		return
	}
	args := s.Args
	if args == nil {
		args = json.RawMessage("{}")
	}
	if ps, _ := paths(args); len(ps) > 0 {
		l.argNames(key, t, args)
		return // what they will be, nobody knows yet
	}
	if fault, help := t.CheckFault(args); s.Check && t.Proves == "" {
		l.bad(key+".check", "write tool: to call it as a step", "%s cannot be a check: nothing says what its success proves", t.Name)
		return
	} else if s.Check && fault != "" {
		l.bad(key+".check", help, "%s", fault)
		return
	}
	for _, fault := range t.Input.Validate(args) {
		l.bad(key+".args", hint.Command("tools show %s", t.Name)+" says what it takes", "%s: %s", t.Name, fault)
	}
}

// argNames checks the names of arguments whose values are templates.
func (l *linter) argNames(key string, t tools.Tool, args json.RawMessage) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(t.Input.JSON(), &schema) != nil || json.Unmarshal(args, &given) != nil {
		return
	}
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			l.bad(key+".args", hint.Command("tools show %s", t.Name)+" says what it takes", "%s needs %s", t.Name, name)
		}
	}
	for _, name := range sorted(given) {
		if _, ok := schema.Properties[name]; !ok && string(schema.Additional) == "false" {
			l.bad(key+".args."+name, near(name, sorted(schema.Properties), ""), "%s takes no %s", t.Name, name)
		}
	}
}
