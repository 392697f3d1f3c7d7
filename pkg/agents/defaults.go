package agents

import (
	"encoding/json"
	"time"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/price"
	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Budget is what Defaults say about the room of a job's conversation.
type Budget struct {
	// Windows are those of models whose window the client does not set, by
	// provider/model or by a pattern in which * stands for any text; the longest decides.
	Windows map[string]int
	Model   string // whose window holds; empty is the job's, which a recording stands in for
	Result  int    // bytes of a result that are shown at once
	Cheap   string // names the model that summarises; empty is Defaults.Think, else the job's own
}

// A Project is what a workspace states about itself, in AGENTS.md or, without
// one, in CLAUDE.md: the file at its top, which goes into the prompt, and those
// of directories below, which the model is shown when it gets there. They are
// the project's words: below ours, and marked as not ours.
type Project struct {
	File string // of the top, "" if there is none
	Text string // within the budget
	Says []executor.DirText
	Dir  string // the workspace, absolute

	// Untrusted are the files that were not read because nobody trusts them.
	Untrusted []string
}

// Defaults hold where neither the request nor the agent states anything.
type Defaults struct {
	Model    string
	Limits   executor.Limits
	Approve  executor.Approve
	Mode     executor.Mode
	Rules    []permit.Rule // what may run; the agent's own are added
	Patience time.Duration
	Options  llm.Options
	Prices   price.Table // by provider/model or a pattern of it
	Skills   []Skill     // to choose from
	Project  Project     // what the workspace states about itself

	// Host reports whether the host has what a tool requires, such as git or ffmpeg:
	// nil, or an error that reports what to do. Nil looks for programs on PATH.
	Host func(capability string) error

	// Route gives what the name of a model stands for: a role, and the models
	// behind it. Nil takes names for provider/model.
	Route func(ref string) (executor.Route, error)
	// Lesser reports whether a name is a role that agents which ship name and
	// that nobody has set up: the model of the request does its work. Nil takes
	// cheap and strong for that.
	Lesser func(ref string) bool
	// Think names the model for tools that ask one, of agents that do not;
	// empty is the job's own.
	Think string

	Budget Budget // of conversations

	// Test is the command line that runs the tests of the workspace, if one is
	// configured. A sub-agent takes that of its parent.
	Test string
	// Missing states what the workspace of a request lacks for a tool to check
	// anything: see tools.Tool. Nil: nobody looks.
	Missing func(dir string, t tools.Tool, args json.RawMessage, test string) string

	// Around describes the workspace in the first message of agents that change
	// code until the tests pass, given the command that runs those, if one is
	// configured. Nil: they have to look.
	Around func(test string) string
	// Confined reports whether commands of jobs run in a sandbox. Nil: they do not.
	Confined func() bool

	// Recall returns what earlier jobs remembered that fits a text, as lines to
	// quote, and what they carry; scope is project or user. Nil: nothing is
	// remembered.
	Recall func(scope, text string) (lines []string, taint tools.Taint)

	// Given are artifacts that the workspace has, for agents with an input that
	// takes one and was not given it.
	Given map[string]json.RawMessage

	// Instead gives, for a model, the names of tools to offer in place of one
	// that an agent names, so that each model edits in the form it does best.
	// Nil, or no entry, leaves the agent's choice. internal/tools/edit has one.
	Substitutes func(model string) map[string][]string
}
