package kit

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Sanitize shows text that others wrote on a terminal: control sequences,
// direction overrides and broken UTF-8 are escaped, line ends and tabs stay.
func Sanitize(s string) string { return escape(s, true) }

// SanitizeLine is lines for text that must stay on one line.
func SanitizeLine(s string) string { return escape(s, false) }

// Path is SanitizeLine for a name of a file, of which a tab is a part.
func Path(s string) string { return SanitizeLine(strings.ReplaceAll(s, "\t", `\t`)) }

func escape(s string, multi bool) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.ContainsFunc(s, invisible) && utf8.ValidString(s) && (multi || !strings.ContainsAny(s, "\n\t")) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' && !multi:
			b.WriteString(`\n`)
		case r == '\t' && !multi:
			b.WriteByte(' ')
		case !invisible(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// invisible reports whether r would act on the terminal, or reorder or hide what
// stands around it.
func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff, r == 0x061c:
		return true
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// FirstSentence is the first sentence of a text.
func FirstSentence(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if head, _, ok := strings.Cut(s, ". "); ok {
		return head + "."
	}
	return s
}
