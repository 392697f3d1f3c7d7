package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Site is the directory of a static site within the workspace.
type Site struct {
	Style string `yaml:"style"` // hugo, jekyll, astro or eleventy; empty looks for their files
	Dir   string `yaml:"dir"`   // of posts; empty looks in the usual places
	URL   string `yaml:"url"`   // of the site, if its configuration does not have it
}

// markdownInput is the input of publish_markdown.
type markdownInput struct {
	From        string   `json:"from,omitempty" jsonschema:"description=Markdown file; default: the content"`
	Title       string   `json:"title,omitempty" jsonschema:"description=Default: the text's"`
	Slug        string   `json:"slug,omitempty" jsonschema:"description=Default: made of the title"`
	Date        string   `json:"date,omitempty" jsonschema:"description=2026-11-21 or with a time as 2026-11-21T09:00:00+01:00; default: today. In the future to schedule it"`
	Description string   `json:"description,omitempty" jsonschema:"description=For previews"`
	Tags        []string `json:"tags,omitempty" jsonschema:"description=Tags; prefer those of the site"`
	Author      string   `json:"author,omitempty" jsonschema:"description=Default: as in the last posts"`
	Canonical   string   `json:"canonical,omitempty" jsonschema:"description=Address where it appeared first"`
	Cover       string   `json:"cover,omitempty" jsonschema:"description=Image as the site links it"`
	CoverAlt    string   `json:"cover_alt,omitempty" jsonschema:"description=What the cover shows"`
	Series      string   `json:"series,omitempty" jsonschema:"description=Series that it belongs to"`
	Draft       bool     `json:"draft,omitempty" jsonschema:"description=Not to be built yet"`
	Update      string   `json:"update,omitempty" jsonschema:"description=Path of the post that it replaces; read that first"`
}

func (c Config) markdown() tools.Tool {
	t := tools.New(tools.Metadata{
		Name: "publish_markdown", Category: "publish", Needs: tools.Read | tools.Write | tools.Publish, Effect: tools.Idempotent,
		Optionality: tools.Conditional, When: "the user wants the post in a static site",
		Uses: []string{"content"}, Produces: []string{"published"},
		Examples: []tools.Example{
			{Note: "a draft", Args: json.RawMessage(`{"tags":["durability"],"draft":true}`)},
			{Note: "a post that is there", Args: json.RawMessage(`{"update":"content/posts/durable-jobs.md"}`)},
		},
	}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in markdownInput) (tools.Result, error) {
		return c.write(env, in)
	})
	t.Touches = func(args json.RawMessage) []string {
		var in markdownInput
		if json.Unmarshal(args, &in) != nil {
			return nil
		}
		out := []string{path.Clean(c.Markdown.Dir)} // of a site that is not known: the whole of it
		if in.Update != "" {
			out[0] = path.Clean(in.Update)
		}
		if in.From != "" {
			out = append(out, in.From)
		}
		return out
	}
	t.Before = func(args json.RawMessage) []tools.Precondition {
		var in markdownInput
		if json.Unmarshal(args, &in) != nil || in.Draft {
			return nil // nobody sees a draft
		}
		return before(args)
	}
	t.Preview = c.preview
	return t
}

// A change is the change of a file by which a post is published.
type change struct {
	post site.Post
	old  string // of a post that is there
	from string // where a draft of Jekyll was, which moves to the posts
	text string
	note string // what to know about its date and its text
}

func (c Config) write(env *tools.Env, in markdownInput) (tools.Result, error) {
	ch, err := c.plan(env, in)
	if err != nil {
		return tools.Result{}, err
	}
	at := ch.post.Path
	k, err := key(env, at, ch.text)
	if err != nil {
		return tools.Result{}, err
	}
	s := c.site(env)
	done := published{Target: "the site", Title: ch.post.Matter.Text("title"), At: at, URL: s.Address(ch.post), Key: k}
	if ch.from == "" && ch.old == ch.text {
		done.Before = true
		return done.result(fmt.Sprintf("%s has this post already; nothing was changed.", at))
	}
	state := "Published"
	source := cmp.Or(ch.from, at)
	want, approved := env.Approved[source]
	switch {
	case in.Update == "" && in.Draft:
		state = "Drafted"
	case in.Update == "":
	case !env.Files.Seen(source):
		return tools.Result{}, fmt.Errorf("%s was not read by this job: read it with read_file, so that nothing of it gets lost, then update it", source)
	case approved && want != digest([]byte(ch.old)):
		return tools.Result{}, fmt.Errorf("%s has been changed since the update was approved; read it again", source)
	default:
		state = "Updated"
	}
	if ch.from != "" {
		if err := env.Files.Rename(ch.from, at); err != nil {
			return tools.Result{}, fmt.Errorf("moving %s to %s: %w", ch.from, at, err)
		}
	}
	if err := env.Files.WriteFile(at, []byte(ch.text)); err != nil {
		return tools.Result{}, fmt.Errorf("writing %s: %w", at, err)
	}
	address := "is not known: the configuration of the site does not have it"
	if done.URL != "" {
		address = "will be " + done.URL
	}
	return done.result(fmt.Sprintf("%s %q as %s. Its address %s.%s", state, done.Title, at, address, ch.note))
}

