package kit

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// A Screen is where progress goes: a terminal that can redraw a line, or a
// plain stream.
type Screen struct {
	io.Writer
	Live  bool // a line at the bottom may be redrawn
	color bool
	fd    int // of the terminal, -1 if there is none
	Cols  int // from COLUMNS, 0 to ask the terminal
}

// Width is how many columns a line may take, 0 for any number.
func (s *Screen) Width() int {
	if s.Cols > 0 {
		return s.Cols
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

// Styles of parts of a line. Magenta is legible on dark and on light backgrounds
// with every common palette; xterm's cyan and yellow are not on light ones.
const (
	Plain   = ""
	Dim     = "2"
	Red     = "31"
	Green   = "32"
	Bold    = "1"
	Magenta = "35"
	Italic  = "3"
)

// Color reports whether text can be painted.
func (s *Screen) Color() bool { return s.color }

func (s *Screen) Paint(style, text string) string {
	if !s.color || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// NewScreen opens w with what the environment decides about terminals.
func NewScreen(w io.Writer, getenv func(string) string) *Screen {
	s := &Screen{Writer: w, fd: -1}
	if o, ok := w.(*Output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(f) {
		return s
	}
	s.fd = int(f.Fd())
	s.Cols, _ = strconv.Atoi(getenv("COLUMNS"))
	s.Live = getenv("TERM") != "dumb"
	s.color = s.Live && getenv("NO_COLOR") == ""
	return s
}

// NewColor is a stream that shows colours, as a terminal of so many columns would.
func NewColor(w io.Writer, cols int) *Screen {
	return &Screen{Writer: w, color: true, fd: -1, Cols: cols}
}

// NewPlain is a stream that is no terminal.
func NewPlain(w io.Writer) *Screen { return &Screen{Writer: w, fd: -1} }

// IsTerminal reports whether the stream is a terminal.
func (s *Screen) IsTerminal() bool { return s.fd >= 0 }
