package secret

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// An entry is something to look for: a known value, or the fixed beginning of
// a shape.
type entry struct {
	lit  string
	kind string
	rule *rule // nil for a known value
}

// An index finds the entries that may begin at a place from its first two
// bytes.
type index struct {
	pairs [1 << 16 / 64]uint64
	first [256]bool
	at    map[uint16][]entry
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func build(entries []entry) index {
	x := index{at: map[uint16][]entry{}}
	for _, e := range entries {
		p := pair(e.lit[0], e.lit[1])
		x.pairs[p>>6] |= 1 << (p & 63)
		x.first[e.lit[0]] = true
		x.at[p] = append(x.at[p], e)
	}
	for _, list := range x.at {
		// Known values before shapes, and of those the longest first.
		slices.SortStableFunc(list, func(a, b entry) int {
			if known := a.rule == nil; known != (b.rule == nil) {
				return map[bool]int{true: -1, false: 1}[known]
			}
			return cmp.Compare(len(b.lit), len(a.lit))
		})
	}
	return x
}

// begins reports whether an entry stands anywhere in s, as one does in every
// text in which there is something to find.
func (x *index) begins(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		p := pair(s[i], s[i+1])
		if x.pairs[p>>6]&(1<<(p&63)) == 0 {
			continue
		}
		for _, e := range x.at[p] {
			if strings.HasPrefix(s[i:], e.lit) {
				return true
			}
		}
	}
	return false
}

// A machine redacts a text that comes in pieces. It decides nothing that more
// text could change, so its output does not depend on the pieces.
type machine struct {
	*index
	allow map[string]bool
	note  bool // keep spans; for a text in one piece
	pipe  bool // fill out also where nothing is found

	prev  string  // what stands before what run is given, at least one and at most [lookback] bytes
	rest  matcher // of a secret that is replaced already: what is still to be dropped
	due   int     // where in the text a secret begins that was recognised by what stands before it; 0: none
	late  verdict
	kind  string // of late
	out   []byte
	hit   bool
	spans []span
}

type span struct {
	kind     string
	from, to int
}

// textBefore returns the text before s[i], at most lookback bytes.
func (m *machine) textBefore(s string, i int) string {
	if i >= lookback {
		return s[i-lookback : i]
	}
	all := m.prev + s[:i]
	return all[max(0, len(all)-lookback):]
}

// run redacts s as far as it can be decided, adds the result to out and
// returns how much of s that was: all of it if final.
func (m *machine) run(s string, final bool) int {
	i, plain := 0, 0 // s[plain:i] is harmless and not yet in out
	stop := func() int {
		if !m.hit && !m.pipe {
			return i // nothing found: the caller has s
		}
		m.out = append(m.out, s[plain:i]...)
		if i > 0 {
			m.prev = strings.Clone(m.textBefore(s, i))
		}
		if m.due > 0 {
			m.due -= i
		}
		return i
	}
	replace := func(kind string, n int, rest matcher) {
		m.out = append(append(m.out, s[plain:i]...), mark(kind)...)
		m.hit, m.rest = true, rest
		if m.note {
			m.spans = append(m.spans, span{kind, i, i + n})
		}
		i += n
		plain = i
	}
	for i < len(s) {
		if m.rest.on() {
			n := m.rest.match(s[i:])
			i += n
			plain = i
			if m.note && n > 0 {
				m.spans[len(m.spans)-1].to = i
			}
			continue
		}
		if m.due > 0 && i >= m.due {
			over := i - m.due
			m.due = 0
			if over == 0 {
				replace(m.kind, m.late.n, m.late.rest)
				continue
			}
			m.rest = m.late.rest // its beginning went with another secret
			i += max(0, m.late.n-over)
			plain = i
			continue
		}
		if i+1 == len(s) {
			if !final && m.first[s[i]] {
				return stop()
			}
			i++
			continue
		}
		p := pair(s[i], s[i+1])
		if m.pairs[p>>6]&(1<<(p&63)) == 0 {
			i++
			continue
		}
		switch m.look(s, i, final, m.at[p], replace) {
		case more:
			return stop()
		case no:
			i++
		}
	}
	return stop()
}

// look judges the entries that may begin at s[i].
func (m *machine) look(s string, i int, final bool, list []entry, replace func(string, int, matcher)) answer {
	rest := s[i:]
	for _, e := range list {
		if len(rest) < len(e.lit) {
			if !final && strings.HasPrefix(e.lit, rest) {
				return more
			}
			continue
		}
		if !strings.HasPrefix(rest, e.lit) {
			continue
		}
		if e.rule == nil {
			replace(e.kind, len(e.lit), matcher{})
			return yes
		}
		if e.rule.word && joined(m.textBefore(s, i)) {
			continue
		}
		v := e.rule.match(rest, len(e.lit), final, len(m.allow) > 0)
		switch {
		case v.answer == more:
			return more
		case v.answer == no || m.allowed(rest, v):
		case e.rule.kind == byName && dataName(m.textBefore(s, i), rest[:v.from], rest[v.from:v.from+v.n]):
		case v.from == 0:
			replace(e.rule.kind, v.n, v.rest)
			return yes
		case m.due == 0:
			kind, a := e.rule.kind, no
			if kind == byName {
				kind, a = m.known(rest[v.from:], final)
			}
			if a == more {
				return more
			}
			m.due, m.late, m.kind = i+v.from, v, kind
			return no // what stands before it is judged as ever
		}
	}
	return no
}

// known returns the kind of the known value with which s begins, else [byName]: what is known
// is more than named like a secret.
func (m *machine) known(s string, final bool) (string, answer) {
	for _, e := range m.at[pair(s[0], s[1])] {
		switch {
		case e.rule != nil:
		case strings.HasPrefix(s, e.lit):
			return e.kind, yes
		case !final && strings.HasPrefix(e.lit, s):
			return "", more
		}
	}
	return byName, no
}

func (m *machine) allowed(rest string, v verdict) bool {
	return len(m.allow) > 0 && m.allow[Fingerprint(rest[v.from:v.from+v.n])]
}

// joined reports whether the word that follows a text begins in it. The end of an escape
// is no letter, whether it is one of JSON, of an address or of a terminal's colours.
func joined(before string) bool {
	b := before[len(before)-1]
	tail := before[max(0, len(before)-24):]
	return (b == '_' || b == '-' || alnum[b]) && (!strings.ContainsAny(tail, `\%[`) || !escape.MatchString(tail))
}

var escape = lazyregexp.New(`(?:\\[abefnrtv0]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|(?:\x1b|\\e|[01][bB]|\\033|\^\[)\[[0-9;]*[A-Za-z])$`)

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
