package docs

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A page is what one Markdown file has in it.
type page struct {
	anchors map[string]bool
	links   []link
	blocks  []block
}

type link struct {
	line   int
	target string
}

var (
	inlineCode = lazyregexp.New("`+[^`]*`+")
	inlineLink = lazyregexp.New(`\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)`)
	definition = lazyregexp.New(`^ {0,3}\[[^\]^][^\]]*\]:\s*<?([^\s<>]+)`)
	htmlAnchor = lazyregexp.New(`<[a-zA-Z]+[^>]*\s(?:id|name)=["']([^"']+)["']`)
	heading    = lazyregexp.New(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	inlineText = lazyregexp.New(`!?\[([^\]]*)\]\([^)]*\)`)
)

// parse reads Markdown line by line: enough for links, headings and fences.
func parse(src string) *page {
	p := &page{anchors: map[string]bool{}}
	fence, open := "", block{}
	var code strings.Builder
	slugs := map[string]int{}
	for i, l := range strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(l)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				open.code = code.String()
				p.blocks = append(p.blocks, open)
				fence = ""
				continue
			}
			code.WriteString(l + "\n")
			continue
		}
		if mark := fenceOf(trimmed); mark != "" {
			fence = mark
			lang, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(trimmed, mark[:1])), " ")
			open = block{line: i + 2, lang: strings.ToLower(strings.Trim(lang, "{}."))}
			code.Reset()
			continue
		}
		if m := heading.FindStringSubmatch(l); m != nil {
			s := slug(m[1])
			if n := slugs[s]; n > 0 {
				p.anchors[fmt.Sprintf("%s-%d", s, n)] = true
			}
			slugs[s]++
			p.anchors[s] = true
		}
		for _, m := range htmlAnchor.FindAllStringSubmatch(l, -1) {
			p.anchors[m[1]] = true
		}
		if m := definition.FindStringSubmatch(l); m != nil {
			p.links = append(p.links, link{i + 1, m[1]})
		}
		for _, m := range inlineLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(l, ""), -1) {
			p.links = append(p.links, link{i + 1, m[1]})
		}
	}
	return p
}

// fenceOf is the run of marks that begins a fenced block, "" if none does.
func fenceOf(s string) string {
	for _, c := range []string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, c))
		if n >= 3 && !(c == "`" && strings.Contains(s[n:], "`")) {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

// slug is the name under which forges link to a heading.
func slug(text string) string {
	text = inlineText.ReplaceAllString(text, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// A checker collects what is wrong in files.
type checker struct {
	env                      *tools.Env
	pages                    map[string]*page
	faults                   []string
	links, blocks, elsewhere int
}

func (c *checker) page(name string) (*page, error) {
	if p, ok := c.pages[name]; ok {
		return p, nil
	}
	b, err := c.env.Files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := parse(string(b))
	c.pages[name] = p
	return p, nil
}

func (c *checker) fault(name string, line int, format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf("%s:%d: %s", name, line, fmt.Sprintf(format, args...)))
}

func (c *checker) file(name string) {
	p, err := c.page(name)
	if err != nil {
		c.faults = append(c.faults, err.Error())
		return
	}
	for _, l := range p.links {
		c.links++
		c.link(name, l)
	}
	for _, b := range p.blocks {
		ok, err := b.check()
		if ok {
			c.blocks++
		}
		if err != nil {
			c.fault(name, b.line+err.line-1, "the %s in this block cannot be parsed: %s", b.lang, err.words)
		}
	}
}

func (c *checker) link(name string, l link) {
	u, err := url.Parse(l.target)
	if err != nil {
		c.fault(name, l.line, "the link %q is malformed", l.target)
		return
	}
	if u.Scheme != "" || u.Host != "" {
		c.elsewhere++
		return
	}
	to := name
	if u.Path != "" {
		to = path.Join(path.Dir(name), u.Path)
		if strings.HasPrefix(u.Path, "/") {
			to = strings.TrimPrefix(path.Clean(u.Path), "/")
		}
		if to == "." || to == "" {
			return // the top of the workspace
		}
		if _, err := c.env.Files.Stat(to); err != nil {
			c.fault(name, l.line, "the link %s leads nowhere: %v", l.target, err)
			return
		}
	}
	if u.Fragment == "" || !strings.HasSuffix(strings.ToLower(to), ".md") {
		return
	}
	p, err := c.page(to)
	if err != nil {
		c.fault(name, l.line, "the link %s: %v", l.target, err)
	} else if !p.anchors[u.Fragment] && !p.anchors[strings.ToLower(u.Fragment)] {
		c.fault(name, l.line, "the link %s leads to a heading that %s does not have", l.target, to)
	}
}
