package publish

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
)

// A span is text with one look.
type span struct {
	Type string    `json:"type"`
	Text *spanText `json:"text"`
	Look *look     `json:"annotations,omitempty"`
}

type spanText struct {
	Content string `json:"content"`
	Link    *link  `json:"link,omitempty"`
}

type link struct {
	URL string `json:"url"`
}

type look struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strikethrough,omitempty"`
	Code   bool `json:"code,omitempty"`
}

// inline is the text in a node, in spans. A line that ends in it ends with soft.
func (r *reader) inline(n ast.Node, soft string) []span {
	w := &writer{reader: r, soft: soft}
	w.children(n, look{}, "")
	w.flush()
	return w.out
}

// A writer joins text of one look into spans.
type writer struct {
	*reader
	soft string
	out  []span

	text strings.Builder // not in out yet, with its look and link
	look look
	to   string
}

func (w *writer) put(text string, l look, to string) {
	if l != w.look || to != w.to {
		w.flush()
		w.look, w.to = l, to
	}
	w.text.WriteString(text)
}

func (w *writer) flush() {
	for _, part := range pieces(w.text.String()) {
		s := span{Type: "text", Text: &spanText{Content: part}}
		if l := w.look; l != (look{}) {
			s.Look = &l
		}
		if w.to != "" {
			s.Text.Link = &link{w.to}
		}
		w.out = append(w.out, s)
	}
	w.text.Reset()
}

func (w *writer) children(n ast.Node, l look, to string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, l, to)
	}
}

func (w *writer) node(n ast.Node, l look, to string) {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(w.src)
		if l.Code {
			w.put(strings.ReplaceAll(string(value), "\n", " "), l, to)
		} else {
			w.put(markdown.Literal(value), l, to)
		}
		switch {
		case n.HardLineBreak():
			w.put("\n", l, to)
		case n.SoftLineBreak():
			w.put(w.soft, l, to)
		}
	case *ast.RawHTML:
		if html := string(n.Segments.Value(w.src)); !strings.HasPrefix(html, "<!--") {
			w.put(html, l, to)
		}
	case *ast.CodeSpan:
		l.Code = true
		w.children(n, l, to)
	case *ast.Emphasis:
		if n.Level == 1 {
			l.Italic = true
		} else {
			l.Bold = true
		}
		w.children(n, l, to)
	case *extensionast.Strikethrough:
		l.Strike = true
		w.children(n, l, to)
	case *ast.AutoLink:
		url := string(n.URL(w.src))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(url, "mailto:") {
			url = "mailto:" + url
		}
		if !linkable(url) {
			url = to
		}
		w.put(string(n.Label(w.src)), l, url)
	case *ast.Link:
		w.link(n, markdown.Literal(n.Destination), l, to)
	case *ast.Image:
		w.link(n, markdown.Literal(n.Destination), l, to)
	default:
		w.children(n, l, to)
	}
}

// link writes a link; one that Notion does not take stays as it is written.
func (w *writer) link(n ast.Node, url string, l look, to string) {
	if linkable(url) {
		w.children(n, l, url)
		return
	}
	open := "["
	if n.Kind() == ast.KindImage {
		open = "!["
	}
	w.put(open, l, to)
	w.children(n, l, to)
	w.put("]("+url+")", l, to)
}

// linkable reports whether Notion takes an address.
func linkable(url string) bool {
	ok := strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "mailto:")
	return ok && len(url) <= maxText
}

// language is a fence's language as Notion calls it; it refuses others.
func language(name string) string {
	name = strings.ToLower(name)
	if long, ok := map[string]string{
		"sh": "shell", "console": "shell", "zsh": "shell", "golang": "go", "py": "python", "js": "javascript", "jsx": "javascript",
		"ts": "typescript", "tsx": "typescript", "rb": "ruby", "rs": "rust", "yml": "yaml", "cpp": "c++", "cs": "c#", "csharp": "c#",
		"md": "markdown", "dockerfile": "docker", "make": "makefile", "objc": "objective-c", "proto": "protobuf", "ps1": "powershell",
		"hs": "haskell", "kt": "kotlin", "vb": "visual basic", "tex": "latex",
	}[name]; ok {
		return long
	}
	known := []string{
		"bash", "c", "c#", "c++", "clojure", "css", "dart", "diff", "docker", "elixir", "elm", "erlang", "f#", "fortran", "go", "graphql",
		"groovy", "haskell", "html", "java", "javascript", "json", "julia", "kotlin", "latex", "less", "lisp", "lua", "makefile", "markdown",
		"markup", "matlab", "mermaid", "nix", "objective-c", "ocaml", "pascal", "perl", "php", "powershell", "prolog", "protobuf", "python",
		"r", "ruby", "rust", "sass", "scala", "scheme", "scss", "shell", "sql", "swift", "toml", "typescript", "verilog", "vhdl",
		"visual basic", "webassembly", "xml", "yaml",
	}
	if slices.Contains(known, name) {
		return name
	}
	return "plain text"
}
