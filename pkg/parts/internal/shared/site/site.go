// Package site knows static sites: which generator builds a workspace, where
// its posts and files are, what their front matter looks like, and which
// address a post gets. It only reads, and what it reads was written by others:
// it is bounded, and what cannot be understood counts as absent.
package site

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
)

// Settings are the operator's settings of a site; empty ones are derived from the files.
type Settings struct {
	Style string
	Dir   string // of posts; for Jekyll the one that has _posts and _drafts
	URL   string // of the site
}

// A Site is a workspace as its generator sees it.
type Site struct {
	FS       fs.FS
	Style    string
	Found    bool   // files of a generator were found
	Posts    string // the directory of posts
	Drafts   string // where drafts are, which is not always among the posts
	URL      string // where the site is, without a slash at its end; "" if unknown
	Title    string
	Author   string
	Language string
	input    string // of Eleventy: where it begins to look, with a slash at its end unless it is the root
	markdown string // of Eleventy: what its Markdown is sent through first
	config   map[string]any
}

// configs are the files by which a generator is known, in the order in which
// they are looked for.
var configs = []struct {
	style string
	names []string
}{
	{Hugo, []string{"hugo.toml", "hugo.yaml", "hugo.yml", "hugo.json", "config/_default/hugo.toml", "config/_default/config.toml"}},
	{Jekyll, []string{"_config.yml", "_config.yaml", "_config.toml", "_posts"}},
	{Astro, []string{"astro.config.mjs", "astro.config.ts", "astro.config.js"}},
	{Eleventy, []string{"eleventy.config.js", "eleventy.config.mjs", "eleventy.config.cjs", ".eleventy.js"}},
	{Hugo, []string{"config.toml", "config.yaml", "config.yml", "archetypes"}}, // beside a directory content only
}

// places are the directories in which posts are looked for; the first is the
// default.
var places = map[string][]string{
	Hugo:     {"content/posts", "content/post", "content/blog", "content/articles"},
	Astro:    {"src/content/blog", "src/content/posts", "src/data/blog", "src/pages/blog", "src/pages/posts"},
	Eleventy: {"posts", "content/blog", "src/posts", "content/posts", "blog", "src/blog"},
}

// Open finds out about a site. It never fails: without any files it is Hugo's.
func Open(fsys fs.FS, set Settings) Site {
	s := Site{FS: fsys, Style: set.Style}
	name := ""
	for i, c := range configs {
		if set.Style != "" && c.style != set.Style || name != "" || i == len(configs)-1 && !exists(fsys, "content") {
			continue
		}
		for _, n := range c.names {
			if name == "" && exists(fsys, n) {
				s.Style, s.Found, name = c.style, true, n
			}
		}
	}
	s.Style = cmp.Or(s.Style, Hugo)
	s.read(name)
	s.URL = strings.TrimRight(cmp.Or(set.URL, s.URL), "/")
	if !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
		s.URL = ""
	}
	s.place(set.Dir)
	return s
}

// place finds the directories of posts and drafts.
func (s *Site) place(dir string) {
	if s.Style == Jekyll {
		s.Posts, s.Drafts = path.Join(dir, "_posts"), path.Join(dir, "_drafts")
		return
	}
	if dir == "" {
		list := places[s.Style]
		dir = list[0]
		if i := slices.IndexFunc(list, func(d string) bool { return exists(s.FS, d) }); i >= 0 {
			dir = list[i]
		}
	}
	s.Posts = path.Clean(dir)
	s.Drafts = s.Posts
}

// read reads the configuration.
func (s *Site) read(name string) {
	b, err := read(s.FS, name)
	if err != nil {
		return
	}
	switch path.Ext(name) {
	case ".toml":
		_ = toml.Unmarshal(b, &s.config)
	case ".yaml", ".yml", ".json":
		_ = yaml.Unmarshal(b, &s.config)
	}
	text := func(keys ...string) string {
		for _, k := range keys {
			if v := s.setting(k); v != "" {
				return v
			}
		}
		return ""
	}
	s.Title, s.Language = text("title"), text("languageCode", "defaultContentLanguage", "locale", "lang")
	s.Author = text("params.author", "params.author.name", "author", "author.name")
	switch s.Style {
	case Hugo:
		s.URL = text("baseURL", "baseurl")
	case Jekyll:
		if u := text("url"); u != "" {
			s.URL = strings.TrimRight(u, "/") + "/" + strings.Trim(text("baseurl"), "/")
		}
	case Astro:
		own := optionsOf(string(b))
		s.URL = strings.TrimRight(own["site"], "/")
		if base := own["base"]; base != "" {
			s.URL += "/" + strings.Trim(base, "/")
		}
		s.config = map[string]any{"format": own["format"], "trailingSlash": own["trailingSlash"]}
	case Eleventy:
		own := optionsOf(string(b))
		if in := cmp.Or(own["setInputDirectory"], own["input"]); in != "" {
			s.input = strings.TrimPrefix(path.Clean(in)+"/", "./")
		}
		s.metadata()
		s.markdown = cmp.Or(own["markdownTemplateEngine"], "liquid")
	}
}

