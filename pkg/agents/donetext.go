package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

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
func userMessage(prompt string, inputs map[string]json.RawMessage, tmpl *template.Template) string {
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
