package blog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// assembleInput is the input of assemble_content.
type assembleInput struct {
	Title string `json:"title,omitempty" jsonschema:"description=Default: that of the outline"`
	Intro string `json:"intro,omitempty" jsonschema:"description=First paragraph; else one is written"`
	Outro string `json:"outro,omitempty" jsonschema:"description=Last paragraph; else one is written"`
	Plain bool   `json:"plain,omitempty" jsonschema:"description=Write nothing in between"`

	Own     []string `json:"own_figures,omitempty" jsonschema:"description=Figures that need no source: the user's; those counted in the post"`
	Sources string   `json:"sources,omitempty" jsonschema:"description=Heading of the list of sources"`
}

// A frame is the text around the sections of a post.
type frame struct {
	Intro       string   `json:"intro" jsonschema:"minLength=1,maxLength=2000,description=A first paragraph that says why to read on"`
	Transitions []string `json:"transitions" jsonschema:"maxItems=99,description=A sentence that leads from each section to the next; empty where none is needed"`
	Outro       string   `json:"outro" jsonschema:"minLength=1,maxLength=2000,description=A last paragraph with what to take away or do"`
}

// Assemble is the tool assemble_content. It uses what calls before it have
// made, so that it is not run beside them.
var Assemble = tools.New(tools.Metadata{
	Name: "assemble_content", Category: "content", Needs: tools.Think, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{"section/*"}, Uses: []string{"outline", "citations", outputs.FigureFamily}, Produces: []string{"content", ownFigures},
	Examples: []tools.Example{
		{Note: "with intro, outro and transitions", Args: json.RawMessage(`{}`)},
		{Note: "with an intro of your own", Args: json.RawMessage(`{"intro":"Last week our build stood still for a day."}`)},
	},
}.ProseIn(descriptions), assemble)

func assemble(ctx context.Context, env *tools.Env, in assembleInput) (tools.Result, error) {
	plan, planned := artifact[postOutline](env, "outline")
	sections, left, err := ordered(env, plan, planned)
	if err != nil {
		return tools.Result{}, err
	}
	title := oneLine(in.Title)
	if title == "" {
		title = oneLine(plan.Title)
	}
	if title == "" {
		return tools.Result{}, errors.New("there is no outline to take the title from; pass title")
	}
	f := frame{Intro: strings.TrimSpace(in.Intro), Outro: strings.TrimSpace(in.Outro)}
	if !in.Plain {
		data := map[string]any{"Title": quoted(title), "Sections": quoted(join("", frame{}, sections)), "Gaps": len(sections) - 1}
		asked, err := typed(ctx, env, "frame", data, func(f *frame) error {
			if n := len(f.Transitions); n != len(sections)-1 {
				return fmt.Errorf("transitions has %d entries, there are %d places between the sections", n, len(sections)-1)
			}
			return nil
		})
		if err != nil {
			return tools.Result{}, fmt.Errorf("%w; plain joins the sections without", err)
		}
		f.Transitions = asked.Transitions
		f.Intro = cmp.Or(f.Intro, asked.Intro)
		f.Outro = cmp.Or(f.Outro, asked.Outro)
	}
	r, err := draft{join(title, f, sections), in.Sources, in.Own}.post(env)
	if len(left) > 0 {
		r.Text += " Left out, because the outline does not have them: " + strings.Join(left, "; ") + "."
	}
	return r, err
}

// ordered gives the sections in the outline's order, or without one in that of
// their positions, and the titles of those that the outline does not have.
func ordered(env *tools.Env, plan postOutline, planned bool) (sections []postSection, left []string, err error) {
	written := map[string]postSection{}
	for _, name := range env.Artifacts.Names() {
		if !tools.Matches("section/*", name) {
			continue
		}
		s, ok := artifact[postSection](env, name)
		if !ok {
			return nil, nil, fmt.Errorf("the artifact %s is no section; write it with expand_section", name)
		}
		written[sectionKey(s.Title)] = s
		sections = append(sections, s)
	}
	slices.SortStableFunc(sections, func(a, b postSection) int {
		if a.Position != b.Position {
			return a.Position - b.Position
		}
		return strings.Compare(a.Title, b.Title)
	})
	if !planned {
		return sections, nil, nil
	}
	known := map[string]bool{}
	var missing []string
	var out []postSection
	for _, h := range plan.Sections {
		known[sectionKey(h.Title)] = true
		if s, ok := written[sectionKey(h.Title)]; ok {
			out = append(out, s)
		} else {
			missing = append(missing, h.Title)
		}
	}
	if missing != nil {
		return nil, nil, fmt.Errorf("these sections are not written yet; call expand_section for each: %s", strings.Join(missing, "; "))
	}
	for _, s := range sections {
		if !known[sectionKey(s.Title)] {
			left = append(left, s.Title)
		}
	}
	return out, left, nil
}

// join puts the parts of a post together.
func join(title string, f frame, sections []postSection) string {
	var parts []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	if title != "" {
		add("# " + title)
	}
	add(f.Intro)
	for i, s := range sections {
		add("## " + oneLine(s.Title))
		add(s.Text)
		if i < len(f.Transitions) {
			add(f.Transitions[i])
		}
	}
	add(f.Outro)
	return strings.Join(parts, "\n\n")
}
