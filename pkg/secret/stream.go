package secret

import (
	"io"
	"strings"
)

// A Stream redacts a text that comes in pieces, with the same result however
// it is cut. It keeps back what may be the beginning of a secret, at most a few
// kilobytes. It is used by one goroutine. The zero value and one made by a nil
// Redactor change nothing.
type Stream struct {
	m    machine
	on   bool
	held string
}

// Stream returns a Stream.
func (r *Redactor) Stream() *Stream {
	if r == nil {
		return &Stream{}
	}
	return &Stream{m: machine{index: &r.index, allow: r.allow, prev: "\n\n", pipe: true}, on: true}
}

// Add takes the next piece and returns what can be shown by now.
func (s *Stream) Add(piece string) string { return s.next(piece, false) }

// End returns what was kept back; the text is over. A new one may begin.
func (s *Stream) End() string {
	out := s.next("", true)
	s.m.prev, s.m.eat, s.m.due = "\n\n", eater{}, 0
	return out
}

// Hit reports whether a secret was found.
func (s *Stream) Hit() bool { return s.m.hit }

func (s *Stream) next(piece string, final bool) string {
	if !s.on {
		return piece
	}
	text := s.held + piece
	s.m.out = s.m.out[:0]
	n := s.m.run(text, final)
	s.held = strings.Clone(text[n:])
	return string(s.m.out)
}

// A Writer redacts what is written to it. It is used by one goroutine.
type Writer struct {
	w io.Writer
	s *Stream
}

// Writer returns a Writer onto w. Close it, or what was kept back is lost.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{w, r.Stream()} }

func (w *Writer) Write(b []byte) (int, error) {
	if out := w.s.Add(string(b)); out != "" {
		if _, err := io.WriteString(w.w, out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Close writes what was kept back. It does not close the writer below.
func (w *Writer) Close() error {
	out := w.s.End()
	if out == "" {
		return nil
	}
	_, err := io.WriteString(w.w, out)
	return err
}
