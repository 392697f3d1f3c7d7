package permit

import (
	"io/fs"
	"os"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/match"
)

// maxNames bounds the names that Idle looks at.
const maxNames = 50_000

// Idle gives the rules that name a path and the names on a deny list that fit nothing below a directory,
// as they are written: they protect nothing there, and may be misspelled. In a directory with too
// many names to look at it gives none.
func Idle(dir string, rules []Rule, names []string) []string {
	var open []func(string) bool
	var text []string
	for _, r := range rules {
		if r.Path != "" {
			open = append(open, func(p string) bool { return match.Covers(r.Path, p, true) })
			text = append(text, r.String())
		}
	}
	for _, n := range names {
		list := &rootfs.DenyList{Deny: []string{n}}
		open = append(open, func(p string) bool { return list.Denies(p) })
		text = append(text, "secrets.deny "+n)
	}
	left, seen := len(open), 0
	if left == 0 {
		return nil
	}
	fits := make([]bool, len(open))
	full := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		switch seen++; {
		case seen > maxNames:
			return fs.ErrInvalid
		case err != nil || p == ".":
			return nil // what cannot be read is not known
		case d.IsDir() && strings.EqualFold(d.Name(), ".git"):
			return fs.SkipDir
		}
		for i, fit := range open {
			if !fits[i] && fit(p) {
				fits[i] = true
				left--
			}
		}
		if left == 0 {
			return fs.SkipAll
		}
		return nil
	})
	if full != nil {
		return nil
	}
	var idle []string
	for i, ok := range fits {
		if !ok {
			idle = append(idle, text[i])
		}
	}
	return idle
}
