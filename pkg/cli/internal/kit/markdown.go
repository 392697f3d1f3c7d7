package kit

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/system/hostexec"
)

// A Markdown shows text line by line: headings, code and emphasis painted, the
// marks of Markdown as they were written where there is no colour.
type Markdown struct {
	s      *Screen
	style  string // of what is not marked
	indent string
	fence  bool // inside a code block
}

// NewMarkdown returns a renderer of Markdown for a screen. style is the style of plain
// text.
func NewMarkdown(s *Screen, style, indent string) *Markdown {
	return &Markdown{s: s, style: style, indent: indent}
}

// Line renders one line, broken into rows as wide as the screen.
func (m *Markdown) Line(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(Sanitize(text), " \t"), "\t", "    ")
	width := 0
	if w := m.s.Width(); w > 0 {
		width = max(w-len(m.indent)-1, 20)
	}
	trimmed := strings.TrimSpace(text)
	mark := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
	if mark {
		m.fence = !m.fence
	}
	hang := ""
	if !mark && !m.fence {
		hang = hangingIndent(text)
	}
	var b strings.Builder
	p := painter{s: m.s, style: m.style}
	switch {
	case mark:
		p.style, p.raw = Dim, true
	case m.fence:
		p.style, p.raw = Magenta, true
	case heading(trimmed):
		p.style = Bold
		if m.s.Color() {
			text = strings.TrimLeft(trimmed, "# ")
		}
	}
	for i, row := range Wrap(text, width-len(hang)) {
		if i > 0 {
			row = hang + row
		}
		if row = p.row(row); row != "" {
			row = m.indent + row
		}
		b.WriteString(row + "\n")
	}
	return b.String()
}

func heading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return len(rest) < len(line) && len(line)-len(rest) <= 6 && strings.HasPrefix(rest, " ")
}

// hangingIndent returns the indentation of the continuation rows of a line, which for a
// list item is the column of its text.
func hangingIndent(text string) string {
	body := strings.TrimLeft(text, " ")
	n := len(text) - len(body)
	mark, _, found := strings.Cut(body, " ")
	if found && (mark == "-" || mark == "*" || mark == "+" || mark == ">" || len(mark) < 4 && strings.HasSuffix(mark, ".") && strings.Trim(mark, "0123456789.") == "") {
		n += len(mark) + 1
	}
	return strings.Repeat(" ", min(n, 20))
}

// A painter paints the rows of one line: emphasis and code may go on in the next.
type painter struct {
	s          *Screen
	style      string
	raw        bool // no marks in it
	bold, code bool
}

func (p *painter) row(text string) string {
	if !p.s.Color() {
		return text
	}
	if p.raw {
		return p.s.Paint(p.style, text)
	}
	var b strings.Builder
	for text != "" {
		i := strings.IndexByte(text, '`')
		if j := strings.Index(text, "**"); !p.code && j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 {
			i = len(text)
		}
		p.plain(&b, text[:i])
		switch text = text[i:]; {
		case strings.HasPrefix(text, "`"):
			p.code, text = !p.code, text[1:]
		case text != "":
			p.bold, text = !p.bold, text[2:]
		}
	}
	return b.String()
}

// plain paints text without code and strong emphasis; *words* in it are emphasis.
func (p *painter) plain(b *strings.Builder, text string) {
	for !p.code {
		before, rest, found := strings.Cut(text, "*")
		words, after, closed := strings.Cut(rest, "*")
		if !found || !closed || words == "" || words != strings.TrimSpace(words) || endsWord(before) || beginsWord(after) {
			break
		}
		b.WriteString(p.paint(before) + p.s.Paint(Italic, words))
		text = after
	}
	b.WriteString(p.paint(text))
}

func endsWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func beginsWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func (p *painter) paint(text string) string {
	switch {
	case p.code:
		return p.s.Paint(Magenta, text)
	case p.bold:
		return p.s.Paint(Bold, text)
	}
	return p.s.Paint(p.style, text)
}

// Text renders a text of several lines.
func (m *Markdown) Text(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(m.Line(strings.TrimSuffix(l, "\n")))
	}
	return b.String()
}

// DiffStyle returns the style of a line of a diff.
func DiffStyle(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return Green
	case strings.HasPrefix(line, "-"):
		return Red
	}
	return Dim
}

// Page shows a text in the pager of the user, PAGER or less, on the terminal that w is, and
// returns when that has ended. It reports false if w is no terminal, or there is no pager,
// or it has failed: who asked for it writes the text then. Where jobs may write, no pager
// is taken.
func Page(ctx context.Context, w io.Writer, getenv func(string) string, text string) bool {
	if o, ok := w.(*Output); ok {
		w = o.Writer
	}
	out, ok := w.(*os.File)
	command := strings.Fields(cmp.Or(getenv("PAGER"), "less"))
	if !ok || !IsTerminal(out) || len(command) == 0 || getenv("TERM") == "dumb" {
		return false
	}
	program, err := hostexec.Outside(command[0])
	if err != nil {
		return false
	}
	cmd := hostexec.Command(context.WithoutCancel(ctx), program, command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), out, os.Stderr
	if getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // a text that fits stays, as git has it
	}
	return cmd.Run() == nil
}
