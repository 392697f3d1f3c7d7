package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// What an Options.Escalate makes of a decision to escalate.
const (
	Ask    = "ask"    // a person is asked, and the job waits
	Report = "report" // it ends with a report
	Never  = "never"  // it fails: nobody is to be asked
)

// Options bound a coordinator.
type Options struct {
	Attempts int           // repairs and retries; 0 is 3
	Escalate string        // Ask if empty
	Patience time.Duration // for a person's answer; 0 is 24 hours
	Names    []string      // agents that may repair; empty: all that the task may spawn
	Keep     bool          // what a repair that did not help has changed
}

const (
	defaultAttempts = 3
	mostAttempts    = 20
	defaultPatience = 24 * time.Hour
	mostQuestions   = 10 // to a person, in one run
	analyst         = "failure-analyst"
	diagnostic      = "diagnostic"
)

func (o Options) attempts() int {
	if o.Attempts == 0 {
		return defaultAttempts
	}
	return o.Attempts
}

// Check reports what cannot be meant.
func (o Options) Check() error {
	switch {
	case o.Attempts < 0 || o.Attempts > mostAttempts:
		return fmt.Errorf("attempts is %d; it is 1 to %d", o.Attempts, mostAttempts)
	case o.Escalate != "" && !slices.Contains([]string{Ask, Report, Never}, o.Escalate):
		return fmt.Errorf("escalate is %q; it is ask, report or never", o.Escalate)
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
}

// An Attempt is one decision and what came of it.
type Attempt struct {
	Type      string   `json:"type"`
	Signature string   `json:"signature"`
	Message   string   `json:"message"`
	Action    Action   `json:"action"`
	Repair    *Repair  `json:"repair,omitempty"` // of DELEGATE
	Answer    string   `json:"answer,omitempty"` // of a person
	Outcome   string   `json:"outcome"`          // works, changed, same, no change
	Undone    []string `json:"undone,omitempty"` // because it did not help
	Kept      []string `json:"kept,omitempty"`   // that could not be undone, with the reason
}

// A Repair is what an agent did.
type Repair struct {
	Agent   string   `json:"agent"`
	Status  string   `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`
	Cost    float64  `json:"cost_usd,omitempty"`

	path string // of the step that had it work
}

// A Coordinator repairs one problem of a task. It belongs to the task's scope.
type Coordinator struct {
	sc    *executor.Scope
	o     Options
	all   []agents.DynamicAgent // that may repair
	tried map[string]bool       // decisions, by signature and what was done
	res   Result
}

// NoModel is the model of a task for which there is none: then only code decides.
const NoModel = "none"

// New is a coordinator for a task, which may spawn the agents that it needs.
func New(sc *executor.Scope, o Options) (*Coordinator, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	c := &Coordinator{sc: sc, o: o, tried: map[string]bool{}}
	sp := sc.Task.Spawn
	if sp == nil || sc.Task.Model == NoModel {
		return c, nil
	}
	for _, name := range sp.Allowed {
		if name == analyst || len(o.Names) > 0 && !slices.Contains(o.Names, name) {
			continue
		}
		var a agents.DynamicAgent
		if err := json.Unmarshal(sp.Agents[name].Spec, &a); err != nil {
			return nil, fmt.Errorf("agent %s as it was pinned: %w", name, err)
		}
		a.Name = name
		if len(problem.All(a.ProblemTypes)) > 0 {
			c.all = append(c.all, a)
		}
	}
	return c, nil
}

// Coordinate repairs p until retry, which runs again what failed, returns no
// problem. The error is that of the engine, of a limit, or of a model that could
// not be asked: that says nothing about the problem. What there is of a result
// comes with it.
func (c *Coordinator) Coordinate(p *Problem, retry func(*executor.Scope) (*Problem, error)) (Result, error) {
	c.res.Command, c.res.Problem = p.Command, p
	left, asked := c.o.attempts(), 0
	for n := 1; ; n++ {
		p.Attempt = n
		act, err := c.decide(p, left)
		if err != nil {
			return c.end(Failed, err.Error(), ""), err
		}
		at := Attempt{Type: p.Type, Signature: p.Signature(), Message: clip(p.Message, 300), Action: act}
		if err := c.report(&at); err != nil {
			return c.res, err
		}
		var again bool
		switch act.Decision {
		case Fail:
			c.res.Attempts = append(c.res.Attempts, at)
			return c.end(Failed, act.Reasoning, act.Hint), nil
		case Escalate:
			if asked++; c.o.Escalate != "" && c.o.Escalate != Ask || asked > mostQuestions {
				c.res.Attempts = append(c.res.Attempts, at)
				if c.o.Escalate == Never {
					return c.end(Failed, act.Reasoning, act.Hint), nil
				}
				return c.end(Escalated, act.Reasoning, act.Hint), nil
			}
			if at.Answer, err = c.ask(p, act); err != nil {
				return c.res, err
			}
			if at.Answer != "continue" {
				c.res.Attempts = append(c.res.Attempts, at)
				if at.Answer == "abort" {
					return c.end(Aborted, "a person said abort: "+act.Reasoning, act.Hint), nil
				}
				return c.end(Unanswered, fmt.Sprintf("nobody answered within %s: %s", c.o.patience(), act.Reasoning), act.Hint), nil
			}
			left, again = c.o.attempts()+1, true
			c.tried = map[string]bool{} // a person has changed what it depends on
		case Retry:
			if act.Wait > 0 {
				if err := flow.Sleep(c.sc.Run, act.Wait); err != nil {
					return c.res, err
				}
			}
			again = true
		case Delegate:
			if again, err = c.delegate(p, &at); err != nil {
				c.res.Attempts = append(c.res.Attempts, at)
				return c.end(Failed, err.Error(), ""), err
			}
		}
		if act.Decision != Retry || !strings.HasPrefix(act.By, "rule ") {
			left--
		}
		if !again {
			at.Outcome = "no change"
			c.res.Attempts = append(c.res.Attempts, at)
			continue
		}
		next, err := retry(c.sc)
		if err != nil {
			c.res.Attempts = append(c.res.Attempts, at)
			return c.end(Failed, err.Error(), ""), err
		}
		if next == nil {
			at.Outcome = "works"
			c.res.Attempts = append(c.res.Attempts, at)
			return c.end(Fixed, "", ""), nil
		}
		next.Type = c.typeOf(next, p)
		if err := c.judge(&at, next); err != nil {
			return c.res, err
		}
		c.res.Attempts = append(c.res.Attempts, at)
		p, c.res.Problem = next, next
	}
}

// typeOf is the type of the next problem before it is classified: so that the
// signatures of two that are the same are the same.
func (c *Coordinator) typeOf(next, before *Problem) string {
	q := *next
	if _, _, known := Classify(&q); known {
		return q.Type
	}
	return before.Type
}

func (c *Coordinator) end(status, reason, hint string) Result {
	c.res.Status, c.res.Reason, c.res.Hint = status, clip(reason, 2000), hint
	c.res.Solved = status == Fixed || status == Passed
	if c.res.Solved {
		c.res.Problem = nil
	}
	return c.res
}

func (o Options) patience() time.Duration {
	if o.Patience == 0 {
		return defaultPatience
	}
	return o.Patience
}

// report shows a decision to those who watch.
func (c *Coordinator) report(at *Attempt) error {
	text := fmt.Sprintf("%s (%s): %s", at.Action.Decision, at.Action.By, firstLine(at.Action.Reasoning))
	if at.Action.Agent != "" {
		text = fmt.Sprintf("%s to %s (%s): %s", at.Action.Decision, at.Action.Agent, at.Action.By, firstLine(at.Action.Reasoning))
	}
	return c.sc.Run.Report(map[string]any{"problem": at.Type, "signature": at.Signature, "action": at.Action}, "%s", text)
}

// judge finishes an attempt after which it still fails: what did not help is
// taken back, unless it is to be kept.
func (c *Coordinator) judge(at *Attempt, next *Problem) error {
	at.Outcome = "changed"
	if next.Signature() == at.Signature {
		at.Outcome = "same"
	}
	if at.Repair == nil || at.Outcome != "same" || c.o.Keep || len(at.Repair.Changed) == 0 {
		return nil
	}
	got, err := c.undo(at.Repair.path)
	at.Undone, at.Kept = got.Undone, got.Kept
	return err
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// A Question is what a person is asked.
type Question struct {
	Question string  `json:"question"`
	Problem  Problem `json:"problem"`
	Action   Action  `json:"action"`
}

// ask waits for a person, who may answer from anywhere, once. It returns continue,
// abort, or "" if nobody answers in time.
func (c *Coordinator) ask(p *Problem, act Action) (string, error) {
	about := Question{Problem: *p, Action: act, Question: fmt.Sprintf("%s. %s Then continue runs it again; abort gives up.", strings.TrimSuffix(firstLine(act.Reasoning), "."), act.Hint)}
	about.Problem.Output = tail(p.Output, 2000)
	at := "@" + c.sc.Run.Next()
	sig, err := flow.AwaitAny(c.sc.Run, about, c.o.patience(), "continue"+at, "abort"+at)
	var se *flow.StepError
	if errors.As(err, &se) && se.Code == flow.TimedOut {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	c.sc.Untrusted() // whoever may send signals may not be who runs the job
	name, _, _ := strings.Cut(sig.Name, "@")
	return name, nil
}

func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "[…] " + strings.ToValidUTF8(s[len(s)-most:], "")
}
