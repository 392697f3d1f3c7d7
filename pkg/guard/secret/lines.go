package secret

import (
	"strings"
)

// Lines are the lines of a file that must not be shown, and the values in them behind an
// equals sign or a colon, without the spaces around. Left out is what is shorter than
// [MinKnown], and a value that is a plain word. name is the file's.
func Lines(name, text string) []Known {
	kind := "line of " + name
	if len(kind) > maxKind || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\]`, r) }) {
		kind = "line of a denied file"
	}
	var out []Known
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) >= MinKnown {
			out = append(out, Known{Name: kind, Value: line})
		}
		if i := strings.IndexAny(line, "=:"); i >= 0 {
			if value := strings.Trim(line[i+1:], " \t\"',;"); len(value) >= MinKnown && !plain(value) {
				out = append(out, Known{Name: kind, Value: value})
			}
		}
	}
	return out
}
