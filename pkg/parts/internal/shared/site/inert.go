package site

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/gif" // the formats that are measured
	_ "image/jpeg"
	_ "image/png"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
)

// Inert returns the body of a post with everything that its generator or its readers'
// browsers would run (template expressions, tags, shortcodes, JSX, HTML that is not
// known to be harmless) written so that readers see it as it is, and what that was.
// What the post that it replaces has of the kind, in old, was put there by the site's
// people and stays as it is. What cannot be quoted is an error.
func (s Site) Inert(name string, m Matter, body, old string) (safe string, found []string, err error) {
	d := markdown.Dialect{NoTags: strings.EqualFold(path.Ext(name), ".mdx"), Lists: s.Style == Jekyll}
	switch {
	case d.NoTags:
		if safe, found, err = inertMDX(body, old); err != nil {
			return "", nil, err
		}
		safe, links, err := d.Inert(safe, old)
		return safe, append(found, links...), err
	case s.Style == Hugo:
		d.Skip = func(body string) [][2]int { return keptShortcodes(body, old) }
	case s.Style == Jekyll && !s.liquidOff(name, m):
		d.Skip = func(body string) [][2]int { return tagLanguage{}.keptBlocks(body, old) }
	case s.Style == Eleventy:
		if lang := s.eleventyLanguage(m); lang == "liquid" || lang == "njk" {
			d.Skip = func(body string) [][2]int { return tagLanguage{nunjucks: lang == "njk"}.keptBlocks(body, old) }
		}
	}
	body, active, err := d.Inert(body, old)
	if err != nil {
		return "", nil, err
	}
	safe, found, err = s.inertTemplate(name, m, body, old)
	return safe, append(active, found...), err
}

// inertTemplate quotes what the generator would run.
func (s Site) inertTemplate(name string, m Matter, body, old string) (safe string, found []string, err error) {
	switch {
	case s.Style == Hugo:
		return inertHugo(body, old)
	case s.Style == Jekyll && !s.liquidOff(name, m):
		safe, found = tagLanguage{}.inert(body, old)
	case s.Style == Eleventy:
		switch lang := s.eleventyLanguage(m); lang {
		case "":
			return body, nil, nil
		case "liquid", "njk":
			safe, found = tagLanguage{nunjucks: lang == "njk"}.inert(body, old)
		default:
			if i := slices.IndexFunc(otherOpeners, func(o string) bool { return strings.Contains(body, o) && !strings.Contains(old, o) }); i >= 0 {
				return "", nil, fmt.Errorf("the text has %s, and this site sends its Markdown through %s, which may run it: leave it out or reword it", otherOpeners[i], lang)
			}
			return body, nil, nil
		}
	default:
		return body, nil, nil
	}
	return safe, found, nil
}

// otherOpeners begin expressions in template languages that are not known in detail.
var otherOpeners = []string{"{{", "{%", "{#", "<%", "#{", "${"}

// A tagLanguage is Liquid, or Nunjucks, which has comments in braces too.
type tagLanguage struct{ nunjucks bool }

var (
	// rawTag is the tag that takes text as it is, and the one that ends it.
	rawTag   = lazyregexp.New(`^\{%-?\s*(?:end)?raw\b`)
	rawBlock = lazyregexp.New(`(?s)^\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}`)
)

// next finds the first expression of a text: a tag, an output or a comment, up to
// its end, or what begins one that has no end.
func (l tagLanguage) next(text string) (start, end int, closed bool) {
	for start = 0; start < len(text)-1; start++ {
		closer := map[string]string{"{{": "}}", "{%": "%}"}[text[start:start+2]]
		if l.nunjucks && text[start:start+2] == "{#" {
			closer = "#}"
		}
		if closer == "" {
			continue
		}
		rest := text[start+2:]
		if n := strings.Index(rest[:min(len(rest), maxTag)], closer); n >= 0 {
			return start, start + 2 + n + 2, true
		}
		return start, start + 2, false
	}
	return len(text), len(text), false
}

// block is an expression at the beginning of a text as its author sees it: raw text
// with its tags is one.
func (l tagLanguage) block(text string) string {
	if raw := rawBlock.FindString(text[:min(len(text), maxTag)]); raw != "" {
		return raw
	}
	if _, end, closed := l.next(text); closed {
		return text[:end]
	}
	return ""
}

// blocks are the expressions of a text.
func (l tagLanguage) blocks(text string) map[string]bool {
	out := map[string]bool{}
	for {
		start, end, _ := l.next(text)
		if start == end {
			return out
		}
		if b := l.block(text[start:]); b != "" {
			out[b], end = true, start+len(b)
		}
		text = text[end:]
	}
}

// keptBlocks returns the positions in a text of expressions that the former text has,
// too.
func (l tagLanguage) keptBlocks(body, old string) (out [][2]int) {
	kept := l.blocks(old)
	for at := 0; len(kept) > 0; {
		start, end, _ := l.next(body[at:])
		if start == end {
			break
		}
		if own := l.block(body[at+start:]); kept[own] {
			end = start + len(own)
			out = append(out, [2]int{at + start, at + end})
		}
		at += end
	}
	return out
}

