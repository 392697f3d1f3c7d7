package chatscreen

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// A view is the content of the live rows. None of them is wider than the terminal.
type view struct {
	rows  []string
	x, y  int // of the cursor
	title string
}

// liveRows are the last rows of what is on the terminal. What is printed goes above
// them, once; the terminal scrolls it.
type liveRows struct {
	out       io.Writer
	plainKeys bool // the terminal mistakes what asks for more keys
	width     int
	shown     view
	wrapped   int // rows above the cursor, as the terminal has wrapped them
	covered   int // rows that are shown, as it has wrapped them
	stale     bool
}

// Modes of the terminal while the conversation has it: bracketed paste, reports of
// the focus, keys that can be distinguished (of xterm and of kitty). The title is kept
// aside.
const (
	enterModes = "\x1b[?2004h\x1b[?1004h\x1b[22;2t"
	enterKeys  = "\x1b[>4;2m\x1b[>1u"
	leaveKeys  = "\x1b[>4m\x1b[<1u"
	leaveModes = "\x1b[?2004l\x1b[?1004l\x1b[?25h\x1b]2;\x07\x1b[23;2t"
)

func (l *liveRows) enter() {
	l.write(enterModes)
	if !l.plainKeys {
		l.write(enterKeys)
	}
	l.shown, l.wrapped, l.covered, l.stale = view{}, 0, 0, true
}

// leave erases the live rows.
func (l *liveRows) leave() {
	l.draw("", view{rows: []string{""}}, "\r")
	if !l.plainKeys {
		l.write(leaveKeys)
	}
	l.write(leaveModes)
	l.shown, l.wrapped = view{}, 0
}

func (l *liveRows) write(text string) { _, _ = io.WriteString(l.out, text) } // a terminal that is gone ends the program elsewhere

// top goes to the first live row.
func (l *liveRows) top() string {
	if l.wrapped == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", l.wrapped)
}

// resize learns a new width. Terminals wrap rows anew that do not fit any more.
func (l *liveRows) resize(width int) {
	if width == l.width {
		return
	}
	l.width, l.stale = width, true
	l.wrapped, l.covered = l.shown.x/width, 0
	for i, r := range l.shown.rows {
		n := max(1, (kit.Columns(kit.Unpaint(r))+width-1)/width)
		if l.covered += n; i < l.shown.y {
			l.wrapped += n
		}
	}
}

// draw prints text above the live rows, has them show v, and writes raw.
func (l *liveRows) draw(text string, v view, raw string) {
	var b strings.Builder
	if v.title != l.shown.title {
		b.WriteString("\x1b]2;" + v.title + "\x07")
	}
	switch {
	case text != "" || l.stale:
		b.WriteString(l.top())
		if l.stale && l.covered > 0 {
			// Rows that the terminal has wrapped stay so when they are written over, and
			// another width would join them: each is erased first.
			b.WriteString("\x1b7" + strings.Repeat("\x1b[K\x1b[B", l.covered) + "\x1b8")
		}
		printed := l.print(&b, text)
		l.rows(&b, nil, v.rows)
		if l.stale {
			b.WriteString("\x1b[J") // whatever the terminal has made of the rows before
		} else {
			below(&b, len(l.shown.rows)-printed-len(v.rows))
		}
		l.place(&b, v)
	case !slices.Equal(v.rows, l.shown.rows):
		b.WriteString(l.top())
		l.rows(&b, l.shown.rows, v.rows)
		l.place(&b, v)
	case v.x != l.shown.x || v.y != l.shown.y:
		b.WriteString(l.top() + strings.Repeat("\n", v.y) + column(v.x))
	}
	l.shown, l.wrapped, l.stale = v, v.y, false
	switch {
	case b.Len() == 0:
		l.write(raw)
	case text == "" && len(v.rows) < 2:
		l.write(b.String() + raw)
	default: // one frame, where the terminal can; else the cursor does not run about
		l.write("\x1b[?2026h\x1b[?25l" + b.String() + "\x1b[?25h\x1b[?2026l" + raw)
	}
}

// print writes lines of finished text over the live rows, and returns how many rows
// they take. The rows are not erased as a whole: tmux keeps what is erased from the
// first row of the screen on in its history.
func (l *liveRows) print(b *strings.Builder, text string) (rows int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		b.WriteString(line)
		columns, width := kit.Columns(kit.Unpaint(line)), max(1, l.width)
		if columns == 0 || columns%width > 0 { // else there is no rest of the row to erase
			b.WriteString("\x1b[K")
		}
		b.WriteString("\r\n")
		rows += max(1, (columns+width-1)/width)
	}
	return rows
}

// below erases so many rows below the cursor, and returns to its row.
func below(b *strings.Builder, rows int) {
	if rows > 0 {
		b.WriteString(strings.Repeat("\r\n\x1b[K", rows))
		fmt.Fprintf(b, "\x1b[%dA", rows)
	}
}

// rows writes the rows that differ from those before, from the first row on.
func (l *liveRows) rows(b *strings.Builder, before, now []string) {
	for i, r := range now {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if i >= len(before) || before[i] != r {
			b.WriteString(r + "\x1b[K")
		}
	}
	below(b, len(before)-len(now))
}

// place puts the cursor, which is in the last row, where v has it.
func (l *liveRows) place(b *strings.Builder, v view) {
	if up := len(v.rows) - 1 - v.y; up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	b.WriteString("\r" + column(v.x))
}

// column goes right from the first column.
func column(x int) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dC", x)
}
