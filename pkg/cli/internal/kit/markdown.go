package kit

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A Markdown lays Markdown out in rows as wide as a screen: paragraphs and code are broken
// into rows, tables aligned, lists and quotes indented, headings, emphasis and code painted.
// Without colours the marks stay as they were written, and where the width is not limited
// so does all else. It lays out a text that grows, too: see [Markdown.Flow]. It is not safe
// for concurrent use.
type Markdown struct {
	s      *Screen
	style  string // of what is not marked
	indent string
	at     int // bytes of the text whose rows are finished
	seen   int // characters but blanks of the rows behind that are finished, too
	began  bool
}

// NewMarkdown returns a renderer of Markdown for a screen. style is the style of plain
// text, indent stands before each row.
func NewMarkdown(s *Screen, style, indent string) *Markdown {
	return &Markdown{s: s, style: style, indent: indent}
}

// A layRow is a row of a layout.
type layRow struct {
	text    string // painted
	columns int
	ink     int  // characters but blanks
	open    bool // it may become another as the text goes on
}

// A span is text of one style.
type span struct {
	style, text string
	literal     bool // its marks may become marks of Markdown as the text goes on
	part        int  // the marked part of the block that it is in
	last        bool // it is in the last line of the text, which may turn out to be no part of the block
}

var reader = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
})

// maxLinks bounds the links of a text that is laid out: the parser looks for the end of each
// in all of a paragraph.
const maxLinks = 5000

// Text renders a whole text.
func (m *Markdown) Text(src string) string {
	all := *m
	all.at, all.seen, all.began = 0, 0, false
	finished, _ := all.Flow(src, true)
	return finished
}

// Flow renders a text that grows: src is all of it so far, end whether it ends so. finished
// are the rows that were not returned before and that nothing can change any more, each with
// its end of line; tail are the rows behind them as they are now.
func (m *Markdown) Flow(src string, end bool) (finished string, tail []string) {
	all := Sanitize(src)
	if m.s.Width() == 0 && !m.s.Color() || strings.Count(all, "](") > maxLinks {
		return m.verbatim(all, end), nil
	}
	width := 1 << 20
	if w := m.s.Width(); w > 0 {
		width = max(w-Columns(m.indent)-1, 20)
	}
	var b strings.Builder
	defer func() { m.began = m.began || finished != "" }()
	if end {
		m.whole(&b, all, width, true)
		return b.String(), nil
	}
	m.whole(&b, all[:strings.LastIndexByte(all, '\n')+1], width, false)
	for _, r := range m.behind(all, width) {
		if r.open || len(tail) > 0 {
			tail = append(tail, m.row(r))
			continue
		}
		m.seen += r.ink
		b.WriteString(m.row(r) + "\n")
	}
	return b.String(), tail
}

// Began reports whether rows were finished.
func (m *Markdown) Began() bool { return m.began }

