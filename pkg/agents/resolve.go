package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
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
		acts := actBelow(t.Spawn, set)
		t.PlanOnly = t.PlanOnly || t.Mode == executor.ModePlan && acts
		if w, ok := t.Modes[executor.ModePlan]; ok && acts {
			w.PlanOnly = true
			t.Modes[executor.ModePlan] = w
		}
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
	inputs, err := Asked(a, &in)
	if err != nil {
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
	if t.Taint = in.Taint; len(in.Inputs) > 0 {
		t.Taint |= tools.Untrusted
	}
	if sel.own, err = shrinkTools(a, &t, sel.own, set, hints(in.Prompt, inputs)); err != nil {
		return t, err
	}
	if err := otherModes(a, &t, sel, in, set, env); err != nil {
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

// callModeOf returns a job's way to call tools.
func callModeOf(a *DynamicAgent, in Input) (turn.Mode, error) {
	c := cmp.Or(in.Calling, a.Calling)
	if c != "" && !slices.Contains(turn.Modes, c) {
		return "", fmt.Errorf("calling is %q; it is one of %v", c, turn.Modes)
	}
	return c, nil
}

// otherModes pins how the task's work differs in the modes that a message may set: not those
// that the agent excludes, nor those of a task that takes no messages.
func otherModes(a *DynamicAgent, t *executor.Task, sel selection, in Input, set *tools.Set, env Env) error {
	if a.Workflow != "" || in.Parent != nil {
		return nil
	}
	for _, mode := range executor.Modes {
		if mode == t.Mode || narrower(mode, a.Mode) != mode {
			continue
		}
		in.Mode = mode
		other, err := selectTools(a, in, set, env)
		if err != nil {
			continue // the task cannot be done in it on this host, and a message that sets it has no effect
		}
		with := *t
		with.Tools, with.Checks, with.Done, with.PlanOnly = PinTools(other.own), PinTools(other.checks), a.Done, false
		with.Artifacts = maps.Clone(t.Artifacts)
		if mode == executor.ModePlan {
			with.Done, with.PlanOnly = planCriterion(a, offeredTo(other.route.Model, other.own))
			with.PlanOnly = with.PlanOnly || other.acts
		} else if err := addChecks(a, &with, in, set, env); err != nil {
			continue
		}
		t.NothingToCheck = with.NothingToCheck
		if _, err := shrinkTools(a, &with, other.own, set, hints(in.Prompt, nil)); err != nil {
			return err
		}
		w := executor.ModeWork{Checks: with.Checks, Done: with.Done, PlanOnly: with.PlanOnly}
		for _, tool := range with.Tools {
			if mode != executor.ModePlan && !slices.ContainsFunc(t.Tools, func(x executor.Tool) bool { return x.Name == tool.Name }) {
				w.Tools = append(w.Tools, tool)
			}
		}
		if len(w.Tools) > 0 && with.Artifacts[descriptions] != nil {
			t.Artifacts = with.Artifacts
		}
		if t.Modes == nil {
			t.Modes = map[executor.Mode]executor.ModeWork{}
		}
		t.Modes[mode] = w
	}
	return nil
}

// addChecks settles how the task's checks are run: by which command the tests,
// and which have nothing to check in the workspace as it is. A check that can
// never judge anything is refused before the first turn.
func addChecks(a *DynamicAgent, t *executor.Task, in Input, set *tools.Set, env Env) error {
	t.Test = cmp.Or(in.Test, env.Test)
	if in.Parent != nil {
		t.Test = in.Parent.Test // settled once for a job: its files may have changed
	}
	for _, c := range checksOf(t.Done) {
		name, args := c.Call()
		tool, ok := set.Lookup(name)
		if !ok {
			return fmt.Errorf("there is no tool %s, which its check runs", name)
		}
		if fault, hint := tool.CheckFault(args); fault != "" {
			return fmt.Errorf("%s; %s", fault, hint)
		}
		if tool.Missing == nil || env.Missing == nil || in.Dir == "" {
			continue
		}
		if words := env.Missing(in.Dir, tool, args, t.Test); words != "" {
			if t.NothingToCheck == nil {
				t.NothingToCheck = map[string]string{}
			}
			t.NothingToCheck[c.Label()] = words
		}
	}
	return nil
}

// checksOf lists the parts of a criterion that are checks.
func checksOf(c executor.Criterion) (out []executor.Criterion) {
	if c.IsCheck() {
		out = append(out, c)
	}
	parts := slices.Concat(c.All, c.Any)
	if c.IfMissing != nil {
		parts = append(parts, *c.IfMissing)
	}
	for _, part := range parts {
		out = append(out, checksOf(part)...)
	}
	return out
}

// nothingToCheckText tell the model before its first turn which checks have nothing
// to check, and what counts instead.
func nothingToCheckText(t *executor.Task) string {
	var lines []string
	for _, c := range checksOf(t.Done) {
		words, lacks := t.NothingToCheck[c.Label()]
		switch {
		case !lacks:
		case c.IfMissing == nil:
			lines = append(lines, fmt.Sprintf("%s has nothing to check in this project (%s), and nothing else counts instead: it has to have something to check when you are done.", c.Label(), words))
		default:
			lines = append(lines, fmt.Sprintf("%s has nothing to check in this project (%s). Unless that changes, this counts instead: %s. Say in your last words that it was not checked.", c.Label(), words, strings.Join(c.IfMissing.Describe(), " and ")))
		}
	}
	return strings.Join(slices.Compact(lines), "\n")
}

// Asked returns the inputs of a request to a, with their defaults, and settles its prompt: the
// default one where nothing is asked. It fails where there is nothing that a could do.
func Asked(a *DynamicAgent, in *Input) (map[string]json.RawMessage, error) {
	inputs, err := checkInputs(a, in.Inputs)
	if err == nil && strings.TrimSpace(in.Prompt) == "" && !anything(inputs) {
		if in.Prompt = a.DefaultPrompt; in.Prompt == "" {
			err = errors.New("there is no prompt; say what to do")
		}
	}
	return inputs, err
}

// checkInputs checks what was given against what is declared and fills defaults.
func checkInputs(a *DynamicAgent, given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	maps.Copy(out, given)
	if len(a.Inputs) == 0 {
		return out, nil
	}
	var names []string
	var errs []error
	for _, f := range a.Inputs {
		names = append(names, f.Name)
		if _, ok := out[f.Name]; ok {
			continue
		}
		switch {
		case f.Default != nil:
			out[f.Name] = f.Default
		case !f.Optional:
			errs = append(errs, fmt.Errorf("input %s is missing: %s", f.Name, cmp.Or(f.Description, "it is required")))
		default:
			out[f.Name] = json.RawMessage(`""`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(names, name) {
			continue
		}
		hint := "; there are " + strings.Join(names, ", ")
		if near := spelling.Nearest(name, names); near != "" {
			hint = "; did you mean " + near + "?"
		}
		errs = append(errs, fmt.Errorf("there is no input %s%s", name, hint))
	}
	return out, errors.Join(errs...)
}

// giveInputs binds inputs to the artifacts they are declared as, and takes them out
// of those that the prompt lists: a tool reads them where they are, a model
// would have to repeat them word by word.
func giveInputs(a *DynamicAgent, t *executor.Task, inputs, asked, here map[string]json.RawMessage) {
	for _, f := range a.Inputs {
		v, ok := inputs[f.Name]
		if asked[f.Name] == nil && here[f.Artifact] != nil {
			v, ok = here[f.Artifact], true
		}
		if f.Artifact == "" || !ok || f.Artifact == tools.TestCommand || f.Artifact == memory.JobTaint {
			continue // the command that runs tests is not for whoever writes a request
		}
		delete(inputs, f.Name)
		if string(v) == `""` {
			continue
		}
		if t.Artifacts == nil {
			t.Artifacts = map[string]json.RawMessage{}
		}
		t.Artifacts[f.Artifact] = v
	}
}

// anything reports whether the inputs say something: an optional one that was
// left out does not.
func anything(inputs map[string]json.RawMessage) bool {
	for _, v := range inputs {
		if string(v) != `""` {
			return true
		}
	}
	return false
}

// ByValue is an agent as others read it that do not know where it comes from: what its
// file does not get to allow itself is left out, and what is peculiar to the form of
// Claude Code is written in ours.
func ByValue(a *DynamicAgent, set *tools.Set) DynamicAgent {
	own := *a
	own.Permissions, _ = Rules(a)
	if !a.Source.Claude {
		return own
	}
	without := unknownTools(a, set)
	gone := func(name string) bool { return slices.Contains(without, name) }
	own.Tools = slices.DeleteFunc(slices.Clone(a.Tools), gone)
	own.Deny = slices.DeleteFunc(slices.Clone(a.Deny), func(name string) bool { return !ofServer(name) && set.Unknown(name) != nil })
	own.Prompt = plain(a.Prompt)
	return own
}

// PinTools takes from a set what a task needs to know of it.
func PinTools(set *tools.Set) []executor.Tool {
	var out []executor.Tool
	for t := range set.All() {
		out = append(out, executor.Tool{
			ToolSpec: llm.ToolSpec{Name: t.Name, Description: t.Description, Input: t.Input.JSON()},
			Needs:    t.Needs, Effect: t.Effect, Consumes: t.Consumes, Uses: t.Uses, Produces: t.Produces,
			Online: t.Online, Proves: t.Proves, ProvesWith: t.ProvesWith,
		})
	}
	return out
}

// readSkill is the tool that returns the text of a skill.
const readSkill = "read_skill"

// chooseSkills picks the skills that a selects, and fails if one it names is not
// there.
func chooseSkills(a *DynamicAgent, there []Skill) ([]Skill, error) {
	var out []Skill
	var names []string
	for _, s := range there {
		names = append(names, s.Name)
		if slices.ContainsFunc(a.Skills, func(pattern string) bool { ok, _ := path.Match(pattern, s.Name); return ok }) {
			out = append(out, s)
		}
	}
	for _, name := range a.Skills {
		if _, err := path.Match(name, ""); err != nil {
			return nil, fmt.Errorf("the skill pattern %q is malformed; wildcards are *, ? and [a-z]: %w", name, err)
		}
		if !strings.ContainsAny(name, "*?[") && !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no skill %s%s; %s lists them", name, spelling.DidYouMean(name, names), hint.Command("agents skills list"))
		}
	}
	return out, nil
}

// withSkills picks the skills of a and gives own the tool that reads them. Where the
// program has no such tool, or the agent denies it, there are no skills.
func withSkills(a *DynamicAgent, own, set *tools.Set, there []Skill) (*tools.Set, []Skill, error) {
	chosen, err := chooseSkills(a, there)
	if err != nil {
		return nil, nil, err
	}
	if len(chosen) > 0 {
		with, err := set.Only(append(own.Names(), readSkill)...)
		if err == nil {
			with = with.Without(a.Deny...)
		}
		if _, ok := with.Lookup(readSkill); !ok {
			chosen = nil
		} else {
			own = with
		}
	}
	if len(chosen) == 0 {
		return own.Without(readSkill), nil, nil
	}
	return own, chosen, nil
}

// given are the artifacts that a task with these skills begins with.
func given(skills []Skill) (map[string]json.RawMessage, error) {
	if len(skills) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(skills)
	if err != nil {
		return nil, fmt.Errorf("encoding the skills: %w", err)
	}
	return map[string]json.RawMessage{"skills": b}, nil
}

// Bounds of the list of skills in a prompt, in bytes.
const (
	maxSkillLine = 240
	maxSkillList = 4 << 10
)

// skillList is the part of a system prompt that names the skills.
func skillList(list []Skill) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Skills. Read one with " + readSkill + " before you do what it is for:")
	for i, s := range list {
		line := "\n- " + s.Name + ": " + short(strings.Join(strings.Fields(s.Description), " "), maxSkillLine)
		if b.Len()+len(line) > maxSkillList {
			line = "\n- " + s.Name
		}
		if b.Len()+len(line) > maxSkillList+maxSkillLine {
			fmt.Fprintf(&b, "\n- and %d more", len(list)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// short cuts s at a word.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = strings.ToValidUTF8(s[:most], "")
	if i := strings.LastIndexByte(s, ' '); i > most/2 {
		s = s[:i]
	}
	return s + "…"
}
