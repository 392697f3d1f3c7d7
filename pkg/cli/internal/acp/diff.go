package acp

import (
	"strconv"
	"strings"
)

// A fileDiff is what was changed in a file: its changed parts before and after.
type fileDiff struct {
	path     string
	old, new string
	line     int // the first of them, from 1
}

// maxDiff bounds the text of a file that an editor is sent.
const maxDiff = 64 << 10

// splitDiff takes a unified diff of git's form apart, a file that is too long left
// out.
func splitDiff(diff string) (out []fileDiff) {
	var f *fileDiff
	var from, to strings.Builder
	hunk := false
	flush := func() {
		if f != nil && from.Len()+to.Len() <= maxDiff && from.String() != to.String() {
			f.old, f.new = from.String(), to.String()
			out = append(out, *f)
		}
		f, hunk = nil, false
		from.Reset()
		to.Reset()
	}
	begin := func(name string) {
		name = strings.TrimSuffix(name, "\t")
		if s, err := strconv.Unquote(name); err == nil { // git's escapes are Go's
			name = s
		}
		if f == nil {
			f = &fileDiff{line: 1}
		}
		if _, rest, ok := strings.Cut(name, "/"); ok && name != "/dev/null" {
			f.path = rest
		}
	}
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "diff --git "):
			flush()
		case !hunk && strings.HasPrefix(text, "--- "):
			begin(text[4:])
		case !hunk && strings.HasPrefix(text, "+++ "):
			begin(text[4:])
		case f != nil && strings.HasPrefix(text, "@@ "):
			if !hunk {
				f.line = firstLine(text)
			}
			hunk = true
		case hunk && strings.HasPrefix(text, "-"):
			from.WriteString(line[1:])
		case hunk && strings.HasPrefix(text, "+"):
			to.WriteString(line[1:])
		case hunk && strings.HasPrefix(text, " "):
			from.WriteString(line[1:])
			to.WriteString(line[1:])
		case hunk && !strings.HasPrefix(text, `\`):
			hunk = false
		}
	}
	flush()
	return out
}

// firstLine is where a hunk begins after the change.
func firstLine(header string) int {
	_, after, _ := strings.Cut(header, "+")
	digits, _, _ := strings.Cut(after, ",")
	digits, _, _ = strings.Cut(digits, " ")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return 1
	}
	return n
}
