package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Describe returns the part of [Set.Describe] about one tool.
func (t Tool) Describe() string {
	var b strings.Builder
	t.full(&b)
	return strings.TrimRight(b.String(), "\n")
}

// Brief is one line about a tool, for where there is no room for more.
func (t Tool) Brief() string { return firstSentence(t.Description) + t.condition() }

// Describe renders the tools as a part of the prompt, for models without native
// tool calling: grouped by category, required and optional tools apart. Of those
// that brief reports there is a line each, of the others the parameters, the hint
// and an example, too; a nil brief reports none. The text of an empty Set is empty.
func (s *Set) Describe(brief func(tool string) bool) string {
	if s.Len() == 0 {
		return ""
	}
	if brief == nil {
		brief = func(string) bool { return false }
	}
	var b strings.Builder
	for _, category := range ordered(s.Categories()) {
		fmt.Fprintf(&b, "## %s\n\n", cmp.Or(category, "other"))
		in := s.ByCategory(category)
		for _, group := range []struct {
			o     Optionality
			title string
		}{
			{Required, "Expected to be needed:"},
			{Optional, "Useful at times:"},
			{Conditional, "Only under a condition:"},
		} {
			tools := in.ByOptionality(group.o)
			if tools.Len() == 0 {
				continue
			}
			fmt.Fprintf(&b, "%s\n\n", group.title)
			var full []Tool
			for t := range tools.All() {
				if brief(t.Name) {
					fmt.Fprintf(&b, "- %s: %s\n", t.signature(), t.Brief())
				} else {
					full = append(full, t)
				}
			}
			if len(full) < tools.Len() {
				b.WriteByte('\n')
			}
			for _, t := range full {
				t.full(&b)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// signature returns the tool's name and its parameters' names, the optional ones marked.
func (t Tool) signature() string {
	var names []string
	for _, p := range t.Input.Offered() {
		if !p.Required {
			p.Name += "?"
		}
		names = append(names, p.Name)
	}
	return t.Name + "(" + strings.Join(names, ", ") + ")"
}

// full writes all that a model needs to call t.
func (t Tool) full(b *strings.Builder) {
	fmt.Fprintf(b, "### %s\n%s%s\n", t.Name, oneLine(t.Description), t.condition())
	params := t.Input.Offered()
	if len(params) == 0 {
		b.WriteString("Parameters: none\n")
	} else {
		b.WriteString("Parameters:\n")
	}
	for _, p := range params {
		need := "optional"
		if p.Required {
			need = "required"
		}
		fmt.Fprintf(b, "- %s (%s, %s)", p.Name, p.Type, need)
		if p.Description != "" {
			fmt.Fprintf(b, ": %s", oneLine(p.Description))
		}
		b.WriteByte('\n')
	}
	if t.UsageHint != "" {
		fmt.Fprintf(b, "Hint: %s\n", oneLine(t.UsageHint))
	}
	if len(t.Consumes) > 0 {
		fmt.Fprintf(b, "Works on: %s\n", strings.Join(t.Consumes, ", "))
	}
	if len(t.Produces) > 0 {
		fmt.Fprintf(b, "Produces: %s\n", strings.Join(t.Produces, ", "))
	}
	if args, note := t.example(); args != "" {
		fmt.Fprintf(b, "Example: %s", args)
		if note != "" {
			fmt.Fprintf(b, " (%s)", oneLine(note))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// example returns the first declared example, else one made from the schema,
// on one line. Both satisfy the schema.
func (t Tool) example() (args, note string) {
	if len(t.Examples) > 0 {
		var line bytes.Buffer
		if err := json.Compact(&line, t.Examples[0].Args); err == nil {
			return line.String(), t.Examples[0].Note
		}
	}
	return string(t.Input.Sample()), ""
}

func (m Metadata) condition() string {
	if m.Optionality != Conditional {
		return ""
	}
	return " Only when " + strings.TrimSuffix(oneLine(m.When), ".") + "."
}

// ordered puts the categories that ship first, in the order of the work.
func ordered(categories []string) []string {
	known := []string{"code", "vcs", "build", "research", "content", "publish", "utility"}
	rank := func(c string) int {
		switch i := slices.Index(known, c); {
		case i >= 0:
			return i
		case c == "":
			return len(known) + 1
		}
		return len(known)
	}
	slices.SortStableFunc(categories, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return categories
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func firstSentence(s string) string {
	s = oneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// TestCommand names the artifact that has the command line which runs the
// project's tests, where the operator has configured one. It is given to tools
// that have it in Metadata.Uses, and no tool, input or agent can set it.
const TestCommand = "test_command"

// IsFamily reports whether name in Produces, Consumes or Uses stands for a family
// of artifacts, as section/* does for section/intro and section/end: parts that
// calls make one by one, beside each other.
func IsFamily(name string) bool { return strings.HasSuffix(name, "/*") }

// Matches reports whether name stands for an artifact, or for a family with it.
func Matches(name, artifact string) bool {
	prefix, family := strings.CutSuffix(name, "*")
	if !family || !strings.HasSuffix(prefix, "/") {
		return name == artifact
	}
	return strings.HasPrefix(artifact, prefix) && len(artifact) > len(prefix)
}

// ByCategory returns the tools of one category.
func (s *Set) ByCategory(category string) *Set {
	return s.where(func(t Tool) bool { return t.Category == category })
}

// Categories returns the categories that occur, sorted.
func (s *Set) Categories() []string {
	var out []string
	for t := range s.All() {
		out = append(out, t.Category)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ByOptionality returns the tools presented as o. Required is the zero value's
// meaning too.
func (s *Set) ByOptionality(o Optionality) *Set {
	return s.where(func(t Tool) bool { return t.presented() == cmp.Or(o, Required) })
}

func (m Metadata) presented() Optionality { return cmp.Or(m.Optionality, Required) }

// Offered returns the tools that are of use with the artifacts that exist:
// those whose Consumes are all among them.
func (s *Set) Offered(artifacts []string) *Set {
	return s.where(func(t Tool) bool { return t.inputsExist(artifacts) })
}

func (m Metadata) inputsExist(artifacts []string) bool {
	return !slices.ContainsFunc(m.Consumes, func(name string) bool { return !among(artifacts, name) })
}

func among(artifacts []string, name string) bool {
	return slices.ContainsFunc(artifacts, func(a string) bool { return Matches(name, a) })
}

// Suggest returns the names of tools that would take the run a step further:
// what they consume exists and something they produce does not. The ones that
// build on most of what is there come first, then required ones, then by name.
func (s *Set) Suggest(artifacts []string) []string {
	var next []Tool
	for t := range s.All() {
		fresh := slices.ContainsFunc(t.Produces, func(name string) bool { return IsFamily(name) || !among(artifacts, name) })
		if fresh && t.inputsExist(artifacts) {
			next = append(next, t)
		}
	}
	rank := func(t Tool) int {
		return slices.Index([]Optionality{Required, Optional, Conditional}, t.presented())
	}
	slices.SortStableFunc(next, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(len(b.Consumes), len(a.Consumes)), cmp.Compare(rank(a), rank(b)))
	})
	names := make([]string, 0, len(next))
	for _, t := range next {
		names = append(names, t.Name)
	}
	return names
}
