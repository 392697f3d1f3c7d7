package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// describeTool shows all of a tool that is shown in short; descriptions is the
// artifact that it reads.
const (
	describeTool = "describe_tool"
	descriptions = "tool_descriptions"
)

// toolShare is the part of a window that tools may take: a quarter.
const toolShare = 4

// shrinkTools makes the tools of a task small enough for its window: first they are
// shortened, those that the task may not need before the others, and of
// those the ones that the request mentions least; tools for a condition that it
// does not speak of are left out, and at last optional ones. The choice is part
// of the task, so that it holds for the whole job.
func shrinkTools(a *DynamicAgent, t *executor.Task, own, set *tools.Set, hints string) (*tools.Set, error) {
	f := toolShrinker{a: a, task: t, own: own, room: window(t) / toolShare, hints: stems(hints), words: hints, by: map[string]executor.Tool{}}
	if f.room == 0 || own.Len() == 0 || a.Workflow != "" {
		return own, nil // code that calls tools counts on them
	}
	for _, tool := range t.Tools {
		f.by[tool.Name] = tool
	}
	if f.size() <= f.room {
		return own, nil
	}
	if with, err := set.Only(append(own.Names(), describeTool)...); err == nil {
		f.describer, _ = with.Without(a.Deny...).Lookup(describeTool)
	}
	if err := f.shrink(); err != nil {
		return nil, err
	}
	return f.apply()
}

// window is the smallest that the models of a task have, as far as that is
// known.
func window(t *executor.Task) int {
	least := t.Options.Window
	if least == 0 && t.Budget != nil {
		least = t.Budget.Window
	}
	for _, f := range t.Fallbacks {
		if f.Window > 0 && (least == 0 || f.Window < least) {
			least = f.Window
		}
	}
	return least
}

// A toolShrinker is the work of fit.
type toolShrinker struct {
	a            *DynamicAgent
	task         *executor.Task
	own          *tools.Set
	room         int                      // in tokens
	by           map[string]executor.Tool // those that are left, as they are shown
	describer    tools.Tool               // describe_tool; without a name there is none
	hints        map[string]bool
	words        string
	descriptions map[string]string // all of what is shown in short
	shortened    []executor.ShortenedTool
}

// size returns the tools' size in tokens.
func (f *toolShrinker) size() int {
	n := toolTokens(slices.Collect(maps.Values(f.by)))
	if len(f.descriptions) > 0 && f.describer.Name != "" {
		if set, err := tools.NewSet(f.describer); err == nil {
			n += toolTokens(PinTools(set))
		}
	}
	return n
}

