package executor

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Question is what a person is asked before a tool runs: exactly what will
// run. Digest stands for all of it; an approval carries it, and holds for
// nothing else.
type Question struct {
	Tool    string            `json:"tool"`
	Args    json.RawMessage   `json:"args"`
	Needs   tools.Caps        `json:"needs"`
	Why     string            `json:"why,omitempty"`
	Dir     string            `json:"dir,omitempty"`     // where it runs
	Paths   []string          `json:"paths,omitempty"`   // what it is about, as far as its arguments tell
	Sandbox string            `json:"sandbox,omitempty"` // around a command
	Network string            `json:"network,omitempty"` // that it reaches
	Files   map[string]string `json:"files,omitempty"`   // digests of the files and artifacts that it publishes
	Preview string            `json:"preview,omitempty"` // what it changes, as the tool shows it
	Always  *permit.Rule      `json:"always,omitempty"`  // what an answer of always adds for this job
	Changed bool              `json:"changed,omitempty"` // the tool is not as it was when it was accepted
	Digest  string            `json:"digest"`
}

// A Mode states how far a job may go on its own. Rules make exceptions; no rule
// lets a job in ModePlan change anything.
type Mode string

const (
	ModePlan  Mode = "plan"  // it reads and thinks, and changes nothing
	ModeEdits Mode = "edits" // it changes files; commands and publishing are asked about; the default
	ModeAuto  Mode = "auto"  // in a sandbox its commands run unasked too
)

// Modes lists the valid values of Mode, the narrowest first.
var Modes = []Mode{ModePlan, ModeEdits, ModeAuto}

// Known reports whether m is one of [Modes].
func (m Mode) Known() bool { return slices.Contains(Modes, m) }

// Allows reports whether a tool may be used in a mode at all.
func (m Mode) Allows(t tools.Metadata) bool {
	return m != ModePlan || t.Needs&(tools.Write|tools.Shell|tools.Publish) == 0 && !t.RunsCode && t.Asks == "" && (t.Needs&tools.Exec == 0 || turn.Repeatable(t))
}

// Approve states how questions about tool calls are answered.
type Approve string

const (
	ApproveAsk   Approve = "ask"   // by a person, who is asked about every change of a file, too
	ApproveEdits Approve = "edits" // by a person; the default
	ApproveAll   Approve = "all"   // with yes; what rules deny stays denied
	ApproveNone  Approve = "none"  // with no: nobody is there
)

// Known reports whether a is one of those that there are.
func (a Approve) Known() bool {
	return slices.Contains([]Approve{ApproveAsk, ApproveEdits, ApproveAll, ApproveNone}, a)
}

// Permissions decide which tool calls run, and who is asked.
type Permissions struct {
	Mode     Mode          `json:"mode,omitempty"` // empty is ModeEdits
	Rules    []permit.Rule `json:"rules,omitempty"`
	Approve  Approve       `json:"approve,omitempty"`
	Patience time.Duration `json:"patience,omitempty"` // how long an approval is awaited; zero waits for ever
}
