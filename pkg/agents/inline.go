package agents

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Inline reads an agent that is written out within another file: the keys that
// an agent file has in its front matter, and prompt. name is the agent's unless
// it gives itself one. As with [Parse], whether its tools exist is for [Lint].
func Inline(file, name string, n *plainyaml.Node) (*DynamicAgent, Problems) {
	rep := &report{src: Source{File: file, Places: plainyaml.Places{}}}
	root := n
	n.Places("", rep.src.Places)
	a := &DynamicAgent{Name: name, Description: "An agent of " + file + "."}
	d := decode(a, rep)
	front := *root
	front.Keys, front.Kids = nil, nil
	for i, k := range root.Keys {
		if k.Text != "prompt" && spelling.Nearest(k.Text, []string{"prompt"}) != "" {
			d.bad(k, "did you mean prompt?", "unknown key %q", k.Text)
			continue
		}
		if k.Text != "prompt" {
			front.Keys, front.Kids = append(front.Keys, k), append(front.Kids, root.Kids[i])
			continue
		}
		d.String(root.Kids[i], "prompt", &a.Prompt)
		at := root.Kids[i].Place
		if at.Line == k.Line && strings.Contains(a.Prompt, "\n") {
			at.Line++ // of a text in a block, the first line is below the key
		}
		rep.src.Places["prompt"] = at
	}
	d.agent(&front)
	if !nameRule.MatchString(a.Name) {
		rep.key("name", Error, "use lower case letters, digits, - and _, as in code-reviewer", "the name %q cannot be used", a.Name)
	}
	a.Source = rep.src
	return a, rep.list.Sort()
}

// InlineLimits reads limits that are written in another file, in the form that
// they have in an agent's.
func InlineLimits(file string, n *plainyaml.Node, what string) (executor.Limits, Problems) {
	rep := &report{src: Source{File: file}}
	d := decode(&DynamicAgent{}, rep)
	d.limits(n)
	return d.a.Limits, rep.list.Sort()
}
