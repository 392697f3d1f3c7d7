// Package coordinator decides what happens after a failure: it recognises the
// problem, has an agent repair it, runs what failed again, and asks a person
// where judgement is needed.
//
//	c := coordinator.New(sc, coordinator.Options{Attempts: 3})
//	res, err := c.Coordinate(problem, func(coordinator.Action) (*coordinator.Problem, error) {
//		return run(sc, command) // nil: it works now
//	})
//
// It is deterministic apart from the steps it asks for, so a job that is killed
// anywhere goes on to the same end. Code decides what code can; a cheap model is
// asked next, the job's own model last. See docs/adr/0071.
package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
)

// A Problem is something that failed, as data. All of it comes from outside: no
// word of it is an instruction.
type Problem struct {
	Type    string            `json:"type"` // one of problem.Types, "" if nobody knows yet
	Step    string            `json:"step,omitempty"`
	Command string            `json:"command,omitempty"`
	Message string            `json:"message"` // in a line
	Code    int               `json:"exit_code,omitempty"`
	Output  string            `json:"output,omitempty"` // head and tail
	Files   []string          `json:"files,omitempty"`  // that the output names
	Facts   map[string]string `json:"facts,omitempty"`  // that code has found out on the machine
	Attempt int               `json:"attempt,omitempty"`
	// Installs are commands of package managers that may get what is missing.
	Installs []string `json:"installs,omitempty"`
	// Pending is a command that would go on from here, and was not approved.
	Pending string `json:"pending,omitempty"`

	TimedOut    bool   `json:"timed_out,omitempty"`
	Killed      bool   `json:"-"`
	Interrupted bool   `json:"interrupted,omitempty"`
	Sandbox     string `json:"sandbox,omitempty"` // around the command
	// Inconclusive is why the failure is none that a change of files could repair: the
	// check could not be run.
	Inconclusive string `json:"inconclusive,omitempty"`

	// Sign replaces the signature, for jobs that began when it was made otherwise.
	Sign string `json:"-"`

	further bool // what was tried has helped, up to another failure of the same kind

	before bool // of a job that began before code knew as much: see Coded
	old    bool // of one that began before revision 5: what a test prints counts, too
}

// since notes how much code knew when the task began.
func (p *Problem) since(t *executor.Task) { p.before, p.old = t.Revision < 2, t.Revision < 5 }

// programs are those that the output reports as missing.
func (p *Problem) programs() []string {
	if p.old {
		return problem.ProgramsBefore(p.Output)
	}
	return problem.Programs(p.Output)
}

// Signature is the same for the same failure, also elsewhere and later.
func (p *Problem) Signature() string {
	if p.Sign != "" {
		return p.Sign
	}
	return problem.Signature(p.Type, p.Message+"\n"+p.Output)
}

// A Decision says what happens after a failure.
type Decision string

// Decisions.
const (
	Retry    Decision = "RETRY"    // run the step again, after a pause
	Delegate Decision = "DELEGATE" // have an agent repair it, then run the step again
	Escalate Decision = "ESCALATE" // a person has to decide or to do something
	Fail     Decision = "FAIL"     // nothing would help
)

// An Action is a decision with its reasons.
type Action struct {
	Decision  Decision `json:"decision"`
	Reasoning string   `json:"reasoning"`
	// Agent repairs, by Instructions; Diagnose has the agent diagnostic look first. Run
	// is a command that repairs instead.
	Agent        string `json:"agent,omitempty"`
	Run          string `json:"run,omitempty"`
	Outside      bool   `json:"outside,omitempty"` // Run, outside the sandbox, once a person has approved it
	Instructions string `json:"instructions,omitempty"`
	Diagnose     bool   `json:"diagnose,omitempty"`
	// Hint is what a person should do.
	Hint string        `json:"hint,omitempty"`
	Wait time.Duration `json:"wait_ns,omitempty"`
	By   By            `json:"by,omitzero"`
	// Together are the agents that repair at once.
	Together []string `json:"together,omitempty"`
	// Replay is the earlier failure whose repair is made again before a RETRY.
	Replay string `json:"replay,omitempty"`
	// Changes are what is different when it is run again; for RETRY of an agent's work.
	Changes Adjustments `json:"changes,omitzero"`
	Skip    bool        `json:"skip,omitempty"` // for FAIL: go on without it
}

// By is who has decided: a rule, which is code, the memory, an agent, a model or a
// person. Its text, in JSON too, is KIND NAME.
type By struct{ Kind, Name string }

// Rule is code that has decided.
func Rule(name string) By { return By{"rule", name} }

// Code reports whether a rule has decided.
func (b By) Code() bool { return b.Kind == "rule" }

func (b By) String() string { return strings.TrimSpace(b.Kind + " " + b.Name) }

// MarshalText implements [encoding.TextMarshaler].
func (b By) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *By) UnmarshalText(text []byte) error {
	b.Kind, b.Name, _ = strings.Cut(string(text), " ")
	return nil
}

// Adjustments are what is different in the next attempt of an agent.
type Adjustments struct {
	Model  string `json:"model,omitempty"`  // one that the pipeline or the configuration names
	Prompt string `json:"prompt,omitempty"` // is added to what the agent is asked
	Turns  int    `json:"turns,omitempty"`  // its limits, within what the job has left
	Tokens int    `json:"tokens,omitempty"`
}

// Apply puts them into what is asked of an agent.
func (a *Adjustments) Apply(o *executor.SubAgentRequest) {
	if a.Model != "" {
		o.Model = a.Model
	}
	if a.Prompt != "" {
		o.Prompt += "\n\n" + a.Prompt
	}
	if a.Turns > 0 {
		o.Limits.Turns = a.Turns
	}
	if a.Tokens > 0 {
		o.Limits.Tokens = a.Tokens
	}
}

// check reports why an action cannot be carried out: a model's words decide
// nothing that was not offered.
func (a *Action) check(agents []string) error {
	a.Decision = Decision(strings.ToUpper(strings.TrimSpace(string(a.Decision))))
	switch {
	case !slices.Contains([]Decision{Retry, Delegate, Escalate, Fail}, a.Decision):
		return fmt.Errorf("the decision is %q", a.Decision)
	case strings.TrimSpace(a.Reasoning) == "":
		return errors.New("the decision has no reason")
	case a.Decision == Delegate && !slices.Contains(agents, a.Agent):
		return fmt.Errorf("it delegates to %q, which was not offered or was tried for this failure", a.Agent)
	}
	if a.Decision != Delegate {
		a.Agent, a.Instructions, a.Diagnose = "", "", false
	}
	a.Run, a.Outside, a.Changes, a.Skip = "", false, Adjustments{}, false
	a.Replay, a.Together = "", nil
	a.Reasoning, a.Instructions, a.Hint, a.Wait = clip(a.Reasoning, 2000), clip(a.Instructions, 4000), clip(a.Hint, 1000), 0
	return nil
}

// clip is the beginning of a text.
func clip(s string, most int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " […]"
}
