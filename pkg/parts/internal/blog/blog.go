// Package blog has the tools an agent writes a post with: each former phase of
// a fixed pipeline is a tool, and the model decides which it needs.
//
//	set, err := tools.NewSet(blog.Write, blog.Outline, blog.Expand, blog.Assemble, blog.Social)
//
// What they make are artifacts: "analysis", "outline", a "section/…" for every
// section, "content" (the post as Markdown), "social", "review". Tools that ask
// a model do so through their Env; a tool that got an answer it cannot use asks
// once more, saying what is wrong, and then gives up in words for the caller.
//
// It publishes nothing: see pkg/parts/internal/publish.
package blog

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

// An styleAnalysis is the artifact "analysis": what a request asks for.
type styleAnalysis struct {
	Topic     string   `json:"topic" jsonschema:"minLength=1,description=What the post is about in one line"`
	Audience  string   `json:"audience" jsonschema:"description=Who reads it"`
	Tone      string   `json:"tone" jsonschema:"description=How it should sound"`
	Words     int      `json:"words" jsonschema:"minimum=50,maximum=20000,description=Length asked for or fitting"`
	Sections  []string `json:"sections" jsonschema:"maxItems=20,description=What must be covered; empty for a short post"`
	Questions []string `json:"questions" jsonschema:"maxItems=10,description=What has to be looked up; empty if nothing"`
}

// A postOutline is the artifact "outline".
type postOutline struct {
	Title    string           `json:"title" jsonschema:"minLength=1,maxLength=200,description=Title of the post"`
	Sections []outlineHeading `json:"sections" jsonschema:"minItems=1,maxItems=20,description=In order"`
}

// A outlineHeading is a section that is planned.
type outlineHeading struct {
	Title  string   `json:"title" jsonschema:"minLength=1,maxLength=200,description=Unlike every other title"`
	Points []string `json:"points" jsonschema:"maxItems=12,description=What it says"`
	Words  int      `json:"words,omitempty" jsonschema:"minimum=0,maximum=5000,description=Rough length"`
}

// A postSection is an artifact "section/…": a section that is written.
type postSection struct {
	Title    string `json:"title"`
	Position int    `json:"position"` // from 1
	Text     string `json:"text"`     // Markdown without the heading
}

// check reports faults of a plan that a schema cannot exclude.
func (p *postOutline) check() error {
	seen := map[string]string{}
	for _, h := range p.Sections {
		key := sectionKey(h.Title)
		switch {
		case key == "":
			return fmt.Errorf("the section title %q has no letter or digit", h.Title)
		case seen[key] != "":
			return fmt.Errorf("the section titles %q and %q are too much alike", seen[key], h.Title)
		}
		seen[key] = h.Title
	}
	return nil
}

// artifact decodes an artifact that the tool was given. It reports false if
// there is none, or none of this kind.
func artifact[T any](env *tools.Env, name string) (v T, ok bool) {
	raw := env.Artifacts.Value(name)
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return v, false
	}
	return v, true
}

// content is the post so far, "" if there is none.
func content(env *tools.Env) string {
	text, _ := artifact[string](env, "content")
	return strings.TrimSpace(text)
}

// result binds a value to an artifact.
func result(text, name string, value any) (tools.Result, error) {
	return turn.Bind(tools.Result{Text: text}, name, value)
}

// sectionKey is a title by which artifacts and sections are found.
func sectionKey(title string) string { return site.Slugify(title) }

// words counts the words of prose.
func words(text string) int { return len(strings.Fields(text)) }

// publishedAt is the public address of the post, "" if it has none yet.
func publishedAt(env *tools.Env) string {
	p, _ := artifact[struct {
		URL string `json:"url"`
	}](env, "published")
	return p.URL
}

// analyzeInput is the input of analyze_prompt.
type analyzeInput struct {
	Prompt string `json:"prompt" jsonschema:"minLength=1,description=The request as the user made it"`
}

// Analyze is the tool analyze_prompt.
var Analyze = tools.New(tools.Metadata{
	Name: "analyze_prompt", Category: "content", Needs: tools.Think, Optionality: tools.Optional, Produces: []string{"analysis"},
	Examples: []tools.Example{{Note: "a long request", Args: json.RawMessage(`{"prompt":"A newsletter on our release, the meetup in May and three links on durable execution"}`)}},
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in analyzeInput) (tools.Result, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return tools.Result{}, errors.New("prompt is empty: pass the user's request")
	}
	a, err := typed[styleAnalysis](ctx, env, "analyze", map[string]any{"Prompt": quoted(in.Prompt)}, nil)
	if err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("Topic: %s\nAudience: %s\nTone: %s\nAbout %d words", a.Topic, a.Audience, a.Tone, a.Words)
	for _, s := range a.Sections {
		text += "\n- cover: " + s
	}
	for _, q := range a.Questions {
		text += "\n- look up: " + q
	}
	return result(text, "analysis", a)
})

// outlineInput is the input of generate_outline.
type outlineInput struct {
	Topic    string   `json:"topic" jsonschema:"minLength=1,description=What the post is about"`
	Sections []string `json:"sections,omitempty" jsonschema:"description=What must be covered"`
	Words    int      `json:"words,omitempty" jsonschema:"description=Length of the post"`
}

// Outline is the tool generate_outline.
var Outline = tools.New(tools.Metadata{
	Name: "generate_outline", Category: "content", Needs: tools.Think, Optionality: tools.Optional,
	Uses: []string{"analysis", "citations"}, Produces: []string{"outline"},
	Examples: []tools.Example{{Note: "after an analysis", Args: json.RawMessage(`{"topic":"Durable agents on one machine","words":1200}`)}},
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in outlineInput) (tools.Result, error) {
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

// Check is the tool review_content.
var Check = tools.New(tools.Metadata{
	Name: "review_content", Category: "content", Needs: tools.Think, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{"content"}, Uses: []string{"analysis", "citations"}, Produces: []string{"review"},
	Examples: []tools.Example{{Note: "all of it", Args: json.RawMessage(`{}`)}},
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in reviewInput) (tools.Result, error) {
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

// expandInput is the input of expand_section.
type expandInput struct {
	Section  string `json:"section" jsonschema:"minLength=1,description=Title as in the outline"`
	Position int    `json:"position,omitempty" jsonschema:"description=From 1; for a section not in the outline"`
	Notes    string `json:"notes,omitempty" jsonschema:"description=What to add or do differently"`
	Words    int    `json:"words,omitempty" jsonschema:"description=Rough length"`
}

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
}.ProseIn(descriptions), expand)

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
