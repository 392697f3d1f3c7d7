package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// maxNoise bounds how much of a line that is not a message is shown, in bytes.
const maxNoise = 200

var errTooLarge = fmt.Errorf("sent a message that is longer than %d bytes, which is too large", maxMessage)

// A messageReader reads the messages in the standard output of a server. A message is one line, or
// several; any other output is skipped, and the first of it is kept.
type messageReader struct {
	lines *bufio.Reader
	wire  *wire
	noisy func(first string) // called once

	reading sync.Mutex    // guards what follows, up to over
	ready   []byte        // that is to be read
	err     error         // behind it
	rest    []byte        // of a line, behind a message
	cuts    int           // that the line has had
	over    chan struct{} // closed when nothing is read any more

	framed atomic.Bool // the messages have headers, as those of language servers

	mu    sync.Mutex
	noise []byte
	fault error
	some  bool // there is output
}

func newMessageReader(in io.Reader, w *wire, noisy func(string)) *messageReader {
	return &messageReader{lines: bufio.NewReaderSize(in, 64<<10), wire: w, noisy: noisy, over: make(chan struct{})}
}

// Read implements [io.Reader].
func (m *messageReader) Read(p []byte) (int, error) {
	m.reading.Lock()
	defer m.reading.Unlock()
	for len(m.ready) == 0 && m.err == nil {
		if m.ready, m.err = m.next(); m.err != nil {
			close(m.over)
		}
	}
	if len(m.ready) == 0 {
		return 0, m.err
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// Close implements [io.Closer]. What the program still prints may be read.
func (m *messageReader) Close() error { return nil }

// gone notes that nothing comes any more although the program goes on.
func (m *messageReader) gone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = errors.New("has closed its standard output and goes on, so that no answer can come")
}

// finish reads the remaining output of a program that has ended, unless that takes long.
func (m *messageReader) finish() {
	go func() { _, _ = io.Copy(io.Discard, m) }() // ends with the program's output
	select {
	case <-m.over:
	case <-time.After(endWait):
	}
}

// next returns the next message with the end of its line.
func (m *messageReader) next() ([]byte, error) {
	var open []byte // lines of a message that has not ended
	var nest nesting
	for {
		l, err := m.rest, error(nil)
		if m.rest = nil; l == nil {
			m.cuts = 0
			l, err = boundedLine(m.lines, maxMessage-len(open))
		}
		if open == nil && err == nil {
			var framed []byte
			if framed, err = m.frame(l); framed != nil {
				l = framed
			}
		}
		if errors.Is(err, errTooLarge) {
			m.mu.Lock()
			m.fault = err
			m.mu.Unlock()
			return nil, err
		}
		l = bytes.TrimPrefix(l, []byte("\ufeff"))
		text := bytes.TrimSpace(l)
		switch {
		case open != nil && len(text) > 0 && text[0] == '{' && json.Valid(text):
			// What is open may have been no message, and this is one.
			if out, ok := m.wire.receives(text); ok {
				m.skip(open)
				open, nest, l = nil, nesting{}, nil
				if len(out) > 0 {
					return append(oneByOne(out, "\n"), '\n'), err
				}
			}
		case open == nil && len(text) > 0:
			if l = m.cut(text, l); m.rest != nil {
				err = nil // it comes again behind the rest
			}
		}
		if text = bytes.TrimSpace(l); open != nil || len(text) > 0 && (text[0] == '{' || text[0] == '[') {
			open = append(open, l...)
			if nest.add(l); nest.depth <= 0 && !nest.inside || err != nil {
				switch out, ok := m.wire.message(open); {
				case !ok:
					m.skip(open)
				case len(out) > 0:
					return append(oneByOne(out, "\n"), '\n'), err
				}
				open, nest = nil, nesting{}
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// cut returns what is to be read first of a line: a message without the words around it, the line
// itself if it begins as one that is not over or not readable, or nothing. What is behind a message
// is kept.
func (m *messageReader) cut(text, whole []byte) []byte {
	const most = 64 // cuts of a line
	opens := text[0] == '{' || text[0] == '['
	for _, at := range []int{0, bytes.Index(text, []byte(`{"`))} {
		if at < 0 || at == 0 && !opens {
			continue
		}
		switch end := at + new(nesting).add(text[at:]); {
		case end == len(text) && at == 0:
			return whole
		case json.Valid(text[at:end]) && m.cuts < most:
			m.cuts++
			m.skip(text[:at])
			if end < len(text) {
				m.rest = text[end:]
			}
			return text[at:end]
		}
	}
	if opens {
		return whole
	}
	m.skip(text)
	return nil
}

// header is the beginning of a message as language servers frame it.
var header = lazyregexp.New(`(?i)^content-length:\s*([0-9]{1,9})\s*$`)

// frame returns the message behind its headers, of which first is the first line; nil if it is none.
func (m *messageReader) frame(first []byte) ([]byte, error) {
	m.mu.Lock()
	m.some = m.some || len(bytes.TrimSpace(first)) > 0
	m.mu.Unlock()
	size := header.FindSubmatch(first)
	if size == nil {
		return nil, nil
	}
	n, err := strconv.Atoi(string(size[1]))
	if err != nil || n > maxMessage {
		return nil, errTooLarge
	}
	for blank := false; !blank; {
		l, err := boundedLine(m.lines, maxMessage)
		if err != nil {
			return nil, err
		}
		blank = len(bytes.TrimSpace(l)) == 0
	}
	m.framed.Store(true)
	message := make([]byte, n)
	_, err = io.ReadFull(m.lines, message)
	return message, err
}

// mute reports whether there was no output.
func (m *messageReader) mute() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.some
}

// oneByOne joins the messages of a batch, which newer revisions do not have, with sep.
func oneByOne(message []byte, sep string) []byte {
	var list [][]byte
	var raw []json.RawMessage
	if len(message) == 0 || message[0] != '[' || json.Unmarshal(message, &raw) != nil {
		return message
	}
	for _, m := range raw {
		list = append(list, m)
	}
	return bytes.Join(list, []byte(sep))
}

// boundedLine returns the next line with its end.
func boundedLine(lines *bufio.Reader, most int) ([]byte, error) {
	var l []byte
	for {
		piece, err := lines.ReadSlice('\n')
		if len(l)+len(piece) > most {
			return nil, errTooLarge
		}
		l = append(l, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}

// skip ignores a line that is not a message, but remembers the first one.
func (m *messageReader) skip(b []byte) {
	b = bytes.TrimSpace(b)
	m.mu.Lock()
	first := m.noise == nil && len(b) > 0
	if first {
		m.noise = append([]byte{}, b[:min(len(b), maxNoise)]...)
	}
	m.mu.Unlock()
	if first {
		m.noisy(m.Noise())
	}
}

// Noise returns the first line that was not a message, or "".
func (m *messageReader) Noise() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, _, _ := bytes.Cut(m.noise, []byte("\n"))
	return line(string(l))
}

// Fault explains why reading stopped, or is "" if that was not because of the data.
func (m *messageReader) Fault() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault == nil {
		return ""
	}
	return m.fault.Error()
}

// A nesting counts brackets outside of strings.
type nesting struct {
	depth           int
	inside, escaped bool // a string; behind a backslash in one
}

// add reads on, up to the end of a value; it returns the length of what it has read.
func (n *nesting) add(text []byte) int {
	for i, c := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case n.inside:
			n.inside, n.escaped = c != '"', c == '\\'
		case c == '"':
			n.inside = true
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			if n.depth--; n.depth <= 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// repairJSON corrects JSON as some programs write it: it puts null for NaN and Infinity, and
// escapes line ends and tabs within strings.
func repairJSON(text []byte) []byte {
	var out bytes.Buffer
	for i, inside := 0, false; i < len(text); i++ {
		c := text[i]
		switch {
		case inside && c == '\\' && i+1 < len(text):
			out.Write(text[i : i+2])
			i++
		case inside && c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
		case c == '"':
			inside = !inside
			out.WriteByte(c)
		case !inside && (c == 'N' || c == 'I' || c == '-'):
			word := ""
			for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(text[i:], []byte(w)) {
					word = w
				}
			}
			if word == "" {
				out.WriteByte(c)
				break
			}
			out.WriteString("null")
			i += len(word) - 1
		default:
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}

// A watchedWriter passes on the standard input of a server and reports it message by message.
type watchedWriter struct {
	io.WriteCloser
	framed *atomic.Bool         // whether messages get headers
	sends  func([]byte) request // before
	wrote  func([]byte)         // after
}

// Write implements [io.Writer].
func (w *watchedWriter) Write(p []byte) (int, error) {
	q := w.sends(p)
	q.note(func(d *delivery) { d.sent = true })
	out := p
	if w.framed.Load() {
		message := bytes.TrimSpace(p)
		out = append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...)
	}
	n, err := w.WriteCloser.Write(out)
	if err != nil && n == 0 {
		q.note(func(d *delivery) { d.sent = false })
	}
	w.wrote(p)
	if err == nil {
		n = len(p)
	}
	return min(n, len(p)), err
}
