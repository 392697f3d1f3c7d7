package rootfs

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	case r == 0x2028, r == 0x2029: // ends of lines that few see as such
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f: // direction
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f: // width zero, tags
		return true
	}
	return false
}