func (c Config) site(env *tools.Env) site.Site {
	return site.Open(env.Files.FS(), site.Settings(c.Markdown))
}

// plan renders the post and finds its place. It changes nothing.
func (c Config) plan(env *tools.Env, in markdownInput) (change, error) {
	s := c.site(env)
	if err := in.check(s); err != nil {
		return change{}, err
	}
	p, err := from(env, in.From, in.Title)
	if err != nil && in.Update != "" && in.Title == "" {
		// A text without a heading keeps the title that the post has.
		p, err = from(env, in.From, s.Load(path.Clean(in.Update)).Matter.Text("title"))
	}
	if err != nil {
		return change{}, err
	}
	if in.Update != "" {
		return c.revise(s, p, in)
	}
	name := in.Slug
	if name == "" {
		name = site.Slugify(p.Title)
	}
	if !slugRule.MatchString(name) {
		return change{}, fmt.Errorf("slug %q will not do: letters and digits, with single dashes between them", name)
	}
	others, err := s.Named(name)
	if err != nil {
		return change{}, fmt.Errorf("looking for other posts: %w", err)
	}
	t, err := newTemplate(s, others)
	if err != nil {
		return change{}, err
	}
	for _, at := range others {
		old, err := fs.ReadFile(s.FS, at)
		if err != nil {
			return change{}, fmt.Errorf("looking whether %s is another post: %w", at, err)
		}
		// A call that is repeated, even on another day, finds what it wrote.
		m, _ := site.Split(string(old))
		date := site.Date(m.Raw(t.key("date")))
		if in.Date != "" {
			date = site.NewDate(in.Date)
		}
		ch, err := compose(t, p, in, date, at)
		if err != nil {
			return change{}, err
		}
		if ch.old = string(old); ch.text == ch.old {
			return ch, nil
		}
	}
	if len(others) > 0 {
		return change{}, fmt.Errorf("%s is another post: choose another slug, or if it is to be replaced, read it and pass it as update", others[0])
	}
	date := site.NewDate(in.Date)
	if date == "" {
		date = t.today(c.Now())
	}
	ch, err := compose(t, p, in, date, t.path(name, string(date), in.Draft))
	if err != nil {
		return change{}, err
	}
	if _, err := fs.Stat(s.FS, ch.post.Path); err == nil {
		return change{}, fmt.Errorf("%s is another file: choose another slug", ch.post.Path)
	}
	ch.note += scheduled(s, string(date), c.Now())
	return ch, nil
}

// compose renders a new post.
func compose(t template, p post, in markdownInput, date site.Date, at string) (change, error) {
	m, _ := site.Split(t.matter(p, in, date).String())
	body, quoted, err := t.s.Inert(at, m, p.Text, "")
	if err != nil {
		return change{}, err
	}
	text := m.String() + "\n" + body + "\n"
	m, body = site.Split(text)
	day, _ := site.ParseDate(string(date))
	return change{post: site.Post{Path: at, Matter: m, Body: body, Date: day}, text: text, note: inert(quoted)}, nil
}

// inert returns a note about parts of a text that the generator or a browser would have
// run, "" if there are none.
func inert(quoted []string) string {
	if len(quoted) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s that the generator or a browser would have run %s shown as text, the first is %s", spelling.Plural(len(quoted), "part"),
		map[bool]string{true: "is", false: "are"}[len(quoted) == 1], spelling.Clip(strings.Join(strings.Fields(quoted[0]), " "), 80)) + "."
}

// scheduled returns a note about a date in the future, "" if it is not.
func scheduled(s site.Site, date string, now time.Time) string {
	switch {
	case !site.IsLater(date, now):
		return ""
	case s.Future():
		return fmt.Sprintf(" It is dated %s: builds before that leave it out, so the site must be built then.", date)
	}
	return fmt.Sprintf(" It is dated %s, but this generator builds it at once: publish the change on that day.", date)
}