// verbatim is the text as it is written.
func (m *Markdown) verbatim(all string, end bool) string {
	var b strings.Builder
	for l := range strings.Lines(all[m.at:]) {
		if !strings.HasSuffix(l, "\n") && !end {
			break
		}
		m.at += len(l)
		m.began = true
		if l = strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), " \n"); l != "" {
			l = m.indent + l
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// whole writes the blocks that complete lines have finished: all but the last, unless the
// text ends.
func (m *Markdown) whole(b *strings.Builder, all string, width int, end bool) {
	src := []byte(all)[min(m.at, len(all)):]
	doc := reader().Parse(text.NewReader(src))
	next := 0
	for n := doc.FirstChild(); n != nil && (end || n.NextSibling() != nil); n = n.NextSibling() {
		for _, r := range skip(m.block(n, all, src, width), &m.seen) {
			b.WriteString(m.row(r) + "\n")
		}
		if next = len(src); n.NextSibling() != nil {
			next = lineStart(src, start(n.NextSibling()))
		}
	}
	m.at += next
}

// behind are the rows behind those that are finished.
func (m *Markdown) behind(all string, width int) (rows []layRow) {
	src := []byte(all)[min(m.at, len(all)):]
	seen, certain := m.seen, true
	for n := reader().Parse(text.NewReader(src)).FirstChild(); n != nil; n = n.NextSibling() {
		more := m.block(n, all, src, width)
		over := ended(n, src)
		for i := range more {
			more[i].open = more[i].open && !over
		}
		for i := range more {
			more[i].open = more[i].open || !certain
			certain = certain && !more[i].open
		}
		certain = certain && over
		rows = append(rows, skip(more, &seen)...)
	}
	// An empty row is finished with the one behind it.
	for i := len(rows) - 1; i >= 0; i-- {
		rows[i].open = rows[i].open || rows[i].ink == 0 && (i+1 == len(rows) || rows[i+1].open)
	}
	return rows
}

// ended reports whether nothing can go on with a block: another follows behind an empty line,
// and does not begin like an item of a list.
func ended(n ast.Node, src []byte) bool {
	next := n.NextSibling()
	if next == nil || !blankBefore(src, start(next)) {
		return false
	}
	switch n.Kind() {
	case ast.KindParagraph, ast.KindHeading, ast.KindThematicBreak, ast.KindFencedCodeBlock, extast.KindTable:
		return true
	}
	first, _ := utf8.DecodeRune(src[start(next):])
	return next.Kind() == ast.KindParagraph && unicode.IsLetter(first)
}

func open(rows []layRow) {
	for i := range rows {
		rows[i].open = true
	}
}

// skip leaves out the rows that were finished before, of which so many characters are left.
func skip(rows []layRow, seen *int) []layRow {
	for len(rows) > 0 && *seen > 0 {
		if left := rows[0].ink - *seen; left > 0 { // it was a narrower row before
			rows[0].text, rows[0].ink = behindInk(rows[0].text, *seen), left
			*seen = 0
			break
		}
		*seen -= rows[0].ink
		rows = rows[1:]
	}
	return rows
}

// behindInk is a painted text without its first n characters but blanks, in its colours.
func behindInk(text string, n int) string {
	var b strings.Builder
	for n > 0 && text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexByte(text, 'm') + 1
			b.WriteString(text[:end])
			text = text[end:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text, n = text[size:], n-ink(string(r))
	}
	return b.String() + strings.TrimLeft(text, " ")
}

// block are the rows of a block of the document, with an empty one before it if there is one
// in the text.
func (m *Markdown) block(n ast.Node, all string, src []byte, width int) []layRow {
	rows := m.rows(n, src, width)
	if before := m.at + start(n); blankBefore([]byte(all), before) && strings.TrimSpace(all[:before]) != "" {
		rows = append([]layRow{{}}, rows...)
	}
	return rows
}

// start returns a block's beginning. A table that follows a paragraph has the paragraph's
// place.
func start(n ast.Node) int {
	if n.Kind() == extast.KindTable && n.FirstChild() != nil && n.FirstChild().FirstChild() != nil {
		n = n.FirstChild().FirstChild()
	}
	return max(0, n.Pos())
}

func lineStart(src []byte, at int) int {
	return bytes.LastIndexByte(src[:min(max(0, at), len(src))], '\n') + 1
}

// blankBefore reports whether the line before the one of a place is empty, but for marks of
// a quotation.
func blankBefore(src []byte, at int) bool {
	from := lineStart(src, at)
	if from == 0 {
		return false
	}
	before := src[lineStart(src, from-1) : from-1]
	return len(bytes.Trim(before, " \t>")) == 0
}

func (m *Markdown) row(r layRow) string {
	if r.text == "" {
		return ""
	}
	return m.indent + r.text
}

// rows lays a block out.
func (m *Markdown) rows(n ast.Node, src []byte, width int) []layRow {
	width = max(width, 8)
	switch n := n.(type) {
	case *ast.Heading:
		rows := m.wrap(m.spans(n, src, style(m.style, Bold)), width)
		if !m.s.Color() {
			mark := strings.Repeat("#", n.Level) + " "
			rows = prefixed(m.wrap(m.spans(n, src, m.style), width-len(mark)), mark, strings.Repeat(" ", len(mark)))
		}
		open(rows)
		return rows
	case *ast.FencedCodeBlock:
		return m.fenced(n, src, width)
	case *ast.CodeBlock:
		return m.code(n, src, width, "")
	case *ast.HTMLBlock:
		if n.HasClosure() {
			n.Lines().Append(n.ClosureLine)
		}
		return m.code(n, src, width, "html")
	case *ast.ThematicBreak:
		r := m.line(span{style: Dim, text: "---"})
		r.open = true
		return []layRow{r}
	case *ast.Blockquote:
		mark := m.s.Paint(Dim, ">") + " "
		rows := prefixed(m.children(n, src, width-2), mark, mark)
		return rows
	case *ast.List:
		return m.list(n, src, width)
	case *extast.Table:
		rows := m.table(n, src, width)
		open(rows)
		return rows
	}
	return m.wrap(m.spans(n, src, m.style), width)
}

// children lays out the blocks in a block. Those before the last are finished.
func (m *Markdown) children(n ast.Node, src []byte, width int) (rows []layRow) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.PreviousSibling() != nil && blankBefore(src, start(c)) {
			rows = append(rows, layRow{})
		}
		more := m.rows(c, src, width)
		for i := range more {
			more[i].open = more[i].open && c.NextSibling() == nil
		}
		rows = append(rows, more...)
	}
	return rows
}

