package transport

import (
	"bytes"
	"errors"
	"io"
)

// ErrLine is the failure of a line or event larger than [MaxLine].
var ErrLine = errors.New("a line is larger than 16 MB")

// Lines splits a stream into lines. Its buffer starts small and grows with
// the longest line, so that many streams at once cost little.
type Lines struct {
	r      io.Reader
	data   func() // called when a line that is not blank or a comment gains bytes; may be nil
	cr     bool   // a lone carriage return ends a line too, as in server-sent events
	buf    []byte
	at     int // start of the unread part
	seen   int // where to go on looking for the end of the line
	skipLF bool
	err    error
}

// NewLines reads lines from r and calls data, which may be nil, for each
// piece of one that is not blank.
func NewLines(r io.Reader, data func()) *Lines { return &Lines{r: r, data: data} }

// Next returns the next line without its end, valid until the call after. At
// a clean end of the stream an unfinished last line counts as a line; then
// the error is io.EOF.
func (l *Lines) Next() ([]byte, error) {
	for {
		if l.skipLF && l.at < len(l.buf) {
			l.skipLF = false
			if l.buf[l.at] == '\n' {
				l.at++
				l.seen = max(l.seen, l.at)
			}
		}
		if i := l.end(); i >= 0 {
			line := l.buf[l.at:i]
			l.skipLF = l.buf[i] == '\r'
			l.at, l.seen = i+1, i+1
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		l.seen = len(l.buf)
		if l.err != nil {
			rest := l.buf[l.at:]
			l.at = len(l.buf)
			if len(rest) > 0 && l.err == io.EOF {
				return rest, nil
			}
			return nil, l.err
		}
		if len(l.buf)-l.at > MaxLine {
			l.err = ErrLine
			l.at = len(l.buf)
			return nil, l.err
		}
		l.fill()
	}
}

// end returns the index of the byte that ends the line at l.at, or -1.
func (l *Lines) end() int {
	rest := l.buf[l.seen:]
	i := bytes.IndexByte(rest, '\n')
	if l.cr {
		if i >= 0 {
			rest = rest[:i]
		}
		if j := bytes.IndexByte(rest, '\r'); j >= 0 {
			i = j
		}
	}
	if i < 0 {
		return -1
	}
	return l.seen + i
}

func (l *Lines) fill() {
	if l.at > 0 {
		n := copy(l.buf, l.buf[l.at:])
		l.buf, l.seen, l.at = l.buf[:n], l.seen-l.at, 0
	}
	if len(l.buf) == cap(l.buf) {
		grown := make([]byte, len(l.buf), max(8<<10, 2*cap(l.buf)))
		copy(grown, l.buf)
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	l.err = err
	if n > 0 && l.data != nil && l.real() {
		l.data()
	}
}

// real reports whether the bytes at hand hold more than blank lines and
// comments.
func (l *Lines) real() bool {
	rest := bytes.TrimLeft(l.buf[l.at:], "\r\n \t")
	for len(rest) > 0 {
		if rest[0] != ':' {
			return true
		}
		i := bytes.IndexAny(rest, "\r\n")
		if i < 0 {
			return false
		}
		rest = bytes.TrimLeft(rest[i:], "\r\n \t")
	}
	return false
}

// An Event is one server-sent event.
type Event struct {
	Name string // "" for the default
	Data []byte // lines joined by \n; valid until the next event
}

// Events reads server-sent events as the HTML standard defines them, with two
// leniencies: an event that the end of the stream cuts off before its blank
// line is still delivered, since several servers end that way, and a line that
// begins an object is an event, as in JSON Lines and JSON text sequences.
type Events struct {
	lines *Lines
	first bool
	data  []byte
}

// NewEvents reads events from r. data, which may be nil, is called as for
// [NewLines].
func NewEvents(r io.Reader, data func()) *Events {
	return &Events{lines: &Lines{r: r, data: data, cr: true}, first: true}
}

// Next returns the next event that has data. The error is io.EOF at a clean
// end.
func (e *Events) Next() (Event, error) {
	var ev Event
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.lines.Next()
		if err == io.EOF && has {
			ev.Data = e.data
			return ev, nil
		}
		if err != nil {
			return Event{}, err
		}
		if e.first {
			e.first = false
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) == 0 {
			if has {
				ev.Data = e.data
				return ev, nil
			}
			ev = Event{}
			continue
		}
		if line = bytes.TrimLeft(line, "\x1e"); !has && bytes.HasPrefix(line, []byte{'{'}) {
			ev.Data = line
			return ev, nil
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) { // "" is a comment; id and retry mean nothing here
		case "event":
			ev.Name = string(value)
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			has = true
			if len(e.data)+len(value) > MaxLine {
				return Event{}, ErrLine
			}
			e.data = append(e.data, value...)
		}
	}
}
