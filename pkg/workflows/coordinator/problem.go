// Package coordinator decides what happens after a failure: it recognises the
// problem, has an agent repair it, runs what failed again, and asks a person
// where judgement is needed.
//
//	res, err := coordinator.Coordinate(sc, coordinator.Options{Attempts: 3}, problem, func(coordinator.Action) (*coordinator.Problem, error) {
//		return run(sc, command) // nil: it works now
//	})
//
// It is deterministic apart from the steps it asks for, so a job that is killed
// anywhere goes on to the same end. Code decides what code can; a cheap model is
// asked next, the job's own model last. See ADR 71.
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
	// Inconclusive is the reason why no change of files could repair the failure: the
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

// programs returns the programs that the output reports as missing.
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

// A Decision selects what happens after a failure.
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
	// Hint is advice for a person.
	Hint string        `json:"hint,omitempty"`
	Wait time.Duration `json:"wait_ns,omitempty"`
	By   By            `json:"by,omitzero"`
	// Together are the agents that repair at once.
	Together []string `json:"together,omitempty"`
	// Replay is the earlier failure whose repair is made again before a RETRY.
	Replay string `json:"replay,omitempty"`
	// Changes are the differences of the next run; for RETRY of an agent's work.
	Changes Adjustments `json:"changes,omitzero"`
	Skip    bool        `json:"skip,omitempty"` // for FAIL: go on without it
}

// By names the decider: a rule, which is code, the memory, an agent, a model or a
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

// Adjustments are the differences of an agent's next attempt.
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

// decide returns the action about p: the retries that were asked for, code where it
// can, the moves of a strategy, then the analyst on its own model, then on the job's.
func (c *coordinator) decide(p *Problem) (Action, error) {
	act, err := c.decision(p)
	return c.unapproved(act), err
}

func (c *coordinator) decision(p *Problem) (Action, error) {
	if act, ok := c.retryMove(p); ok {
		return act, nil
	}
	if c.o.NoRules {
		if p.Inconclusive != "" {
			return Action{Decision: Fail, By: Rule("inconclusive"), Reasoning: p.Message}, nil
		}
		if act, ok, err := c.move(p, "given", c.o.Strategy); ok || err != nil {
			return act, err
		}
		return c.spent(p), nil
	}
	if c.advised {
		c.advised = false
		return c.ruling(p, 0)
	}
	act, by, known, err := c.detect(p)
	if err != nil {
		return Action{}, err
	}
	sig := p.Signature()
	if c.left <= 0 && !c.o.Only {
		return Action{Decision: Escalate, By: Rule("attempts"), Reasoning: fmt.Sprintf("it still fails after %d attempts: %s", c.o.attempts(), p.Message), Hint: "See what was tried, and repair it yourself."}, nil
	}
	if p.Interrupted { // in a journal of a version that did not ask a person
		return Action{Decision: Retry, By: Rule("interrupted"), Reasoning: "the command was cut short with the process that ran it, so nobody knows how it would have ended"}, nil
	}
	if err := c.recall(p, sig); err != nil {
		return Action{}, err
	}
	offered := c.offered(p, sig)
	if act != nil && act.Decision == Delegate && act.Hint != "" && c.sc.Task.Model == NoModel {
		act.Decision, act.Agent = Escalate, "" // code knows what is missing, and nobody is there to repair it
	}
	if act != nil && (act.Decision != Delegate || slices.Contains(offered, act.Agent)) {
		if act.Decision == Delegate {
			c.first(sig, act.Agent)
		}
		return *act, nil
	}
	own := c.strategy(p.Type)
	if p.Type == problem.Test && own == nil && known && c.first(sig, "rerun") && p.Attempt == 1 {
		return Action{Decision: Retry, By: Rule("flaky"), Reasoning: "a test that fails may be one that fails at times: it is run once more before anybody changes code"}, nil
	}
	if act, ok := c.remembered(sig); ok {
		return act, nil
	}
	if own != nil && !c.o.Only {
		if act, ok, err := c.move(p, p.Type, own); ok || err != nil {
			return act, err
		}
		return Action{Decision: Escalate, By: Rule("strategy"), Reasoning: "all that the strategy for " + p.Type + " has was tried: " + p.Message, Hint: "See what was tried, and repair it yourself."}, nil
	}
	if act, ok, err := c.move(p, "given", c.o.Strategy); ok || err != nil {
		return act, err
	}
	if c.o.Only {
		return c.spent(p), nil
	}
	if act, ok := c.install(p, sig); ok {
		return act, nil
	}
	if known && len(offered) > 0 && !c.failedBefore(sig) {
		if act, ok := c.together(p, sig, by, offered); ok {
			return act, nil
		}
		name := offered[0]
		c.first(sig, name)
		return Action{Decision: Delegate, Agent: name, By: by, Instructions: "Repair the cause with the smallest change.",
			Reasoning: fmt.Sprintf("the output is that of a problem of type %s (%s), which %s repairs", p.Type, by, name)}, nil
	}
	return c.ruling(p, 0)
}

// failedBefore reports whether an agent has worked on a failure that is the same.
func (c *coordinator) failedBefore(sig string) bool {
	return slices.ContainsFunc(c.res.Attempts, func(a Attempt) bool { return a.Repair != nil && a.Action.Replay == "" && a.Signature == sig })
}

