package site

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
)

// Address returns the address of a post on the site, "" if the configuration does not
// state it.
func (s Site) Address(p Post) string {
	if s.URL == "" {
		return ""
	}
	at := s.route(p)
	if at == "" {
		return ""
	}
	if strings.HasPrefix(at, "http://") || strings.HasPrefix(at, "https://") {
		return at
	}
	u := url.URL{Path: "/" + strings.TrimLeft(at, "/")}
	return s.URL + u.EscapedPath()
}

// route is the path of a post's address below the site's, "" if unknown.
func (s Site) route(p Post) string {
	if own := p.Matter.Text(ownAddress[s.Style]); own != "" && !strings.ContainsAny(own, "{%:") {
		if s.Style == Hugo && path.Ext(own) == "" {
			own = strings.TrimRight(own, "/") + "/"
		}
		return own
	}
	switch s.Style {
	case Hugo:
		return s.hugo(p)
	case Jekyll:
		return s.jekyll(p)
	case Astro:
		return s.astro(p)
	case Eleventy:
		return s.eleventy(p)
	}
	return ""
}

// ownAddress is the key by which a post sets its address.
var ownAddress = map[string]string{Hugo: "url", Jekyll: "permalink", Eleventy: "permalink"}

// folder is a post's name with that of its directory where it is an index.
func folder(name string) string {
	if strings.TrimSuffix(path.Base(name), path.Ext(name)) == "index" {
		return path.Dir(name)
	}
	return name
}

func (s Site) hugo(p Post) string {
	rel, ok := strings.CutPrefix(p.Path, "content/")
	if !ok {
		return ""
	}
	rel = folder(rel)
	section, _, _ := strings.Cut(rel, "/")
	base := strings.TrimSuffix(path.Base(rel), ".md")
	slug, title := urlize(p.Matter.Text("slug")), urlize(p.Matter.Text("title"))
	name := cmp.Or(slug, urlize(strings.ReplaceAll(base, " ", "-")))
	at := path.Join(path.Dir(strings.ToLower(strings.ReplaceAll(rel, " ", "-"))), name) + "/"
	for _, key := range []string{"permalinks.page." + section, "permalinks." + section} {
		if pattern := s.setting(key); pattern != "" {
			own := urlize(base)
			at = s.fill(pattern, p, map[string]string{
				":slugorfilename": cmp.Or(slug, own), ":slugorcontentbasename": cmp.Or(slug, own), ":slug": cmp.Or(slug, title), ":title": title,
				":filename": own, ":contentbasename": own, ":sections": s.sections(path.Dir(rel)), ":section": section,
			})
			if at != "" { // a plus sign in it is read as a space
				at = strings.TrimRight(urlize(strings.ReplaceAll(at, "+", " ")), "/") + "/"
			}
			break
		}
	}
	if ugly, _ := s.value("uglyURLs").(bool); ugly && at != "" {
		at = strings.TrimRight(at, "/") + ".html"
	}
	return at
}

// urlize is text as part of an address in Hugo's way: spaces become a dash, and
// what is neither a letter, a digit nor one of a few signs goes.
func urlize(text string) string {
	var b strings.Builder
	gap, dash := false, false
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(`./\_#+~-@`, r):
			if gap && r != '-' {
				b.WriteByte('-')
			}
			gap, dash = false, r == '-'
			b.WriteRune(r)
		case unicode.IsSpace(r) && b.Len() > 0 && !dash:
			gap = true
		}
	}
	return b.String()
}

// sections are the directories around a post that are sections of Hugo: the
// first, and those below that have a page of their own.
func (s Site) sections(dir string) string {
	for strings.Contains(dir, "/") && !exists(s.FS, path.Join("content", dir, "_index.md")) {
		dir = path.Dir(dir)
	}
	return dir
}

// jekyllStyles are the patterns that have names.
var jekyllStyles = map[string]string{
	"":         "/:categories/:year/:month/:day/:title:output_ext",
	"date":     "/:categories/:year/:month/:day/:title:output_ext",
	"pretty":   "/:categories/:year/:month/:day/:title/",
	"ordinal":  "/:categories/:year/:y_day/:title:output_ext",
	"weekdate": "/:categories/:year/W:week/:short_day/:title:output_ext",
	"none":     "/:categories/:title:output_ext",
}

