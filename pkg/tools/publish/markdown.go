package publish

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
)

// A Site is the directory of a static site within the workspace.
type Site struct {
	Style string // hugo or jekyll; empty looks for their files
	Dir   string // of posts; empty is content/posts, or _posts and _drafts
}

// Styles of static sites.
const (
	hugo   = "hugo"
	jekyll = "jekyll"
)

// markdownInput is the input of publish_markdown.
type markdownInput struct {
	From        string   `json:"from,omitempty" jsonschema:"description=Markdown file; default: the content"`
	Title       string   `json:"title,omitempty" jsonschema:"description=Default: the text's"`
	Slug        string   `json:"slug,omitempty" jsonschema:"description=Default: made of the title"`
	Date        string   `json:"date,omitempty" jsonschema:"description=Default: today, as 2026-11-21"`
	Description string   `json:"description,omitempty" jsonschema:"description=For previews"`
	Tags        []string `json:"tags,omitempty" jsonschema:"description=Tags"`
	Draft       bool     `json:"draft,omitempty" jsonschema:"description=Not to be built yet"`
	Replace     bool     `json:"replace,omitempty" jsonschema:"description=Replace what this job put there"`
}

//go:embed publish_markdown.md
var markdownProse string

func (c Config) markdown() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "publish_markdown", Category: tools.PublishC, Needs: tools.Read | tools.Write | tools.Publish, Effect: tools.Idempotent,
		Optionality: tools.Conditional, When: "the user wants the post in a static site",
		Uses: []string{"content"}, Produces: []string{"published"},
		Examples: []tools.Example{{Note: "a draft", Args: json.RawMessage(`{"tags":["durability"],"draft":true}`)}},
	}.Prose(markdownProse), func(_ context.Context, env *tools.Env, in markdownInput) (tools.Result, error) {
		return c.write(env, in)
	})
	t.Touches = func(args json.RawMessage) []string {
		var in markdownInput
		if json.Unmarshal(args, &in) != nil {
			return nil
		}
		out := []string{c.Markdown.dir(c.Markdown.Style, in.Draft)}
		if in.From != "" {
			out = append(out, in.From)
		}
		return out
	}
	return t
}

func (c Config) write(env *tools.Env, in markdownInput) (tools.Result, error) {
	p, err := from(env, in.From, in.Title)
	if err != nil {
		return tools.Result{}, err
	}
	name := in.Slug
	if name == "" {
		name = slug(p.Title)
	}
	if !slugRule.MatchString(name) {
		return tools.Result{}, fmt.Errorf("slug %q will not do: letters and digits, with single dashes between them", name)
	}
	day := c.Now().Format(time.DateOnly)
	what := []any{name, in.Description, in.Tags, in.Draft}
	if in.Date != "" {
		if _, err := time.Parse(time.DateOnly, in.Date); err != nil {
			return tools.Result{}, fmt.Errorf("date %q is no day: write it as 2026-11-21, or leave it out for today", in.Date)
		}
		// Only a day that was asked for is part of the key: without, the call is
		// the same tomorrow.
		day, what = in.Date, append(what, in.Date)
	}
	style := c.Markdown.style(env)
	k, err := key(env, append([]any{p}, what...)...)
	if err != nil {
		return tools.Result{}, err
	}
	done := published{Target: "the site", Title: p.Title, Key: k}
	old, err := c.Markdown.find(env, style, name)
	if err != nil {
		return tools.Result{}, err
	}
	for _, o := range old {
		if o.key == k {
			done.At, done.Before = o.path, true
			return done.result(fmt.Sprintf("%s has this post already; nothing was changed.", o.path))
		}
	}
	at := path.Join(c.Markdown.dir(style, in.Draft), name+".md")
	if style == jekyll && !in.Draft {
		at = path.Join(c.Markdown.dir(style, false), day+"-"+name+".md")
	}
	text := front(p, in, style, day, k) + p.Text + "\n"
	if len(old) > 0 {
		o := old[0]
		if !in.Replace || !o.ours(env.Job) {
			return tools.Result{}, fmt.Errorf("%s is another post; choose another slug%s", o.path, map[bool]string{true: ", or pass replace, for this job published it", false: ""}[o.ours(env.Job)])
		}
		if o.path != at {
			return tools.Result{}, fmt.Errorf("this job published %s before, and this would be %s; keep its date and state, or choose another slug", o.path, at)
		}
		// Only if it is as this job left it: others edit posts, too.
		if o.sum != digest([]byte(o.body)) {
			return tools.Result{}, fmt.Errorf("%s was changed since this job published it; leave it alone, or choose another slug", o.path)
		}
		err = env.Files.Replace(at, []byte(o.whole), []byte(text))
	} else {
		err = env.Files.WriteFile(at, []byte(text))
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("writing %s: %w", at, err)
	}
	done.At = at
	state := "Published"
	if in.Draft {
		state = "Drafted"
	}
	return done.result(fmt.Sprintf("%s %q as %s.", state, p.Title, at))
}