// move returns the next action about p of the strategy of a name. ok is false if it is
// at its end. The error is from a Decide.
func (c *coordinator) move(p *Problem, name string, s Strategy) (act Action, ok bool, err error) {
	for i := range s {
		m, n := &s[i], c.count(name, i)
		if m.Progress && n > 0 {
			if why := c.stuck(p, m.Agent); why != "" {
				return Action{Decision: Fail, By: Rule("progress"), Reasoning: p.Message + "; " + why}, true, nil
			}
		}
		if n >= m.times() || m.Agent != "" && c.o.Repair == nil && !c.may(m.Agent) {
			continue
		}
		c.used[moveKey(name, i)]++
		if m.Undo {
			if err := c.undoAll(); err != nil {
				return act, true, err
			}
		}
		switch {
		case m.Retry:
			return m.retry(p, n), true, nil
		case m.End != "":
			return Action{Decision: m.End, By: Rule("strategy"), Reasoning: "the strategy ends here: " + p.Message, Hint: m.Hint}, true, nil
		case m.Decide:
			act, err = c.ruling(p, n)
			return act, true, err
		}
		act = Action{Decision: Delegate, By: Rule("strategy"), Agent: m.Agent, Run: m.Run, Instructions: m.Instructions, Diagnose: m.Diagnose}
		if act.Reasoning = fmt.Sprintf("the strategy has %s repair it", m.Agent); m.Run != "" {
			act.Reasoning = "the strategy has a command repair it: " + m.Run
		} else if m.times() > 1 {
			act.Reasoning += fmt.Sprintf(", attempt %d of %d", n+1, m.times())
		}
		return act, true, nil
	}
	return act, false, nil
}

// retryMove returns the next retry that the strategy begins with: requested
// retries come before anybody thinks.
func (c *coordinator) retryMove(p *Problem) (Action, bool) {
	for i := range c.o.Strategy {
		m := &c.o.Strategy[i]
		if !m.Retry {
			return Action{}, false
		}
		if n := c.count("given", i); n < m.times() {
			c.used[moveKey("given", i)]++
			return m.retry(p, n), true
		}
	}
	return Action{}, false
}

// ruling returns the decision of Decide or, without it, of a model.
func (c *coordinator) ruling(p *Problem, n int) (Action, error) {
	if c.o.Decide != nil {
		return c.o.Decide(p, n)
	}
	return c.analyse(p, p.Signature(), c.offered(p, p.Signature()))
}

// spent returns the decision after all moves of a strategy that stands alone.
func (c *coordinator) spent(p *Problem) Action {
	n := 0
	for _, a := range c.res.Attempts {
		if a.Repair != nil && a.Repair.Agent != "" {
			n++
		}
	}
	why := p.Message
	if n > 0 {
		why = strings.TrimSuffix(why, ".") + fmt.Sprintf(", also after %d attempts to fix it", n)
	}
	return Action{Decision: Fail, By: Rule("strategy"), Reasoning: why}
}

func (c *coordinator) count(name string, i int) int { return c.used[moveKey(name, i)] }

// may reports whether a repair can be given to an agent.
func (c *coordinator) may(name string) bool {
	return slices.ContainsFunc(c.all, func(a repairer) bool { return a.Name == name })
}

// stuck returns why an agent that has worked on p is not asked again, "" if it is.
func (c *coordinator) stuck(p *Problem, agent string) string {
	last := c.res.Attempts[len(c.res.Attempts)-1]
	switch {
	case last.Repair == nil || last.Repair.Agent != agent:
	case last.Repair.Status != executor.Done:
		return fmt.Sprintf("the agent %s: %s: %s", agent, last.Repair.Status, last.Repair.Reason)
	case len(last.Repair.Changed) == 0 && p.Signature() == last.Signature:
		return fmt.Sprintf("the agent %s has changed nothing, and it fails as before", agent)
	}
	return ""
}

// undoAll takes back what repairs have changed that is still there.
func (c *coordinator) undoAll() error {
	for i := len(c.res.Attempts) - 1; i >= 0; i-- {
		at := &c.res.Attempts[i]
		if at.Repair == nil || at.Repair.Path == "" || len(at.Repair.Changed) == 0 || at.Undone != nil || at.Kept != nil {
			continue
		}
		got, err := c.undo(at.Repair.Path)
		if err != nil {
			return err
		}
		at.Undone, at.Kept = got.Undone, got.Kept
	}
	return nil
}

func moveKey(name string, i int) string { return fmt.Sprintf("%s %d", name, i) }

// A Strategy lists moves against a failure, one after another: data, so that a file
// can give it.
type Strategy []Move

// A Move is one way to go about a failure: one of Retry, Run, Agent, Decide and End.
type Move struct {
	Retry  bool   `json:"retry,omitempty"`  // run it again as it is
	Run    string `json:"run,omitempty"`    // this command may repair it
	Agent  string `json:"agent,omitempty"`  // this agent repairs it
	Decide bool   `json:"decide,omitempty"` // who decides is asked: the analyst
	// End ends it: ESCALATE or FAIL, with Hint for the person.
	End  Decision `json:"end,omitempty"`
	Hint string   `json:"hint,omitempty"`

	Times        int           `json:"times,omitempty"`   // 0 is 1
	Wait         time.Duration `json:"wait_ns,omitempty"` // before a retry, doubled each time
	Instructions string        `json:"instructions,omitempty"`
	Diagnose     bool          `json:"diagnose,omitempty"`
	Undo         bool          `json:"undo,omitempty"` // first what the moves before it have changed
	// Progress ends the moves where the agent gave up, or has changed nothing and it
	// fails as before.
	Progress bool `json:"progress,omitempty"`
}

func (m *Move) times() int {
	if m.Times == 0 {
		return 1
	}
	return m.Times
}

func (m *Move) retry(p *Problem, n int) Action {
	return Action{Decision: Retry, By: Rule("retries"), Wait: m.Wait << min(n, 20), Reasoning: fmt.Sprintf("%s; attempt %d of %d", p.Message, n+2, m.times()+1)}
}

// DefaultStrategy names the strategy for types of problems that name none.
const DefaultStrategy = "default"
