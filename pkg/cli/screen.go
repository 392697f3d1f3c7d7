package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

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

// screen is where progress goes.
func (a *app) screen() *screen { return a.onto(a.Stderr) }

// output is where results go.
func (a *app) output() *screen { return a.onto(a.Stdout) }

func (a *app) onto(w io.Writer) *screen {
	s := &screen{Writer: w, fd: -1}
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.fd = int(f.Fd())
	s.cols, _ = strconv.Atoi(a.Getenv("COLUMNS"))
	s.live = a.Getenv("TERM") != "dumb"
	s.color = s.live && a.Getenv("NO_COLOR") == ""
	return s
}

// width is how many columns a line may take, 0 for any number.
func (s *screen) width() int {
	if s.fd < 0 {
		return 0
	}
	if s.cols > 0 {
		return s.cols
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

// asks reports whether a person can be asked here.
func (a *app) asks() bool {
	in, ok := a.Stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && a.screen().fd >= 0
}

// pad fills s with blanks up to n columns.
func pad(s string, n int) string {
	if d := n - len([]rune(s)); d > 0 {
		return s + strings.Repeat(" ", d)
	}
	return s
}
