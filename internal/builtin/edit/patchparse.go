package edit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

const (
	updateFile = iota
	addFile
	deleteFile
)

// A section is the part of a patch about one file.
type section struct {
	op       int
	path, to string
	content  string // of a new file
	hunks    []hunk
}

const patchForm = "The form is:\n*** Begin Patch\n*** Update File: path/of/file\n@@ a line above the place, such as a function's\n a line that stays\n-a line as it is\n+a line as it becomes\n*** End Patch"

// parsePatch reads every patch in s, each in its frame, without one or as a
// unified diff; also from within fences or the shell command in which models
// wrap them. It reads all of them or fails: lines of a patch that belong to
// none are an error, never skipped.
func parsePatch(s string) ([]section, error) {
	s = unixLines(s)
	ls := strings.Split(strings.Trim(s, "\n"), "\n")
	var out []section
	fence, fenceAt := "", 0 // the fence that is open, and where it began
	last := 0               // where the text after the last patch begins
	for i := 0; i < len(ls); i++ {
		parse, n := parseSections, 0
		body := ls[i:]
		switch l := ls[i]; {
		case strings.HasPrefix(trim(l), "*** Begin Patch"):
			body = body[1:]
			if n = indexLine(body, lead(l)+"*** End Patch"); n < 0 {
				return nil, errors.New("there is no *** End Patch after *** Begin Patch, so the patch may have been cut; nothing was changed. Send all of it, in smaller patches if it is long")
			}
			i++
		case fileLine.MatchString(trim(l)): // the frame was left out
			if n = indexLine(body, lead(l)+"*** End Patch"); n < 0 {
				n = fenceEnd(body, fence)
			}
		case strings.HasPrefix(l, "diff --git ") || fileHead(body):
			parse, n = parseUnified, fenceEnd(body, fence)
		case strings.HasPrefix(l, "@@") || strings.HasPrefix(l, "*** "):
			return nil, fmt.Errorf("line %q belongs to no file; nothing was changed. %s", clip(l), patchForm)
		default:
			if fence == "" {
				fence, fenceAt = anyFence.FindString(l), i
			} else if closesFence(l, fence) {
				fence = ""
			}
			continue
		}
		secs, err := parse(body[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, secs...)
		if i += n; i < len(ls) && fence != "" && closesFence(ls[i], fence) {
			fence = ""
		}
		last = i
	}
	switch {
	case len(out) > 0 && fence != "" && fenceAt > last:
		return nil, fmt.Errorf("the fence at line %d has no partner, so where the patch ends is unclear; nothing was changed. Put a blank in front of every line of context, or use *** Begin Patch and *** End Patch", fenceAt+1)
	case len(out) > 0:
		return out, nil
	case strings.Contains(s, "<<<<<<< SEARCH"):
		return nil, errors.New("these are search/replace blocks, not a patch; nothing was changed. " + patchForm)
	}
	return nil, errors.New("there is no patch in it; nothing was changed. " + patchForm)
}

func indexLine(ls []string, prefix string) int {
	return slices.IndexFunc(ls, func(l string) bool { return strings.HasPrefix(l, prefix) })
}

var anyFence = lazyregexp.New("^ {0,3}(```+|~~~+)")

// closesFence reports whether l ends what the fence open began: it is a fence
// of that kind without an info string. A line with a blank in front is one of
// the patch.
func closesFence(l, open string) bool {
	open = trim(open)
	return strings.HasPrefix(l, open) && strings.Trim(trimRight(l), open[:1]) == ""
}

// fenceEnd returns the end of a patch without an end mark of its own: the end of the
// fence around it.
func fenceEnd(ls []string, open string) int {
	if open != "" {
		if n := slices.IndexFunc(ls, func(l string) bool { return closesFence(l, open) }); n >= 0 {
			return n
		}
	}
	return len(ls)
}

func until(ls []string, stop func(string) bool) []string {
	for i, l := range ls {
		if stop(l) {
			return ls[:i]
		}
	}
	return ls
}

var fileLine = lazyregexp.New(`^\*\*\* (Update|Add|Delete) File: *(.+?)\s*$`)

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
			s.hunks = parseHunks(body)
			if len(s.hunks) == 0 && s.to == "" {
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

var unifiedAt = lazyregexp.New(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$`)

func parseHunks(body []string) []hunk {
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
	for i, l := range body {
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
		case trimRight(l) == "*** End of File":
			if h != nil {
				h.end = true
			}
			flush()
			continue
		case strings.HasPrefix(l, `\ No newline`):
			if h != nil && i > 0 {
				h.oldOpen = h.oldOpen || !strings.HasPrefix(body[i-1], "+")
				h.newOpen = h.newOpen || !strings.HasPrefix(body[i-1], "-")
			}
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
	return out
}

// fileHead reports whether ls begins with the two lines that name a file of a
// unified diff.
func fileHead(ls []string) bool {
	return len(ls) > 1 && strings.HasPrefix(ls[0], "--- ") && strings.HasPrefix(ls[1], "+++ ")
}

// headerLine matches the lines of git above a file's names that need nothing
// done: what they say is in the names or the hunks too.
var headerLine = lazyregexp.New(`^(diff --git .*|index .*|(dis)?similarity index .*|rename (from|to) .*|deleted file mode .*|new file mode 100644|)\s*$`)

// parseUnified reads a diff as git and diff -u write it. A change that is not
// in names and hunks, such as a file's mode, is an error.
func parseUnified(ls []string) ([]section, error) {
	var out []section
	pending := "" // the file whose names and hunks are still to come
	for i := 0; i < len(ls); {
		if !fileHead(ls[i:]) {
			git := strings.HasPrefix(ls[i], "diff --git ")
			if git && pending != "" {
				return nil, notInHunks(pending)
			}
			if !headerLine.MatchString(ls[i]) {
				return nil, notInHunks(ls[i])
			}
			if git {
				pending = ls[i]
			}
			i++
			continue
		}
		n := 2
		for i+n < len(ls) && !strings.HasPrefix(ls[i+n], "diff --git ") && !hunkFollows(ls[i+n:]) {
			n++
		}
		s, err := unifiedFile(ls[i], ls[i+1], ls[i+2:i+n])
		if err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was changed. %s", trim(ls[i+1][4:]), err, patchForm)
		}
		out, pending = append(out, s), ""
		i += n
	}
	if pending != "" {
		return nil, notInHunks(pending)
	}
	return out, nil
}

func hunkFollows(ls []string) bool {
	return fileHead(ls) && len(ls) > 2 && strings.HasPrefix(ls[2], "@@")
}

func notInHunks(l string) error {
	return fmt.Errorf("the diff says %q without lines to change, which is not taken from a diff; nothing was changed. %s", clip(l), patchForm)
}

// unifiedFile reads the change of one file from the lines of its names and of
// its hunks.
func unifiedFile(from, to string, body []string) (section, error) {
	was, is := unifiedNames(from, to)
	hs := parseHunks(body)
	switch {
	case was == "" && is == "":
		return section{}, errors.New("the diff names no file")
	case len(hs) == 0:
		return section{}, errors.New("there is no change for it")
	case was == "" && (len(hs) > 1 || len(hs[0].old) > 0):
		return section{}, errors.New("the file is new, and the diff has lines that stay or go in it")
	case was == "":
		return section{op: addFile, path: is, content: closed(hs[0].new, !hs[0].newOpen)}, nil
	case is == "" && (len(hs) > 1 || len(hs[0].new) > 0):
		return section{}, errors.New("the file is to be deleted, and the diff has lines that stay in it")
	case is == "":
		return section{op: deleteFile, path: was, hunks: hs}, nil
	case was != is:
		return section{path: was, to: is, hunks: hs}, nil
	}
	return section{path: was, hunks: hs}, nil
}

// unifiedNames are the two names of a file, "" for /dev/null, without the
// prefixes of git if both have theirs: b/x.go on both sides is in a folder b.
func unifiedNames(from, to string) (was, is string) {
	name := func(l string) string {
		l, _, _ = strings.Cut(l[4:], "\t")
		return strings.TrimSpace(l)
	}
	const none = "/dev/null"
	was, is = name(from), name(to)
	a, hasA := strings.CutPrefix(was, "a/")
	b, hasB := strings.CutPrefix(is, "b/")
	if (hasA || was == none) && (hasB || is == none) {
		was, is = a, b
	}
	if was == none {
		was = ""
	}
	if is == none {
		is = ""
	}
	return was, is
}
