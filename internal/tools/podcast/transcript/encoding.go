package transcript

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// cp1252 is what Windows puts where Latin-1 has control characters; zero where
// it has nothing.
var cp1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// decode makes text of a file in whatever encoding subtitles come: UTF-8 and
// UTF-16 with and without a mark, else Windows-1252. Line ends become \n.
func decode(b []byte) string {
	var s string
	switch {
	case bytes.HasPrefix(b, []byte{0xef, 0xbb, 0xbf}):
		s = strings.ToValidUTF8(string(b[3:]), "\uFFFD")
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		s = wide(b[2:], 0)
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		s = wide(b[2:], 1)
	case zeros(b, 1):
		s = wide(b, 0)
	case zeros(b, 0):
		s = wide(b, 1)
	case utf8.Valid(b):
		s = string(b)
	case mostlyUTF8(b):
		s = strings.ToValidUTF8(string(b), "\uFFFD")
	default:
		s = western(b)
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

// wide reads UTF-16; low is where the low byte of a pair is.
func wide(b []byte, low int) string {
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i+low])|uint16(b[i+1-low])<<8)
	}
	return string(utf16.Decode(units))
}

// zeros reports whether every other byte, from the given one, is nearly always
// zero: UTF-16 of a Western language without a mark.
func zeros(b []byte, from int) bool {
	b = b[:min(len(b), 400)]
	if len(b) < 8 {
		return false
	}
	n, other := 0, 0
	for i, c := range b {
		if c == 0 && i%2 == from {
			n++
		} else if c == 0 {
			other++
		}
	}
	return other == 0 && n*10 >= len(b)/2*8
}

// mostlyUTF8 reports whether b is UTF-8 but for a few broken bytes, rather than
// another encoding.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			bad++
		} else if n > 1 {
			good++
		}
		b = b[n:]
	}
	return good > 4*bad
}

func western(b []byte) string {
	var s strings.Builder
	s.Grow(len(b) + len(b)/8)
	for _, c := range b {
		r := rune(c)
		if c >= 0x80 && c < 0xa0 {
			if r = cp1252[c-0x80]; r == 0 {
				r = utf8.RuneError
			}
		}
		s.WriteRune(r)
	}
	return s.String()
}
