package kit

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Columns returns the width of s on a terminal.
func Columns(s string) int { return displaywidth.String(s) }

// Characters yields the parts of s that a terminal shows as one character: a letter with its
// accents, a flag, an emoji of several.
func Characters(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for g := displaywidth.StringGraphemes(s); g.Next() && yield(g.Value()); {
		}
	}
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
	at := 0
	for g := displaywidth.StringGraphemes(s); g.Next(); at += len(g.Value()) {
		if n -= g.Width(); n < 0 {
			break
		}
	}
	return at
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
func Wrap(s string, n int) (rows []string) {
	for _, at := range breaks(s, n) {
		rows = append(rows, s[at[0]:at[1]])
	}
	return rows
}

// WrapIndented is [Wrap] for a line whose later rows have its indentation.
func WrapIndented(s string, n int) []string {
	text := strings.TrimLeft(s, " ")
	indent := s[:len(s)-len(text)]
	if n > 0 && len(indent) >= n {
		return Wrap(s, n)
	}
	rows := Wrap(text, max(0, n-len(indent)))
	for i := range rows {
		rows[i] = indent + rows[i]
	}
	return rows
}

// breaks returns where the rows of [Wrap] begin and end.
func breaks(s string, n int) (rows [][2]int) {
	at := 0
	for n > 0 {
		rest := s[at:]
		end := fits(rest, n)
		if end == 0 && rest != "" {
			g := displaywidth.StringGraphemes(rest)
			g.Next()
			end = len(g.Value())
		}
		if end == len(rest) {
			break
		}
		if i := strings.LastIndexByte(rest[:end], ' '); i > 0 && rest[end] != ' ' && strings.TrimLeft(rest[:i], " ") != "" {
			end = i
		}
		rows = append(rows, [2]int{at, at + len(strings.TrimRight(rest[:end], " "))})
		at += len(rest) - len(strings.TrimLeft(rest[end:], " "))
	}
	return append(rows, [2]int{at, len(s)})
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
func Sanitize(s string) string { return escape(s, true, true) }

// SanitizeLine is lines for text that must stay on one line.
func SanitizeLine(s string) string { return escape(s, false, false) }

// Path is SanitizeLine for a name of a file, of which a tab is a part.
func Path(s string) string { return SanitizeLine(strings.ReplaceAll(s, "\t", `\t`)) }

func escape(s string, multi, prose bool) string {
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
		case !invisible(r), prose && joins(s, i, n):
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

// joins reports whether the joiner or non-joiner of n bytes at i does what it is for: between emoji, or
// between letters of a script that is written with it. Between others it hides that two names differ.
func joins(s string, i, n int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	if before, _ := utf8.DecodeLastRuneInString(s[:i]); r == 0x200c || r == 0x200d {
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		script := func(r rune) bool { return r >= 0x600 && r < 0x1100 || r >= 0x1780 && r < 0x1900 } // Arabic to Myanmar, Khmer, Mongolian
		emoji := func(r rune) bool { return r == 0xfe0f || r >= 0x2600 && r < 0x2800 || r >= 0x1f000 && r < 0x20000 }
		return script(before) && script(after) || r == 0x200d && emoji(before) && emoji(after)
	}
	return false
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

// A Table aligns columns. Cells are escaped; the last column is not padded.
type Table struct{ rows [][]string }

// minCell is the least width at which a cell is broken into rows.
const minCell = 20

func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = SanitizeLine(c)
	}
	t.rows = append(t.rows, cells)
}

// Put adds a row unless the value is empty.
func (t *Table) Put(label, value string) {
	if value != "" {
		t.Row(label, value)
	}
}

// Fit cuts the last cell of each row so that no row is wider than n columns; 0 is
// any width.
func (t *Table) Fit(n int) {
	width := t.widths()
	for _, r := range t.rows {
		left := n
		for i := range len(r) - 1 {
			left -= width[i] + 2
		}
		if n > 0 {
			r[len(r)-1] = Cut(r[len(r)-1], max(left, 12))
		}
	}
}

// widths returns the widths of the columns.
func (t *Table) widths() (width []int) {
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], Columns(c))
		}
	}
	return width
}

// Write renders the rows. On a screen the last cell of a row is broken into rows of
// its own if it is too wide.
func (t *Table) Write(w io.Writer) {
	width := t.widths()
	cols := 0
	if s, ok := w.(*Screen); ok {
		cols = s.Width()
	}
	var all strings.Builder // a write for each row takes longer than all else
	for _, r := range t.rows {
		var b strings.Builder
		at := 0 // the column of the last cell
		for i, c := range r {
			if i < len(r)-1 {
				b.WriteString(Pad(c, width[i]+2))
				at += width[i] + 2
				continue
			}
			rows := []string{c}
			if cols-at >= minCell {
				rows = Wrap(c, cols-at)
			}
			b.WriteString(strings.Join(rows, "\n"+strings.Repeat(" ", at)))
		}
		all.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	_, _ = io.WriteString(w, all.String()) // a closed pipe ends the program elsewhere
}

// Ago formats the time between t and now. It is empty for the zero time.
func Ago(now, t time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	default:
		return fmt.Sprintf("%dd ago", d/(24*time.Hour))
	}
}

// Duration is a duration for people.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// Count writes n with thousands separated.
func Count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes n and the noun that fits it.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// JSON writes v for scripts.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func Bytes(n int64) string {
	if n < 10_000 {
		return Plural(int(n), "byte")
	}
	if n < 10_000_000 {
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// Tokens estimates how many tokens n bytes of prose and JSON are.
func Tokens(n int) int { return int(float64(n) / 3.3) }

// Head is the beginning of a list of lines, with how many more there are.
func Head(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n-1:n-1], fmt.Sprintf("... %s", Plural(len(lines)-n+1, "more line")))
}

// Print writes v as JSON, or as text renders it.
func Print[T any](w io.Writer, asJSON bool, v T, text func(io.Writer, T)) error {
	if asJSON {
		return JSON(w, v)
	}
	text(w, v)
	return nil
}
