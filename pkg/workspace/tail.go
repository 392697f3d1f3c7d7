package workspace

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// keepHalf is how much of the beginning and of the end of an output is kept, in bytes.
const keepHalf = 32 << 10

// A tail keeps the head and the tail of what is written to it.
type tail struct {
	mu    sync.Mutex
	head  []byte
	ring  []byte
	pos   int // where the ring begins once it is full
	total int64
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	t.total += int64(n)
	if room := min(keepHalf-len(t.head), len(b)); room > 0 {
		t.head = append(t.head, b[:room]...)
		b = b[room:]
	}
	if len(b) > keepHalf {
		b = b[len(b)-keepHalf:]
	}
	if room := min(keepHalf-len(t.ring), len(b)); room > 0 {
		t.ring = append(t.ring, b[:room]...)
		b = b[room:]
	}
	for len(b) > 0 {
		k := copy(t.ring[t.pos:], b)
		t.pos = (t.pos + k) % len(t.ring)
		b = b[k:]
	}
	return n, nil
}

// text is the printable form, with a line that says where something is missing.
func (t *tail) text() (s string, total, dropped int64) {
	t.mu.Lock()
	head := string(t.head)
	end := string(t.ring[t.pos:]) + string(t.ring[:t.pos])
	total = t.total
	t.mu.Unlock()
	if int64(len(head)+len(end)) == total {
		return Visible(head + end), total, 0
	}
	// A character that the cut went through belongs to neither side.
	for i := range utf8.UTFMax {
		if at := len(head) - 1 - i; at >= 0 && utf8.RuneStart(head[at]) {
			if !utf8.FullRuneInString(head[at:]) {
				head = head[:at]
			}
			break
		}
	}
	for range utf8.UTFMax - 1 {
		if end != "" && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
	}
	dropped = total - int64(len(head)+len(end))
	return fmt.Sprintf("%s\n[%d bytes left out here]\n%s", Visible(head), dropped, Visible(end)), total, dropped
}

// release lets go of the memory.
func (t *tail) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head, t.ring, t.pos = nil, nil, 0
}

// Visible makes any bytes printable: valid UTF-8 without characters that would
// move a cursor, turn the direction of writing or hide. Those are spelled out,
// "\x1b" for the escape character; "\r\n" is a plain line end.
func Visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case hidden(r) && r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteString(s[i : i+n])
		}
		i += n
	}
	return out.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f: // direction
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f: // width zero, tags
		return true
	}
	return false
}