// optionsOf are the texts that a configuration in JavaScript gives to names, as an
// option or as the argument of a call; of several with one name it is the one that
// is nested the least. Comments do not count.
func optionsOf(js string) map[string]string {
	out, depths := map[string]string{}, map[string]int{}
	name, depth, given := "", 0, false // given: what follows is the value of name
	note := func(v string) {
		if d, ok := depths[name]; given && (!ok || depth < d) {
			out[name], depths[name] = v, depth
		}
		name, given = v, false // a key may be in quotes
	}
	for i := 0; i < len(js); {
		rest := js[i:]
		switch c := js[i]; {
		case strings.HasPrefix(rest, "//"):
			i += len(firstLine(rest))
		case strings.HasPrefix(rest, "/*"):
			text, _, _ := strings.Cut(rest[2:], "*/")
			i += 2 + len(text) + 2
		case strings.IndexByte("\"'`", c) >= 0:
			text := quotedText(rest)
			i += len(text) + 2
			note(text)
		case c == ':' || c == '(':
			given = name != ""
			i++
			if c == '(' {
				depth++
			}
		case jsWord.MatchString(rest):
			word := jsWord.FindString(rest)
			i += len(word)
			note(word)
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
		default:
			if strings.IndexByte("{[", c) >= 0 {
				depth++
			} else if strings.IndexByte("}])", c) >= 0 {
				depth--
			}
			name, given = "", false
			i++
		}
	}
	return out
}

var jsWord = lazyregexp.New(`^[\pL_$][\pL\pN_$]*`)

// quotedText is the text in quotes at the beginning of js.
func quotedText(js string) string {
	for i := 1; i < len(js); i++ {
		switch js[i] {
		case '\\':
			i++
		case js[0]:
			return js[1:i]
		}
	}
	return js[1:]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// metadata reads the files in which Eleventy's starters keep what they know.
func (s *Site) metadata() {
	for _, name := range []string{"_data/metadata.json", "_data/site.json", "src/_data/metadata.json", "src/_data/site.json", "_data/metadata.yaml", "_data/metadata.js", "_data/site.js"} {
		b, err := read(s.FS, name)
		if err != nil {
			continue
		}
		if path.Ext(name) == ".js" {
			s.URL = optionsOf(string(b))["url"]
			return
		}
		if yaml.Unmarshal(b, &s.config) == nil {
			s.URL, s.Title, s.Author, s.Language = s.setting("url"), s.setting("title"), cmp.Or(s.setting("author.name"), s.setting("author")), s.setting("language")
		}
		return
	}
}

// setting is a text of the configuration, "" if it is not there. The parts of a
// key are divided by points, and their letters may be of either case, as in
// Hugo.
func (s Site) setting(key string) string {
	text, _ := s.value(key).(string)
	return strings.TrimSpace(text)
}

// value is the same of any type, nil if it is not there.
func (s Site) value(key string) any {
	var v any = s.config
	for _, part := range strings.Split(key, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = nil
		for k, x := range m {
			if strings.EqualFold(k, part) {
				v = x
			}
		}
	}
	return v
}

// A Post is a file of the site.
type Post struct {
	Path   string
	Matter Matter
	Body   string
	Date   time.Time
}

// Bounds of what is looked at: of names, and of files among them that are read.
const (
	maxNames = 20000
	maxRead  = 200
	maxFile  = 1 << 20
)

// IsPost reports whether a file is one by its name.
func IsPost(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx":
		return !strings.HasPrefix(path.Base(name), "_")
	}
	return false
}

// names lists the posts, at most 20,000, with their times of change.
func (s Site) names() ([]string, map[string]time.Time, error) {
	var names []string
	times := map[string]time.Time{}
	for _, dir := range slices.Compact([]string{s.Posts, s.Drafts}) {
		err := fs.WalkDir(s.FS, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && name == dir:
				return err
			case err != nil:
				return fs.SkipDir // a folder that may not be read has no posts
			case len(names) >= maxNames:
				return fs.SkipAll
			case d.IsDir() || !IsPost(name) || !d.Type().IsRegular():
				return nil
			}
			if info, err := d.Info(); err == nil {
				times[name] = info.ModTime()
			}
			names = append(names, name)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	return names, times, nil
}

// Recent gives the newest posts by their dates. Of many, those that were changed
// or named last are read.
func (s Site) Recent(n int) (list []Post, all int, err error) {
	names, times, err := s.names()
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(times[b].Compare(times[a]), strings.Compare(b, a))
	})
	for _, name := range names[:min(maxRead, len(names))] {
		list = append(list, s.Load(name))
	}
	slices.SortStableFunc(list, func(a, b Post) int { return cmp.Or(b.Date.Compare(a.Date), strings.Compare(b.Path, a.Path)) })
	return list[:min(n, len(list))], len(names), nil
}

// Load reads a post; one that cannot be read is empty.
func (s Site) Load(name string) Post {
	p := Post{Path: name}
	b, _ := read(s.FS, name)
	p.Matter, p.Body = Split(string(b))
	if p.Date = p.Matter.Date(); p.Date.IsZero() {
		p.Date, _ = dated(path.Base(name))
	}
	return p
}

// dated reads the date that a file name begins with, and gives the rest.
func dated(base string) (time.Time, string) {
	if len(base) > 11 && base[10] == '-' {
		if t, err := time.Parse(time.DateOnly, base[:10]); err == nil {
			return t, base[11:]
		}
	}
	return time.Time{}, base
}

// Slug is the last part of a post's address, as its file is named.
func Slug(name string) string {
	base := path.Base(name)
	base = strings.TrimSuffix(base, path.Ext(base))
	if base == "index" {
		base = path.Base(path.Dir(name))
	}
	_, base = dated(base)
	return base
}

// Named lists the posts that have a slug, whatever their dates.
func (s Site) Named(slug string) ([]string, error) {
	names, _, err := s.names()
	return slices.DeleteFunc(names, func(n string) bool { return !strings.EqualFold(Slug(n), slug) }), err
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

func read(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// Styles of static sites: their generators.
const (
	Hugo     = "hugo"
	Jekyll   = "jekyll"
	Astro    = "astro"
	Eleventy = "eleventy"
)

// Styles are all of them.
var Styles = []string{Hugo, Jekyll, Astro, Eleventy}
