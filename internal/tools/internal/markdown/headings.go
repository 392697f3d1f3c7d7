package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

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

// Parse reads a text; one with too many links has nothing in it.
func Parse(b []byte) ast.Node {
	if bytes.Count(b, []byte("](")) > maxLinks {
		b = nil
	}
	return engine().Parser().Parse(text.NewReader(b))
}
