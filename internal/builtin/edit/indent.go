package edit

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// indents maps an indentation the model wrote to the one the file has.
type indents struct {
	table       map[string]string
	known       []string // the table's keys, shortest first
	unit, units string   // one level: as the model writes it, as the file has it
}

// newIndents learns the mapping from lines that match but for space. It is
// not uniform if one indentation of the model stands for two of the file, or
// if a deeper line of the one is not the deeper line of the other: then what
// new should look like is a guess.
func newIndents(got, want []line) (*indents, bool) {
	in := &indents{table: map[string]string{}}
	for i, w := range want {
		if trim(w.s) == "" {
			continue
		}
		from, to := lead(w.s), lead(got[i].s)
		if seen, ok := in.table[from]; ok && seen != to {
			return nil, false
		}
		in.table[from] = to
	}
	for k := range in.table {
		in.known = append(in.known, k)
	}
	sort.Slice(in.known, func(i, j int) bool {
		a, b := in.known[i], in.known[j]
		if width(a) != width(b) {
			return width(a) < width(b)
		}
		return a < b
	})
	for i := 1; i < len(in.known); i++ {
		a, b := in.known[i-1], in.known[i]
		if width(in.table[a]) >= width(in.table[b]) {
			return nil, false
		}
		if in.unit == "" && strings.HasPrefix(b, a) && strings.HasPrefix(in.table[b], in.table[a]) {
			in.unit, in.units = b[len(a):], in.table[b][len(in.table[a]):]
		}
	}
	return in, true
}

// guess fills in one level where the matched lines show no step: from the
// text around them, else the same on both sides.
func (in *indents) guess(text, replacement string) {
	if in.unit != "" {
		return
	}
	in.unit, in.units = step(replacement), step(text)
	in.unit = cmp.Or(in.unit, in.units)
	in.units = cmp.Or(in.units, in.unit)
}

// placed reports whether with has the file's indentation already: old was quoted
// without any, and no line of with is indented less than the file's.
func (in *indents) placed(with []line) bool {
	base := in.table[""]
	return len(in.known) == 1 && base != "" && !slices.ContainsFunc(with, func(l line) bool { return trim(l.s) != "" && !strings.HasPrefix(l.s, base) })
}

// line re-indents a line as the file is.
func (in *indents) line(l string) string {
	if in == nil || trim(l) == "" {
		return l
	}
	from := lead(l)
	return in.to(from) + l[len(from):]
}

func (in *indents) to(from string) string {
	for i := len(in.known) - 1; i >= 0; i-- {
		k := in.known[i]
		if strings.HasPrefix(from, k) {
			return in.table[k] + in.levels(from[len(k):])
		}
	}
	if len(in.known) == 0 {
		return from
	}
	// Shallower than all that matched: take the missing levels away.
	base := in.known[0]
	out := in.table[base]
	if in.unit != "" && strings.HasPrefix(base, from) {
		for n := levelsIn(base[len(from):], in.unit); n > 0; n-- {
			out = strings.TrimSuffix(out, in.units)
		}
		return out
	}
	return from
}

// levels converts the extra indentation of a line deeper than any known one.
func (in *indents) levels(extra string) string {
	if in.unit == "" || extra == "" {
		return extra
	}
	n := levelsIn(extra, in.unit)
	rest := extra[n*len(in.unit):]
	return strings.Repeat(in.units, n) + rest
}

func levelsIn(s, unit string) (n int) {
	for strings.HasPrefix(s, unit) {
		s = s[len(unit):]
		n++
	}
	return n
}

// step is the smallest indentation a text uses: a tab, or some blanks.
func step(text string) string {
	best := ""
	for l := range strings.SplitSeq(text, "\n") {
		in := lead(l)
		if in == "" || trim(l) == "" {
			continue
		}
		if in[0] == '\t' {
			return "\t"
		}
		// A single blank is an aligned comment, hardly ever a level.
		if len(in) > 1 && (best == "" || len(in) < len(best)) {
			best = in
		}
	}
	return best
}

func lead(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// width orders indentations; a tab counts as more than any blanks a level has.
func width(s string) int { return len(s) + 7*strings.Count(s, "\t") }
