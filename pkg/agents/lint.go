package agents

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// maxTokens is how much of a model's attention an agent may take before the
// task begins: prompt and tools together, by estimate.
const maxTokens = 3500

// Lint gives all that is wrong with an agent given the tools there are: what
// [Resolve] refuses, and what it would accept but nobody would want.
func Lint(a *DynamicAgent, set *tools.Set) Problems {
	l := faults(a, set)
	l.size()
	return l.list.Sort()
}

// faults is the one validation of an agent, whatever it was made of.
func faults(a *DynamicAgent, set *tools.Set) *linter {
	l := &linter{report: report{src: a.Source}, a: a, all: set}
	l.header()
	if a.Source.File == "" {
		l.values() // reading a file has seen to them
	}
	l.permissions()
	l.tools()
	l.criterion(a.Done, "done")
	l.signal()
	l.template()
	return l
}

func (l *linter) header() {
	a := l.a
	if !nameRule.MatchString(a.Name) && a.Source.File == "" {
		l.key("name", Error, "use lower case letters, digits, - and _, as in code-reviewer", "the name %q cannot be used", a.Name)
	}
	if a.Description == "" {
		l.key("description", Warning, "say in a sentence when to use it", "the description is missing")
	}
	if a.Expose && strings.HasPrefix(a.Name, jobToolPrefix) {
		l.key("expose", Error, "rename the agent", "an exposed agent has a name that begins with %s: so do the tools for jobs", jobToolPrefix)
	}
	if a.Priority < 0 || a.Priority > 1000 {
		l.key("priority", Error, "", "the priority %d is not between 0 and 1000", a.Priority)
	}
	l.settings()
	for i, alias := range a.Aliases {
		if alias == a.Name || !nameRule.MatchString(alias) {
			l.key(fmt.Sprintf("aliases.%d", i), Error, "", "%q cannot be a former name", alias)
		}
	}
}

// settings reports what a run would go by.
func (l *linter) settings() {
	a := l.a
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"turns", float64(a.Limits.Turns)}, {"tokens", float64(a.Limits.Tokens)}, {"cost_usd", a.Limits.CostUSD},
		{"time", float64(a.Limits.Time)}, {"rejects", float64(a.Limits.Rejects)},
	} {
		if f.v < 0 && f.v != -1 {
			l.key("limits."+f.name, Error, "-1 means no limit", "limits.%s is negative", f.name)
		}
	}
	if a.Limits.Turns == -1 && a.Limits.Tokens == -1 && a.Limits.Time == -1 {
		l.key("limits", Warning, "keep at least one limit", "nothing bounds what a run may take")
	}
	if a.Output != nil {
		if _, err := schema.Compile(a.Output); err != nil {
			l.key("output", Error, "", "output: %s", err)
		}
	}
	if t := a.Options.Temperature; t != nil && (*t < 0 || *t > 2) {
		l.key("options.temperature", Error, "", "the temperature %g is not between 0 and 2", *t)
	}
	for i, name := range a.Skills {
		if _, err := path.Match(name, ""); err != nil {
			l.key(fmt.Sprintf("skills.%d", i), Error, "wildcards are *, ? and [a-z]", "the skill pattern %q is malformed", name)
		}
	}
}

// signal warns of a signal that the model has no fair chance to give.
func (l *linter) signal() {
	words := l.a.Done.Signals()
	if len(words) == 0 {
		if _, ok := l.own.Lookup(finish); ok && !l.a.Done.Zero() && l.a.Done.When == nil {
			l.key("done", Note, "add {signal: DONE} to demand it", "the agent has finish, but nothing demands that it is called")
		}
		return
	}
	if _, ok := l.own.Lookup(finish); ok {
		return
	}
	for _, w := range words {
		if strings.TrimSpace(w) != w || strings.ContainsAny(w, "\r\n") {
			l.key("done", Error, "use one word, as in TASK_COMPLETE", "the signal %q can never be a line of its own", w)
		} else if !strings.Contains(l.a.Prompt, w) && !strings.Contains(l.a.Prompt, ".Signal") {
			l.key("done", Warning, "add finish to its tools, or say in the prompt when to write "+w, "the signal %s is demanded, but the prompt does not say when to give it", w)
		}
	}
}

