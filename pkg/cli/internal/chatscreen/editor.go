package chatscreen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// An editor is the text that a person types, of several lines perhaps.
type editor struct {
	text   []rune
	at     int // the cursor
	pastes []paste
}

// A paste is long text that stands as a mark in the editor.
type paste struct{ mark, text string }

// Pastes from this size on stand as a mark.
const (
	longPaste      = 600 // characters
	longPasteLines = 8
)

// value is the text with what was pasted.
func (e *editor) value() string {
	text := string(e.text)
	for _, p := range e.pastes {
		text = strings.Replace(text, p.mark, p.text, 1)
	}
	return text
}

func (e *editor) empty() bool { return len(e.text) == 0 }

// set replaces the text.
func (e *editor) set(text string) {
	e.pastes = nil
	e.text = []rune(text)
	e.at = len(e.text)
}

func (e *editor) insert(text string) {
	r := []rune(text)
	e.text = slices.Insert(e.text, e.at, r...)
	e.at += len(r)
}

// paste inserts what was pasted, long text as a mark.
func (e *editor) paste(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	n, lines := len([]rune(text)), strings.Count(text, "\n")+1
	if n < longPaste && lines < longPasteLines {
		e.insert(text)
		return
	}
	mark := fmt.Sprintf("[pasted %d: %s, %s]", len(e.pastes)+1, kit.Plural(lines, "line"), kit.Plural(n, "character"))
	e.pastes = append(e.pastes, paste{mark, text})
	e.insert(mark)
}

// before is the text up to the cursor.
func (e *editor) before() string { return string(e.text[:e.at]) }

// replace replaces the text from a byte of before to the cursor.
func (e *editor) replace(start int, with string) {
	from := len([]rune(e.before()[:start]))
	e.text = slices.Delete(e.text, from, e.at)
	e.at = from
	e.insert(with)
}

// left is the place before the character left of the cursor; a mark is one character.
func (e *editor) left() int {
	i := e.at
	for _, p := range e.pastes {
		if n := len([]rune(p.mark)); i >= n && string(e.text[i-n:i]) == p.mark {
			return i - n
		}
	}
	from := max(0, i-1)
	for from > 0 && e.text[from] >= utf8.RuneSelf { // a character may begin there, but go no further back
		from--
	}
	for c := range kit.Characters(string(e.text[from:i])) {
		i = from
		from += utf8.RuneCountInString(c)
	}
	return i
}

func (e *editor) right() int {
	i := e.at
	for _, p := range e.pastes {
		if n := len([]rune(p.mark)); i+n <= len(e.text) && string(e.text[i:i+n]) == p.mark {
			return i + n
		}
	}
	end := min(i+1, len(e.text))
	for end < len(e.text) && e.text[end] >= utf8.RuneSelf {
		end++
	}
	for c := range kit.Characters(string(e.text[i:end])) {
		return i + utf8.RuneCountInString(c)
	}
	return i
}

func (e *editor) wordLeft() int {
	i := e.at
	for i > 0 && unicode.IsSpace(e.text[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.text[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.at
	for i < len(e.text) && unicode.IsSpace(e.text[i]) {
		i++
	}
	for i < len(e.text) && !unicode.IsSpace(e.text[i]) {
		i++
	}
	return i
}

func (e *editor) lineStart() int {
	i := e.at
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.at
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

// cut removes the text between the cursor and another place.
func (e *editor) cut(to int) {
	from, end := min(e.at, to), max(e.at, to)
	e.text = slices.Delete(e.text, from, end)
	e.at = from
}

// A row is a row of the editor on the screen.
type row struct {
	text       string
	start, end int // in the editor's text
}

// rows lays the text out in rows of at most width columns.
func (e *editor) rows(width int) []row {
	width = max(width, 2)
	var rows []row
	var b strings.Builder
	start, used := 0, 0
	flush := func(end, next int) {
		rows = append(rows, row{b.String(), start, end})
		b.Reset()
		start, used = next, 0
	}
	i := 0
	for c := range kit.Characters(string(e.text)) {
		text := shown(c)
		n := kit.Columns(text)
		switch {
		case strings.HasSuffix(c, "\n"):
			flush(i, i+utf8.RuneCountInString(c))
		case used+n > width:
			flush(i, i)
			fallthrough
		default:
			b.WriteString(text)
			used += n
		}
		i += utf8.RuneCountInString(c)
	}
	flush(len(e.text), len(e.text))
	return rows
}

// shown is a character as the screen shows it.
func shown(c string) string {
	if c == "\t" {
		return "    "
	}
	if kit.Sanitize(c) == c {
		return c
	}
	return strings.Map(func(r rune) rune {
		if s := string(r); kit.Sanitize(s) != s {
			return '?' // it would act on the terminal; it is sent as it is
		}
		return r
	}, c)
}

// cursor is the row and column of the cursor among rows of so many columns.
func (e *editor) cursor(rows []row, width int) (y, x int) {
	for y = len(rows) - 1; y > 0 && rows[y].start > e.at; y-- {
	}
	for c := range kit.Characters(string(e.text[rows[y].start:e.at])) {
		x += kit.Columns(shown(c))
	}
	return y, min(x, width)
}

// vertical moves the cursor by rows. It reports false at the edge.
func (e *editor) vertical(by, width int) bool {
	rows := e.rows(width)
	y, x := e.cursor(rows, width)
	to := y + by
	if to < 0 || to >= len(rows) {
		return false
	}
	e.at = rows[to].start
	n := 0
	for c := range kit.Characters(string(e.text[rows[to].start:rows[to].end])) {
		if n += kit.Columns(shown(c)); n > x {
			break
		}
		e.at += utf8.RuneCountInString(c)
	}
	return true
}
