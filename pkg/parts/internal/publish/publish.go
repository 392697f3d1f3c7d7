// Package publish has the tools that make a text visible to others: a file of
// a static site, a page in Notion, a call of a webhook.
//
//	set, err := tools.NewSet(publish.Tools(publish.Config{
//		Notion:   publish.Notion{KeyEnv: "NOTION_TOKEN", DataSource: "…"},
//		Webhooks: map[string]publish.Webhook{"site": {URL: "https://example.com/posts", SecretEnv: "HOOK_SECRET", Idempotent: true}},
//	})...)
//
// The text is the artifact "content" or a file, and a person approves exactly
// these bytes. A job publishes each text once, even after a crash: the tool
// finds the file that it wrote, or the text carries a key derived from the job
// and the content, and the tool or the receiver looks for the key first. If it is not known whether a text was
// published, the tool reports that and leaves it to a person.
package publish

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

// A Config describes where the tools publish. Credentials are named by environment
// variables and read when they are used.
type Config struct {
	Markdown Site               `yaml:"markdown"`
	Notion   Notion             `yaml:"notion"`
	Webhooks map[string]Webhook `yaml:"webhooks"` // by the name that the model uses

	// Getenv reads credentials; nil is os.Getenv.
	Getenv func(string) string `yaml:"-"`
	// Wait waits between attempts; nil sleeps.
	Wait func(ctx context.Context, d time.Duration) error `yaml:"-"`
	// Now dates posts; nil is time.Now.
	Now func() time.Time `yaml:"-"`
}

// Tools are the tools for a configuration. Those that have no target require
// one, so that no agent is offered them.
func Tools(c Config) []tools.Tool {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Wait == nil {
		c.Wait = sleep
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return []tools.Tool{c.readSite(), c.markdown(), c.notion(), c.webhook()}
}

// Part is the publish part: its tools and their section.
func Part() adroit.Part {
	return adroit.Part{Name: "publish", About: "Make a text visible to others, once, with their approval.", Section: func() adroit.Section { return &Config{} }}
}

// Key is the section's.
func (c *Config) Key() string { return "publish" }

// Settings are the keys of the targets.
func (c *Config) Settings() []adroit.PartSetting {
	return []adroit.PartSetting{
		{Key: "markdown.style", About: "`hugo`, `jekyll`, `astro` or `eleventy`; without it publish_markdown looks which of them the workspace is"},
		{Key: "markdown.dir", About: "Where posts are in the workspace; for Jekyll the directory that has _posts and _drafts"},
		{Key: "markdown.url", About: "The address of the site, where its own configuration does not have it; the addresses of posts begin with it"},
		{Key: "notion.key_env", About: "The environment variable with the token of the connection"},
		{Key: "notion.data_source", About: "The id of the table that posts go into; share it with the connection"},
		{Key: "notion.database", About: "Where data_source is left out: the id of a database that has one"},
		{Key: "notion.key_property", About: "The text property that keeps each post's key, by which it is found again; `Adroit key` if left out. It is added to the table where it is missing"},
		{Key: "notion.properties.NAME", About: "What a property of each new page is set to, such as Status to Draft"},
		{Key: "notion.url", About: "Another address than https://api.notion.com, for tests"},
		{Key: "webhooks.NAME.url", About: "An address that takes posts as JSON; `config show` shows its host only"},
		{Key: "webhooks.NAME.secret_env", About: "The environment variable with the secret for the signature, in the manner of Standard Webhooks"},
		{Key: "webhooks.NAME.idempotent", About: "That the receiver does nothing twice for one Idempotency-Key; only then is a request repeated"},
		{Key: "webhooks.NAME.lookup", About: "An address with `{key}` that answers 200 if it has a post and 404 if not, for receivers that are not idempotent"},
	}
}

// Tools returns the tools for the section's targets.
func (c *Config) Tools(h adroit.PartHost) []tools.Tool {
	own := *c
	own.Getenv, own.Now = h.Getenv, h.Now
	return tools.Bundle{Optional: Tools(own)}.Tools()
}

// Check checks each target.
func (c *Config) Check(fault func(err error, hint string, keys ...string)) {
	wrong := func(keys []string, format string, args ...any) {
		fault(fmt.Errorf("publish."+format, args...), "docs/config.md shows how targets are written", keys...)
	}
	if s := c.Markdown.Style; s != "" && !slices.Contains(site.Styles, s) {
		wrong([]string{"markdown", "style"}, "markdown.style is %q; it is one of %s", s, strings.Join(site.Styles, ", "))
	}
	if u := c.Markdown.URL; u != "" && !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
		wrong([]string{"markdown", "url"}, "markdown.url is %q; it begins with https://", u)
	}
	if key, err := c.Notion.check(); err != nil {
		wrong([]string{"notion", key}, "notion.%s %w", key, err)
	}
	for _, name := range sorted(c.Webhooks) {
		if key, err := c.Webhooks[name].check(); err != nil {
			wrong([]string{"webhooks", name, key}, "webhooks.%s.%s %w", name, key, err)
		}
	}
}

// Secrets are the variables that hold credentials.
func (c Config) Secrets() []string {
	var out []string
	if c.Notion.KeyEnv != "" {
		out = append(out, c.Notion.KeyEnv)
	}
	for _, name := range sorted(c.Webhooks) {
		if v := c.Webhooks[name].SecretEnv; v != "" {
			out = append(out, v)
		}
	}
	return out
}

