// Package markdown reads Markdown as forges and site generators do: the targets of its
// links, the anchors of its headings, and its code.
//
//	p, err := markdown.Read(text)
//	p.Anchors["two-words"] // "## Two words"
//
// It is the only reader of the tools: none of them looks for links or headings by lines.
package markdown

import (
	"bytes"
	"fmt"
	stdhtml "html"
	"sort"
	"strings"
	"sync"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	nethtml "golang.org/x/net/html"
)

// A Page has the links, anchors and code of a text.
type Page struct {
	Links   []Link
	Anchors map[string]bool
	Code    []Code
}

// A Link leads somewhere: a link, an image, a definition, an address as it is, or one
// of HTML.
type Link struct {
	Line   int
	Target string
}

// A Code is a fenced block; Line is its first line's.
type Code struct {
	Line       int
	Lang, Text string
}

var engine = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAttribute()),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	)
})

const (
	maxLinks  = 20000   // of a text: the parser looks for the end of each in all of a paragraph
	maxNested = 3000    // quotations, lists and attributes of one line
	maxCells  = 4 << 20 // of tables: rows are filled up to the widest
)

// readable returns an error for a text over which the parser would take minutes or all
// memory, so that nobody takes it for a text without links.
func readable(b []byte) error {
	rows, columns := 0, 0
	for line := range bytes.Lines(b) {
		if n := bytes.Count(line, []byte("|")); n > 0 {
			rows, columns = rows+1, max(columns, n)
		}
		begin := line[:len(line)-len(bytes.TrimLeft(line, " \t>-+*.)0123456789"))]
		if bytes.Count(begin, []byte(">"))+len(bytes.Fields(begin)) > maxNested || bytes.Count(line, []byte("={")) > maxNested {
			return fmt.Errorf("has a line with more than %d quotations, lists or attributes in each other, so its Markdown is not read", maxNested)
		}
	}
	if rows*columns > maxCells {
		return fmt.Errorf("has tables of up to %d rows and %d columns, so its Markdown is not read: divide it", rows, columns)
	}
	if n := bytes.Count(b, []byte("](")); n > maxLinks {
		return fmt.Errorf("has %d links, and up to %d are read: divide it", n, maxLinks)
	}
	return nil
}

// Read reads a text. Front matter is no part of it.
func Read(src string) (Page, error) {
	p := Page{Anchors: map[string]bool{"": true, "top": true}}
	b := []byte(withoutMatter(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(src, "\uFEFF"))))
	if err := readable(b); err != nil {
		return p, err
	}
	r := &reading{src: b, prose: bytes.Repeat([]byte{' '}, len(b)), page: &p}
	for i, c := range b {
		if c == '\n' {
			r.lines = append(r.lines, i)
			r.prose[i] = '\n'
		}
	}
	doc := engine().Parser().Parse(text.NewReader(b))
	_ = ast.Walk(doc, r.node)
	for _, at := range bare.Regexp().FindAllIndex(r.prose, -1) {
		r.link(at[0], trimAddress(string(r.prose[at[0]:at[1]])))
	}
	sort.SliceStable(p.Links, func(i, j int) bool { return p.Links[i].Line < p.Links[j].Line })
	var out bytes.Buffer
	if engine().Renderer().Render(&out, b, doc) == nil {
		p.anchors(&out)
	}
	return p, nil
}

// withoutMatter puts empty lines in the place of front matter.
func withoutMatter(src string) string {
	_, body, ok := CutMatter(src)
	if !ok {
		return src
	}
	return strings.Repeat("\n", strings.Count(src[:len(src)-len(body)], "\n")) + body
}

// A FrontMatter is the front matter of a text in YAML or TOML, with its fences.
type FrontMatter struct{ Open, Lines, Close string }

// CutMatter takes front matter in YAML or TOML off a text that begins with it. Blanks may stand
// behind a fence, a language behind the first one, and YAML may end with three dots.
func CutMatter(src string) (m FrontMatter, body string, ok bool) {
	open, rest, ok := strings.Cut(src, "\n")
	m.Open = strings.TrimRight(open, " \t")
	fence, dots := "---", "..."
	switch m.Open {
	case "---", "---yaml", "---yml":
	case "---toml":
		dots = fence
	case "+++":
		fence, dots = "+++", "+++"
	default:
		return m, src, false
	}
	at := 0
	for line := range strings.Lines(rest) {
		if end := strings.TrimRight(line, " \t\n"); end == fence || end == dots {
			m.Lines, m.Close = rest[:at], end
			return m, rest[at+len(line):], true
		}
		at += len(line)
	}
	return m, src, false
}

