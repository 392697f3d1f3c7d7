package rootfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"
)

// An Encoding is a text file's character encoding.
type Encoding string

const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
	Latin1  Encoding = "latin-1"
)

// sniff is the number of bytes that are examined to decide whether a file is text.
const sniff = 8192

// An EncodingError explains why a file cannot be edited as text.
type EncodingError struct {
	Name, Reason string
}

func (e *EncodingError) Error() string { return fmt.Sprintf("%q: %s", e.Name, e.Reason) }

// A Text is a file in an editor's form: UTF-8, each line ended by a line feed. It remembers how
// the file was spelled, line by line, so that writing it back changes only what was edited. Change
// Content and leave the rest.
type Text struct {
	Content      string
	BOM          bool
	EOL          string // "\n" or "\r\n": the commoner one; new lines get it
	Encoding     Encoding
	FinalNewline bool // of the file as read; Content decides what is written

	orig string // Content as read
	crlf []bool // whether line i of orig ended in "\r\n"; nil if all lines end in EOL
}

// Bytes returns the content that a Text would be written as.
func (t Text) Bytes() ([]byte, error) {
	b, reason := t.Encode()
	if reason != "" {
		return nil, &EncodingError{Name: "text", Reason: reason}
	}
	return b, nil
}

// Respell returns a text with the line ends, the encoding and the mark of the file that it replaces,
// unless it has line ends of its own or cannot be spelled so.
func Respell(was []byte, text string) []byte {
	t, reason := Decode(was)
	if t.Content = text; reason == "" && !strings.Contains(text, "\r") {
		if b, reason := t.Encode(); reason == "" {
			return b
		}
	}
	return []byte(text)
}

var (
	bom8    = []byte{0xef, 0xbb, 0xbf}
	bom16le = []byte{0xff, 0xfe}
	bom16be = []byte{0xfe, 0xff}
)

// Decode returns the Text of b, or why there is none.
func Decode(b []byte) (t Text, reason string) {
	s := ""
	switch {
	case bytes.HasPrefix(b, bom16le), bytes.HasPrefix(b, bom16be):
		t.BOM, t.Encoding = true, UTF16LE
		if b[0] == 0xfe {
			t.Encoding = UTF16BE
		}
		if len(b)%2 != 0 {
			return Text{}, "is UTF-16 with half a character at its end, which editing could not keep"
		}
		s = decode16(b[2:], t.Encoding)
	case !IsText(b):
		return Text{}, "is binary (it has NUL bytes), so it cannot be edited as text"
	case utf8.Valid(b):
		t.Encoding = UTF8
		if t.BOM = bytes.HasPrefix(b, bom8); t.BOM {
			b = b[len(bom8):]
		}
		s = string(b)
	case mostlyUTF8(b):
		return Text{}, "is UTF-8 with some invalid bytes, which editing could not keep; repair its encoding first"
	default:
		t.Encoding = Latin1
		s = decodeLatin1(b)
	}
	t.split(s)
	back, reason := t.Encode()
	whole := b
	if t.Encoding == UTF8 && t.BOM {
		whole = append(bytes.Clone(bom8), b...)
	}
	if reason != "" || !bytes.Equal(back, whole) {
		return Text{}, "has characters that are not valid in " + string(t.Encoding) + ", which editing could not keep"
	}
	return t, ""
}

// ToUTF8 removes a byte order mark from another program's text, and converts UTF-16 with one to
// UTF-8. Any other content stays as it is.
func ToUTF8(b []byte) []byte {
	switch {
	case bytes.HasPrefix(b, bom8):
		return b[len(bom8):]
	case bytes.HasPrefix(b, bom16le) && len(b)%2 == 0:
		return []byte(decode16(b[2:], UTF16LE))
	case bytes.HasPrefix(b, bom16be) && len(b)%2 == 0:
		return []byte(decode16(b[2:], UTF16BE))
	}
	return b
}

// Plain returns b as the text that a person and every reader of other programs' files sees: UTF-8,
// or UTF-16 with a byte order mark. Text that it refuses cannot be shown, so nothing may obey it
// either.
func Plain(b []byte) (string, error) {
	b = ToUTF8(b)
	switch {
	case bytes.IndexByte(b, 0) >= 0:
		return "", errors.New("it is not text, it has NUL bytes; save it as UTF-8")
	case !utf8.Valid(b):
		return "", errors.New("it is not text in UTF-8, nor in UTF-16 with a byte order mark; save it as UTF-8")
	}
	return string(b), nil
}

