package edit

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	updateFile = iota
	addFile
	deleteFile
)

// A section is what a patch says of one file.
type section struct {
	op       int
	path, to string
	content  string // of a new file
	hunks    []hunk
}

const patchForm = "The form is:\n*** Begin Patch\n*** Update File: path/of/file\n@@ a line above the place, such as a function's\n a line that stays\n-a line as it is\n+a line as it becomes\n*** End Patch"

// parsePatch reads a patch, or a unified diff, also from within a fence or the
// shell command in which models wrap it.
func parsePatch(s string) ([]section, error) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	ls := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, l := range ls {
		switch {
		case strings.HasPrefix(trim(l), "*** Begin Patch"):
			return parseSections(until(ls[i+1:], func(l string) bool { return strings.HasPrefix(trim(l), "*** End Patch") }))
		case fileLine.MatchString(trim(l)): // the frame was left out
			return parseSections(until(ls[i:], func(l string) bool {
				return strings.HasPrefix(trim(l), "*** End Patch") || fence.MatchString(l)
			}))
		case strings.HasPrefix(l, "diff --git ") || strings.HasPrefix(l, "--- ") && i+1 < len(ls) && strings.HasPrefix(ls[i+1], "+++ "):
			return parseUnified(until(ls[i:], fence.MatchString))
		}
	}
	if strings.Contains(s, "<<<<<<< SEARCH") {
		return nil, errors.New("these are search/replace blocks, not a patch; nothing was changed. " + patchForm)
	}
	return nil, errors.New("there is no patch in it; nothing was changed. " + patchForm)
}

func until(ls []string, stop func(string) bool) []string {
	for i, l := range ls {
		if stop(l) {
			return ls[:i]
		}
	}
	return ls
}

var fileLine = regexp.MustCompile(`^\*\*\* (Update|Add|Delete) File: *(.+?)\s*$`)

