package kit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns returns the width of s on a terminal.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is 2 for the wide characters of East Asia and for emoji, 0 for what
// combines with the character before it.
func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Cut shortens s to n columns.
func Cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if Columns(s) <= n {
		return s
	}
	dots := "..."
	if n <= len(dots) {
		dots = ""
	}
	return s[:fits(s, n-len(dots))] + dots
}

// fits returns the length in bytes of the longest prefix of s that fits into n columns.
func fits(s string, n int) int {
	for i, r := range s {
		if n -= runeColumns(r); n < 0 {
			return i
		}
	}
	return len(s)
}

// Pad fills s with blanks up to n columns.
func Pad(s string, n int) string {
	if d := n - Columns(s); d > 0 {
		return s + strings.Repeat(" ", d)
	}
	return s
}

// Wrap breaks a line into rows of at most n columns, between words where there
// are some; 0 is one row.
func Wrap(s string, n int) []string {
	var rows []string
	for n > 0 && Columns(s) > n {
		end := max(fits(s, n), len(string([]rune(s)[:1])))
		if i := strings.LastIndexByte(s[:end], ' '); i > 0 && s[end] != ' ' {
			end = i
		}
		rows = append(rows, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
	return append(rows, s)
}

// Rows puts cells side by side, in as many rows as the screen needs.
func Rows(s *Screen, cells ...string) []string {
	rows := []string{""}
	for i, c := range cells {
		last := &rows[len(rows)-1]
		switch c = SanitizeLine(c); {
		case i == 0:
			*last = c
		case s.Width() > 0 && Columns(*last)+2+Columns(c) > s.Width():
			if Columns(c)+5 <= s.Width() {
				c = "     " + c
			}
			rows = append(rows, c) // whole, also if the terminal wraps it
		default:
			*last += "  " + c
		}
	}
	return rows
}

// Fold breaks the lines of prose at n columns. Paragraphs with indented lines stay as
// they are.
func Fold(text string, n int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			continue
		}
		paragraphs[i] = strings.Join(Wrap(strings.ReplaceAll(p, "\n", " "), n), "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// RowWidth returns the number of columns that are left beside taken, at least 20. It is 0
// if the width is unlimited.
func RowWidth(s *Screen, taken int) int {
	if w := s.Width(); w > 0 {
		return max(w-taken-1, 20)
	}
	return 0
}

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