// A post is a post to be published.
type post struct {
	Title, Text string // Text without the title
}

// from reads the post from a file if one is named, else from the artifact. Its title is
// the given one, else the text's.
func from(env *tools.Env, file, asked string) (post, error) {
	var text, title string
	switch {
	case file != "":
		b, err := env.Files.ReadFile(file)
		if err != nil {
			return post{}, fmt.Errorf("reading %s: %w", file, err)
		}
		name := filepath.ToSlash(filepath.Clean(file))
		if rel, err := filepath.Rel(env.Files.Dir(), file); err == nil && filepath.IsAbs(file) {
			name = filepath.ToSlash(rel)
		}
		if want, asked := env.Approved[name]; env.Approved != nil && (!asked || want != digest(b)) {
			return post{}, fmt.Errorf("%s has been changed since it was approved; publish it again to have it looked at once more", file)
		}
		if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
			return post{}, fmt.Errorf("%s is no text", file)
		}
		text = string(b)
	default:
		if err := json.Unmarshal(env.Artifacts.Value("content"), &text); err != nil {
			return post{}, errors.New("there is no content yet: write it with write_content or assemble_content, or name a Markdown file in from")
		}
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if file != "" {
		_, text = site.Split(text)
	}
	if rest, ok := strings.CutPrefix(text, "# "); ok {
		first, body, _ := strings.Cut(rest, "\n")
		title = strings.TrimRight(first, " #")
		text = strings.TrimSpace(body)
	}
	if asked != "" {
		title = asked
	}
	title = strings.Join(strings.Fields(title), " ")
	switch {
	case title == "":
		return post{}, errors.New("the text has no title: begin it with a line such as # Title, or pass one where the tool takes one")
	case text == "":
		return post{}, errors.New("the text is empty below its title")
	case utf8.RuneCountInString(title) > 300:
		return post{}, errors.New("the title is longer than 300 characters; shorten it")
	}
	return post{title, text}, nil
}

// key identifies a publication: one job publishes one thing once, however often
// the tool is called.
func key(env *tools.Env, what ...any) (string, error) {
	b, err := json.Marshal(what)
	if err != nil {
		return "", tools.Fatal(err)
	}
	sum := digest(b)[:16]
	if env.Job == "" {
		return "adroit-" + sum, nil
	}
	return env.Job + "-" + sum, nil
}

// before are the checks of what a call publishes: a file, or the content of the job.
func before(args json.RawMessage) []tools.Precondition {
	var in struct{ From string }
	if json.Unmarshal(args, &in) != nil {
		return nil // it is no call
	}
	check := func(tool string, args map[string]string) tools.Precondition {
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err) // a map of texts
		}
		return tools.Precondition{Tool: tool, Args: raw}
	}
	if in.From != "" {
		return []tools.Precondition{check("link_check", map[string]string{"file": in.From})}
	}
	return []tools.Precondition{check("check_post", map[string]string{"of": "content"}), check("link_check", map[string]string{"artifact": "content"})}
}

var slugRule = lazyregexp.New(`^[\p{L}\p{N}\p{M}]+(?:-[\p{L}\p{N}\p{M}]+)*$`)

// unknown is the result if it is not known whether the text was published. A
// note in the job's log reports it too.
func unknown(env *tools.Env, name, target, key string, cause error) tools.Result {
	text := fmt.Sprintf("It is not known whether this was published to %s: %s. Do not publish it again. Tell the user to look for the key %s there.", target, cause, key)
	env.Emit(event.Event{Job: env.Job, Time: time.Now(), Kind: event.Note, Step: "tool", Name: name,
		Text: fmt.Sprintf("it is not known whether %s was published to %s; look for the key %s there", "the post", target, key), Error: cause.Error()})
	return tools.Result{Failed: true, Text: text, Summary: "outcome unknown: " + cause.Error(), Taint: tools.Unconfirmed}
}

// published is the result of a publication, also the artifact "published".
type published struct {
	Target string `json:"target"`
	Title  string `json:"title"`
	At     string `json:"at,omitempty"`  // address or path
	URL    string `json:"url,omitempty"` // for readers
	Key    string `json:"key"`
	Before bool   `json:"before,omitempty"` // it was there already
}

func (p published) result(words string) (tools.Result, error) {
	return turn.Bind(tools.Result{Text: words}, "published", p)
}

// readInput is the input of read_site.
type readInput struct {
	Posts int `json:"posts,omitempty" jsonschema:"minimum=1,maximum=10,description=Last posts to show; default 3"`
}

func (c Config) readSite() tools.Tool {
	return tools.New(tools.Metadata{
		Name: "read_site", Category: "content", Needs: tools.Read, Effect: tools.Pure, Optionality: tools.Optional,
		Examples: []tools.Example{{Note: "its last three posts", Args: json.RawMessage(`{}`)}},
	}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in readInput) (tools.Result, error) {
		return describe(c.site(env), cmp.Or(in.Posts, 3))
	})
}

// tagged is the number of the last posts whose tags are read.
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

// tags returns the tags in use, the most frequent first.
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
