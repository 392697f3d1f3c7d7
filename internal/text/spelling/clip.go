package spelling

import (
	"strconv"
	"strings"
	"unicode"
)

// Clip keeps the first bytes of a text that is longer, and marks that.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// ClipRunes makes a text one of so many characters, the mark that something is missing
// included.
func ClipRunes(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// FirstLine is the first line that is not blank.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// PathLine is the name of a file so that it is one line and forges none: as a string of Go
// if it has characters that end lines, steer terminals or turn the direction of writing, as
// it is otherwise.
func PathLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
	}) {
		return strconv.Quote(name)
	}
	return name
}
