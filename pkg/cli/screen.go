package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// A screen is where progress goes: a terminal that can redraw a line, or a
// plain stream.
type screen struct {
	io.Writer
	live  bool // a line at the bottom may be redrawn
	color bool
	fd    int // of the terminal, -1 if there is none
	cols  int // from COLUMNS, 0 to ask the terminal
}

// width is how many columns a line may take, 0 for any number.
func (s *screen) width() int {
	if s.cols > 0 {
		return s.cols
	}
	if s.fd < 0 {
		return 0
	}
	w, _, err := term.GetSize(s.fd)
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// Styles of parts of a line.
const (
	plain = ""
	dim   = "2"
	red   = "31"
	green = "32"
	bold  = "1"
)

func (s *screen) paint(style, text string) string {
	if !s.color || style == plain || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// newScreen opens w with what the environment decides about terminals.
func newScreen(w io.Writer, getenv func(string) string) *screen {
	s := &screen{Writer: w, fd: -1}
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return s
	}
	s.fd = int(f.Fd())
	s.cols, _ = strconv.Atoi(getenv("COLUMNS"))
	s.live = getenv("TERM") != "dumb"
	s.color = s.live && getenv("NO_COLOR") == ""
	return s
}

// plainScreen is a stream that is no terminal.
func plainScreen(w io.Writer) *screen { return &screen{Writer: w, fd: -1} }

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// isTerminal reports whether the stream is a terminal.
func (s *screen) isTerminal() bool { return s.fd >= 0 }
