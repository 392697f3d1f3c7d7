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

// Done reports whether the event is the end of the stream and nothing else.
func (ev Event) Done() bool {
	return bytes.EqualFold(bytes.Trim(ev.Data, "\" \t\r\n"), []byte("[DONE]"))
}

// Events reads server-sent events as the HTML standard defines them, and what servers send in
// their place: an object is an event of its own, whether a blank line, a comma, another object or
// nothing is behind it, on one line or several, in a list, and without a field in front of it. An
// event that the end of the stream cuts off is delivered.
type Events struct {
	lines   *Lines
	name    string
	data    []byte // of the last event, as it was sent
	joined  []byte // room for that of several lines
	rest    []byte // of it, to be delivered
	pending bool   // there is a rest
}

// NewEvents reads events from r. data, which may be nil, is called as for
// [NewLines].
func NewEvents(r io.Reader, data func()) *Events {
	return &Events{lines: &Lines{r: r, data: data, cr: true}}
}

// EventsIn reads the events of an answer that is there as a whole.
func EventsIn(all []byte) *Events {
	return &Events{lines: &Lines{buf: all, err: io.EOF, cr: true}}
}

// Next returns the next event that has data. The error is io.EOF at a clean
// end.
func (e *Events) Next() (Event, error) {
	for {
		if data, ok := e.piece(); ok {
			return Event{e.name, data}, nil
		}
		if err := e.read(); err != nil {
			return Event{}, err
		}
		e.rest, e.pending = e.data, true
	}
}

// between may stand between objects.
const between = " \t\r\n,\x1e\ufeff"

// piece takes the first object from the rest, or all of it if it is none.
func (e *Events) piece() ([]byte, bool) {
	rest := bytes.TrimLeft(e.rest, between)
	list := bytes.HasPrefix(rest, []byte{'['}) && bytes.HasPrefix(bytes.TrimLeft(rest[1:], between), []byte{'{'})
	again := len(e.rest) < len(e.data) // an object was in front
	for list || again && len(rest) > 0 && rest[0] == ']' {
		rest, list = bytes.TrimLeft(rest[1:], between), false
	}
	if again {
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("data:")), between)
	}
	was := e.pending && (!again || len(rest) > 0)
	e.pending = false
	if was && len(rest) > 0 && rest[0] == '{' {
		var o object
		if n := o.scan(rest); n > 0 {
			e.rest, e.pending = rest[n:], true
			return rest[:n], true
		}
	}
	if again {
		return rest, was
	}
	return e.rest, was
}

// read reads lines up to the end of an event: a blank line, or an object that is whole.
func (e *Events) read() error {
	e.name, e.joined = "", e.joined[:0]
	has := false
	var o object
	for {
		line, err := e.lines.Next()
		if err == io.EOF && has {
			e.data = e.joined
			return nil
		}
		if err != nil {
			return err
		}
		start := bytes.TrimLeft(line, between)
		field, value, _ := bytes.Cut(start, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch field := string(bytes.ToLower(field)); { // "" is a comment; id and retry mean nothing here
		case len(line) == 0 && has:
			e.data = e.joined
			return nil
		case len(line) == 0:
			e.name = ""
			continue
		case field == "event":
			e.name = string(value)
			continue
		case field == "data":
		case o.depth > 0: // an object over several lines
			value = line
		case !has && (bytes.HasPrefix(start, []byte{'{'}) || bytes.HasPrefix(start, []byte{'['}) && len(start) > 1): // not the beginning of a list alone
			value = start
		default:
			continue
		}
		rest := value
		for n := o.scan(rest); n > 0; n = o.scan(rest) {
			rest = rest[n:]
		}
		whole := len(rest) < len(value) && o.depth == 0
		if e.data = value; whole && !has { // as nearly all are
			return nil
		}
		if has {
			e.joined = append(e.joined, '\n')
		}
		has = true
		if len(e.joined)+len(value) > MaxLine {
			return ErrLine
		}
		if e.joined = append(e.joined, value...); whole {
			e.data = e.joined
			return nil
		}
	}
}

// An object is a position in a text of objects.
type object struct {
	depth           int
	quoted, escaped bool
}

// scan goes on in b up to the end of an object, and returns what is in front of that; 0 if none ends.
func (o *object) scan(b []byte) int {
	for i, c := range b {
		switch {
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.escaped, o.quoted = c == '\\', c != '"'
		case c == '"':
			o.quoted = o.depth > 0
		case c == '{':
			o.depth++
		case c == '}' && o.depth > 0:
			if o.depth--; o.depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