// bare is an address in prose.
var bare = lazyregexp.New(`https?://[^\s<>"'\x60|\\^{}]+`)

// trimAddress takes away what ends a sentence rather than an address.
func trimAddress(s string) string {
	for s != "" {
		last := s[len(s)-1]
		switch {
		case strings.IndexByte(".,;:!?*_~", last) >= 0:
		case last == ')' && strings.Count(s, ")") > strings.Count(s, "("):
		case last == ']' && strings.Count(s, "]") > strings.Count(s, "["):
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// A reading walks through a text.
type reading struct {
	src, prose []byte // prose has spaces for code, links and markup
	lines      []int  // ends of lines
	page       *Page
}

func (r *reading) line(at int) int { return 1 + sort.SearchInts(r.lines, max(at, 0)) }

func (r *reading) link(at int, target string) {
	if target != "" {
		r.page.Links = append(r.page.Links, Link{r.line(at), target})
	}
}

func (r *reading) node(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		c := Code{Line: r.line(n.Pos()) + 1, Text: string(n.Lines().Value(r.src)), Lang: string(n.Language(r.src))}
		if n.Lines().Len() > 0 {
			c.Line = r.line(n.Lines().At(0).Start)
		}
		c.Lang = strings.ToLower(strings.Trim(c.Lang, "{}."))
		r.page.Code = append(r.page.Code, c)
		return ast.WalkSkipChildren, nil
	case *ast.CodeSpan, *ast.CodeBlock:
		return ast.WalkSkipChildren, nil
	case *ast.Link:
		if n.Reference == nil { // else its definition is the link
			r.link(n.Pos(), Literal(n.Destination))
		}
		return r.inside(n)
	case *ast.Image:
		if n.Reference == nil {
			r.link(n.Pos(), Literal(n.Destination))
		}
		return r.inside(n)
	case *ast.AutoLink:
		target := string(n.URL(r.src))
		if n.AutoLinkType == ast.AutoLinkEmail {
			target = "mailto:" + target
		}
		r.link(n.Pos(), target)
	case *ast.LinkReferenceDefinition:
		r.link(n.Pos(), Literal(n.Destination))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			part := n.Segments.At(i)
			r.html(part.Start, part.Value(r.src))
		}
	case *ast.HTMLBlock:
		html := n.Lines().Value(r.src)
		if n.HasClosure() {
			html = append(html, n.ClosureLine.Value(r.src)...)
		}
		if n.Lines().Len() > 0 {
			r.html(n.Lines().At(0).Start, html)
		}
	case *ast.Text:
		copy(r.prose[n.Segment.Start:], n.Segment.Value(r.src))
	}
	return ast.WalkContinue, nil
}

// inside walks through what a link shows: an image may be there, and its text is no
// address.
func (r *reading) inside(n ast.Node) (ast.WalkStatus, error) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() != ast.KindText {
			if err := ast.Walk(c, r.node); err != nil {
				return ast.WalkStop, err
			}
		}
	}
	return ast.WalkSkipChildren, nil
}

// html finds the links of a piece of HTML.
func (r *reading) html(at int, src []byte) {
	z := nethtml.NewTokenizer(bytes.NewReader(src))
	for {
		kind := z.Next()
		start := at
		at += len(z.Raw())
		if kind == nethtml.ErrorToken {
			return
		}
		if kind != nethtml.StartTagToken && kind != nethtml.SelfClosingTagToken {
			continue
		}
		for _, a := range z.Token().Attr {
			if a.Key == "href" || a.Key == "src" {
				r.link(start, strings.TrimSpace(a.Val))
			}
		}
	}
}

