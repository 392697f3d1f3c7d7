package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/markdown"
	"github.com/adroit-run/adroit/pkg/tools"
)

// expandInput is the input of expand_section.
type expandInput struct {
	Section  string `json:"section" jsonschema:"minLength=1,description=Title as in the outline"`
	Position int    `json:"position,omitempty" jsonschema:"description=From 1; for a section not in the outline"`
	Notes    string `json:"notes,omitempty" jsonschema:"description=What to add or do differently"`
	Words    int    `json:"words,omitempty" jsonschema:"description=Rough length"`
}

//go:embed expand_section.md
var expandProse string

// Expand is the tool expand_section. Each section is an artifact of its own,
// so that calls beside each other do not get in each other's way and a second
// call replaces that section alone.
var Expand = tools.New(tools.Metadata{
	Name: "expand_section", Category: "content", Needs: tools.Think, Optionality: tools.Optional,
	Uses: []string{"outline", "analysis", "citations"}, Produces: []string{"section/*"},
	Examples: []tools.Example{
		{Note: "one of the outline", Args: json.RawMessage(`{"section":"Why jobs die"}`)},
		{Note: "once more, shorter", Args: json.RawMessage(`{"section":"Why jobs die","notes":"Drop the history.","words":150}`)},
	},
}.Prose(expandProse), expand)

func expand(ctx context.Context, env *tools.Env, in expandInput) (tools.Result, error) {
	plan, planned := artifact[postOutline](env, "outline")
	s, h, err := place(plan, planned, in)
	if err != nil {
		return tools.Result{}, err
	}
	data := map[string]any{
		"Title": quoted(s.Title), "Points": h.Points, "Words": h.Words, "Notes": quoted(in.Notes),
		"Tone": "", "Audience": "", "Outline": "", "Sources": sources(env),
	}
	if in.Words > 0 {
		data["Words"] = in.Words
	}
	if planned {
		data["Outline"] = quoted(plan.String())
	}
	if a, ok := artifact[styleAnalysis](env, "analysis"); ok {
		data["Tone"], data["Audience"] = quoted(a.Tone), quoted(a.Audience)
	}
	text, err := prose(ctx, env, "section", data)
	if err != nil {
		return tools.Result{}, err
	}
	s.Text = bare(text, s.Title)
	r, err := result(s.Text, "section/"+sectionKey(s.Title), s)
	r.Summary = fmt.Sprintf("section %d, %s: %s", s.Position, s.Title, spelling.Plural(words(s.Text), "word"))
	return r, err
}

// place finds the section in the plan, or takes the caller's word for it.
func place(plan postOutline, planned bool, in expandInput) (postSection, outlineHeading, error) {
	title := strings.TrimSpace(in.Section)
	key := sectionKey(title)
	if key == "" {
		return postSection{}, outlineHeading{}, fmt.Errorf("section %q has no letter or digit; name it by its title", in.Section)
	}
	var titles []string
	for i, h := range plan.Sections {
		if sectionKey(h.Title) == key {
			return postSection{Title: h.Title, Position: i + 1}, h, nil
		}
		titles = append(titles, h.Title)
	}
	switch {
	case in.Position > 0:
		return postSection{Title: title, Position: in.Position}, outlineHeading{Title: title}, nil
	case planned:
		return postSection{}, outlineHeading{}, fmt.Errorf("the outline has no section %q; it has: %s", title, strings.Join(titles, "; "))
	}
	return postSection{}, outlineHeading{}, errors.New("there is no outline, so say by position where the section comes")
}

// bare is a section's text without the heading that models put over it, fences
// around it and headings above its own level.
func bare(text, title string) string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```markdown\n"); ok && strings.HasSuffix(inner, "```") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "```"))
	}
	if all := markdown.Headings(text); len(all) > 0 && all[0].Start == 0 && sectionKey(all[0].Title) == sectionKey(title) {
		text = strings.TrimSpace(text[all[0].End:])
	}
	return demote(text)
}

// demote makes headings of the first and second level ones of the third: those
// belong to the post and its sections.
func demote(text string) string {
	for _, h := range slices.Backward(markdown.Headings(text)) {
		if h.Level < 3 {
			text = text[:h.Start] + "### " + h.Title + text[h.End:]
		}
	}
	return text
}
