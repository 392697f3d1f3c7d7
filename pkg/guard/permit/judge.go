package permit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/match"
)

// judging is one call with its script read.
type judging struct {
	Call
	text *script // nil without shell text
}

// hit reports how far a rule that narrows holds for any part of the call.
func (j judging) hit(r Rule) fit {
	best := none
	switch {
	case r.Command != "":
		if j.text == nil {
			return none
		}
		pattern := strings.Fields(r.Command)
		for _, c := range j.text.commands {
			best = max(best, loosely(pattern, c.words))
			if best < maybe && c.mayWrap() && mentions(c.String(), pattern) {
				best = maybe
			}
		}
		if best < sure && j.text.unread() != "" && mentions(j.text.raw, pattern) {
			return sure
		}
		return best
	case r.Path != "":
		for _, p := range j.Paths {
			if match.Covers(r.Path, p, true) {
				return sure
			}
		}
		if j.text != nil {
			return j.text.names(r.Path)
		}
		return none
	}
	return sure
}

// uncovered names the first part of the call that no rule allows, "" if every
// part is allowed.
func (j judging) uncovered(rules Rules) string {
	var allows Rules
	for _, r := range rules {
		if r.Do == Allow && r.Path == "" && r.Command == "" {
			return ""
		}
		if r.Do == Allow {
			allows = append(allows, r)
		}
	}
	if j.text == nil {
		return j.uncoveredPaths(allows)
	}
	if len(j.text.opaque) > 0 {
		return j.text.opaque[0]
	}
	for _, c := range j.text.commands {
		if c.free {
			continue
		}
		if why := allows.command(c); why != "" {
			return why
		}
		if name := c.words[0].text; j.text.moves && placed(name) {
			return fmt.Sprintf("it changes the directory, and what %s does depends on where it runs: a rule allows it only from the top of the workspace", name)
		}
	}
	for _, w := range j.text.writes {
		if j.text.moves || !allows.path(w) {
			return "it writes " + w
		}
	}
	return ""
}

func (j judging) uncoveredPaths(allows Rules) string {
	if j.Shell {
		return "its command was not read"
	}
	if len(j.Paths) == 0 {
		return "no rule allows " + j.Tool
	}
	for _, p := range j.Paths {
		if !allows.path(p) {
			return "no rule allows " + p
		}
	}
	return ""
}

// command reports why no rule allows a command, "" if one does.
func (rs Rules) command(c command) string {
	why := "no rule allows " + c.String()
	for _, r := range rs {
		if r.Command == "" {
			continue
		}
		fits, unnamed := strictly(strings.Fields(r.Command), c)
		switch {
		case fits && unnamed < 0:
			return ""
		case fits && unnamed < len(c.words):
			why = fmt.Sprintf("the rule `%s` does not allow %s: a * stands only for what is known to start no other program and to write nothing; a rule that spells it out allows it",
				r.Command, c.words[unnamed])
		case fits:
			why = fmt.Sprintf("the rule `%s` does not allow %s to run what it reads from its input", r.Command, c.words[0])
		}
	}
	return why
}

// hidden explains why a part of the script cannot be judged, unless a rule allows the
// command that hides it; "" if there is no such part.
func (j judging) hidden(rules Rules) string {
	if len(j.text.opaque) > 0 {
		return j.text.opaque[0]
	}
	var allows Rules
	for _, r := range rules {
		if r.Do == Allow && r.Command != "" {
			allows = append(allows, r)
		}
	}
	for _, c := range j.text.commands {
		if c.hides != "" && allows.command(c) != "" {
			return c.hides
		}
	}
	return ""
}

func (rs Rules) path(p string) bool {
	return slices.ContainsFunc(rs, func(r Rule) bool { return r.Path != "" && match.Covers(r.Path, p, false) })
}

// Propose is the rule that would let a script run next time, narrow enough to
// be read at a glance. There is none for what cannot be written as words, and
// none for a script of several commands that no rule allows.
func (rs Rules) Propose(c Call) (Rule, bool) {
	if !c.Shell {
		return Rule{}, false
	}
	mine := rs.about(c)
	text := read(c.Script)
	var lacks []command
	for _, cmd := range text.commands {
		known := slices.ContainsFunc(lacks, func(l command) bool { return l.String() == cmd.String() })
		if !known && !cmd.free && mine.command(cmd) != "" {
			lacks = append(lacks, cmd)
		}
	}
	if len(text.opaque) > 0 || len(text.writes) > 0 || len(lacks) != 1 {
		return Rule{}, false
	}
	var words []string
	for i, w := range lacks[0].words {
		if i == 2 && subcommandPrograms[words[0]] && !strings.HasPrefix(words[1], "-") {
			words = append(words, "*")
			break
		}
		if !w.plain() {
			return Rule{}, false
		}
		words = append(words, w.text)
	}
	r := Rule{Tool: c.Tool, Command: strings.Join(words, " "), Do: Allow}
	if r.Check() != nil || append(slices.Clone(rs), r).Judge(c).Do != Allow {
		return Rule{}, false
	}
	return r, true
}

// subcommandPrograms are programs whose first argument selects a command.
var subcommandPrograms = map[string]bool{"go": true, "git": true, "npm": true, "pnpm": true, "yarn": true, "cargo": true, "make": true, "pip": true, "uv": true, "docker": true}
