package problem

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A number behind the name of a file, as compilers, linters, interpreters and test
// runners write it.
var behindName = lazyregexp.New(`:\d+|:\[\d+,|\(\d+(?:,\d+)?\)|["']?,? (?:at |on )?line \d+`)

const (
	mostLength = 2000 // of a line that is looked at
	mostNames  = 400  // of one output
)

// Names are the texts of an output that may be names of files, in order: what stands
// before a line's number, from each place where a name may begin, the longest first,
// and lines, or ends of lines, that are one. Which of them are files only the disk
// shows. Each list has the spellings of one name.
func Names(output string) (out [][]string) {
	for line := range strings.Lines(Plain(output)) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) > mostLength || len(out) >= mostNames {
			continue
		}
		found := false
		for _, at := range behindName.Regexp().FindAllStringIndex(line, 8) {
			if s := spellings(line[:at[0]]); s != nil {
				out, found = append(out, s), true
			}
		}
		if !found && strings.ContainsAny(line, "./") {
			if s := spellings(strings.TrimRight(line, " :,;")); s != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// spellings are the names that may end where text ends.
func spellings(text string) (out []string) {
	add := func(s string) {
		s = strings.TrimPrefix(strings.TrimSpace(s), "file://")
		if s != "" && s != "." && s != ".." && s != "/" && len(s) < 1000 && !slices.Contains(out, s) && len(out) < 16 {
			out = append(out, s)
		}
	}
	text = strings.TrimRight(text, `"'`+"`")
	add(text)
	for i, r := range text {
		if strings.ContainsRune(" \t\"'`(<=|:", r) || r == '[' {
			add(text[i+len(string(r)):])
		}
	}
	return out
}

var named = lazyregexp.New(`(?m)((?:[\p{L}\p{M}\p{N}_.@+~/-]|\[[\p{L}\p{N}_.-]+\])+\.\w{1,5})(?::\d+|:\[\d+,|\(\d+,\d+\)|", line \d+)`)

// Named are names of files in an output of which nobody has looked whether they are
// there, at most twenty.
func Named(output string) (out []string) {
	for _, m := range named.FindAllStringSubmatch(Plain(output), 200) {
		if !slices.Contains(out, m[1]) && len(out) < 20 {
			out = append(out, m[1])
		}
	}
	return out
}