// inert quotes the expressions of a text, each by itself, for an excerpt may be cut
// anywhere between paragraphs.
func (l tagLanguage) inert(body, old string) (safe string, found []string) {
	kept := l.blocks(old)
	var b strings.Builder
	for {
		start, end, closed := l.next(body)
		b.WriteString(body[:start])
		if start == end {
			return b.String(), found
		}
		own := ""
		if len(kept) > 0 {
			own = l.block(body[start:])
		}
		one := body[start:end]
		switch {
		case kept[own]:
			b.WriteString(own)
			end = start + len(own)
		case closed && !strings.Contains(one, "\n") && !strings.Contains(one[2:], "{%") && !rawTag.MatchString(one):
			b.WriteString("{% raw %}" + one + "{% endraw %}")
			found = append(found, one)
		default: // what begins it is enough
			b.WriteString(`{{ "` + one[:2] + `" }}`)
			found = append(found, one)
			end = start + 2
		}
		body = body[end:]
	}
}

// liquidOff reports whether Jekyll takes the text of a post as it is.
func (s Site) liquidOff(name string, m Matter) bool {
	if on, ok := m.Values["render_with_liquid"].(bool); ok {
		return !on
	}
	defaults, _ := s.value("defaults").([]any)
	off := false
	for _, d := range defaults {
		one := Site{config: asMap(d)}
		on, ok := one.value("values.render_with_liquid").(bool)
		in := strings.Trim(one.setting("scope.path"), "/")
		if kind := one.setting("scope.type"); ok && (kind == "" || kind == "posts") && (in == "" || strings.HasPrefix(name, in+"/")) {
			off = !on
		}
	}
	return off
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// eleventyLanguage returns the template language that Eleventy applies to the text of a
// post before Markdown, "" if there is none.
func (s Site) eleventyLanguage(m Matter) string {
	lang := cmp.Or(s.markdown, "liquid")
	if own, ok := m.Values["templateEngineOverride"]; ok {
		lang, _, _ = strings.Cut(fmt.Sprint(own), ",")
	}
	switch lang = strings.TrimSpace(lang); lang {
	case "md", "false", "html":
		return ""
	}
	return lang
}

// inertHugo quotes shortcodes. A comment within one makes it text.
func inertHugo(body, old string) (safe string, found []string, err error) {
	kept := shortcodes(old)
	var b strings.Builder
	for text := body; ; {
		start, end, closed := nextShortcode(text)
		b.WriteString(text[:start])
		one := text[start:end]
		switch {
		case start == end:
			return b.String(), found, nil
		case !closed:
			line := 1 + strings.Count(body[:len(body)-len(text)+start], "\n")
			return "", nil, fmt.Errorf("line %d of the text has %s without its end, at which Hugo stops: end it or leave it out", line, one)
		case kept[one]:
			b.WriteString(one)
		default:
			// Up to the first end: as Hugo reads a comment.
			b.WriteString(one[:3] + "/*" + one[3:len(one)-3] + "*/" + one[len(one)-3:])
			found = append(found, one)
		}
		text = text[end:]
	}
}

// shortcodes returns a text's shortcodes.
func shortcodes(text string) map[string]bool {
	out := map[string]bool{}
	for {
		start, end, closed := nextShortcode(text)
		if start == end {
			return out
		}
		if closed {
			out[text[start:end]] = true
		}
		text = text[end:]
	}
}

// keptShortcodes returns the positions in a text of shortcodes that the former text has,
// too.
func keptShortcodes(body, old string) (out [][2]int) {
	kept := shortcodes(old)
	for at := 0; len(kept) > 0; {
		start, end, _ := nextShortcode(body[at:])
		if start == end {
			break
		}
		if kept[body[at+start:at+end]] {
			out = append(out, [2]int{at + start, at + end})
		}
		at += end
	}
	return out
}

// nextShortcode finds the first shortcode of a text.
func nextShortcode(text string) (start, end int, closed bool) {
	start = -1
	for _, open := range []string{"{{<", "{{%"} {
		if i := strings.Index(text, open); i >= 0 && (start < 0 || i < start) {
			start = i
		}
	}
	if start < 0 {
		return len(text), len(text), false
	}
	closer := map[byte]string{'<': ">}}", '%': "%}}"}[text[start+2]]
	rest := text[start+3:]
	if strings.HasPrefix(rest, "/*") && strings.Contains(rest[2:], "*/"+closer) {
		closer = "*/" + closer
	}
	n := strings.Index(rest, closer)
	if n < 0 {
		return start, start + 3, false
	}
	return start, start + 3 + n + len(closer), true
}

// Bounds of an image that readers download.
const (
	MaxImage  = 2 << 20 // bytes
	maxPixels = 5000    // width or height
)

// CheckImage reports an image of a post that is not there, is none, or is larger
// than readers should have to load. Images elsewhere on the net are not looked
// at, and only PNG, JPEG and GIF are measured.
func (s Site) CheckImage(link string) error {
	if u, err := url.Parse(link); err == nil && (u.Scheme != "" || u.Host != "") {
		return nil
	}
	name, ok := s.File(link)
	if !ok {
		return fmt.Errorf("there is no file for the image %s in what the site serves", link)
	}
	info, err := fs.Stat(s.FS, name)
	if err != nil {
		return fmt.Errorf("the image %s cannot be read: %w", name, err)
	}
	if info.Size() > MaxImage {
		return fmt.Errorf("the image %s has %.1f MB; %d MB are the most that readers should have to load", name, float64(info.Size())/(1<<20), MaxImage>>20)
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif":
	default:
		return nil
	}
	b, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return fmt.Errorf("the image %s cannot be read: %w", name, err)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s is no image that can be read: %w", name, err)
	}
	if max(c.Width, c.Height) > maxPixels {
		return fmt.Errorf("the image %s has %dx%d pixels; at most %d in each direction are of use", name, c.Width, c.Height, maxPixels)
	}
	return nil
}
