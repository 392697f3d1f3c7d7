package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/plaintemplate"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// maxTokens bounds an agent's share of a model's attention before the task begins: prompt and tools
// together, by estimate.
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

// negative returns the names of limits that are, -1 apart, which is none.
func negative(l executor.Limits) (names []string) {
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"turns", float64(l.Turns)}, {"tokens", float64(l.Tokens)}, {"cost_usd", l.CostUSD},
		{"time", float64(l.Time)}, {"rejects", float64(l.Rejects)},
	} {
		if f.v < 0 && f.v != -1 {
			names = append(names, f.name)
		}
	}
	return names
}

// settings reports what a run would go by.
func (l *linter) settings() {
	a := l.a
	for _, name := range negative(a.Limits) {
		l.key("limits."+name, Error, "-1 means no limit", "limits.%s is negative", name)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Limits.Calls)) {
		if _, ok := l.all.Lookup(name); !ok && !ofServer(name) {
			l.unknown("limits.calls."+name, name) // it would bound nothing
		}
	}
	if a.Limits.Turns == -1 && a.Limits.Tokens == -1 && a.Limits.Time == -1 {
		l.key("limits", Warning, "keep at least one limit", "nothing bounds what a run may take")
	}
	if a.Output != nil {
		if _, err := schema.Exact(a.Output); err != nil {
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

// finish is the tool whose successful call reports that the task is done.
const finish = "finish"

// closingText is the generated end of every system prompt: how calls are run, how
// to say that the task is done and what is checked then. Where code leads, in messages
// that each ask for a part, a part is done, and what is checked waits for the last.
func closingText(t executor.Task, set *tools.Set, led bool) string {
	var b strings.Builder
	if set.Len() > 1 {
		b.WriteString("Calls of one answer run in order, those that only read at once.\n")
	}
	what, then := "the task", " Then this is checked:"
	if led {
		what, then = "what a message asks for", " This is checked after the last message, not before:"
	}
	b.WriteString(finishText(t, within(set)(finish), what))
	if must := requirements(t.Done, set, led); len(must) > 0 {
		b.WriteString(then + "\n- " + strings.Join(must, "\n- "))
	}
	if len(t.Output) > 0 {
		fmt.Fprintf(&b, "\nYour last answer is JSON and nothing else; it fits %s", t.Output)
	}
	return b.String()
}

func finishText(t executor.Task, has bool, what string) string {
	words, when := t.Done.Signals(), "When "+what+" is done, "
	switch {
	case has && len(t.Output) == 0:
		return when + "call finish."
	case len(words) > 0:
		return when + "say " + strings.Join(words, " or ") + " on a line of its own."
	case len(t.Tools) == 0:
		return "Answer in one message."
	case extagent.IsAgent(t.Model):
		return when + "say what was done."
	}
	return when + "answer without calling a tool."
}

// requirements states what must hold besides the signal, which finishText has. Where
// code leads, what no tool makes is made by it, and is none of the model's business.
func requirements(c executor.Criterion, set *tools.Set, led bool) []string {
	if c.Signal != "" {
		return nil
	}
	var out []string
	if c.All != nil {
		for _, part := range c.All {
			out = append(out, requirements(part, set, led)...)
		}
		return out
	}
	by := producers(set, c.Artifact)
	if led && len(by) == 0 && c.Artifact != "" && c.Artifact != "diff" && c.When == nil {
		return nil
	}
	if len(by) > 0 && c.Artifact != "diff" && c.When == nil {
		must := fmt.Sprintf("%s has produced %q", strings.Join(by, " or "), c.Artifact)
		if beyondType(c.Where) {
			must += fmt.Sprintf(", and it fits %s", c.Where)
		}
		return []string{must}
	}
	return c.Describe()
}

// producers are the tools that make an artifact.
func producers(set *tools.Set, artifact string) (names []string) {
	for _, name := range set.Names() {
		if tool, ok := set.Lookup(name); ok && artifact != "" && slices.Contains(tool.Produces, artifact) {
			names = append(names, name)
		}
	}
	return names
}

// beyondType reports whether a schema asks for more than the type that a tool's artifact has anyway.
func beyondType(where json.RawMessage) bool {
	var keys map[string]json.RawMessage
	if len(where) == 0 || json.Unmarshal(where, &keys) != nil {
		return len(where) > 0
	}
	delete(keys, "type")
	return len(keys) > 0
}

// userMessage is the user's message: the prompt, then the inputs that the system
// prompt has not placed.
func userMessage(prompt string, inputs map[string]json.RawMessage, tmpl *plaintemplate.Template) string {
	parts := []string{}
	if p := strings.TrimSpace(prompt); p != "" {
		parts = append(parts, p)
	}
	placed, all := inputsUsed(tmpl)
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if all || slices.Contains(placed, name) {
			continue
		}
		words := string(inputs[name])
		var s string
		if json.Unmarshal(inputs[name], &s) == nil {
			words = s
		}
		if words != "" {
			tag := "input" // that the words cannot end
			for n := 2; strings.Contains(strings.ToLower(words), "</"+tag); n++ {
				tag = fmt.Sprintf("input-%d", n)
			}
			parts = append(parts, fmt.Sprintf("<%s name=%q>\n%s\n</%s>", tag, name, words, tag))
		}
	}
	if len(parts) == 0 {
		return "Begin."
	}
	return strings.Join(parts, "\n\n")
}

// lintSpawn states which of the agents that a may spawn do not exist.
func (c *Catalog) lintSpawn(a *DynamicAgent) Problems {
	rep := &report{src: a.Source}
	if a.Spawn == nil {
		return nil
	}
	for i := range a.Spawn.Agents {
		one := DynamicAgent{Spawn: &Spawn{Agents: a.Spawn.Agents[i : i+1]}}
		if _, err := spawns(&one, c); err != nil {
			rep.key("spawn", Error, "", "%v", err)
		}
	}
	return rep.list
}

// Lint gives all that is wrong with the named agents, or with all, by file and place.
func (c *Catalog) Lint(set *tools.Set, names ...string) Problems {
	if len(names) == 0 {
		names = c.Names()
	}
	var all Problems
	for _, name := range names {
		a, problems := c.agents[name].Value()
		all = append(all, problems...)
		if a != nil {
			all = append(all, Lint(a, set)...)
			all = append(all, c.lintSpawn(a)...)
			for _, alias := range c.missingTools(a) {
				rep := &report{src: a.Source}
				rep.key("aliases", Warning, "take it out", "the former name %s belongs to another agent", alias)
				all = append(all, rep.list...)
			}
		}
	}
	return all.Sort()
}

// missingTools lists the former names of a that lead to another agent.
func (c *Catalog) missingTools(a *DynamicAgent) []string {
	return slices.DeleteFunc(slices.Clone(a.Aliases), func(alias string) bool { return c.aliases()[alias] == a.Name })
}
