package control

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// maxLineBytes is where a long line of a kept result is broken.
const maxLineBytes = 800

// ResultLines are the lines of a kept result as they are numbered: a line
// that is too long, as in JSON that was not indented, counts as several.
func ResultLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for len(line) > maxLineBytes {
			n := maxLineBytes
			for n > 0 && !utf8.RuneStart(line[n]) {
				n--
			}
			n = cmp.Or(n, maxLineBytes)
			out, line = append(out, line[:n]), line[n:]
		}
		out = append(out, line)
	}
	return out
}
