package publish

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/markdown"
)

// A block is one of Notion's. Body is the value under its type.
type block struct {
	Type string
	Body body
}

// A body has the fields of the blocks that posts need.
type body struct {
	Text     []span    `json:"rich_text,omitempty"`
	Language string    `json:"language,omitempty"`
	Checked  *bool     `json:"checked,omitempty"`
	Kind     string    `json:"type,omitempty"` // of an image
	External *external `json:"external,omitempty"`
	Caption  []span    `json:"caption,omitempty"`
	Width    int       `json:"table_width,omitempty"`
	Header   bool      `json:"has_column_header,omitempty"`
	Cells    [][]span  `json:"cells,omitempty"`
	Children []block   `json:"children,omitempty"`
}

type external struct {
	URL string `json:"url"`
}

// MarshalJSON puts the body under the block's type.
func (b block) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"object": "block", "type": b.Type, b.Type: b.Body})
}

// total counts a block and those in it.
func (b block) total() int {
	n := 1
	for _, c := range b.Body.Children {
		n += c.total()
	}
	return n
}

// maxSpans bounds the spans of one text.
const maxSpans = 100

// maxDepth bounds the nesting of blocks in one request. Lists go no deeper than that;
// deeper items become siblings.
const maxDepth = 2

// maxLinks bounds the links of a post: the parser looks for the end of each in all of a
// paragraph.
const maxLinks = 5000

var markdownParser = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Linkify)).Parser()
})

// blocks reads the Markdown that posts are written in. What Notion has no block
// for stays as it is written, so that nothing is lost.
func blocks(md string) []block {
	if strings.Count(md, "](") > maxLinks {
		return prose("paragraph", plainText(md))
	}
	r := &reader{src: []byte(md)}
	return r.all(markdownParser().Parse(text.NewReader(r.src)), 0)
}

// A reader makes blocks of parsed Markdown.
type reader struct{ src []byte }

func (r *reader) all(n ast.Node, depth int) (out []block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, r.block(c, depth)...)
	}
	return out
}

func (r *reader) block(n ast.Node, depth int) []block {
	switch n := n.(type) {
	case *ast.ThematicBreak:
		return []block{{Type: "divider"}}
	case *ast.Heading:
		return prose([]string{"heading_1", "heading_2", "heading_3"}[min(n.Level, 3)-1], r.inline(n, " "))
	case *ast.FencedCodeBlock:
		return r.code(n, string(n.Language(r.src)))
	case *ast.CodeBlock:
		return r.code(n, "")
	case *ast.HTMLBlock:
		html := r.lines(n)
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(r.src))
		}
		return prose("paragraph", plainText(strings.TrimSpace(comment.ReplaceAllString(html, ""))))
	case *ast.Blockquote:
		return r.quote(n, depth)
	case *ast.List:
		return r.list(n, depth)
	case *extensionast.Table:
		return r.table(n)
	}
	if img, ok := n.FirstChild().(*ast.Image); ok && n.ChildCount() == 1 && linkable(markdown.Literal(img.Destination)) {
		return []block{{"image", body{Kind: "external", External: &external{markdown.Literal(img.Destination)}, Caption: r.inline(img, " ")}}}
	}
	return prose("paragraph", r.inline(n, " "))
}

// comment is one of HTML, which no reader of a page sees.
var comment = lazyregexp.New(`(?s)<!--.*?(?:-->|$)`)

// prose is a block of text, or several if the text is too long for one.
func prose(kind string, spans []span) (out []block) {
	for part := range slices.Chunk(spans, maxSpans) {
		out = append(out, block{kind, body{Text: part}})
	}
	return out
}

func (r *reader) lines(n ast.Node) string { return string(n.Lines().Value(r.src)) }

func (r *reader) code(n ast.Node, lang string) []block {
	out := prose("code", plainText(strings.TrimSuffix(r.lines(n), "\n")))
	for i := range out {
		out[i].Body.Language = language(lang)
	}
	return out
}

func (r *reader) quote(n ast.Node, depth int) (out []block) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() == ast.KindParagraph {
			out = append(out, prose("quote", r.inline(c, "\n"))...)
		} else {
			out = append(out, r.block(c, depth)...)
		}
	}
	return out
}

func (r *reader) list(l *ast.List, depth int) (out []block) {
	for it := l.FirstChild(); it != nil; it = it.NextSibling() {
		c := it.FirstChild()
		if c != nil && (c.Kind() == ast.KindTextBlock || c.Kind() == ast.KindParagraph) {
			out = append(out, r.item(l, c)...)
			c = c.NextSibling()
		}
		inside := depth < maxDepth-1 && len(out) > 0
		for ; c != nil; c = c.NextSibling() {
			for _, b := range r.block(c, depth+1) {
				last := max(len(out)-1, 0)
				if inside = inside && b.Body.Children == nil && len(out[last].Body.Children) < maxChildren; inside {
					out[last].Body.Children = append(out[last].Body.Children, b)
				} else {
					out = append(out, b)
				}
			}
		}
	}
	return out
}

// item is the text of an item of a list.
func (r *reader) item(l *ast.List, text ast.Node) []block {
	kind := "bulleted_list_item"
	if l.IsOrdered() {
		kind = "numbered_list_item"
	}
	box, task := text.FirstChild().(*extensionast.TaskCheckBox)
	if task {
		kind = "to_do"
	}
	out := prose(kind, r.inline(text, " "))
	for i := range out {
		if task {
			out[i].Body.Checked = &box.IsChecked
		}
	}
	return out
}

func (r *reader) table(t *extensionast.Table) (out []block) {
	width := min(t.FirstChild().ChildCount(), maxChildren)
	var rows []block
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([][]span, width)
		cell := row.FirstChild()
		for i := range cells {
			if cells[i] = []span{}; cell != nil {
				spans := r.inline(cell, " ")
				cells[i] = append(cells[i], spans[:min(len(spans), maxSpans)]...)
				cell = cell.NextSibling()
			}
		}
		rows = append(rows, block{"table_row", body{Cells: cells}})
	}
	for part := range slices.Chunk(rows, maxChildren) {
		out = append(out, block{"table", body{Width: width, Header: out == nil, Children: part}})
	}
	return out
}