func (s Site) jekyll(p Post) string {
	pattern := s.setting("permalink")
	if named, ok := jekyllStyles[pattern]; ok {
		pattern = named
	}
	cats := p.Matter.List("categories")
	if words, ok := p.Matter.Values["categories"].(string); ok {
		cats = strings.Fields(words)
	}
	if one := p.Matter.Text("category"); one != "" {
		cats = append(cats, one)
	}
	plain := make([]string, len(cats))
	for i, c := range cats {
		cats[i], plain[i] = strings.ToLower(c), hyphenate(strings.ToLower(c), "")
	}
	name := cmp.Or(p.Matter.Text("slug"), Slug(p.Path))
	if zone, err := time.LoadLocation(s.setting("timezone")); err == nil && s.setting("timezone") != "" && (p.Date.Hour() != 0 || p.Date.Minute() != 0 || p.Date.Location() != time.UTC) {
		p.Date = p.Date.In(zone)
	}
	return s.fill(pattern, p, map[string]string{
		":categories": strings.Join(cats, "/"), ":slugified_categories": strings.Join(plain, "/"), ":output_ext": ".html",
		":title": hyphenate(name, "._~!$&'()+,;=@"), ":slug": hyphenate(strings.ToLower(name), ""), ":name": name,
	})
}

// hyphenate is text as part of an address in Jekyll's way: a dash stands for each
// run of what is neither a letter, a digit nor one of signs.
func hyphenate(text, signs string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.Is(unicode.Nd, r) && !unicode.IsMark(r) && !strings.ContainsRune(signs, r)
	}), "-")
}

// eleventy follows the files below the directory of its input; a file that has
// the name of its directory is the directory's page.
func (s Site) eleventy(p Post) string {
	rel, ok := strings.CutPrefix(p.Path, s.input)
	if !ok {
		return ""
	}
	at := strings.TrimSuffix(folder(rel), path.Ext(folder(rel)))
	if folder(rel) != rel {
		at = folder(rel)
	} else if path.Base(at) == path.Base(path.Dir(at)) {
		at = path.Dir(at)
	}
	return at + "/"
}

// fill puts values into a pattern; "" if it has a part that is not known.
func (s Site) fill(pattern string, p Post, values map[string]string) string {
	t := p.Date
	if t.IsZero() && strings.Contains(pattern, ":year") {
		return ""
	}
	values[":year"], values[":month"], values[":day"] = t.Format("2006"), t.Format("01"), t.Format("02")
	values[":short_year"], values[":i_month"], values[":i_day"] = t.Format("06"), t.Format("1"), t.Format("2")
	values[":y_day"], values[":yearday"] = t.Format("002"), fmt.Sprint(t.YearDay())
	year, week := t.ISOWeek()
	values[":w_year"], values[":week"], values[":short_day"], values[":long_day"] = fmt.Sprint(year), fmt.Sprintf("%02d", week), t.Format("Mon"), t.Format("Monday")
	values[":short_month"], values[":long_month"] = t.Format("Jan"), t.Format("January")
	var out strings.Builder
	for i := 0; i < len(pattern); {
		if pattern[i] != ':' {
			out.WriteByte(pattern[i])
			i++
			continue
		}
		end := i + 1
		for end < len(pattern) && (pattern[end] == '_' || pattern[end] >= 'a' && pattern[end] <= 'z') {
			end++
		}
		v, ok := values[pattern[i:end]]
		if !ok {
			return ""
		}
		out.WriteString(v)
		i = end
	}
	at := path.Clean("/" + out.String())
	if strings.HasSuffix(pattern, "/") {
		at += "/"
	}
	return at
}

