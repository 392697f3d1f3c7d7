package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Resolve binds a request to what it names: it finds the agent, its tools and
// its model, checks that they fit and writes the prompts. The task it returns
// depends on nothing any more.
func Resolve(in Input, cat *Catalog, set *tools.Set, env Env) (executor.Task, error) {
	a := in.Spec
	if a == nil {
		if in.Agent == "" {
			return executor.Task{}, fmt.Errorf("no agent is named; there are %s", strings.Join(cat.Names(), ", "))
		}
		var err error
		if a, err = cat.Lookup(in.Agent); err != nil {
			return executor.Task{}, err
		}
	}
	t, err := resolve(withGrant(a, in.Parent), in, set, env)
	if err == nil {
		t.Spawn, err = spawning(a, in, cat, set)
		t.PlanOnly = t.PlanOnly || t.Mode == executor.ModePlan && actBelow(t.Spawn, set)
		if !extagent.IsAgent(t.Model) {
			t.System = paragraphs(t.System, spawnList(&t))
		}
	}
	if err != nil {
		return executor.Task{}, fmt.Errorf("agent %s: %w", a.Name, err)
	}
	return t, nil
}

func resolve(a *DynamicAgent, in Input, set *tools.Set, env Env) (t executor.Task, err error) {
	if err := faults(a, set).list.Sort().Err(); err != nil {
		return t, err
	}
	sel, err := selectTools(a, in, set, env)
	if err != nil {
		return t, err
	}
	if err := reachable(a, set, sel.route.Model); err != nil {
		return t, err
	}
	t = executor.Task{
		Permissions: executor.Permissions{Mode: sel.mode, Rules: sel.rules,
			Approve: cmp.Or(in.Approve, env.Approve, executor.ApproveEdits), Patience: cmp.Or(in.Patience, env.Patience)},
		Instructions: executor.Instructions{Agent: a.Name},
		Work: executor.Work{Tools: PinTools(sel.own), Checks: PinTools(sel.checks),
			Done: a.Done, Limits: in.Limits.Or(a.Limits).Or(env.Limits)},
		Options: merge(in.Options, merge(a.Options, env.Options)), Output: a.Output, Revision: turn.Revision,
	}
	applyParent(in, &t)
	if t.CallMode, err = callModeOf(a, in); err != nil {
		return t, err
	}
	if !t.Options.Effort.Known() {
		return t, fmt.Errorf("effort is %q; it is one of [low medium high]", t.Options.Effort)
	}
	if t.Artifacts, err = given(sel.skills); err != nil {
		return t, err
	}
	if t.Mode == executor.ModePlan {
		var less bool
		t.Done, less = planCriterion(a, offeredTo(sel.route.Model, sel.own))
		t.PlanOnly = less || sel.acts
	}
	if err := addChecks(a, &t, in, set, env); err != nil {
		return t, err
	}
	if err := setModels(a, &t, sel.route, in, env, sel.own, sel.checks); err != nil {
		return t, err
	}
	if err := setBudget(env, &t); err != nil {
		return t, err
	}
	if !slices.Contains(Approvals, t.Approve) {
		return t, fmt.Errorf("approve is %q; it is one of %v", t.Approve, Approvals)
	}
	inputs, err := checkInputs(a, in.Inputs)
	if err != nil {
		return t, err
	}
	if t.Taint = in.Taint; len(in.Inputs) > 0 {
		t.Taint |= tools.Untrusted
	}
	if strings.TrimSpace(in.Prompt) == "" && !anything(inputs) {
		return t, errors.New("there is no prompt; say what to do")
	}
	if sel.own, err = shrinkTools(a, &t, sel.own, set, hints(in.Prompt, inputs)); err != nil {
		return t, err
	}
	return t, writePrompts(a, &t, in, sel, inputs, env)
}

// writePrompts renders the system prompt and the user's message of a task.
func writePrompts(a *DynamicAgent, t *executor.Task, in Input, sel selection, inputs map[string]json.RawMessage, env Env) error {
	offered := offeredTo(t.Model, sel.own)
	tmpl, err := compile(a, within(offered))
	if err != nil {
		return err
	}
	data := promptData{Agent: a.Name, Prompt: in.Prompt, Inputs: map[string]any{}, Tools: toolData(offered), Dir: in.Dir}
	if words := a.Done.Signals(); len(words) > 0 {
		data.Signal = words[0]
	}
	shown := truncateInputs(a, inputs)
	for name, raw := range shown {
		if data.Inputs[name], err = value(raw); err != nil {
			return fmt.Errorf("input %s is not valid JSON: %w", name, err)
		}
	}
	placing, err := compile(a, within(offered))
	if err != nil {
		return err
	}
	asGiven(placing, shown)
	system, err := render(placing, data)
	if err != nil {
		return err
	}
	parts := []string{system, closingText(*t, offered, a.Workflow != ""), nothingToCheckText(t)}
	if offered != nil {
		parts = append(parts, skillList(sel.skills))
	}
	if sel.mode == executor.ModePlan {
		parts = append(parts, planInstructions)
	}
	if reads(sel.own) {
		// Last, so that it is never above what we say.
		parts = append(parts, projectText(env.Project))
		t.Project = pinnedProject(env.Project)
	}
	t.System = paragraphs(parts...)
	giveInputs(a, t, inputs, in.Inputs, env.Given)
	asked := in.To(in.Prompt)
	t.Images = asked.Images
	t.Prompt = userMessage(asked.Text, truncateInputs(a, inputs), tmpl)
	if t.Conversation = in.Conversation; t.Conversation != nil {
		return nil // it has the rest already
	}
	if b := in.Branch; b != nil {
		t.Prompt, t.Images, t.History = b.Opening.Text, b.Opening.Images, b.History
	} else if tests, changes := changesCode(a, sel.own); env.Around != nil && changes {
		t.Prompt = paragraphs(t.Prompt, env.Around(tests, t.Test))
	}
	return recall(a, t, in, env)
}

func merge(o, d llm.Options) llm.Options {
	o.Temperature = cmp.Or(o.Temperature, d.Temperature)
	o.MaxTokens = cmp.Or(o.MaxTokens, d.MaxTokens)
	o.Window = cmp.Or(o.Window, d.Window)
	o.Effort = cmp.Or(o.Effort, d.Effort)
	return o
}