func (m *Markdown) list(n *ast.List, src []byte, width int) (rows []layRow) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := string(n.Marker) + " "
		if head := bytes.Fields(src[max(0, c.Pos()):]); len(head) > 0 && n.IsOrdered() {
			mark = string(head[0]) + " " // its number as it was written
		}
		if c.PreviousSibling() != nil && blankBefore(src, start(c)) {
			rows = append(rows, layRow{})
		}
		more := prefixed(m.children(c, src, width-len(mark)), mark, strings.Repeat(" ", len(mark)))
		if len(more) == 0 {
			more = []layRow{{text: mark, columns: len(mark), ink: len(mark) - 1, open: true}}
		}
		for i := range more {
			more[i].open = more[i].open && c.NextSibling() == nil
		}
		rows = append(rows, more...)
	}
	return rows
}

// prefixed puts something before the first of the rows, and before the others.
func prefixed(rows []layRow, first, rest string) []layRow {
	for i := range rows {
		r, mark := &rows[i], rest
		if i == 0 {
			mark = first
		}
		if r.text == "" {
			mark = strings.TrimRight(mark, " ")
		}
		plain := Unpaint(mark)
		r.text, r.columns, r.ink = mark+r.text, r.columns+Columns(plain), r.ink+ink(plain)
	}
	return rows
}

// fenced lays out a block of code between fences.
func (m *Markdown) fenced(n *ast.FencedCodeBlock, src []byte, width int) []layRow {
	at := max(0, n.Pos())
	head, _, complete := strings.Cut(string(src[at:]), "\n")
	head = strings.TrimSpace(head)
	first := m.wrap([]span{{style: Dim, text: head}}, width)
	for i := range first {
		first[i].open = !complete
	}
	rows := append(first, m.code(n, src, width, strings.ToLower(string(n.Language(src))))...)
	end := at + len(head)
	if k := n.Lines().Len(); k > 0 {
		end = n.Lines().At(k - 1).Stop
	} else {
		end = min(len(src), lineStart(src, end)+len(head)+1)
	}
	last, _, _ := strings.Cut(string(src[end:]), "\n")
	if last = strings.Trim(last, " \t>"); len(head) >= 3 && strings.HasPrefix(last, head[:3]) {
		r := m.line(span{style: Dim, text: last})
		r.open = true
		rows = append(rows, r)
	}
	return rows
}

// code lays out lines of code. All of them but one that is being written are finished.
func (m *Markdown) code(n ast.Node, src []byte, width int, lang string) (rows []layRow) {
	var code strings.Builder
	for _, l := range n.Lines().Sliced(0, n.Lines().Len()) {
		code.Write(l.Value(src))
	}
	body := strings.ReplaceAll(code.String(), "\t", "    ")
	lines := highlight(lang, strings.TrimSuffix(body, "\n"))
	if body == "" {
		return nil
	}
	partial := n.Lines().At(n.Lines().Len()-1).Stop == len(src) && src[len(src)-1] != '\n'
	for i, line := range lines {
		more := m.wrap(line, width)
		for k := range more {
			more[k].open = partial && i == len(lines)-1
		}
		rows = append(rows, more...)
	}
	return rows
}

// spans is the text of a block. Without colours it is as it was written.
func (m *Markdown) spans(n ast.Node, src []byte, style string) (out []span) {
	if !m.s.Color() || !n.HasChildren() {
		for i, l := range n.Lines().Sliced(0, n.Lines().Len()) {
			if i > 0 {
				out = append(out, span{text: "\n"})
			}
			out = append(out, span{text: strings.TrimRight(string(l.Value(src)), "\n"), literal: true})
		}
		return out
	}
	return m.inline(nil, n, src, style)
}

// style is two styles in one.
func style(a, b string) string {
	return strings.Trim(a+";"+b, ";")
}

// inline adds what is in a block or in a part of its text.
func (m *Markdown) inline(out []span, n ast.Node, src []byte, now string) []span {
	part, from := 0, len(out)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if n.Type() == ast.TypeBlock {
			for ; from < len(out); from++ {
				out[from].part = part
			}
			part++
		}
		switch c := c.(type) {
		case *ast.Text:
			value := strings.ReplaceAll(string(c.Value(src)), "\n", " ")
			if !c.IsRaw() {
				value = literal(c.Value(src))
			}
			out = append(out, span{style: now, text: escape(value, false, true), literal: n.Kind() != ast.KindCodeSpan, last: c.Segment.Stop+1 >= lineStart(src, len(src))})
			if c.SoftLineBreak() || c.HardLineBreak() {
				out = append(out, span{text: "\n"})
			}
		case *ast.String:
			out = append(out, span{style: now, text: SanitizeLine(string(c.Value))})
		case *ast.CodeSpan:
			out = m.inline(out, c, src, style(now, Magenta))
		case *ast.Emphasis:
			out = m.inline(out, c, src, style(now, []string{Italic, Bold}[min(c.Level-1, 1)]))
		case *ast.Link:
			out = m.link(m.inline(out, c, src, now), len(out), c.Destination)
		case *ast.Image:
			out = m.link(m.inline(out, c, src, now), len(out), c.Destination)
		case *ast.AutoLink:
			out = append(out, span{style: now, text: SanitizeLine(string(c.Label(src)))})
		case *ast.RawHTML:
			out = append(out, span{style: now, text: SanitizeLine(string(c.Segments.Value(src)))})
		case *extast.TaskCheckBox:
			mark := "[ ] "
			if c.IsChecked {
				mark = "[x] "
			}
			out = append(out, span{style: now, text: mark})
		case *extast.Strikethrough:
			out = m.inline(out, c, src, style(now, "9"))
		default:
			out = m.inline(out, c, src, now)
		}
	}
	for ; from < len(out) && n.Type() == ast.TypeBlock; from++ {
		out[from].part = part
	}
	return out
}

