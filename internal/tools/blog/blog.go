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
// It publishes nothing: see internal/tools/publish.
package blog

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/internal/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

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

// check finds what a schema cannot say of a plan.
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
	raw, err := json.Marshal(value)
	if err != nil {
		return tools.Result{}, tools.Fatal(fmt.Errorf("encoding the artifact %s: %w", name, err))
	}
	return tools.Result{Text: text, Artifacts: map[string]json.RawMessage{name: raw}}, nil
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
