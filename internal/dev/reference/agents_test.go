package reference

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
)

// A pageSchema is the part of a JSON Schema that the page needs.
type pageSchema struct {
	Type        string                 `json:"type"`
	Ref         string                 `json:"$ref"`
	Description string                 `json:"description"`
	Properties  map[string]*pageSchema `json:"properties"`
	Values      json.RawMessage        `json:"additionalProperties"`
	AnyOf       []*pageSchema          `json:"anyOf"`
	Items       *pageSchema            `json:"items"`
	Enum        []string               `json:"enum"`
	Required    []string               `json:"required"`
	Defs        map[string]*pageSchema `json:"$defs"`
}

func TestAgents(t *testing.T) {
	var s pageSchema
	text, err := os.ReadFile("../../../configs/schemas/agent.schema.json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Properties) == 0 || s.Defs["criterion"] == nil {
		t.Fatal("the schema of agent files has no keys or no criterion")
	}
	var b strings.Builder
	b.WriteString("## Front matter\n\n| key | type | |\n|---|---|---|\n")
	rows(t, &b, &s, "")
	b.WriteString("\n## Criteria\n\nWhat `done`, and each element of `all` and `any`, may be. A criterion is one of these; only `where` goes with another, `artifact`, and `if_missing` with `check`.\n\n| key | type | |\n|---|---|---|\n")
	rows(t, &b, s.Defs["criterion"], "")
	builder, err := fs.ReadFile(configs.Agents(), "builder.md")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "\n## Example\n\nThe builder, as it ships:\n\n````markdown\n%s\n````\n", strings.TrimRight(string(builder), "\n"))
	hold(t, "agents.md", b.String())
}

func rows(t *testing.T, b *strings.Builder, s *pageSchema, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[key]
		about := p.Description
		if slices.Contains(s.Required, key) {
			about += " Required."
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, key, kindOf(p), cell(about))
		rows(t, b, p, prefix+key+".")
		// The values of inputs: an object or its description alone.
		var values pageSchema
		if len(p.Values) > 0 && p.Values[0] == '{' {
			if err := json.Unmarshal(p.Values, &values); err != nil {
				t.Fatalf("%s%s: %v", prefix, key, err)
			}
			if values.AnyOf != nil {
				fmt.Fprintf(b, "| `%s%s.NAME` | %s | %s |\n", prefix, key, kindOf(&values), cell(values.AnyOf[0].Description))
			}
			for _, form := range values.AnyOf {
				rows(t, b, form, prefix+key+".NAME.")
			}
		}
	}
}

func kindOf(s *pageSchema) string {
	switch {
	case s.Ref != "":
		return "criterion"
	case s.AnyOf != nil:
		var forms []string
		for _, f := range s.AnyOf {
			forms = append(forms, kindOf(f))
		}
		return strings.Join(forms, " or ")
	case s.Enum != nil:
		return strings.Join(s.Enum, ", ")
	case s.Type == "array" && s.Items != nil && s.Items.Ref != "":
		return "list of criteria"
	case s.Type == "array":
		return "list"
	case s.Type == "":
		return "any"
	case s.Type == "string":
		return "text"
	case s.Type == "integer":
		return "whole number"
	}
	return s.Type
}
