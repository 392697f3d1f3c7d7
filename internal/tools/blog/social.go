package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// socialInput is the input of generate_social_posts.
type socialInput struct {
	Networks []string `json:"networks" jsonschema:"minItems=1,maxItems=5,enum=bluesky,enum=linkedin,enum=mastodon,enum=threads,enum=x,description=Where to announce the post"`
	URL      string   `json:"url,omitempty" jsonschema:"description=Of the post; default: where it was published"`
}

// announcementList are the artifact "social".
type announcementList struct {
	Posts []announcement `json:"posts" jsonschema:"minItems=1,maxItems=5,description=One for each network"`
}

// An announcement is a post for one network.
type announcement struct {
	Network string `json:"network" jsonschema:"enum=bluesky,enum=linkedin,enum=mastodon,enum=threads,enum=x,description=Where it goes"`
	Text    string `json:"text" jsonschema:"minLength=1,description=The post"`
}

//go:embed generate_social_posts.md
var socialProse string

// Social is the tool generate_social_posts. What it returns keeps to the
// networks' limits, whatever the model wrote.
var Social = tools.New(tools.Metadata{
	Name: "generate_social_posts", Category: "content", Needs: tools.Think, Effect: tools.Idempotent, Optionality: tools.Optional,
	Consumes: []string{"content"}, Uses: []string{"show_notes", "published"}, Produces: []string{"social"},
	Examples: []tools.Example{{Note: "two networks", Args: json.RawMessage(`{"networks":["mastodon","x"],"url":"https://example.com/blog/durable-agents"}`)}},
}.Prose(socialProse), social)

func social(ctx context.Context, env *tools.Env, in socialInput) (tools.Result, error) {
	if in.URL == "" {
		in.URL = publishedAt(env)
	}
	if in.URL != "" && address.FindString(in.URL) != in.URL {
		return tools.Result{}, fmt.Errorf("url %q is no address; it begins with https:// and has no spaces", in.URL)
	}
	slices.Sort(in.Networks)
	in.Networks = slices.Compact(in.Networks)
	var limits []string
	for _, name := range in.Networks {
		n, ok := lookup(name)
		if !ok {
			return tools.Result{}, fmt.Errorf("there is no network %q", name)
		}
		limits = append(limits, fmt.Sprintf("%s: at most %d characters", name, n.most))
	}
	kind := "blog post"
	if env.Artifacts.Value("show_notes") != nil {
		kind = "podcast episode"
	}
	data := map[string]any{"Kind": kind, "Limits": limits, "URL": in.URL, "Content": quoted(content(env))}
	tries := 0
	got, err := typed(ctx, env, "social", data, func(a *announcementList) error {
		if tries++; tries > 1 {
			return a.whole(in) // length is put right below
		}
		return errors.Join(a.whole(in), a.fit())
	})
	if err != nil {
		return tools.Result{}, err
	}
	slices.SortFunc(got.Posts, func(a, b announcement) int { return strings.Compare(a.Network, b.Network) })
	var b strings.Builder
	for i := range got.Posts {
		p := &got.Posts[i]
		n, _ := lookup(p.Network)
		whole := strings.TrimSpace(p.Text)
		if p.Text = n.cut(whole, in.URL); !n.fits(p.Text) {
			return tools.Result{}, fmt.Errorf("the link alone is longer than %s allows; pass a shorter url", p.Network)
		}
		fmt.Fprintf(&b, "%s (%d of %d", p.Network, n.count(p.Text), n.most)
		if p.Text != whole {
			b.WriteString(", shortened")
		}
		fmt.Fprintf(&b, "):\n%s\n\n", p.Text)
	}
	return result(strings.TrimSpace(b.String()), "social", got)
}

// whole reports a network without a post, and a post without the link.
func (a *announcementList) whole(in socialInput) error {
	var names []string
	for _, p := range a.Posts {
		if in.URL != "" && !strings.Contains(p.Text, in.URL) {
			return fmt.Errorf("the post for %s lacks the link %s", p.Network, in.URL)
		}
		names = append(names, p.Network)
	}
	slices.Sort(names)
	if !slices.Equal(names, in.Networks) {
		return fmt.Errorf("there must be one post for each of %s", strings.Join(in.Networks, ", "))
	}
	return nil
}

// fit reports the posts that are too long.
func (a *announcementList) fit() error {
	var errs []error
	for _, p := range a.Posts {
		if n, ok := lookup(p.Network); ok && !n.fits(p.Text) {
			errs = append(errs, fmt.Errorf("the post for %s counts %d, at most %d are allowed", p.Network, n.count(p.Text), n.most))
		}
	}
	return errors.Join(errs...)
}
