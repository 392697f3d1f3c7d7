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
	// Ask has a person asked about the command's version.
	Ask bool `json:"ask,omitempty"`
}

// DenialOf is what keeps commands from a path of the workspace, nil if nothing does. One
// that asks comes after all others.
func DenialOf(all []Denied, path string) *Denied {
	var asks *Denied
	for i, d := range all {
		switch {
		case d.Ask && asks != nil || !match.Covers(d.Path, path, true):
		case d.Ask:
			asks = &all[i]
		default:
			return &all[i]
		}
	}
	return asks
}