// size estimates what every turn costs before anything was said.
func (l *linter) size() {
	if n := Weight(l.a, l.all); n > maxTokens {
		l.at(plainyaml.At(max(1, l.src.Places["prompt"].Line), 1), Warning, "take out tools that it does not need, and what the model knows anyway",
			"prompt and tools take about %d tokens of every turn; %d are enough", n, maxTokens)
	}
}

// Weight estimates how many tokens the system prompt and the tools of a take.
// Tools that do not exist weigh nothing, nor do those that wait to be
// configured, for they are not offered until then.
func Weight(a *DynamicAgent, set *tools.Set) int {
	own, _, err := Offer(a, set)
	if err != nil {
		own = nil
	}
	var later []string
	for t := range own.All() {
		if slices.ContainsFunc(t.Requires, func(c string) bool { return strings.HasPrefix(c, "config:") }) {
			later = append(later, t.Name)
		}
	}
	own = own.Without(later...)
	bytes := len(a.Prompt) + len(closingText(executor.Task{Work: executor.Work{Done: a.Done, Tools: PinTools(own)}, Output: a.Output}, own, a.Workflow != ""))
	for _, spec := range own.Specs() {
		bytes += len(spec.Name) + len(spec.Description) + len(spec.Input)
	}
	return int(float64(bytes) / 3.3)
}

func (l *linter) permissions() {
	for _, words := range Ignored(l.a) {
		l.key("permissions", Warning, "leave it out", "%s", words)
	}
}

// IdleRules reports the rules of a project's agent that fit nothing in the project. Other
// agents are used in many directories.
func IdleRules(a *DynamicAgent, dir string) Problems {
	l := &linter{report: report{src: a.Source}, a: a}
	if a.Source.Layer != projectLayer {
		return nil
	}
	for _, r := range permit.Idle(dir, a.Permissions, nil) {
		l.key("permissions", Warning, "see that the path is written from the top of the workspace", "%s fits nothing here", r)
	}
	return l.list
}

// values reports what no file can say and a value built in Go can.
func (l *linter) values() {
	a := l.a
	word := func(key, value string, ok bool, help string) {
		if value != "" && !ok {
			l.key(key, Error, help, "%s is %q", key, value)
		}
	}
	word("mode", string(a.Mode), slices.Contains(executor.Modes, a.Mode), "it is one of plan, edits, auto")
	word("calling", string(a.Calling), slices.Contains(turn.Modes, a.Calling), "it is one of auto, native, constrained, text")
	word("effort", string(a.Options.Effort), a.Options.Effort.Known(), "it is one of low, medium, high")
	word("memory", a.Memory, slices.Contains(memoryScopes, a.Memory), "it is one of "+strings.Join(memoryScopes, ", ")+"; leave it out for none")
	for i, r := range a.Permissions {
		if err := r.Check(); err != nil {
			l.key("permissions", Error, "", "permission %d: %v", i+1, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Limits.Calls)) {
		if a.Limits.Calls[name] < 1 {
			l.key("limits.calls", Error, "deny it under deny: instead", "limits.calls.%s leaves no call", name)
		}
	}
	for _, f := range a.Inputs {
		if f.Bytes < 0 {
			l.key("inputs", Error, "leave it out for all of the text", "bytes is negative")
		}
	}
	l.types("problem_types", a.ProblemTypes)
	s := a.Spawn
	if s == nil {
		return
	}
	l.types("spawn.problems", s.Problems)
	if len(s.Agents)+len(s.Problems) == 0 {
		l.key("spawn", Error, "for example spawn: [planner, worker]", "spawn names no agents")
	}
	for _, f := range []struct {
		key string
		n   int
	}{{"depth", s.Depth}, {"fan_out", s.FanOut}, {"total", s.Total}} {
		if f.n < 0 {
			l.key("spawn", Error, "leave it out for the default", "spawn.%s is less than 1", f.key)
		}
	}
}

// types reports names that are no type of problem: an agent that nobody ever picks is a
// fault that nobody would notice.
func (l *linter) types(key string, names []string) {
	for _, name := range names {
		if _, ok := problem.Canonical(name, problem.Known()...); !ok && (name != "*" || key == "problem_types") {
			l.key(key, Error, "the types are "+strings.Join(problem.Known(), ", "), "%s: %q is no type of problem%s", key, name, spelling.DidYouMean(strings.ToLower(name), problem.Known()))
		}
	}
}
