package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// outlineInput is the input of generate_outline.
type outlineInput struct {
	Topic    string   `json:"topic" jsonschema:"minLength=1,description=What the post is about"`
	Sections []string `json:"sections,omitempty" jsonschema:"description=What must be covered"`
	Words    int      `json:"words,omitempty" jsonschema:"description=Length of the post"`
}

//go:embed generate_outline.md
var outlineProse string

// Outline is the tool generate_outline.
var Outline = tools.New(tools.Metadata{
	Name: "generate_outline", Category: "content", Needs: tools.Think, Optionality: tools.Optional,
	Uses: []string{"analysis", "citations"}, Produces: []string{"outline"},
	Examples: []tools.Example{{Note: "after an analysis", Args: json.RawMessage(`{"topic":"Durable agents on one machine","words":1200}`)}},
}.Prose(outlineProse), func(ctx context.Context, env *tools.Env, in outlineInput) (tools.Result, error) {
	data := map[string]any{"Topic": quoted(in.Topic), "Wanted": in.Sections, "Words": in.Words, "Analysis": "", "Sources": sources(env)}
	if a, ok := artifact[styleAnalysis](env, "analysis"); ok {
		raw, err := json.Marshal(a)
		if err != nil {
			return tools.Result{}, tools.Fatal(err)
		}
		data["Analysis"] = quoted(string(raw))
		if in.Words == 0 {
			data["Words"] = a.Words
		}
	}
	p, err := typed(ctx, env, "outline", data, (*postOutline).check)
	if err != nil {
		return tools.Result{}, err
	}
	return result(p.String(), "outline", p)
})

// String shows the plan as a numbered list.
func (p postOutline) String() string {
	var b strings.Builder
	b.WriteString(p.Title)
	for i, h := range p.Sections {
		fmt.Fprintf(&b, "\n%d. %s", i+1, h.Title)
		if h.Words > 0 {
			fmt.Fprintf(&b, " (about %d words)", h.Words)
		}
		for _, point := range h.Points {
			fmt.Fprintf(&b, "\n   - %s", point)
		}
	}
	return b.String()
}
