package workflows

import (
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A Validation is what became of stages: the artifact "validation". It has all
// stages, whatever happened.
type Validation struct {
	OK     bool          `json:"ok"` // every stage passes
	Stages []StageResult `json:"stages"`
}

// A StageResult is what became of one stage.
type StageResult struct {
	Name    string        `json:"name"`
	Status  string        `json:"status"`
	Command string        `json:"command"`          // what was run
	Error   string        `json:"error,omitempty"`  // why it failed
	Output  string        `json:"output,omitempty"` // of its last failure: head and tail
	Repair  string        `json:"repair,omitempty"` // what was run to mend it, before any agent
	Fixes   []Repair      `json:"fixes,omitempty"`  // attempts of agents, in order
	Took    time.Duration `json:"took_ns"`          // commands and fixers together
	Usage   StageUsage    `json:"usage,omitzero"`   // of the fixers

	Decisions   []coordinator.Attempt `json:"decisions,omitempty"` // of its coordinator
	Coordinated []coordinator.Ended   `json:"coordinated,omitempty"`
}

// A StageUsage is what models took.
type StageUsage struct {
	Turns int     `json:"turns,omitempty"`
	In    int     `json:"in,omitempty"`
	Out   int     `json:"out,omitempty"`
	Cost  float64 `json:"cost_usd,omitempty"`
}

func (u *StageUsage) add(o StageUsage) {
	u.Turns, u.In, u.Out, u.Cost = u.Turns+o.Turns, u.In+o.In, u.Out+o.Out, u.Cost+o.Cost
}

// What became of a stage.
const (
	StagePassed    = "passed"
	StageFixed     = "fixed"     // it failed, was repaired, and passes
	StageFailed    = "failed"    // see StageResult.Error
	StageSkipped   = "skipped"   // one before it has failed
	StageCancelled = "cancelled" // somebody asked to stop
)

// A Repair is one attempt to fix a stage.
type Repair struct {
	Agent   string     `json:"agent"`
	Status  string     `json:"status"` // of the agent: done, limit, stuck, failed
	Reason  string     `json:"reason,omitempty"`
	Summary string     `json:"summary,omitempty"`
	Changed bool       `json:"changed"` // files
	Usage   StageUsage `json:"usage,omitzero"`
}

// Headline sums up how the validation went.
func (v Validation) Headline() string {
	good := 0
	var bad []string
	cancelled := false
	for _, s := range v.Stages {
		switch s.Status {
		case StagePassed, StageFixed:
			good++
		case StageFailed:
			bad = append(bad, s.Name+" failed: "+spelling.FirstLine(s.Error))
		case StageCancelled:
			cancelled = true
		}
	}
	text := fmt.Sprintf("%d of %d stages pass", good, len(v.Stages))
	if cancelled {
		bad = append(bad, "the rest was cancelled")
	}
	if len(bad) > 0 {
		text += "; " + strings.Join(bad, "; ")
	}
	return text
}

// Table shows every stage, for people.
func (v Validation) Table() string {
	rows := make([][]string, len(v.Stages))
	var width [3]int
	for i, s := range v.Stages {
		what := ""
		switch {
		case len(s.Fixes) == 0 && s.Repair != "":
			what = "after " + s.Repair
		case len(s.Fixes) > 0:
			what = fmt.Sprintf("after %d", len(s.Fixes))
			if what += " attempts"; len(s.Fixes) == 1 {
				what = "after 1 attempt"
			}
		}
		if s.Took > 0 {
			what = strings.TrimPrefix(what+", "+s.Took.Round(10*time.Millisecond).String(), ", ")
		}
		if n := s.Usage.In + s.Usage.Out; n > 0 {
			what += fmt.Sprintf(", %d tokens", n)
		}
		rows[i] = []string{s.Name, s.Status, what, s.Command}
		for k := range width {
			width[k] = max(width[k], len([]rune(rows[i][k])))
		}
		if s.Error != "" {
			rows[i][3] += "\n    " + spelling.FirstLine(s.Error)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for k, w := range width {
			line += r[k] + strings.Repeat(" ", w-len([]rune(r[k]))+2)
		}
		b.WriteString(strings.TrimRight(line+r[3], " ") + "\n")
	}
	return b.String()
}
