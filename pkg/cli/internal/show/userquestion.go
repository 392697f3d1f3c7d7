package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// UserQuestion is what a tool asks the user in the middle of a call, nil if q is
// about something else.
func UserQuestion(q *jobs.Question) *executor.UserQuestion {
	var u executor.UserQuestion
	if q == nil || json.Unmarshal(q.About, &u) != nil || u.Tool == "" {
		return nil
	}
	return &u
}

// A Field is one that the answer to a [UserQuestion] has.
type Field struct {
	Name     string
	About    string // what it is, for people
	Required bool
	Text     bool // it is text, whatever it looks like
}

// Fields are those of the answer to a question of a tool, none if that is yes or
// no.
func Fields(q *jobs.Question) []Field {
	u := UserQuestion(q)
	var s struct {
		Required   []string
		Properties map[string]struct {
			Type, Title, Description string
			Enum                     []json.RawMessage
			OneOf                    []struct{ Const json.RawMessage }
			Default                  json.RawMessage
		}
	}
	if u == nil || len(u.Schema) == 0 || json.Unmarshal(u.Schema, &s) != nil {
		return nil
	}
	var out []Field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		f := Field{Name: name, Required: slices.Contains(s.Required, name), Text: p.Type == "string"}
		parts := []string{cmp.Or(p.Description, p.Title), p.Type}
		for _, one := range p.OneOf {
			p.Enum = append(p.Enum, one.Const)
		}
		var values []string
		for _, v := range p.Enum {
			values = append(values, strings.Trim(string(v), `"`))
		}
		if values != nil {
			parts[1] = "one of " + strings.Join(values, ", ")
		}
		if p.Default != nil {
			parts = append(parts, "default "+string(p.Default))
		}
		if f.Required {
			parts = append(parts, "required")
		}
		f.About = Quote(kit.SanitizeLine(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")))
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Field) int { return cmp.Compare(fieldRank(a), fieldRank(b)) })
	return out
}

func fieldRank(f Field) int {
	if f.Required {
		return 0
	}
	return 1
}

// userQuestion shows who asks what, and what the answer has.
func userQuestion(q *jobs.Question) string {
	u := UserQuestion(q)
	var b strings.Builder
	fmt.Fprintf(&b, "     the MCP server %s asks, in its tool %s:\n", Quote(kit.SanitizeLine(u.Server)), Quote(kit.SanitizeLine(u.Tool)))
	for line := range strings.Lines(Quote(u.Question)) {
		fmt.Fprintf(&b, "       %s\n", strings.TrimRight(line, "\n"))
	}
	if u.URL != "" {
		fmt.Fprintf(&b, "       it asks you to open %s\n", Quote(kit.SanitizeLine(u.URL)))
	}
	for _, f := range Fields(q) {
		fmt.Fprintf(&b, "       - %s: %s\n", Quote(kit.SanitizeLine(f.Name)), f.About)
	}
	if u.Fault != "" {
		fmt.Fprintf(&b, "     the answer before did not fit: %s\n", Quote(kit.SanitizeLine(u.Fault)))
	}
	return b.String()
}