// astro follows the pages: those in src/pages are their own addresses, and a
// collection is shown where a page with a parameter has its name.
func (s Site) astro(p Post) string {
	if rel, ok := strings.CutPrefix(p.Path, "src/pages/"); ok {
		return s.astroPage(strings.TrimSuffix(folder(rel), path.Ext(folder(rel))))
	}
	rel := p.Path
	for _, base := range []string{"src/content/", "src/data/"} {
		rel = strings.TrimPrefix(rel, base)
	}
	collection, name, ok := strings.Cut(folder(rel), "/")
	if !ok || rel == p.Path {
		return ""
	}
	parts := strings.Split(strings.TrimSuffix(name, path.Ext(name)), "/")
	for i, part := range parts {
		parts[i] = markdown.Anchor(part) // as Astro does
	}
	name = cmp.Or(p.Matter.Text("slug"), strings.Join(parts, "/"))
	for _, dir := range []string{collection, "blog", "posts"} {
		entries, err := fs.ReadDir(s.FS, "src/pages/"+dir)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "[") }) {
			return s.astroPage(dir + "/" + name)
		}
	}
	return ""
}

func (s Site) astroPage(at string) string {
	switch {
	case s.setting("format") == "file":
		return at + ".html"
	case s.setting("trailingSlash") == "never":
		return at
	}
	return at + "/"
}

// Slugify is a title as part of an address: small letters, digits and dashes,
// at most 80 bytes.
func Slugify(title string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(title) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			dash = b.Len() > 0
			continue
		}
		if b.Len()+len(string(r))+1 > 80 {
			break
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// static are the directories whose files are served at the root of the site.
var static = map[string][]string{
	Hugo:     {"static", "assets", "content"},
	Jekyll:   {"."},
	Astro:    {"public"},
	Eleventy: {"public", "src", ".", "content"},
}

// File finds the file of the workspace that a link of a post leads to: a file
// that is served, one beside the post, or the source of another page. It
// reports false if there is none.
func (s Site) File(link string) (string, bool) {
	u, err := url.Parse(link)
	if err != nil || u.Host != "" || u.Path == "" {
		return "", false
	}
	own := u.Path
	rooted := strings.HasPrefix(own, "/")
	if base, err := url.Parse(s.URL); err == nil && rooted && base.Path != "" {
		own = "/" + strings.TrimPrefix(strings.TrimPrefix(own, base.Path), "/")
	}
	dirs := static[s.Style]
	name := strings.Trim(path.Clean("/"+own), "/")
	if !rooted {
		// Beside the post, or in a directory around it as far as the content goes.
		name, dirs = path.Join(s.Posts, own), []string{"."}
		if top, _, _ := strings.Cut(s.Posts, "/"); !strings.HasPrefix(name, top+"/") {
			return "", false
		}
	}
	for _, dir := range dirs {
		at := path.Join(dir, name)
		if !fs.ValidPath(at) {
			return "", false
		}
		if info, err := fs.Stat(s.FS, at); err == nil && info.Mode().IsRegular() {
			return at, true
		}
	}
	return s.source(name, rooted)
}

// source finds the page with an address by its usual places and by its name. A
// post counts only if that is its address, as far as this is known.
func (s Site) source(name string, rooted bool) (string, bool) {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".html"), "/")
	for _, dir := range []string{"content", ".", "src", "src/pages", "src/content"} {
		for _, end := range []string{".md", "/index.md", "/_index.md", ".mdx", ".html", "/index.html", ".astro", "/index.astro"} {
			at := path.Join(dir, name+end)
			if fs.ValidPath(at) && exists(s.FS, at) && (!rooted || s.answers(at, name)) {
				return at, true
			}
		}
	}
	if !rooted || name == "" {
		return "", false
	}
	list, err := s.Named(path.Base(name))
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(list, func(at string) bool { return s.answers(at, name) })
	if i < 0 {
		return "", false
	}
	return list[i], true
}

// answers reports whether a file may be the page with an address: any file that
// is no post may.
func (s Site) answers(at, name string) bool {
	if !strings.HasPrefix(at, s.Posts+"/") || strings.HasPrefix(path.Base(at), "_index.") {
		return true
	}
	route := s.route(s.Load(at))
	return route == "" || strings.EqualFold(strings.Trim(strings.TrimSuffix(route, ".html"), "/"), name)
}

// Future reports whether the generator leaves out a post until its date has
// come.
func (s Site) Future() bool { return s.Style == Hugo || s.Style == Jekyll }

// IsLater reports whether a date is after now: a day without a time is later
// only from the next day on.
func IsLater(date string, now time.Time) bool {
	t, err := ParseDate(date)
	return err == nil && t.After(now)
}