// shrink goes from what costs the job least to what costs it most: a short
// description can be asked about, a tool that is left out cannot.
func (f *toolShrinker) shrink() error {
	required := func(t tools.Tool) bool { return t.Optionality == tools.Required || t.Optionality == "" }
	optional := func(t tools.Tool) bool { return !required(t) }
	unasked := func(t tools.Tool) bool {
		return t.Optionality == tools.Conditional && !f.neededNow(t)
	}
	for _, step := range []struct {
		which func(tools.Tool) bool
		do    func(tools.Tool) error
	}{
		{optional, f.shorten},
		{unasked, f.remove},
		{required, f.shorten},
		{func(t tools.Tool) bool { return optional(t) && !f.neededNow(t) }, f.remove},
	} {
		for _, t := range f.ranked(step.which) {
			if f.size() <= f.room {
				return nil
			}
			if err := step.do(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// mentionsCondition reports whether the request has a word of the condition of t that is
// in no other tool's.
func (f *toolShrinker) mentionsCondition(t tools.Tool) bool {
	own := stems(t.When)
	for other := range f.own.All() {
		if other.Name != t.Name {
			for stem := range stems(other.When) {
				delete(own, stem)
			}
		}
	}
	for stem := range own {
		if f.hints[stem] {
			return true
		}
	}
	return false
}

// shorten describes t in a line, with a schema without words.
func (f *toolShrinker) shorten(t tools.Tool) error {
	if t.Name == describeTool {
		return nil // it lists other tools
	}
	short, err := f.by[t.Name].Short(t.Brief())
	if err != nil || !short.Brief {
		return err
	}
	f.by[t.Name] = short
	if f.descriptions == nil {
		f.descriptions = map[string]string{}
	}
	f.descriptions[t.Name] = t.Describe()
	return nil
}

func (f *toolShrinker) remove(t tools.Tool) error {
	delete(f.by, t.Name)
	delete(f.descriptions, t.Name)
	why := "it is optional and the request does not speak of it"
	if t.Optionality == tools.Conditional {
		why = "it is for when " + t.When
	}
	f.shortened = append(f.shortened, executor.ShortenedTool{Tool: t.Name, Removed: true, Why: why})
	return nil
}

// neededNow reports whether the job cannot do without t, however optional it is.
func (f *toolShrinker) neededNow(t tools.Tool) bool {
	d := f.task.Done
	switch {
	case slices.Contains([]string{finish, readResult, readSkill, describeTool, turn.CallTool}, t.Name), t.Name == spawnAgent && f.a.Spawn != nil:
		return true
	case slices.Contains(d.Tools(), t.Name), slices.ContainsFunc(t.Produces, func(p string) bool { return slices.Contains(d.Artifacts(), p) }):
		return true
	case t.Optionality == tools.Conditional && f.mentionsCondition(t):
		return true
	}
	// A prompt that names the tool expects it to be there.
	return named(t.Name, f.words) || named(t.Name, f.a.Prompt)
}

func named(tool, text string) bool {
	return regexp.MustCompile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(tool) + `($|[^A-Za-z0-9_])`).MatchString(text)
}

// ranked are tools in the order in which they are done without: what the
// request mentions least first, then what has a condition, then the longest.
func (f *toolShrinker) ranked(which func(tools.Tool) bool) []tools.Tool {
	var list []tools.Tool
	use := map[string]int{}
	for t := range f.own.All() {
		if _, there := f.by[t.Name]; there && which(t) {
			list = append(list, t)
			use[t.Name] = f.use(t)
		}
	}
	size := func(t tools.Tool) int { return toolTokens([]executor.Tool{f.by[t.Name]}) }
	conditional := func(t tools.Tool) int {
		if t.Optionality == tools.Conditional {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b tools.Tool) int {
		return cmp.Or(cmp.Compare(use[a.Name], use[b.Name]), cmp.Compare(conditional(a), conditional(b)), cmp.Compare(size(b), size(a)))
	})
	return list
}

// use weighs how much the request suggests a tool.
func (f *toolShrinker) use(t tools.Tool) int {
	n := 0
	for weight, text := range map[int]string{3: strings.ReplaceAll(t.Name, "_", " "), 2: t.When, 1: t.Description + " " + t.UsageHint} {
		for stem := range stems(text) {
			if f.hints[stem] {
				n += weight
			}
		}
	}
	for name := range f.task.Artifacts {
		if slices.ContainsFunc(slices.Concat(t.Consumes, t.Uses), func(p string) bool { return tools.Matches(p, name) }) {
			n += 3
		}
	}
	return n
}

// apply takes what was chosen over into the task.
func (f *toolShrinker) apply() (*tools.Set, error) {
	for _, name := range slices.Sorted(maps.Keys(f.descriptions)) {
		f.shortened = append(f.shortened, executor.ShortenedTool{Tool: name, Why: "its full description is long for the window"})
	}
	own := f.own.Without(slices.DeleteFunc(f.own.Names(), func(n string) bool { _, left := f.by[n]; return left })...)
	if len(f.descriptions) > 0 && f.describer.Name != "" {
		var err error
		if _, has := own.Lookup(describeTool); !has {
			if own, err = own.With(f.describer); err != nil {
				return nil, err
			}
		}
		b, err := json.Marshal(f.descriptions)
		if err != nil {
			return nil, fmt.Errorf("encoding the descriptions of tools: %w", err)
		}
		if f.task.Artifacts == nil {
			f.task.Artifacts = map[string]json.RawMessage{}
		}
		f.task.Artifacts[descriptions] = b
	}
	list := PinTools(own)
	for i := range list {
		if short, ok := f.by[list[i].Name]; ok {
			list[i] = short
		}
	}
	f.task.Tools, f.task.ShortenedTools = list, f.shortened
	return own, nil
}

// ShortenedTools states what would be shown in short or left out of the agent's tools in
// a window of so many tokens, for a request that does not mention them.
func ShortenedTools(a *DynamicAgent, set *tools.Set, tokens int) ([]executor.ShortenedTool, error) {
	own, _, err := Offer(a, set)
	if err != nil {
		return nil, err
	}
	own = withResults(a, own, set)
	t := executor.Task{Work: executor.Work{Tools: PinTools(own), Done: a.Done}}
	t.Options.Window = tokens
	_, err = shrinkTools(a, &t, own, set, "")
	return t.ShortenedTools, err
}

var wordRule = lazyregexp.New(`[\p{L}]{3,}`)

// common are words that say nothing of what a request is about.
var common = strings.Fields("the and for with that this from into are not you your its has have can may all any but use when which what make each than them they will one two out user wants want asks asked")

// stems are the words of a text by how they begin, so that "published" matches
// publish.
func stems(text string) map[string]bool {
	const most, letters = 64 << 10, 5
	out := map[string]bool{}
	for _, w := range wordRule.FindAllString(strings.ToLower(text[:min(len(text), most)]), -1) {
		if slices.Contains(common, w) {
			continue
		}
		if r := []rune(w); len(r) > letters {
			w = string(r[:letters])
		}
		out[w] = true
	}
	return out
}

// hints is the text of a request, in its prompt and its inputs.
func hints(prompt string, inputs map[string]json.RawMessage) string {
	parts := []string{prompt}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		parts = append(parts, strings.ReplaceAll(name, "_", " "), string(inputs[name]))
	}
	return strings.Join(parts, "\n")
}

// toolTokens estimates what a list of tools takes of a prompt, in tokens.
func toolTokens(list []executor.Tool) int {
	n := 0
	for i := range list {
		n += turn.WeighTool(&list[i].ToolSpec)
	}
	return turn.Tokens(n, turn.FirstRate)
}