// anchors collects those of headings, and the ids and names, of the built page: so that
// headings of any form count.
func (p Page) anchors(page *bytes.Buffer) {
	seen := map[string]int{}
	z := nethtml.NewTokenizer(page)
	var heading *strings.Builder
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return
		case nethtml.TextToken:
			if heading != nil {
				heading.WriteString(z.Token().Data)
			}
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			t := z.Token()
			for _, a := range t.Attr {
				if a.Key == "id" || a.Key == "name" {
					p.Anchors[a.Val], p.Anchors[strings.ToLower(a.Val)] = true, true
				}
			}
			if level(t.Data) {
				heading = new(strings.Builder)
			}
		case nethtml.EndTagToken:
			if t := z.Token(); heading != nil && level(t.Data) {
				p.heading(heading.String(), seen)
				heading = nil
			}
		}
	}
}

func level(tag string) bool { return len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6' }

// heading adds the anchors of a heading: GitHub's, and GitLab's, which has one dash for
// several. What has the name of an earlier one gets a number.
func (p Page) heading(title string, seen map[string]int) {
	own := Anchor(strings.TrimSpace(title))
	p.Anchors[Anchor(title)] = true // GitHub keeps the blank behind an image
	name := own
	for _, taken := seen[name]; taken; _, taken = seen[name] {
		seen[own]++
		name = fmt.Sprintf("%s-%d", own, seen[own])
	}
	seen[name] = 0
	p.Anchors[name] = true
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	p.Anchors[name] = true
}

// Anchor is text as part of an address in the way of github-slugger, which GitHub and
// many generators follow: spaces become dashes, and other signs go.
func Anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.In(r, unicode.Nd, unicode.Nl, unicode.Pc):
			return r
		}
		return -1
	}, strings.ToLower(strings.ReplaceAll(title, "İ", "i̇")))
}

// Literal returns the text that a piece of source stands for, with escapes and character
// references resolved.
func Literal(src []byte) string {
	if !bytes.ContainsAny(src, `\&`) {
		return string(src)
	}
	var b strings.Builder
	for i := 0; i < len(src); {
		switch {
		case src[i] == '\\' && i+1 < len(src) && util.IsPunct(src[i+1]):
			b.WriteByte(src[i+1])
			i += 2
			continue
		case src[i] == '&':
			if ref := character.Regexp().Find(src[i:]); ref != nil {
				b.WriteString(stdhtml.UnescapeString(string(ref)))
				i += len(ref)
				continue
			}
		}
		b.WriteByte(src[i])
		i++
	}
	return b.String()
}

var character = lazyregexp.New(`^&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);`)

// A Heading is one of a text itself, not of a quotation or a list in it.
type Heading struct {
	Level      int
	Title      string // as it is written
	Start, End int    // its lines in the text, without the end of the last
}

// Headings lists the headings of a text, whichever way they are written.
func Headings(src string) (out []Heading) {
	b := []byte(src)
	for n := Parse(b).FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Lines().Len() == 0 {
			continue
		}
		first, last := h.Lines().At(0), h.Lines().At(h.Lines().Len()-1)
		at := Heading{Level: h.Level, Start: bytes.LastIndexByte(b[:first.Start], '\n') + 1, End: lineEnd(b, max(last.Stop-1, last.Start))}
		if !strings.HasPrefix(strings.TrimLeft(src[at.Start:at.End], " "), "#") { // underlined
			at.End = lineEnd(b, min(at.End+1, len(b)))
		}
		var title []string
		for _, s := range h.Lines().Sliced(0, h.Lines().Len()) {
			title = append(title, strings.TrimSpace(string(s.Value(b))))
		}
		at.Title = strings.Join(title, " ")
		out = append(out, at)
	}
	return out
}

func lineEnd(b []byte, from int) int {
	if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(b)
}

// WithoutCode is a text with spaces in the place of its code.
func WithoutCode(src string) string {
	b := []byte(src)
	out := bytes.Clone(b)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	_ = ast.Walk(Parse(b), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for _, s := range n.Lines().Sliced(0, n.Lines().Len()) {
				blank(s.Start, s.Stop)
			}
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					blank(t.Segment.Start, t.Segment.Stop)
				}
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return string(out)
}

// Parse reads a text; one that Read does not read has nothing in it.
func Parse(b []byte) ast.Node {
	if readable(b) != nil {
		b = nil
	}
	return engine().Parser().Parse(text.NewReader(b))
}
