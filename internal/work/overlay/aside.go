package overlay

import "github.com/adroit-run/adroit/internal/text/match"

// An Aside is a file that a command made and that is not brought into the workspace. Why is a verb
// phrase, Kept the path where it is kept.
type Aside struct{ Path, Kept, Why string }

// A Denied is a path that commands must not change: a glob, as in a rule about paths, and
// the rule in words.
type Denied struct {
	Path string `json:"path"`
	Rule string `json:"rule"`
}

// DenialOf returns the rule, in words, that denies a path of the workspace to commands, or "".
func DenialOf(all []Denied, path string) string {
	for _, d := range all {
		if match.Covers(d.Path, path, true) {
			return d.Rule
		}
	}
	return ""
}