// check refuses values that front matter cannot have.
func (in markdownInput) check(s site.Site) error {
	if in.Date != "" {
		if _, err := site.ParseDate(in.Date); err != nil {
			return fmt.Errorf("date: %w", err)
		}
	}
	if in.Canonical != "" && !strings.HasPrefix(in.Canonical, "https://") && !strings.HasPrefix(in.Canonical, "http://") {
		return fmt.Errorf("canonical %q is no address; it begins with https://", in.Canonical)
	}
	if in.Cover != "" {
		return s.CheckImage(in.Cover)
	}
	return nil
}

// revise renders a post that is there anew: what is not given stays as it is.
func (c Config) revise(s site.Site, p post, in markdownInput) (change, error) {
	at := path.Clean(in.Update)
	if !site.IsPost(at) || !fs.ValidPath(at) {
		return change{}, fmt.Errorf("update %q is no Markdown file of this workspace", in.Update)
	}
	old, err := fs.ReadFile(s.FS, at)
	if err != nil {
		return change{}, fmt.Errorf("reading %s: %w", at, err)
	}
	m, before := site.Split(string(old))
	for _, own := range []string{"adroit_key", "adroit_sum"} { // of former versions
		m.Drop(own)
	}
	t, ch := template{s: s, like: m}, change{old: string(old)}
	if s.Style == site.Jekyll && !in.Draft && strings.HasPrefix(at, s.Drafts+"/") {
		if in.Date == "" {
			in.Date = string(t.today(c.Now()))
		}
		ch.from, at = at, t.path(site.Slug(at), in.Date, false)
	}
	if m.Text("title") != p.Title {
		m.Set("title", p.Title)
	}
	t.set(&m, in)
	if in.Date != "" {
		m.Set(t.key("date"), site.NewDate(in.Date))
	}
	if k := t.key("draft"); m.Has(k) {
		m.Set(k, in.Draft)
	}
	body, quoted, err := s.Inert(at, m, p.Text, before)
	if err != nil {
		return change{}, err
	}
	ch.note = inert(quoted)
	gap, end := around(string(old), before)
	render := func() string {
		text := m.String() + gap + body + end
		if strings.Contains(ch.old, "\r\n") {
			return strings.ReplaceAll(text, "\n", "\r\n")
		}
		return text
	}
	if k := t.key("updated"); m.Has(k) && render() != ch.old {
		m.Set(k, site.Date(c.Now().Format(time.DateOnly)))
	}
	ch.text = render()
	fresh, own := site.Split(ch.text)
	ch.post = site.Post{Path: at, Matter: fresh, Body: own, Date: fresh.Date()}
	if ch.post.Date.IsZero() {
		ch.post.Date = s.Load(at).Date // of its name
	}
	if in.Date != "" {
		ch.note += scheduled(s, in.Date, c.Now())
	}
	return ch, nil
}

// around is the space before and behind the body of a post.
func around(old, body string) (gap, end string) {
	old = strings.ReplaceAll(old, "\r\n", "\n")
	i := strings.LastIndex(old, body)
	if body == "" || i <= 0 {
		return "\n", "\n"
	}
	head := old[:i]
	gap = head[len(strings.TrimRight(head, " \t\n")):]
	_, gap, _ = strings.Cut(gap, "\n") // the first ends the front matter
	return gap, old[i+len(body):]
}

// maxPreview bounds what a person is shown, in bytes.
const maxPreview = 12 << 10

// preview shows the change that a call would make to the person who approves it: the
// difference from the existing post, or the front matter of a new one.
func (c Config) preview(env *tools.Env, args json.RawMessage) string {
	var in markdownInput
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	ch, err := c.plan(env, in)
	if err != nil {
		return ""
	}
	text := udiff.Unified(cmp.Or(ch.from, ch.post.Path), ch.post.Path, ch.old, ch.text)
	if ch.old == "" {
		head, _, _ := strings.Cut(ch.text, "\n\n")
		text = ch.post.Path + "\n" + head
	}
	if len(text) > maxPreview {
		text = strings.ToValidUTF8(text[:maxPreview], "") + "\n(the rest is left out)"
	}
	return text
}

// values returns the values of front matter that describe a post, by field.
func (in markdownInput) values() map[string]string {
	return map[string]string{"description": in.Description, "author": in.Author, "canonical": in.Canonical, "series": in.Series}
}

// fieldOrder is the order of fields that a template does not have.
var fieldOrder = []string{"date", "description", "tags", "series", "author", "canonical", "cover", "draft"}

// known reports whether a template's key is one that the tool sets itself.
func (t template) known(key string) bool {
	return key == "title" || key == "slug" || slices.ContainsFunc(append([]string{"updated"}, fieldOrder...), func(f string) bool { return t.key(f) == key })
}
