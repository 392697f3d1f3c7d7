package executor

import (
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Mode says how far a job may go on its own. Rules make exceptions; no rule
// lets a job in ModePlan change anything.
type Mode string

const (
	ModePlan  Mode = "plan"  // it reads and thinks, and changes nothing
	ModeEdits Mode = "edits" // it changes files; commands and publishing are asked about; the default
	ModeAuto  Mode = "auto"  // in a sandbox its commands run unasked too
)

// Modes lists the valid values of Mode, the narrowest first.
var Modes = []Mode{ModePlan, ModeEdits, ModeAuto}

// Narrower is the narrower of two modes; an empty one has no say.
func Narrower(a, b Mode) Mode {
	switch {
	case a == "":
		return b
	case b == "" || slices.Index(Modes, a) <= slices.Index(Modes, b):
		return a
	}
	return b
}

// Allows reports whether a tool may be used in a mode at all.
func (m Mode) Allows(t tools.Metadata) bool {
	return m != ModePlan || t.Needs&(tools.Write|tools.Shell|tools.Publish) == 0 && !t.RunsCode && (t.Needs&tools.Exec == 0 || repeatable(t))
}

func repeatable(t tools.Metadata) bool {
	return t.Effect == tools.Pure || t.Effect == tools.Idempotent
}

// A Fence is what stands around the commands of a job on its host.
type Fence struct {
	Sandbox string // the level in force; empty or "off" is none
	Network string // what commands reach; empty or "open" is everything
}

func (f Fence) closed() bool { return f.Sandbox != "" && f.Sandbox != "off" }
func (f Fence) open() bool   { return f.Network == "" || f.Network == "open" }

// defaultVerdict is what becomes of a call where no rule holds, and why.
func defaultVerdict(m May, t tools.Metadata, f Fence) (permit.Do, string) {
	switch {
	case !m.Mode.Allows(t):
		return permit.Deny, "this job plans and changes nothing; say in words what should be done"
	case t.Needs&tools.Publish != 0:
		return permit.Ask, "others will see it"
	case t.Needs&tools.Shell != 0 && m.Mode == ModeAuto && f.closed() && m.Approve != ApproveAsk:
		return permit.Allow, ""
	case t.Needs&tools.Shell != 0:
		return permit.Ask, ""
	case t.RunsCode && !f.closed():
		// The workspace's code is as good as any command.
		return permit.Ask, fmt.Sprintf("it runs the project's code, and no sandbox confines it; --sandbox auto confines it, and --approve all or a rule {tool: %s, do: allow} lets it run as it is", t.Name)
	case m.Approve == ApproveAsk && (t.RunsCode || t.Needs&tools.Write != 0 || t.Needs&tools.Exec != 0 && !repeatable(t)):
		return permit.Ask, ""
	}
	return permit.Allow, ""
}
