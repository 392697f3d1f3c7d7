package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/price"
	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An Input is a request to an agent: the input of the workflow "agent". All
// of it is journaled; secrets have no place in it.
type Input struct {
	Agent    string                     `json:"agent,omitempty"` // a name in the catalog
	Spec     *DynamicAgent              `json:"spec,omitempty"`  // or the agent itself, by value
	Prompt   string                     `json:"prompt,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Model    string                     `json:"model,omitempty"`   // instead of the agent's
	Limits   executor.Limits            `json:"limits,omitzero"`   // non-zero fields instead of the agent's
	Approve  executor.Approve           `json:"approve,omitempty"` // instead of the default
	Mode     executor.Mode              `json:"mode,omitempty"`    // instead of the default; an agent may narrow it
	Patience time.Duration              `json:"patience_ns,omitempty"`
	Dir      string                     `json:"dir,omitempty"` // the workspace, as the prompt may name it
	Options  llm.Options                `json:"options,omitzero"`
	// Test is the command line that runs the project's tests, instead of what
	// Defaults.Test states or the tool run_tests finds.
	Test string `json:"test,omitempty"`
	// Worktree asks for a git worktree of Dir's repository, so that the job
	// disturbs nobody. Runners see to it; Resolve does not read it.
	Worktree bool `json:"worktree,omitempty"`
	// Pipeline names the pipeline that the request is to, in place of an agent;
	// Resolve does not read it. See internal/pipeline.
	Pipeline string `json:"pipeline,omitempty"`
	// Calling states how tools are called, instead of the agent's.
	Calling toolcall.Mode `json:"calling,omitempty"`
	// Taint is what the caller knows of Prompt and Inputs: that others wrote
	// them, that they hold secrets. Inputs are taken for what others wrote in
	// any case: an issue, a report, what an agent has made of a page.
	Taint tools.Taint `json:"taint,omitempty"`
	// Memory is what is recalled of earlier jobs, instead of what the agent says:
	// project, user, or off.
	Memory string `json:"memory,omitempty"`
	// ForAll has sub-agents use Model too, whatever they name.
	ForAll bool `json:"model_for_all,omitempty"`
	// Parent is set for a sub-agent.
	Parent *executor.Parent `json:"parent,omitempty"`
	// Attached goes with Prompt, as a runtime has read it; Resolve reads no files.
	executor.Attached
	// Branch is the conversation that the job goes on with, in place of one that
	// begins with Prompt.
	Branch *executor.Branch `json:"branch,omitempty"`
}

// Name is the agent's name.
func (in Input) Name() string {
	if in.Agent == "" && in.Spec != nil {
		return in.Spec.Name
	}
	return in.Agent
}

// Defaults hold where neither the request nor the agent states anything.
type Defaults struct {
	Model    string
	Limits   executor.Limits
	Approve  executor.Approve
	Mode     executor.Mode
	Rules    permit.Rules // what may run; the agent's own are added
	Patience time.Duration
	Options  llm.Options
	Prices   price.Table   // by provider/model or a pattern of it
	Host     tools.Checker // of what tools require; nil means tools.OnPath
	Skills   []Skill       // to choose from; see LoadSkills
	Project  Project       // what the workspace states about itself; see ReadProject

	// Route gives what the name of a model stands for: a role, and the models
	// behind it. Nil takes names for provider/model.
	Route func(ref string) (executor.Route, error)
	// Lesser reports whether a name is a role that agents which ship name and
	// that nobody has set up: the model of the request does its work. Nil takes
	// cheap and strong for that.
	Lesser func(ref string) bool
	// Think names the model for tools that ask one, of agents that do not;
	// empty is the job's own.
	Think string

	Budget Budget // of conversations

	// Test is the command line that runs the tests of the workspace, if one is
	// configured. A sub-agent takes that of its parent.
	Test string
	// Missing states what the workspace of a request lacks for a tool to check
	// anything: see tools.Tool. Nil: nobody looks.
	Missing func(dir string, t tools.Tool, args json.RawMessage, test string) string

	// Around describes the workspace in the first message of agents that change
	// code until the tests pass, given the command that runs those, if one is
	// configured. Nil: they have to look.
	Around func(test string) string
	// Confined reports whether commands of jobs run in a sandbox. Nil: they do not.
	Confined func() bool

	// Recall returns what earlier jobs remembered that fits a text, as lines to
	// quote, and what they carry; scope is project or user. Nil: nothing is
	// remembered.
	Recall func(scope, text string) (lines []string, taint tools.Taint)

	// Given are artifacts that the workspace has, for agents with an input that
	// takes one and was not given it.
	Given map[string]json.RawMessage

	// Instead gives, for a model, the names of tools to offer in place of one
	// that an agent names, so that each model edits in the form it does best.
	// Nil, or no entry, leaves the agent's choice. internal/tools/edit has one.
	Substitutes func(model string) map[string][]string
}

// Resolve binds a request to what it names: it finds the agent, its tools and
// its model, checks that they fit and writes the prompts. The task it returns
// depends on nothing any more.
func Resolve(in Input, cat *Catalog, set *tools.Set, def Defaults) (executor.Task, error) {
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
	t, err := a.withGrant(in.Parent).resolve(in, set, def)
	if err == nil {
		t.Spawn, err = a.spawning(in, cat, set)
		t.System = paragraphs(t.System, spawnList(&t))
	}
	if err != nil {
		return executor.Task{}, fmt.Errorf("agent %s: %w", a.Name, err)
	}
	return t, nil
}

func (a *DynamicAgent) resolve(in Input, set *tools.Set, def Defaults) (t executor.Task, err error) {
	sel, err := a.selectTools(in, set, def)
	if err != nil {
		return t, err
	}
	t = executor.Task{
		Permissions: executor.Permissions{Mode: sel.mode, Rules: sel.rules,
			Approve: cmp.Or(in.Approve, def.Approve, executor.ApproveEdits), Patience: cmp.Or(in.Patience, def.Patience)},
		Instructions: executor.Instructions{Agent: a.Name},
		Work: executor.Work{Tools: executor.Pin(sel.own), Checks: executor.Pin(sel.checks),
			Done: a.Done, Limits: in.Limits.Or(a.Limits).Or(def.Limits)},
		Options: merge(in.Options, merge(a.Options, def.Options)), Output: a.Output, Revision: stepio.Revision,
	}
	in.applyParent(&t)
	if t.CallMode, err = a.callMode(in); err != nil {
		return t, err
	}
	if !t.Options.Effort.Known() {
		return t, fmt.Errorf("effort is %q; it is one of %v", t.Options.Effort, llm.Efforts)
	}
	if t.Artifacts, err = given(sel.skills); err != nil {
		return t, err
	}
	if t.Mode == executor.ModePlan {
		t.Done = planCriterion(t.Done)
	}
	if err := a.addChecks(&t, in, set, def); err != nil {
		return t, err
	}
	if err := a.models(&t, sel.route, in, def, sel.own, sel.checks); err != nil {
		return t, err
	}
	if err := def.budget(&t); err != nil {
		return t, err
	}
	if !slices.Contains(executor.Approves, t.Approve) {
		return t, fmt.Errorf("approve is %q; it is one of %v", t.Approve, executor.Approves)
	}
	inputs, err := a.inputs(in.Inputs)
	if err != nil {
		return t, err
	}
	if t.Taint = in.Taint; len(in.Inputs) > 0 {
		t.Taint |= tools.Untrusted
	}
	if strings.TrimSpace(in.Prompt) == "" && !anything(inputs) {
		return t, errors.New("there is no prompt; say what to do")
	}
	if sel.own, err = a.shrinkTools(&t, sel.own, set, hints(in.Prompt, inputs)); err != nil {
		return t, err
	}
	return t, a.writePrompts(&t, in, sel, inputs, def)
}

// writePrompts renders the system prompt and the user's message of a task.
func (a *DynamicAgent) writePrompts(t *executor.Task, in Input, sel selection, inputs map[string]json.RawMessage, def Defaults) error {
	tmpl, err := compile(a.Name, a.Prompt, within(sel.own))
	if err != nil {
		return err
	}
	data := promptData{Agent: a.Name, Prompt: in.Prompt, Inputs: map[string]any{}, Tools: toolData(sel.own), Dir: in.Dir}
	if words := a.Done.Signals(); len(words) > 0 {
		data.Signal = words[0]
	}
	for name, raw := range a.truncateInputs(inputs) {
		if data.Inputs[name], err = value(raw); err != nil {
			return fmt.Errorf("input %s is not valid JSON: %w", name, err)
		}
	}
	system, err := render(tmpl, data)
	if err != nil {
		return err
	}
	parts := []string{system, closingText(*t, sel.own), nothingToCheckText(t), skillList(sel.skills)}
	if sel.mode == executor.ModePlan {
		parts = append(parts, planInstructions)
	}
	if reads(sel.own) {
		// Last, so that it is never above what we say.
		parts = append(parts, def.Project.text())
		t.Project = def.Project.pinned()
	}
	t.System = paragraphs(parts...)
	a.giveInputs(t, inputs, in.Inputs, def.Given)
	asked := in.To(in.Prompt)
	t.Images = asked.Images
	t.Prompt = userMessage(asked.Text, a.truncateInputs(inputs), tmpl)
	if b := in.Branch; b != nil {
		t.Prompt, t.Images, t.History = b.Opening.Text, b.Opening.Images, b.History
	} else if def.Around != nil && a.changesCode(sel.own) {
		t.Prompt = paragraphs(t.Prompt, def.Around(t.Test))
	}
	return a.recall(t, in, def)
}

// paragraphs joins what is not empty.
func paragraphs(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

func within(set *tools.Set) func(string) bool {
	return func(name string) bool {
		_, ok := set.Lookup(name)
		return ok
	}
}

func merge(o, d llm.Options) llm.Options {
	o.Temperature = cmp.Or(o.Temperature, d.Temperature)
	o.MaxTokens = cmp.Or(o.MaxTokens, d.MaxTokens)
	o.Window = cmp.Or(o.Window, d.Window)
	o.Effort = cmp.Or(o.Effort, d.Effort)
	return o
}