// link adds where a link leads behind its text, which is out from a place on.
func (m *Markdown) link(out []span, from int, to []byte) []span {
	shown := ""
	for _, s := range out[from:] {
		shown += s.text
	}
	if to := SanitizeLine(literal(to)); to != "" && to != shown && to != "mailto:"+shown {
		out = append(out, span{style: Dim, text: " (" + to + ")"})
	}
	return out
}

// literal is the text that a piece of Markdown stands for.
func literal(b []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}

func ink(s string) (n int) {
	for _, r := range s {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// line is spans in one row.
func (m *Markdown) line(spans ...span) (r layRow) {
	for _, s := range spans {
		r.text += m.s.Paint(s.style, s.text)
		r.columns += Columns(s.text)
		r.ink += ink(s.text)
	}
	return r
}

// wrap breaks spans into rows of at most so many columns. The last row is open, and those
// from the first mark on that may turn out to be one of Markdown.
func (m *Markdown) wrap(spans []span, width int) (rows []layRow) {
	var plain strings.Builder
	for _, s := range spans {
		plain.WriteString(s.text)
	}
	all, settled := plain.String(), len(plain.String())
	if i := unsettled(spans, all); i >= 0 {
		settled = i
	}
	from, before := 0, 0 // bytes of the spans that are behind
	for line := range strings.SplitSeq(all, "\n") {
		for _, at := range breaks(line, width) {
			for len(spans) > 0 && before+len(spans[0].text) <= from+at[0] {
				before += len(spans[0].text)
				spans = spans[1:]
			}
			r := m.line(cutSpans(spans, from+at[0]-before, from+at[1]-before)...)
			r.open = from+at[1] > settled
			rows = append(rows, r)
		}
		from += len(line) + 1
	}
	if len(rows) > 0 {
		rows[len(rows)-1].open = true
	}
	return rows
}

// cutSpans are the spans of a part of the text.
func cutSpans(spans []span, from, to int) (out []span) {
	at := 0
	for _, s := range spans {
		if at >= to {
			break
		}
		a, b := max(from-at, 0), min(to-at, len(s.text))
		if a < b {
			out = append(out, span{style: s.style, text: s.text[a:b]})
		}
		at += len(s.text)
	}
	return out
}

// unsettled is the place of the first mark in literal text that more text may make one of
// Markdown, or of the marked part that it is in; -1 if there is none.
func unsettled(spans []span, all string) int {
	at, part, from, early := 0, -1, 0, false
	for _, s := range spans {
		if s.part != part {
			part, from, early = s.part, at, !s.last
		}
		if early && s.last {
			return from
		}
		for i, r := range s.text {
			if s.literal && strings.ContainsRune("*_~`[<|", r) && mayMark(r, all[:at+i], all[at+i+1:]) {
				return from
			}
		}
		at += len(s.text)
	}
	return -1
}

func mayMark(r rune, before, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	switch r {
	case '*', '~':
		return after == "" || !unicode.IsSpace(next)
	case '_':
		last, _ := utf8.DecodeLastRuneInString(before)
		return (after == "" || !unicode.IsSpace(next)) && !unicode.IsLetter(last) && !unicode.IsDigit(last)
	case '<':
		return after == "" || unicode.IsLetter(next) || next == '/' || next == '!' || next == '?'
	case '[':
		_, rest, closed := strings.Cut(after, "]")
		return !closed || rest == "" || rest[0] == '(' || rest[0] == '['
	}
	return true
}

// LastCode returns the last block of code of an answer, "" if it has none.
func LastCode(answer string) (code string) {
	source := []byte(answer)
	_ = ast.Walk(reader().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if k := n.Kind(); entering && (k == ast.KindFencedCodeBlock || k == ast.KindCodeBlock) {
			code = strings.TrimRight(string(n.Lines().Value(source)), "\n")
		}
		return ast.WalkContinue, nil
	})
	return code
}
