package permit

import (
	"slices"

	"github.com/adroit-run/adroit/internal/text/match"
)

// Rules are judged together; their order does not matter. They are safe for
// concurrent use.
type Rules []Rule

// A Call is what is judged.
type Call struct {
	Agent, Tool string
	// Source is whose the server is that has the tool: project or client, empty for what
	// is the operator's.
	Source string
	// Paths are what the call is about, relative to the workspace. Where a
	// name is a link, its target is one of them too.
	Paths []string
	// Shell means that Script, shell text, is what will run.
	Shell  bool
	Script string
	// Follow, if set, is what names of the workspace may be once links are followed, for
	// those in Script; wild means that a name has wildcards. unknown: there may be others.
	Follow func(name string, wild bool) (names []string, unknown bool)
	// Default is what becomes of it where no rule holds.
	Default Do
}

// A Verdict is what becomes of a call, and why in a sentence fit to show a
// person. Why is empty where the default decided and there is no more to say.
type Verdict struct {
	Do  Do
	Why string
}

// Judge decides about a call.
func (rs Rules) Judge(c Call) Verdict {
	mine := rs.of(c.Agent, c.Tool, c.Source)
	var text *script
	if c.Shell && (len(mine) > 0 || c.Default == Ask) {
		text = read(c.Script)
		text.follow = c.Follow
	}
	j := judging{Call: c, text: text}
	asks := ""
	for _, r := range mine {
		if !r.Narrows() {
			continue
		}
		switch f := j.hit(r); {
		case f == sure && r.Do == Deny:
			return Verdict{Deny, because(r)}
		case f != none && asks == "":
			asks = because(r)
		}
	}
	if asks != "" {
		return Verdict{Ask, asks}
	}
	if text != nil && mine.guard() {
		// What cannot be read may be what a rule forbids.
		if why := j.hidden(mine); why != "" {
			return Verdict{Ask, why}
		}
	}
	open := j.uncovered(mine)
	if open == "" {
		return Verdict{Do: Allow}
	}
	if text == nil {
		return Verdict{Do: c.Default}
	}
	if len(text.opaque) > 0 {
		return Verdict{c.Default, text.opaque[0]}
	}
	if !mine.permit() {
		open = ""
	}
	return Verdict{c.Default, open}
}

func because(r Rule) string {
	if r.Why != "" {
		return r.Why
	}
	return "the rule: " + r.String()
}

// of are the rules for one tool of one agent. One that allows was written for the tools of
// the source that it names: by their names alone a stranger's would be allowed as well.
func (rs Rules) of(agent, tool, source string) Rules {
	var out Rules
	for _, r := range rs {
		if like(r.Agent, agent) && like(r.Tool, tool) && (r.Source == source || r.Source == "" && r.Narrows()) {
			out = append(out, r)
		}
	}
	return out
}

func (rs Rules) guard() bool {
	return slices.ContainsFunc(rs, func(r Rule) bool { return r.Narrows() && (r.Command != "" || r.Path != "") })
}

func (rs Rules) permit() bool {
	return slices.ContainsFunc(rs, func(r Rule) bool { return r.Do == Allow })
}

// Denies reports that a tool may not be used at all, and why: it is better not
// offered than refused.
func (rs Rules) Denies(agent, tool string) (why string, denied bool) {
	for _, r := range rs.of(agent, tool, "") {
		if r.Do == Deny && r.Path == "" && r.Command == "" {
			return because(r), true
		}
	}
	return "", false
}

// DeniedPaths are the rules that keep a tool from paths, whoever is asked. They are for
// what lies below the tools: there only denials hold.
func (rs Rules) DeniedPaths(agent, tool string) []Rule {
	return slices.DeleteFunc(rs.of(agent, tool, ""), func(r Rule) bool { return r.Do != Deny || r.Path == "" })
}

// Bars reports why a path may not be touched by a tool at all, "" if it may.
func (rs Rules) Bars(agent, tool, path string) string {
	for _, r := range rs.DeniedPaths(agent, tool) {
		if match.Covers(r.Path, path, true) {
			return "may not be used: " + because(r)
		}
	}
	return ""
}