// style is what the configuration says, or what the workspace looks like.
func (s Site) style(env *tools.Env) string {
	if s.Style != "" {
		return s.Style
	}
	for _, name := range []string{"_config.yml", "_config.yaml", "_config.toml", "_posts"} {
		if _, err := env.Files.Stat(name); err == nil {
			return jekyll
		}
	}
	return hugo
}

// dir is where posts of a style are; of an unknown style, what both have.
func (s Site) dir(style string, draft bool) string {
	switch {
	case style == jekyll && draft:
		return path.Join(s.Dir, "_drafts")
	case style == jekyll:
		return path.Join(s.Dir, "_posts")
	case s.Dir != "":
		return path.Clean(s.Dir)
	case style == "":
		return "."
	}
	return "content/posts"
}

// An old post is one that has the slug already.
type old struct {
	path, whole, body string
	key, sum          string
}

func (o old) ours(job string) bool { return job != "" && strings.HasPrefix(o.key, job+"-") }

// find lists the posts that have the slug, as a file, a directory or behind a
// date.
func (s Site) find(env *tools.Env, style, name string) ([]old, error) {
	var out []old
	dirs := []string{s.dir(style, false)}
	if d := s.dir(style, true); d != dirs[0] {
		dirs = append(dirs, d)
	}
	for _, dir := range dirs {
		entries, err := fs.ReadDir(env.Files.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for other posts in %s: %w", dir, err)
		}
		for _, e := range entries {
			base := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".markdown"), ".md")
			if len(base) > 11 && style == jekyll {
				if _, err := time.Parse(time.DateOnly, base[:10]); err == nil && base[10] == '-' {
					base = base[11:]
				}
			}
			if !strings.EqualFold(base, name) || !e.IsDir() && base == e.Name() {
				continue
			}
			o := old{path: path.Join(dir, e.Name())}
			if !e.IsDir() {
				b, err := env.Files.ReadFile(o.path)
				if err != nil {
					return nil, fmt.Errorf("looking whether %s is another post: %w", o.path, err)
				}
				var head string
				o.whole = string(b)
				head, o.body = split(o.whole)
				o.key, o.sum = field(head, "adroit_key"), field(head, "adroit_sum")
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// split takes front matter off a text.
func split(text string) (head, body string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text
	}
	head, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		return "", text
	}
	return head, strings.TrimSpace(body)
}

// field reads a plain or quoted value of front matter.
func field(head, name string) string {
	for line := range strings.Lines(head) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

// front is the front matter. Strings are written as JSON, which YAML reads.
func front(p post, in markdownInput, style, day, key string) string {
	var b strings.Builder
	put := func(name string, v any) {
		raw, _ := json.Marshal(v) // strings, booleans and lists of strings
		fmt.Fprintf(&b, "%s: %s\n", name, raw)
	}
	b.WriteString("---\n")
	if style == jekyll {
		put("layout", "post")
	}
	put("title", p.Title)
	fmt.Fprintf(&b, "date: %s\n", day)
	if in.Description != "" {
		put("description", in.Description)
	}
	if len(in.Tags) > 0 {
		put("tags", in.Tags)
	}
	if style == hugo {
		put("draft", in.Draft)
	}
	put("adroit_key", key)
	put("adroit_sum", digest([]byte(p.Text)))
	b.WriteString("---\n\n")
	return b.String()
}
