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
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/match"
)

// Do is what becomes of a call.
type Do string

const (
	Allow Do = "allow" // it runs
	Ask   Do = "ask"   // a person decides
	Deny  Do = "deny"  // it does not run, whoever is asked
)

// Known reports whether d is one of those that there are.
func (d Do) Known() bool { return slices.Contains([]Do{Allow, Ask, Deny}, d) }

// A Rule decides what becomes of the calls it holds for. Empty fields hold for
// everything. Agent and Tool are names with wildcards. Path is a glob of
// workspace paths, ** for any depth; it holds for everything below it too, and
// without a slash at any depth. Command is the words of a simple command; a
// last * stands for any more words, as in "go test *". Source is project or client for the
// tools of servers that a project's file or a client has brought: a rule that allows holds
// for those only if it names their source, whatever they are called.
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
