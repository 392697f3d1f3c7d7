package executor

import (
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// leastFence is how many lines a fence has that may be a whole file.
const leastFence = 3

// fenceNote says what to do with a file that stands in an answer in place of a call, "" if there
// is none or the model has no tool to write it with.
func (t *Task) fenceNote(s *State, answer llm.Message) string {
	const tool = "write_file"
	if t.Revision < 7 || s.noFinish || len(answer.Calls) > 0 || t.tool(tool) == nil {
		return ""
	}
	name := fencedFile(answer.Text)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("\nThe text of %s in your answer changed no file: call %s with path %q and the whole text as content.", name, tool, name)
}

// fencedFile is the name of the first file that text has in a closed fence: in the line that
// opens the fence, or at the end of the line before it. "" is none.
func fencedFile(text string) string {
	name, before, lines, open := "", "", 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			if name != "" && lines >= leastFence {
				return name
			}
			name, before, open = "", "", false
		case fence:
			if name, lines, open = fileName(info), 0, true; name == "" {
				name = fileName(before)
			}
		case open:
			lines++
		case line != "":
			before = line
		}
	}
	return ""
}

// fileName is the last word of a line if it has the form of a file's name.
func fileName(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t`*\"'()[]:=", r) })
	if len(words) == 0 {
		return ""
	}
	name := words[len(words)-1]
	if ext := path.Ext(name); len(ext) < 2 || len(ext) == len(name) || strings.Contains(name, "//") {
		return ""
	}
	return name
}

// shownChange is the name of the first file of which text shows a change in a form that
// programs apply: a unified diff, a patch or a block to search and replace. "" is none.
func shownChange(text string) string {
	var file, last string
	hunk, search, apart := false, false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(line, "<<<<<<< SEARCH"):
			file, search, apart = last, true, false
		case search && line == "=======":
			apart = true
		case search && apart && strings.HasPrefix(line, ">>>>>>> REPLACE") && file != "":
			return file
		case strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ "):
			name, _, _ := strings.Cut(line[4:], "\t")
			if name != "/dev/null" {
				file = strings.TrimPrefix(strings.TrimPrefix(name, "a/"), "b/")
			}
			hunk = false
		case strings.HasPrefix(line, "*** Update File: ") || strings.HasPrefix(line, "*** Add File: "):
			_, file, _ = strings.Cut(line, ": ")
			hunk = true
		case strings.HasPrefix(line, "@@"):
			hunk = file != ""
		case hunk && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")):
			return path.Clean(file)
		}
		if name := fileName(strings.TrimLeft(line, "`")); !search && name != "" {
			last = name
		}
	}
	return ""
}