func parseSections(ls []string) ([]section, error) {
	var out []section
	for i := 0; i < len(ls); {
		m := fileLine.FindStringSubmatch(trim(ls[i]))
		if m == nil {
			if trim(ls[i]) == "" {
				i++
				continue
			}
			return nil, fmt.Errorf("line %q of the patch belongs to no file; nothing was changed. %s", clip(ls[i]), patchForm)
		}
		s := section{path: m[2]}
		i++
		body := until(ls[i:], func(l string) bool { return fileLine.MatchString(l) })
		i += len(body)
		var err error
		switch m[1] {
		case "Add":
			s.op = addFile
			s.content, err = added(body)
		case "Delete":
			s.op = deleteFile
			if strings.TrimSpace(strings.Join(body, "")) != "" {
				err = errors.New("it is to be deleted, and there are lines for it too")
			}
		default:
			if len(body) > 0 {
				if to, ok := strings.CutPrefix(trim(body[0]), "*** Move to:"); ok {
					s.to, body = strings.TrimSpace(to), body[1:]
				}
			}
			s.hunks, err = parseHunks(body)
			if err == nil && len(s.hunks) == 0 && s.to == "" {
				err = errors.New("there is no change for it")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was changed. %s", s.path, err, patchForm)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("the patch is empty; nothing was changed. " + patchForm)
	}
	return out, nil
}

// added is the content of a new file: each line has a + in front, or none has.
func added(body []string) (string, error) {
	for len(body) > 0 && trim(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
	}
	plus := 0
	for _, l := range body {
		if strings.HasPrefix(l, "+") {
			plus++
		}
	}
	var out []string
	for _, l := range body {
		rest, ok := strings.CutPrefix(l, "+")
		if plus > 0 && !ok && trim(l) != "" {
			return "", fmt.Errorf("the line %q of the new file has no + in front", clip(l))
		}
		out = append(out, rest)
	}
	return closed(out, true), nil
}

var unifiedAt = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$`)

func parseHunks(body []string) ([]hunk, error) {
	var out []hunk
	var h *hunk
	flush := func() {
		if h == nil {
			return
		}
		// A blank line at the end belongs to the patch, not to the file.
		for n := len(h.old); n > 0 && len(h.new) > 0 && h.old[n-1] == "" && h.new[len(h.new)-1] == "" && h.loose > 0; n-- {
			h.old, h.new, h.loose = h.old[:n-1], h.new[:len(h.new)-1], h.loose-1
		}
		if len(h.old)+len(h.new) > 0 {
			out = append(out, *h)
		}
		h = nil
	}
	for _, l := range body {
		switch {
		case strings.HasPrefix(l, "@@"):
			head := strings.TrimSpace(strings.TrimPrefix(l, "@@"))
			if h == nil || len(h.old)+len(h.new) > 0 {
				flush()
				h = &hunk{}
			}
			if m := unifiedAt.FindStringSubmatch(l); m != nil {
				h.at, _ = strconv.Atoi(m[1])
				head = m[2]
			}
			if head = strings.TrimSpace(strings.TrimSuffix(head, "@@")); head != "" {
				h.under = append(h.under, head)
			}
			continue
		case trim(l) == "*** End of File":
			if h != nil {
				h.end = true
			}
			flush()
			continue
		case strings.HasPrefix(l, `\ No newline`):
			continue
		}
		if h == nil {
			if trim(l) == "" {
				continue
			}
			h = &hunk{}
		}
		switch {
		case l == "":
			h.old, h.new = append(h.old, ""), append(h.new, "")
			h.loose++
			continue
		case l[0] == ' ':
			h.old, h.new = append(h.old, l[1:]), append(h.new, l[1:])
		case l[0] == '-':
			h.old = append(h.old, l[1:])
		case l[0] == '+':
			h.new = append(h.new, l[1:])
		default: // the blank in front was forgotten, as often with tabs
			h.old, h.new = append(h.old, l), append(h.new, l)
		}
		h.loose = 0
	}
	flush()
	return out, nil
}

// parseUnified reads a diff as git and diff -u write it.
func parseUnified(ls []string) ([]section, error) {
	name := func(l string) string {
		l, _, _ = strings.Cut(l[4:], "\t")
		l = strings.TrimSpace(l)
		if l == "/dev/null" {
			return ""
		}
		for _, p := range []string{"a/", "b/"} {
			if rest, ok := strings.CutPrefix(l, p); ok {
				return rest
			}
		}
		return l
	}
	var out []section
	for i := 0; i < len(ls); {
		if !strings.HasPrefix(ls[i], "--- ") || i+1 == len(ls) || !strings.HasPrefix(ls[i+1], "+++ ") {
			if strings.HasPrefix(ls[i], "rename ") || strings.HasPrefix(ls[i], "Binary ") || strings.HasPrefix(ls[i], "GIT binary") {
				return nil, fmt.Errorf("the diff says %q, which is not taken from a diff; nothing was changed. %s", clip(ls[i]), patchForm)
			}
			i++
			continue
		}
		was, is := name(ls[i]), name(ls[i+1])
		i += 2
		var body []string
		for i < len(ls) && !strings.HasPrefix(ls[i], "diff --git ") &&
			!(strings.HasPrefix(ls[i], "--- ") && i+2 < len(ls) && strings.HasPrefix(ls[i+1], "+++ ") && strings.HasPrefix(ls[i+2], "@@")) {
			body = append(body, ls[i])
			i++
		}
		hs, err := parseHunks(body)
		if err == nil && len(hs) == 0 {
			err = errors.New("there is no change for it")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was changed. %s", is, err, patchForm)
		}
		s := section{path: was, hunks: hs}
		switch {
		case was == "" && is == "":
			return nil, errors.New("the diff names no file; nothing was changed. " + patchForm)
		case was == "":
			s = section{op: addFile, path: is, content: closed(hs[0].new, true)}
		case is == "":
			s = section{op: deleteFile, path: was}
		case was != is:
			s.to = is
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no patch in it; nothing was changed. " + patchForm)
	}
	return out, nil
}
