package publish

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
)

// A template is an example of a site's posts: the newest one, or an archetype of Hugo.
type template struct {
	s      site.Site
	like   site.Matter
	recent []site.Post
	fixed  bool // like is an archetype, whose values are meant to be copied
}

// alike is the number of last posts that must agree in a key for it to be copied.
const alike = 3

// newTemplate reads the last posts but those that have the name of the new one.
func newTemplate(s site.Site, without []string) (template, error) {
	recent, _, err := s.Recent(alike + len(without))
	if err != nil {
		return template{}, err
	}
	recent = slices.DeleteFunc(recent, func(p site.Post) bool { return slices.Contains(without, p.Path) || p.Matter.Empty() })
	t := template{s: s, recent: recent[:min(alike, len(recent))]}
	if len(t.recent) > 0 {
		t.like = t.recent[0].Matter
		return t, nil
	}
	if s.Style == site.Hugo {
		for _, name := range []string{path.Base(s.Posts), "posts", "default"} {
			if b, err := fs.ReadFile(s.FS, "archetypes/"+name+".md"); err == nil {
				t.like, _ = site.Split(string(b))
				t.fixed = true
				break
			}
		}
	}
	return t, nil
}

// key is the site's name of a field.
func (t template) key(field string) string { return t.like.Key(field, t.s.Style) }

// today is a date as the site writes them.
func (t template) today(now time.Time) site.Date {
	if !t.fixed && strings.Contains(t.like.Raw(t.key("date")), ":") {
		return site.Date(now.Format(time.RFC3339))
	}
	return site.Date(now.Format(time.DateOnly))
}

// path is the file of a new post: in the way of the last ones.
func (t template) path(name, date string, draft bool) string {
	if t.s.Style == site.Jekyll {
		if draft {
			return path.Join(t.s.Drafts, name+".md")
		}
		return path.Join(t.s.Posts, date[:min(len(date), len(time.DateOnly))]+"-"+name+".md")
	}
	dir, file := t.s.Posts, name+".md"
	if len(t.recent) > 0 {
		own := path.Dir(t.recent[0].Path)
		if strings.HasPrefix(path.Base(t.recent[0].Path), "index.") {
			own, file = path.Dir(own), name+"/index.md"
		}
		if _, err := time.Parse("2006", path.Base(own)); err == nil && path.Dir(own) == t.s.Posts {
			dir = path.Join(dir, date[:min(len(date), 4)])
		}
	}
	return path.Join(dir, file)
}

// matter is the front matter of a new post, with the keys of the template in
// their order.
func (t template) matter(p post, in markdownInput, date site.Date) site.Matter {
	m := site.Matter{TOML: t.like.TOML, JSON: t.like.JSON}
	if t.s.Style == site.Jekyll && !t.like.Has("layout") {
		m.Set("layout", "post")
	}
	var given site.Matter
	given.TOML, given.JSON = m.TOML, m.JSON
	given.Set("title", p.Title)
	given.Set(t.key("date"), date)
	t.set(&given, in)
	if t.s.Style == site.Hugo || in.Draft && t.s.Style != site.Jekyll || t.like.Has(t.key("draft")) {
		given.Set(t.key("draft"), in.Draft)
	}
	for _, k := range t.like.Keys() {
		switch {
		case given.Has(k):
			m.Copy(given, k)
		case t.copies(k):
			m.Copy(t.like, k)
		}
	}
	for _, k := range given.Keys() {
		m.Copy(given, k) // those that are there already stay
	}
	if t.s.Style == site.Jekyll && !m.Has("layout") {
		m.Set("layout", "post")
	}
	return m
}

// single are keys that belong to one post, even if others have them alike.
var single = []string{"adroit_key", "adroit_sum", "aliases", "id", "permalink", "redirect_from", "url", "weight"}

// copies reports whether a key of the template goes into new posts: it has the
// same value in the last ones, or is fixed in an archetype.
func (t template) copies(key string) bool {
	if key != t.key("author") && t.known(key) || slices.Contains(single, key) {
		return false
	}
	raw := t.like.Raw(key)
	if t.fixed {
		return !strings.Contains(raw, "{{")
	}
	for _, p := range t.recent {
		if p.Matter.Raw(key) != raw {
			return false
		}
	}
	return len(t.recent) > 1 || key == "layout" || key == t.key("author")
}

// set gives front matter the fields that were passed, in the shape that the
// site has for them.
func (t template) set(m *site.Matter, in markdownInput) {
	values := in.values()
	for _, f := range fieldOrder {
		k, v := t.key(f), values[f]
		_, listed := t.like.Values[k].([]any)
		switch {
		case f == "tags" && len(in.Tags) > 0:
			m.Set(k, in.Tags)
		case f == "cover" && in.Cover != "":
			m.Set(k, t.cover(k, in))
		case v == "":
		case listed, f == "series" && t.s.Style == site.Hugo:
			m.Set(k, []string{v})
		default:
			m.Set(k, v)
		}
	}
}

// cover is a cover in the site's shape: a map with a description, or the image
// alone.
func (t template) cover(key string, in markdownInput) any {
	name := map[string]string{site.Hugo: "image", site.Jekyll: "path"}[t.s.Style]
	switch v := t.like.Values[key].(type) {
	case string:
		name = ""
	case []any:
		return []string{in.Cover}
	case map[string]any:
		for _, k := range []string{"image", "url", "src", "path"} {
			if _, ok := v[k]; ok {
				name = k
			}
		}
	}
	if name == "" {
		return in.Cover
	}
	out := map[string]string{name: in.Cover}
	if in.CoverAlt != "" {
		out["alt"] = in.CoverAlt
	}
	return out
}
