package secret

import (
	"io"
	"unsafe"
)

// A Stream redacts a text that comes in pieces, with the same result however
// it is cut. It keeps back what may be the beginning of a secret, at most a few
// kilobytes. It is used by one goroutine. The zero value and one made by a nil
// Redactor change nothing.
type Stream struct {
	m   machine
	on  bool
	buf []byte // what was kept back
}

// Stream returns a Stream.
func (r *Redactor) Stream() *Stream {
	if r == nil {
		return &Stream{}
	}
	return &Stream{m: machine{index: &r.index, allow: r.allow, prev: "\n\n", pipe: true}, on: true}
}

// Add takes the next piece and returns what can be shown by now.
func (s *Stream) Add(piece string) string {
	if !s.on {
		return piece
	}
	s.buf = append(s.buf, piece...)
	return string(s.next(false))
}

// End returns what was kept back; the text is over. A new one may begin.
func (s *Stream) End() string {
	if !s.on {
		return ""
	}
	return string(s.end())
}

// Hit reports whether a secret was found.
func (s *Stream) Hit() bool { return s.m.hit }

// next redacts what is in buf as far as that can be decided. What it returns
// is good until the next call.
func (s *Stream) next(final bool) []byte {
	s.m.out = s.m.out[:0]
	// The machine keeps no part of the text that it is given.
	n := s.m.run(unsafe.String(unsafe.SliceData(s.buf), len(s.buf)), final)
	s.buf = append(s.buf[:0], s.buf[n:]...)
	return s.m.out
}

func (s *Stream) end() []byte {
	out := s.next(true)
	s.m.prev, s.m.rest, s.m.due = "\n\n", matcher{}, 0
	return out
}

// A streamWriter redacts what is written to it. It is used by one goroutine.
type streamWriter struct {
	w io.Writer
	s *Stream
}

// Writer returns a Writer onto w. Close it, or what was kept back is lost.
func (r *Redactor) Writer(w io.Writer) *streamWriter { return &streamWriter{w, r.Stream()} }

func (w *streamWriter) Write(b []byte) (int, error) {
	if !w.s.on {
		return w.w.Write(b)
	}
	w.s.buf = append(w.s.buf, b...)
	if out := w.s.next(false); len(out) > 0 {
		if _, err := w.w.Write(out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Close writes what was kept back. It does not close the writer below.
func (w *streamWriter) Close() error {
	if !w.s.on {
		return nil
	}
	out := w.s.end()
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}
