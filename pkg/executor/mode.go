package executor

import (
	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/pkg/tools"
)

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

// Allows reports whether a tool may be used in a mode at all.
func (m Mode) Allows(t tools.Metadata) bool {
	return m != ModePlan || t.Needs&(tools.Write|tools.Shell|tools.Publish) == 0 && !t.RunsCode && t.Asks == "" && (t.Needs&tools.Exec == 0 || stepio.Repeatable(t))
}
