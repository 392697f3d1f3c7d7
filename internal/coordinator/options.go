package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/executor"
)

// What an Options.Escalate makes of a decision to escalate.
const (
	Ask    = "ask"    // a person is asked, and the job waits
	Report = "report" // it ends with a report
	Never  = "never"  // it fails: nobody is to be asked
)

// Options bound a coordinator.
type Options struct {
	Attempts  int           // repairs and retries; 0 is 3
	Escalate  string        // Ask if empty
	Patience  time.Duration // for a person's answer; 0 is 24 hours
	Names     []string      // agents that may repair; empty: all that the task may spawn
	Keep      bool          // what a repair that did not help has changed
	Strategy  Strategy      // what is done before anything else
	Only      bool          // nothing but Strategy and what code decides
	NoRules   bool          // code does not decide: a job that began before it did, or a step that must not be
	Supervise string        // the agent that reviews decisions before they are carried out; empty: none
	Choice                  // of memory and strategy; empty: what the configuration says
	Parallel  int           // agents that repair at once; 0 and 1 are one after the other
	Hooks
}

// Hooks are how the user of a coordinator decides, repairs and shows. A nil one is
// what adroit fix does.
type Hooks struct {
	// Decide asks whoever decides where code cannot.
	Decide func(p *Problem, n int) (Action, error)
	// Repair carries out a delegation; it reports whether running again makes sense.
	Repair func(p *Problem, at *Attempt) (again bool, err error)
	// Works runs again what failed in another scope, such as one in a copy of the work
	// tree, and reports whether it works there. Without it nobody repairs at once.
	Works func(sc *executor.Scope) (works bool, err error)
	// Show shows a decision to those who watch.
	Show func(p *Problem, at *Attempt) error
}

// Analyst is the agent that decides where code cannot.
const Analyst = "failure-analyst"

const (
	defaultAttempts = 3
	mostAttempts    = 20
	defaultPatience = 24 * time.Hour
	mostQuestions   = 10 // to a person, in one run
	diagnostic      = "diagnostic"
)

// Coded reports whether code decides about the failures of a task: not in one that
// was pinned before it did, for its journal would not replay.
func Coded(t *executor.Task) bool { return t.Revision >= 2 }

func (o Options) attempts() int {
	if o.Attempts == 0 {
		return defaultAttempts
	}
	return o.Attempts
}

func (o Options) patience() time.Duration {
	if o.Patience == 0 {
		return defaultPatience
	}
	return o.Patience
}

// Check reports what cannot be meant.
func (o Options) Check() error {
	switch {
	case o.Attempts < 0 || o.Attempts > mostAttempts:
		return fmt.Errorf("attempts is %d; it is 1 to %d", o.Attempts, mostAttempts)
	case o.Escalate != "" && !slices.Contains([]string{Ask, Report, Never}, o.Escalate):
		return fmt.Errorf("escalate is %q; it is ask, report or never", o.Escalate)
	case !slices.Contains([]string{"", On, Off}, o.Memory):
		return fmt.Errorf("memory is %q; it is on or off", o.Memory)
	case o.Choice.Strategy != "" && !typeRule.MatchString(o.Choice.Strategy):
		return fmt.Errorf("strategy is %q; it is the name of one", o.Choice.Strategy)
	case o.Parallel < 0 || o.Parallel > MostParallel:
		return fmt.Errorf("parallel is %d; it is 1 to %d", o.Parallel, MostParallel)
	case o.Patience < 0:
		return errors.New("the wait for a person is negative")
	}
	return nil
}

// How a Result may end.
const (
	Passed     = "passed"     // there was nothing to do
	Fixed      = "fixed"      // it failed and works now
	Escalated  = "escalated"  // a person has to go on; see the report
	Aborted    = "aborted"    // a person said abort
	Unanswered = "unanswered" // nobody answered in time
	Failed     = "failed"
)

// A Result is what became of a problem.
type Result struct {
	Status   string    `json:"status"`
	Solved   bool      `json:"solved"`
	Command  string    `json:"command,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Hint     string    `json:"hint,omitempty"`
	Problem  *Problem  `json:"problem,omitempty"` // the last
	Attempts []Attempt `json:"attempts,omitempty"`
	// Arms are the sides that the job was on in comparisons.
	Arms map[string]string `json:"arms,omitempty"`

	Ended Ended `json:"-"`
}

// An Ended is a coordination in the result of a pipeline, a validation or another
// workflow, which has its decisions beside it: for the statistics.
type Ended struct {
	Status    string            `json:"status"`    // of the Result
	Decisions int               `json:"decisions"` // how many of them
	Arms      map[string]string `json:"arms,omitempty"`
	Took      time.Duration     `json:"took_ns,omitempty"` // the task's work, waiting for people not counted
	Tokens    int               `json:"tokens,omitempty"`
	Cost      float64           `json:"cost_usd,omitempty"`
}

// An Attempt is one decision and what came of it.
type Attempt struct {
	Type      string   `json:"type"`
	Signature string   `json:"signature"`
	Message   string   `json:"message"`
	Action    Action   `json:"action"`
	Repair    *Repair  `json:"repair,omitempty"` // of DELEGATE
	Review    *Review  `json:"review,omitempty"` // of a supervisor
	Others    []Repair `json:"others,omitempty"` // that repaired at the same time, and did not win
	Answer    string   `json:"answer,omitempty"` // of a person
	Words     string   `json:"words,omitempty"`  // of the person, for the agents
	Outcome   string   `json:"outcome"`          // works, changed, same, no change
	Undone    []string `json:"undone,omitempty"` // because it did not help
	Kept      []string `json:"kept,omitempty"`   // that could not be undone, with the reason
}

// failsOtherwise is the Outcome of an attempt that has changed how it fails.
const failsOtherwise = "changed"

// A Repair is what an agent did.
type Repair struct {
	Agent   string   `json:"agent"`
	Status  string   `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`
	Cost    float64  `json:"cost_usd,omitempty"`

	Path string `json:"path,omitempty"` // of the step that had it work, above all that it did in events and logs
	// Step is the same for a repair that is not undone if it does not help: a memory
	// finds there what it changed.
	Step string `json:"-"`

	diff string // what it changed, by its own account
}

var typeRule = lazyregexp.New(`^[a-z][a-z0-9-]{0,39}$`)

// MostParallel is how many agents may repair at once.
const MostParallel = 8

// A Choice is what whoever began the job asked for; it is part of no comparison then.
type Choice struct {
	Memory   string `json:"memory,omitempty"` // On, Off
	Strategy string `json:"strategy,omitempty"`
}

// Values of Choice.Memory.
const (
	On  = "on"
	Off = "off"
)

// A Review is what a supervisor has made of a decision. Of is what was decided, if it was
// not approved.
type Review struct {
	Verdict   string  `json:"verdict"`
	Reasoning string  `json:"reasoning"`
	Of        *Action `json:"of,omitempty"`
}

// byMemory is who decides by what is known from other jobs: code, so a rule.
var byMemory = Rule("memory")
