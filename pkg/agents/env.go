package agents

import (
	"encoding/json"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An Env is what a request is resolved in: the operator's defaults, and what the runtime
// knows of models, the host and the workspace.
type Env struct {
	Defaults

	// Route gives what the name of a model stands for: a role, and the models
	// behind it. Nil takes names for provider/model.
	Route func(ref string) (executor.Route, error)
	// Lesser reports whether a name is a role that agents which ship name and
	// that nobody has set up: the model of the request does its work. Nil takes
	// cheap and strong for that.
	Lesser func(ref string) bool

	// Window asks the server of a model for its context window. Nil: nobody asks.
	Window route.Ask

	// Host reports whether the host has what a tool requires, such as git or ffmpeg:
	// nil, or an error that reports what to do. Nil looks for programs on PATH.
	Host func(capability string) error
	// Confined reports whether commands of jobs run in a sandbox. Nil: they do not.
	Confined func() bool

	Skills  []Skill // to choose from
	Project Project // what the workspace states about itself
	// Test is the command line that runs the tests of the workspace, if one is
	// configured. A sub-agent takes that of its parent.
	Test string
	// Missing states what the workspace of a request lacks for a tool to check
	// anything: see tools.Tool. Nil: nobody looks.
	Missing func(dir string, t tools.Tool, args json.RawMessage, test string) string
	// Around describes the workspace in the first message of agents that change
	// code until the tests pass, with the command that runs those, if one is
	// configured, or that repair a problem, without it. Nil: they have to look.
	Around func(tests bool, command string) string
	// Recall returns what earlier jobs remembered that fits a text, as lines to
	// quote, and what they carry; scope is project or user. Nil: nothing is
	// remembered.
	Recall func(scope, text string) (lines []string, taint tools.Taint)
	// Given are artifacts that the workspace has, for agents with an input that
	// takes one and was not given it.
	Given map[string]json.RawMessage
}

// Words are a file of a project, by its name relative to the workspace.
type Words struct{ File, Text string }

// A Project is what a workspace states about itself, in AGENTS.md or, without
// one, in CLAUDE.md: the file at its top, which goes into the prompt, and those
// of directories below, which the model is shown when it gets there. They are
// the project's words: below ours, and marked as not ours.
type Project struct {
	File string // of the top, "" if there is none
	Text string // within the budget
	Says []turn.DirText
	Dir  string // the workspace, absolute
	// Around are the files of the directories around the workspace in its repository,
	// the top first.
	Around []Words

	// Untrusted are the files that were not read because nobody trusts them.
	Untrusted []string
}
