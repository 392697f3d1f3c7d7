// Package permit has the rules that allow calls of tools, have a person asked about them,
// or deny them: what options, agents and tasks carry.
//
//	rules := permit.Rules{
//		{Tool: "shell", Command: "go test *", Do: permit.Allow},
//		{Path: "deploy/**", Do: permit.Deny, Why: "releases are made by people"},
//	}
//	v := rules.Judge(permit.Call{Tool: "shell", Script: "go test ./... && rm x", Default: permit.Ask})
//	// v.Do is Ask: nothing allows rm
//
// Rules are judged together; their order does not matter. A denial is stronger than a
// question, a question stronger than a permission; where none holds, the mode of the job
// decides. docs/permissions.md has what a rule about a command allows. Judging is pure.
// The package confines nothing: what a command does once it runs is for the sandbox.
package permit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/match"
)

// Do is a decision about a call.
type Do string

const (
	Allow Do = "allow" // it runs
	Ask   Do = "ask"   // a person decides
	Deny  Do = "deny"  // it does not run, whoever is asked
)

// Known reports whether d is one of those that there are.
func (d Do) Known() bool { return slices.Contains([]Do{Allow, Ask, Deny}, d) }

// A Rule decides about the calls that it matches. Empty fields match everything. Agent
// and Tool are names with wildcards. Path is a glob of workspace paths, ** for any depth;
// it matches everything below it too, and without a slash at any depth. Command is the
// words of a simple command; a last * stands for any more words, as in "go test *".
// Source is project or client for the tools of servers that a project's file or a client
// has brought: a rule that allows matches these only if it names their source, whatever
// they are called.
type Rule struct {
	Agent   string `json:"agent,omitempty" yaml:"agent"`
	Tool    string `json:"tool,omitempty" yaml:"tool"`
	Path    string `json:"path,omitempty" yaml:"path"`
	Command string `json:"command,omitempty" yaml:"command"`
	Do      Do     `json:"do" yaml:"do"`
	Why     string `json:"why,omitempty" yaml:"why"`
	Source  string `json:"source,omitempty" yaml:"source"`
}

// String is the rule on one line, as in: allow shell `go test *`.
func (r Rule) String() string {
	parts := []string{string(r.Do)}
	if r.Tool != "" {
		parts = append(parts, r.Tool)
	}
	if r.Command != "" {
		parts = append(parts, "`"+r.Command+"`")
	}
	if r.Path != "" {
		parts = append(parts, r.Path)
	}
	if r.Source != "" {
		parts = append(parts, "of the "+r.Source+"'s server")
	}
	if r.Agent != "" {
		parts = append(parts, "for "+r.Agent)
	}
	return strings.Join(parts, " ")
}

// Check reports what is wrong with a rule, in words for who wrote it.
func (r Rule) Check() error {
	switch r.Do {
	case Allow, Ask, Deny:
	case "":
		return errors.New("do is missing: allow, ask or deny")
	default:
		return fmt.Errorf("do is %q; it is one of allow, ask, deny", r.Do)
	}
	if r.Source != "" && r.Source != "project" && r.Source != "client" {
		return fmt.Errorf("source is %q; it is project or client, or left out", r.Source)
	}
	if r.Path != "" && r.Command != "" {
		return errors.New("path and command stand together; write a rule for each")
	}
	if err := match.CheckPattern(r.Path); err != nil {
		return err
	}
	if strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "~/") || r.Path == "~" || slices.Contains(strings.Split(r.Path, "/"), "..") {
		return fmt.Errorf("the path %q leads outside; write it from the top of the workspace, ./~ for a name that begins so", r.Path)
	}
	if strings.TrimSpace(r.Command) == "" && r.Command != "" {
		return errors.New("the command is blank; leave it out to mean every command")
	}
	if strings.ContainsAny(r.Command, "|;&<>()`\n\"'\\") {
		return fmt.Errorf("the command %q is more than words; each simple command is judged by itself, so write for example go test *", r.Command)
	}
	return nil
}

// Narrows reports whether the rule takes rights away rather than give some.
func (r Rule) Narrows() bool { return r.Do != Allow }

// Rules are judged together; their order does not matter. They are safe for
// concurrent use.
type Rules []Rule

// A Call is a call to be judged.
type Call struct {
	Agent, Tool string
	// Source is the owner of the tool's server: project or client, empty for the
	// operator's.
	Source string
	// Paths are the files that the call concerns, relative to the workspace. If a name is
	// a link, its target is one of them too.
	Paths []string
	// Shell means that Script, shell text, will run.
	Shell  bool
	Script string
	// Follow, if set, returns what names of the workspace may be once links are followed, for
	// those in Script; wild means that a name has wildcards. unknown: there may be others.
	Follow func(name string, wild bool) (names []string, unknown bool)
	// Named means that a rule which allows must name the tool: one for all commands was written
	// for those without the network.
	Named bool
	// Default is the decision if no rule matches.
	Default Do
}

// A Verdict is the decision about a call, and its reason in a sentence fit to show a
// person. Why is empty if the default decided and there is no more to say.
type Verdict struct {
	Do  Do
	Why string
}

// Judge decides about a call.
func (rs Rules) Judge(c Call) Verdict {
	mine := rs.about(c)
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
	if text != nil {
		// A part that cannot be read may be something that a rule forbids.
		if i := slices.IndexFunc(mine, Rule.guards); i >= 0 {
			if why := j.hidden(mine); why != "" {
				return Verdict{Ask, why + ", and may fall under a rule: " + cmp.Or(mine[i].Why, mine[i].String())}
			}
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

// about are the rules for a call.
func (rs Rules) about(c Call) Rules {
	mine := rs.of(c.Agent, c.Tool, c.Source)
	if c.Named {
		mine = slices.DeleteFunc(mine, func(r Rule) bool { return r.Do == Allow && r.Tool != c.Tool })
	}
	return mine
}

func (r Rule) guards() bool { return r.Narrows() && (r.Command != "" || r.Path != "") }

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

// DeniedPaths returns the rules that keep a tool from paths in every case. They are for
// the layers below the tools, where only denials apply.
func (rs Rules) DeniedPaths(agent, tool string) []Rule {
	return slices.DeleteFunc(rs.of(agent, tool, ""), func(r Rule) bool { return r.Do != Deny || r.Path == "" })
}

// AskedPaths are the rules that have a person asked about paths which the call does not
// name: what it starts may change them all the same.
func (rs Rules) AskedPaths(c Call) []Rule {
	j := judging{Call: c}
	if c.Shell {
		j.text = read(c.Script)
		j.text.follow = c.Follow
	}
	return slices.DeleteFunc(rs.of(c.Agent, c.Tool, c.Source), func(r Rule) bool { return r.Do != Ask || r.Path == "" || j.hit(r) != none })
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