// split takes the line ends out of s.
func (t *Text) split(s string) {
	crlf, lf := strings.Count(s, "\r\n"), strings.Count(s, "\n")
	lf -= crlf
	t.EOL = "\n"
	if crlf > lf {
		t.EOL = "\r\n"
	}
	if crlf > 0 && lf > 0 {
		for line := range strings.Lines(s) {
			t.crlf = append(t.crlf, strings.HasSuffix(line, "\r\n"))
		}
	}
	t.Content = strings.ReplaceAll(s, "\r\n", "\n")
	t.orig = t.Content
	t.FinalNewline = strings.HasSuffix(s, "\n")
}

// join puts the line ends back.
func (t Text) join() string {
	if t.EOL != "\r\n" && t.crlf == nil {
		return t.Content
	}
	var out strings.Builder
	out.Grow(len(t.Content) + len(t.Content)/16)
	crlf := func(int) bool { return t.EOL == "\r\n" }
	if t.crlf != nil {
		ends := t.ends()
		crlf = func(i int) bool { return ends[i] }
	}
	i := 0
	for line := range strings.Lines(t.Content) {
		body, ended := strings.CutSuffix(line, "\n")
		out.WriteString(body)
		if ended && crlf(i) {
			out.WriteByte('\r')
		}
		if ended {
			out.WriteByte('\n')
		}
		i++
	}
	return out.String()
}

// ends reports for each line of Content whether it ends in "\r\n", where the
// lines as read had mixed endings: an untouched line keeps its ending, a changed one takes the
// ending of the line it replaces, a new one that of the line above.
func (t Text) ends() []bool {
	was, now := strings.SplitAfter(t.orig, "\n"), strings.SplitAfter(t.Content, "\n")
	old := func(i int) bool {
		if i >= 0 && i < len(t.crlf) {
			return t.crlf[i]
		}
		return t.EOL == "\r\n"
	}
	out := make([]bool, len(now))
	// What is alike at both ends is untouched, also where lines repeat.
	head, foot := 0, 0
	for head < min(len(was), len(now)) && was[head] == now[head] {
		out[head] = old(head)
		head++
	}
	for foot < min(len(was), len(now))-head && was[len(was)-1-foot] == now[len(now)-1-foot] {
		foot++
		out[len(now)-foot] = old(len(was) - foot)
	}
	next, at := head, head        // the first lines of was and now that are not accounted for
	between := func(end, n int) { // n lines stand for those of was up to end
		for k := range n {
			i := min(next+k, end-1)
			if end == next {
				i = next - 1
			}
			out[at] = old(max(i, 0))
			at++
		}
		next = end
	}
	mid := strings.Join(was[head:len(was)-foot], "")
	line := func(at int) int { return head + strings.Count(mid[:at], "\n") }
	for _, e := range udiff.Lines(mid, strings.Join(now[head:len(now)-foot], "")) {
		for start := line(e.Start); next < start; {
			between(next+1, 1)
		}
		end := line(e.End)
		if e.End == len(mid) && e.End > e.Start && !strings.HasSuffix(mid, "\n") {
			end++ // the last line has no newline to count
		}
		n := strings.Count(e.New, "\n")
		if e.New != "" && !strings.HasSuffix(e.New, "\n") {
			n++
		}
		between(end, min(n, len(now)-foot-at))
	}
	for at < len(now)-foot {
		between(next+1, 1)
	}
	return out
}

// Encode returns the bytes of t, or why it has none.
func (t Text) Encode() (b []byte, reason string) {
	s := t.join()
	switch t.Encoding {
	case UTF16LE, UTF16BE:
		if !utf8.ValidString(s) {
			return nil, "the new text is not valid UTF-8, so it cannot be written as UTF-16"
		}
		return Encode16(s, t.Encoding), ""
	case Latin1:
		for _, r := range s {
			if r > 0xff {
				return nil, fmt.Sprintf("is Latin-1 and cannot hold %q; use a plain spelling, or convert the file to UTF-8 first", r)
			}
			b = append(b, byte(r))
		}
		return b, ""
	}
	if t.BOM {
		b = append(b, bom8...)
	}
	return append(b, s...), ""
}

func order(e Encoding) binary.ByteOrder {
	if e == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func decode16(b []byte, e Encoding) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order(e).Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

func Encode16(s string, e Encoding) []byte {
	units := utf16.Encode([]rune("\ufeff" + s))
	b := make([]byte, 2*len(units))
	for i, u := range units {
		order(e).PutUint16(b[2*i:], u)
	}
	return b
}

func decodeLatin1(b []byte) string {
	var s strings.Builder
	s.Grow(len(b) + len(b)/8)
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// mostlyUTF8 reports whether b is a damaged UTF-8 file and not a Latin-1 one,
// where a sequence that is valid UTF-8 is rare.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		b = b[n:]
	}
	return good > bad
}

// IsText reports whether content can be shown as lines.
func IsText(b []byte) bool { return bytes.IndexByte(b[:min(len(b), sniff)], 0) < 0 }
