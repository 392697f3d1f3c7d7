package publish

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/internal/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

// readInput is the input of read_site.
type readInput struct {
	Posts int `json:"posts,omitempty" jsonschema:"minimum=1,maximum=10,description=Last posts to show; default 3"`
}

//go:embed read_site.md
var readProse string

func (c Config) readSite() tools.Tool {
	return tools.New(tools.Metadata{
		Name: "read_site", Category: "content", Needs: tools.Read, Effect: tools.Pure, Optionality: tools.Optional,
		Examples: []tools.Example{{Note: "its last three posts", Args: json.RawMessage(`{}`)}},
	}.Prose(readProse), func(_ context.Context, env *tools.Env, in readInput) (tools.Result, error) {
		return describe(c.site(env), cmp.Or(in.Posts, 3))
	})
}

// tagged is how many of the last posts are asked for their tags.
const tagged = 100

func describe(s site.Site, n int) (tools.Result, error) {
	posts, all, err := s.Recent(tagged)
	if err != nil {
		return tools.Result{}, err
	}
	if !s.Found && all == 0 {
		return tools.Result{Text: "There is no static site here: no files of Hugo, Jekyll, Astro or Eleventy, and no posts."}, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s in %s\n", s.Style, spelling.Plural(all, "post"), s.Posts)
	for _, x := range []struct{ name, value string }{{"address", s.URL}, {"title", s.Title}, {"author", s.Author}, {"language", s.Language}, {"tags", tags(posts, s.Style)}} {
		if x.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", x.name, spelling.Clip(x.value, 600))
		}
	}
	if len(posts) > 0 {
		fmt.Fprintf(&b, "\nFront matter of %s:\n%s", posts[0].Path, spelling.Clip(posts[0].Matter.String(), 2000))
	}
	for _, p := range posts[:min(n, len(posts))] {
		fmt.Fprintf(&b, "\n%s: %q", p.Path, spelling.Clip(p.Matter.Text("title"), 200))
		if !p.Date.IsZero() {
			b.WriteString(", " + p.Date.Format(time.DateOnly))
		}
		if at := s.Address(p); at != "" {
			b.WriteString(", " + at)
		}
		fmt.Fprintf(&b, ", %s\n%s\n", spelling.Plural(len(strings.Fields(p.Body)), "word"), spelling.Clip(p.Body, 700))
	}
	return tools.Result{Text: b.String(), Summary: s.Style + ", " + spelling.Plural(all, "post")}, nil
}

// tags are those in use, the most frequent first.
func tags(posts []site.Post, style string) string {
	count := map[string]int{}
	for _, p := range posts {
		for _, t := range p.Matter.List(p.Matter.Key("tags", style)) {
			count[t]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, count[n])
	}
	return strings.Join(names, ", ")
}
