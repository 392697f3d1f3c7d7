package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// truncate makes a text fit into most bytes for a model to read. Of a text that is
// too long, head and tail are kept. Of a diff as git writes it, that is done
// for each file, so that one large file does not hide the others, and files
// that a program has written, such as go.sum, are counted rather than shown,
// however much room there is. What was left out is said where it was.
func truncate(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	before, files := patches(text)
	if files == nil {
		return ends(text, most)
	}
	const summary = 120 // bytes that the name of a file and its counts take
	shown := max(1, min(len(files), most/2/summary))
	var rest []patch
	files, rest = files[:shown], files[shown:]
	var tail strings.Builder
	if len(rest) > 0 {
		fmt.Fprintf(&tail, "[%d more files changed:", len(rest))
		for i, f := range rest {
			if i == shown {
				fmt.Fprintf(&tail, " and %d others", len(rest)-i)
				break
			}
			fmt.Fprintf(&tail, " %.80s +%d -%d;", f.name, f.added, f.removed)
		}
		tail.WriteString("]\n")
	}
	var sizes []int
	for _, f := range files {
		sizes = append(sizes, len(f.text))
	}
	before = ends(before, most/8)
	room := share(sizes, most-len(before)-tail.Len())
	var b strings.Builder
	b.WriteString(before)
	for _, f := range files {
		b.WriteString(ends(f.text, room))
	}
	b.WriteString(tail.String())
	return ends(b.String(), most)
}

// A patch is a diff's report of one file.
type patch struct {
	name           string
	text           string // for the model
	added, removed int
}

// patches splits a diff by file; before is the text above the first. There
// are none in a text that is no diff.
func patches(text string) (before string, files []patch) {
	const start = "diff --git "
	from := 0
	if !strings.HasPrefix(text, start) {
		if from = strings.Index(text, "\n"+start); from < 0 {
			return text, nil
		}
		from++
	}
	before, text = text[:from], text[from:]
	for text != "" {
		part := text
		if next := strings.Index(text, "\n"+start); next >= 0 {
			part = text[:next+1]
		}
		text = text[len(part):]
		files = append(files, patchOf(part))
	}
	return before, files
}

func patchOf(text string) patch {
	head, body := text, ""
	for _, begin := range []string{"\n@@ ", "\nGIT binary patch\n", "\nBinary files "} {
		if i := strings.Index(head, begin); i >= 0 {
			head, body = text[:i+1], text[i+1:]
		}
	}
	first, _, _ := strings.Cut(head, "\n")
	p := patch{name: first, text: text}
	if i := strings.LastIndex(first, " b/"); i >= 0 {
		p.name = strings.Trim(first[i+3:], `"`)
	}
	for line := range strings.Lines(body) {
		switch line[0] {
		case '+':
			p.added++
		case '-':
			p.removed++
		}
	}
	switch {
	case strings.HasPrefix(body, "GIT binary patch"), strings.HasPrefix(body, "Binary files"):
		p.added, p.removed = 0, 0
		p.text = head + "[a binary file]\n"
	case body != "" && generatedFile(p.name):
		p.text = head + fmt.Sprintf("[+%d -%d lines, written by a program, left out]\n", p.added, p.removed)
	}
	return p
}

// generatedFile reports whether a file of this name is written by a program and read
// by nobody.
func generatedFile(name string) bool {
	base := path.Base(name)
	return slices.Contains([]string{"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "bun.lockb", "Package.resolved", "gradle.lockfile", "pnpm-lock.yaml", "packages.lock.json"}, base) ||
		slices.Contains([]string{".lock", ".map", ".snap"}, path.Ext(base)) ||
		strings.HasSuffix(base, ".min.js") || strings.HasSuffix(base, ".min.css")
}

// share bounds each of several texts so that together they take at most room:
// those that are shorter leave what they do not need.
func share(sizes []int, room int) int {
	sizes = slices.Sorted(slices.Values(sizes))
	for i, size := range sizes {
		each := max(0, room) / (len(sizes) - i)
		if size > each {
			return each
		}
		room -= size
	}
	return max(room, 0) + sizes[len(sizes)-1]
}

// ends keeps head and tail of a text, at line ends where there are some, in at
// most n bytes.
func ends(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = 40 // bytes of the note between them
	if n <= 2*mark {
		return cutRunes(s, max(n, 0))
	}
	n -= mark
	head := cutRunes(s, n*2/3)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	} else {
		head += "\n"
	}
	tail := s[len(s)-n/3:]
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return fmt.Sprintf("%s[%d bytes left out]\n%s", head, len(s)-len(head)-len(tail), tail)
}

// cutRunes is the first n bytes of s, less where they end within a character.
func cutRunes(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}

// truncateInputs gives inputs with texts as short as their fields want them.
func truncateInputs(a *DynamicAgent, inputs map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(inputs)
	for _, f := range a.Inputs {
		var text string
		if f.Bytes <= 0 || json.Unmarshal(inputs[f.Name], &text) != nil {
			continue
		}
		if short, err := json.Marshal(truncate(text, f.Bytes)); err == nil { // a string
			out[f.Name] = short
		}
	}
	return out
}
