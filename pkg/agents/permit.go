package agents

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// projectLayer is the name of the layer of agents that a workspace brings.
const projectLayer = "project"

// Rules are the agent's permissions as far as they hold. Those of an agent
// that a project brings may take rights away, not give any: what it allows is
// returned as ignored.
func Rules(a *DynamicAgent) (rules permit.Rules, ignored []permit.Rule) {
	for _, r := range a.Permissions {
		if a.Source.Layer == projectLayer && !r.Narrows() {
			ignored = append(ignored, r)
			continue
		}
		r.Agent = "" // it is the agent's own, under whatever name it runs
		rules = append(rules, r)
	}
	return rules, ignored
}

// Ignored reports of each permission that does not hold why, for people.
func Ignored(a *DynamicAgent) []string {
	_, ignored := Rules(a)
	var out []string
	for _, r := range ignored {
		out = append(out, fmt.Sprintf("agent %s: %q is ignored: a project's agent may narrow what is allowed, not widen it; write it into your own configuration if you mean it", a.Name, r))
	}
	return out
}

// Approvals lists the valid values of executor.Approve.
var Approvals = []executor.Approve{executor.ApproveAsk, executor.ApproveEdits, executor.ApproveAll, executor.ApproveNone}

// permissionsOf settles the mode and the rules of a task.
func permissionsOf(a *DynamicAgent, in Input, env Env) (mode executor.Mode, rules permit.Rules, err error) {
	for _, m := range []executor.Mode{in.Mode, env.Mode, a.Mode} {
		if m != "" && !slices.Contains(executor.Modes, m) {
			return "", nil, fmt.Errorf("mode is %q; it is one of %v", m, executor.Modes)
		}
	}
	mode = narrower(cmp.Or(in.Mode, env.Mode, executor.ModeEdits), a.Mode)
	own, _ := Rules(a)
	rules = append(slices.Clip(env.Rules), own...)
	for _, r := range rules {
		if err := r.Check(); err != nil {
			return "", nil, fmt.Errorf("permissions: %w", err)
		}
	}
	return mode, rules, nil
}

// withAuto adds the tools that a has in mode auto, where commands are confined
// and its grant allows them. A sub-agent gets none: whoever has it work has
// agreed to its other tools.
func withAuto(a *DynamicAgent, own, set *tools.Set, in Input, mode executor.Mode, env Env) (*tools.Set, error) {
	if in.Parent != nil || mode != executor.ModeAuto || len(a.Auto) == 0 || env.Confined == nil || !env.Confined() {
		return own, nil
	}
	more, err := set.Only(a.Auto...)
	if err != nil {
		return nil, err
	}
	for t := range more.All() {
		_, has := own.Lookup(t.Name)
		if has || a.Grant != nil && !a.Grant.Has(t.Needs) {
			continue
		}
		if own, err = own.With(t); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// changesCode reports whether the loop runs an agent that looks at files and
// changes them: until the tests pass, or to repair a problem that it is given.
func changesCode(a *DynamicAgent, own *tools.Set) (tests, changes bool) {
	_, lists := own.Lookup("list_files")
	_, edits := own.Lookup("edit_file")
	tests = slices.Contains(a.Done.Checks(), "run_tests")
	repairs := edits && slices.ContainsFunc(a.Inputs, func(f Field) bool { return f.Name == "problem" })
	return tests, lists && a.Workflow == "" && (tests || repairs)
}

// permittedTools leaves out of own what may not be used at all: a tool that would be
// refused every time is better not offered.
func permittedTools(a *DynamicAgent, own *tools.Set, mode executor.Mode, rules permit.Rules) *tools.Set {
	var out []string
	for t := range own.All() {
		if _, denied := rules.Denies(a.Name, t.Name); denied || !mode.Allows(t.Metadata) {
			out = append(out, t.Name)
		}
	}
	// Without shell nothing is in the background.
	if _, online := own.Lookup("shell_online"); slices.Contains(out, "shell") && (!online || slices.Contains(out, "shell_online")) {
		out = append(out, "shell_kill")
	}
	return own.Without(out...)
}

// acts reports whether ModePlan takes a tool from a that it has in another mode: one that
// changes files, runs commands or code, or does something in the world.
func acts(a *DynamicAgent, own, set *tools.Set, rules permit.Rules) bool {
	takes := func(t tools.Tool) bool {
		_, denied := rules.Denies(a.Name, t.Name)
		return !denied && !executor.ModePlan.Allows(t.Metadata)
	}
	for t := range own.All() {
		if takes(t) {
			return true
		}
	}
	auto, err := set.Only(a.Auto...)
	if err != nil {
		return false // they are not part of this program
	}
	for t := range auto.All() {
		if takes(t) && (a.Grant == nil || a.Grant.Has(t.Needs)) {
			return true
		}
	}
	return false
}

// planCriterion reduces an agent's criterion to what can be met where nothing may change:
// the words of the model, and what the tools that it has there produce. Evidence that
// only a change can give is not asked for; less reports that some is left out. A workflow
// that changes nothing in any mode is done when it ever is.
func planCriterion(a *DynamicAgent, own *tools.Set) (left executor.Criterion, less bool) {
	if a.Workflow != "" && a.Grant != nil && *a.Grant&^(tools.Read|tools.Think|tools.Net) == 0 {
		return a.Done, false
	}
	return withoutChanges(a.Done, own)
}

func withoutChanges(c executor.Criterion, own *tools.Set) (left executor.Criterion, less bool) {
	switch {
	case c.All != nil:
		for _, part := range c.All {
			p, fewer := withoutChanges(part, own)
			if less = less || fewer; !p.Zero() {
				left.All = append(left.All, p)
			}
		}
		if len(left.All) == 1 {
			left = left.All[0]
		}
		return left, less
	case c.Any != nil:
		for _, part := range c.Any {
			if _, less := withoutChanges(part, own); less {
				return left, true
			}
		}
		return c, false
	case c.Zero(), c.Signal != "":
		return c, false
	case c.Artifact != "" && c.Artifact != "diff" && produces(own, c.Artifact):
		return c, false
	case c.Tool != "" && within(own)(c.Tool):
		return c, false
	}
	return left, true
}

// produces reports whether one of the tools makes the artifact.
func produces(set *tools.Set, artifact string) bool {
	for t := range set.All() {
		if slices.Contains(t.Produces, artifact) {
			return true
		}
	}
	return false
}

// planInstructions is the notice to models in ModePlan.
const planInstructions = "This is for planning: read what you need, change nothing, and answer with the plan, step by step, with the files it touches."

// narrower is the narrower of two modes; an empty one has no say.
func narrower(a, b executor.Mode) executor.Mode {
	switch {
	case a == "":
		return b
	case b == "" || slices.Index(executor.Modes, a) <= slices.Index(executor.Modes, b):
		return a
	}
	return b
}
