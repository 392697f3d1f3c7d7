package kit

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

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
