package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/markdown"
	"github.com/adroit-run/adroit/pkg/tools"
)

// reviewInput is the input of review_content.
type reviewInput struct {
	Focus string `json:"focus,omitempty" jsonschema:"description=What to look at in particular"`
}

// A postReview is the artifact "review".
type postReview struct {
	Verdict string        `json:"verdict" jsonschema:"enum=ready,enum=revise,description=Whether it can be published as it is"`
	Faults  []reviewFault `json:"faults" jsonschema:"maxItems=20,description=What to change; empty if nothing"`
}

// A reviewFault is something to change in a post.
type reviewFault struct {
	Where string `json:"where" jsonschema:"minLength=1,description=The section or a few of the words"`
	What  string `json:"what" jsonschema:"minLength=1,description=What is wrong"`
	Fix   string `json:"fix" jsonschema:"description=What to do"`
}

//go:embed review_content.md
var reviewProse string

// Check is the tool review_content.
var Check = tools.New(tools.Metadata{
	Name: "review_content", Category: "content", Needs: tools.Think, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{"content"}, Uses: []string{"analysis", "citations"}, Produces: []string{"review"},
	Examples: []tools.Example{{Note: "all of it", Args: json.RawMessage(`{}`)}},
}.Prose(reviewProse), func(ctx context.Context, env *tools.Env, in reviewInput) (tools.Result, error) {
	text := content(env)
	data := map[string]any{"Content": quoted(text), "Focus": quoted(in.Focus), "Analysis": quoted(string(env.Artifacts.Value("analysis"))), "Sources": sources(env)}
	got, err := typed[postReview](ctx, env, "review", data, nil)
	if err != nil {
		return tools.Result{}, err
	}
	// What can be counted is not left to a model.
	got.Faults = append(seen(text), got.Faults...)
	if len(got.Faults) > 0 {
		got.Verdict = "revise"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", got.Verdict, spelling.Plural(words(text), "word"), spelling.Plural(len(got.Faults), "fault"))
	for _, f := range got.Faults {
		fmt.Fprintf(&b, "\n- %s: %s", f.Where, f.What)
		if f.Fix != "" {
			fmt.Fprintf(&b, " (%s)", f.Fix)
		}
	}
	return result(b.String(), "review", got)
})

var (
	placeholder = lazyregexp.New(`(?i)\b(?:TODO|TBD|FIXME|lorem ipsum)\b|\[(?:insert|your|link|name|date)\b[^\]]*\](?:[^(]|$)|\]\(\s*(?:#|url|link)?\s*\)`)
)

// seen are the faults that need no model.
func seen(text string) []reviewFault {
	var out []reviewFault
	titles := map[string]bool{}
	tops, last := 0, 0
	for _, h := range markdown.Headings(text) {
		level, title := h.Level, h.Title
		if level == 1 {
			tops++
		}
		if last > 0 && level > last+1 {
			out = append(out, reviewFault{title, fmt.Sprintf("a heading of level %d follows one of level %d", level, last), "leave no level out"})
		}
		last = level
		if titles[sectionKey(title)] {
			out = append(out, reviewFault{title, "two sections have this heading", "rename or join them"})
		}
		titles[sectionKey(title)] = true
	}
	if tops > 1 {
		out = append(out, reviewFault{"headings", fmt.Sprintf("there are %d titles", tops), "one line may begin with a single #"})
	}
	for _, m := range placeholder.FindAllString(markdown.WithoutCode(text), 5) {
		out = append(out, reviewFault{strings.TrimSpace(m), "a placeholder is left in the text", "fill it in or take it out"})
	}
	return out
}
