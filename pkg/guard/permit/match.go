package permit

import (
	"path"
	"strings"
)

// like matches a name with a pattern in which * stands for anything; an empty
// pattern holds for every name.
func like(pattern, name string) bool { return pattern == "" || wild(pattern, name) }

// wild matches all of s with a pattern in which * stands for any characters.
func wild(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, rest)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// strictly matches a command with the pattern of a rule that allows: every
// word that is not under the last * must be known and fit. unnamed is the
// first word that is not harmless and that the pattern does not spell out, -1
// if there is none.
func strictly(pattern []string, c command) (fits bool, unnamed int) {
	words := c.words
	open := len(pattern) > 1 && pattern[len(pattern)-1] == "*"
	if open {
		pattern = pattern[:len(pattern)-1]
	}
	if len(words) < len(pattern) || !open && len(words) != len(pattern) {
		return false, -1
	}
	for i, p := range pattern {
		if !words[i].known() || !wild(p, words[i].text) {
			return false, -1
		}
		// A wildcard for the program does not reach into other directories.
		if i == 0 && strings.Contains(words[0].text, "/") && !strings.Contains(p, "/") {
			return false, -1
		}
	}
	for _, r := range c.risks {
		if r.at < len(pattern) && pattern[r.at] != "*" || r.at == len(words) && !open {
			continue
		}
		return true, r.at
	}
	return true, -1
}

// A fit is how far a rule that narrows holds.
type fit int

const (
	none  fit = iota
	maybe     // it would, if a word that is known only at run time is what it names
	sure
)

// loosely matches a command with the pattern of a rule that narrows: wherever
// the program lies, whatever options stand between the words, and whatever
// follows.
func loosely(pattern []string, words []word) fit {
	if len(pattern) == 0 || len(words) == 0 || !words[0].known() {
		return none
	}
	name := path.Base(words[0].text)
	if !wild(pattern[0], words[0].text) && !wild(pattern[0], name) {
		return none
	}
	pattern = pattern[1:]
	if n := len(pattern); n > 0 && pattern[n-1] == "*" {
		pattern = pattern[:n-1]
	}
	// at is how sure it is that the pattern may go on at a word.
	at := make([]fit, len(words)+3)
	at[1] = sure
	for _, p := range pattern {
		next := make([]fit, len(at))
		for k := 1; k < len(words); k++ {
			w := words[k]
			if strings.HasPrefix(w.text, "-") { // an option, perhaps with a value
				at[k+1], at[k+2] = max(at[k+1], at[k]), max(at[k+2], at[k])
			}
			switch {
			case w.known() && (wild(p, w.text) || name == "git" && wild(p, plumbing[w.text])):
				next[k+1] = max(next[k+1], at[k])
			case !w.known():
				next[k+1] = max(next[k+1], min(at[k], maybe))
			}
		}
		at = next
	}
	best := none
	for _, f := range at {
		best = max(best, f)
	}
	return best
}

// plumbing are subcommands of git that do what another one is known for.
var plumbing = map[string]string{"send-pack": "push", "http-push": "push", "subtree": "push", "fetch-pack": "fetch", "http-fetch": "fetch", "commit-tree": "commit"}
