package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

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
