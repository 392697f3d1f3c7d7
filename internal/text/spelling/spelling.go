// Package spelling helps with words: it finds the name that a misspelt one most likely meant,
// forms plurals, and shortens texts.
package spelling

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Nearest returns the one of names that a writer of name most likely meant,
// or "" if none is close. Ties go to the one that comes first.
func Nearest(name string, names []string) string {
	if len(name) > 256 {
		return ""
	}
	want := Fold(name)
	best, bestCost := "", 1<<30
	for _, n := range names {
		f := Fold(n)
		cost := distance(want, f)
		limit := max(1, (max(len(want), len(f))+1)/3)
		switch {
		case f == want:
			cost = 0
		case cost <= limit:
		case len(f) >= 3 && len(want) >= 3 && (strings.Contains(want, f) || strings.Contains(f, want)):
			cost = limit + cost // file_path for path: likely, but less than a slip of the pen
		default:
			continue
		}
		if cost < bestCost {
			best, bestCost = n, cost
		}
	}
	return best
}

// DidYouMean returns ` (did you mean "x"?)`, or "" if no name is close.
func DidYouMean(name string, names []string) string {
	if n := Nearest(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// Fold removes variations in names that carry no meaning.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- .", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// distance returns the number of slips that turn a into b: a byte inserted, deleted or replaced,
// or two neighbours swapped.
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		older, old, row = old, row, older
		row[0] = i + 1
		for j := range len(b) {
			cost := old[j]
			if a[i] != b[j] {
				cost = 1 + min(old[j], old[j+1], row[j])
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					cost = min(cost, 1+older[j-1])
				}
			}
			row[j+1] = cost
		}
	}
	return row[len(b)]
}

// Plural writes n and the noun that fits it. A y at the noun's end follows a consonant.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return strconv.Itoa(n) + " " + stem + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// First returns the first names, and as one more how many are left out.
func First(names []string, most int) []string {
	if n := len(names) - most; n > 0 {
		return append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return names
}

// List joins the first names, with how many are left out.
func List(names []string, most int) string {
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

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

// FirstLine returns the first line that is not blank.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// PathLines returns each name as PathLine does.
func PathLines(names []string) []string {
	lines := make([]string, len(names))
	for i, n := range names {
		lines[i] = PathLine(n)
	}
	return lines
}

// PathLine returns the name of a file in a form that is one line and cannot forge another: as a Go
// string if it has characters that end lines, control terminals or change the direction of
// writing, otherwise unchanged.
func PathLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
	}) {
		return strconv.Quote(name)
	}
	return name
}
