package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Describe is what [Set.Describe] says of one tool.
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

// signature is the tool's name with those of its parameters, the optional ones
// marked.
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
