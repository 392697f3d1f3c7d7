package research

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

const (
	maxPage     = 6 << 20 // bytes of HTML that are looked at
	mostNodes   = 200_000
	leastText   = 200 // letters of a main text that can be right
	tooShortFor = 4   // how many times longer the whole page may be
)

// decodePage makes UTF-8 of a page: as servers, byte order marks or the page
// itself name its charset.
func decodePage(body []byte, label string) (string, error) {
	if len(body) > maxPage {
		return "", fmt.Errorf("the page has %d MB of HTML, more than can be read here", len(body)>>20)
	}
	if label == "" {
		// Windows-1252 is also what it says when it does not know.
		if _, name, _ := charset.DetermineEncoding(body, "text/html"); name != "windows-1252" {
			label = name
		}
	}
	return fetch.Decode(body, label)
}

// readPage makes Markdown of a page: of its main text, or of all of it.
func readPage(s string, at *url.URL, whole bool) (title, text string, err error) {
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be read: %s", fetch.OneLine(err.Error(), 200))
	}
	p := &page{base: at}
	p.clean(doc)
	if p.nodes > mostNodes {
		return "", "", errors.New("its HTML has more elements than can be read here")
	}
	title = fetch.OneLine(p.title, 300)
	if !whole {
		r := readability.NewParser()
		r.KeepClasses, r.MaxElemsToParse = true, mostNodes
		if article, err := r.ParseDocument(doc, at); err == nil && article.Node != nil {
			if t := fetch.OneLine(article.Title, 300); t != "" {
				title = t
			}
			if text, err = convert(article.Node); err == nil && len(text) >= leastText {
				return title, text, nil
			}
		}
	}
	all, err := convert(doc)
	if err != nil {
		return "", "", err
	}
	// A main text that is short is right if the page is.
	if len(text) > 0 && len(all) < tooShortFor*len(text) {
		return title, text, nil
	}
	return title, all, nil
}

func convert(n *html.Node) (string, error) {
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()))
	b, err := c.ConvertNode(n)
	if err != nil {
		return "", fmt.Errorf("its HTML cannot be made into Markdown: %s", fetch.OneLine(err.Error(), 200))
	}
	return string(bytes.TrimSpace(bytes.ToValidUTF8(b, []byte("\uFFFD")))), nil
}

// A page collects facts about a document during the walk through it.
type page struct {
	base  *url.URL
	title string
	nodes int
}

// clean makes addresses absolute, drops what is not text, and puts the
// language of code where the converter looks for it. The parser bounds the
// depth of documents.
func (p *page) clean(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		p.nodes++
		switch {
		case c.Type == html.CommentNode, c.Type == html.ElementNode && dropped[c.Data]:
			n.RemoveChild(c)
		case c.Type == html.ElementNode:
			p.element(c)
			p.clean(c)
		}
		c = next
	}
}

var dropped = map[string]bool{"script": true, "style": true, "template": true, "iframe": true, "object": true, "embed": true, "noscript": true, "svg": true, "canvas": true}

func (p *page) element(n *html.Node) {
	switch n.Data {
	case "title":
		if n.FirstChild != nil && p.title == "" {
			p.title = n.FirstChild.Data
		}
	case "base":
		if u, err := p.base.Parse(attr(n, "href")); err == nil && attr(n, "href") != "" && (u.Scheme == "http" || u.Scheme == "https") {
			p.base = u
		}
	case "a", "area":
		p.absolute(n, "href")
	case "img", "audio", "video", "source":
		p.absolute(n, "src")
	case "pre":
		p.language(n)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func set(n *html.Node, name, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// absolute resolves an address, and takes away one that leads nowhere a reader
// could follow.
func (p *page) absolute(n *html.Node, name string) {
	v := strings.TrimSpace(attr(n, name))
	if v == "" {
		return
	}
	u, err := p.base.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		for i := range n.Attr {
			if n.Attr[i].Key == name {
				n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
				break
			}
		}
		if n.Data == "a" {
			n.Data, n.DataAtom = "span", atom.Span
		}
		return
	}
	set(n, name, u.String())
}

// languages are the ways in which highlighters name the language of a block.
var languages = lazyregexp.New(`(?i)(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|highlight-|brush:\s*|sourceCode\s+)([a-z][a-z0-9+#_.-]{0,30})`)

// language moves the language of a code block to the code element in it.
func (p *page) language(pre *html.Node) {
	code := pre
	for c := pre.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.Data == "code" {
			code = c
			break
		}
	}
	near := []*html.Node{code, pre}
	for up := pre.Parent; up != nil && len(near) < 5; up = up.Parent {
		if up.Type != html.ElementNode || up.Data != "div" && up.Data != "figure" && up.Data != "td" {
			break
		}
		near = append(near, up)
	}
	for _, n := range near {
		lang := attr(n, "data-lang")
		if lang == "" {
			if m := languages.FindStringSubmatch(attr(n, "class")); m != nil {
				lang = m[1]
			}
		}
		if lang != "" && lang != "default" && lang != "none" && lang != "plaintext" && !strings.ContainsAny(lang, " `\n") {
			set(code, "class", "language-"+strings.ToLower(lang))
			return
		}
	}
}
