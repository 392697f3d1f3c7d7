package coordinator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A coordinator repairs one problem of a task. It belongs to the task's scope.
type coordinator struct {
	sc    *executor.Scope
	o     Options
	all   []repairer      // that may repair
	tried map[string]bool // decisions, by signature and what was done
	past  experience      // of other jobs
	used  map[string]int  // moves of strategies, by strategy and place
	left  int             // repairs
	asked int             // questions to a person
	res   Result
	book  *Book // what users add

	coded    string // the detector of the program that has recognised codedFor
	codedFor *Problem

	last    *executor.Report // of the agent that repaired last
	pending []string         // commands that were not approved
	// missed is the reason why a missing package was not got, missedHint a person's
	// remedy.
	missed, missedHint string

	words   string // of a person, for the agents
	advised bool   // they were not followed yet
}

type repairer = agents.DynamicAgent

// An experience is a coordinator's knowledge from other jobs.
type experience struct {
	begun bool
	Setup
	known map[string]*Known // by signature
}

// NoModel is the model of a task for which there is none: then only code decides.
const NoModel = "none"

// newCoordinator is a coordinator for a task, which may spawn the agents that it needs.
func newCoordinator(sc *executor.Scope, o Options) (*coordinator, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	c := &coordinator{sc: sc, o: o, tried: map[string]bool{}, used: map[string]int{}}
	var err error
	if c.book, err = readBook(sc.Task.Problems); err != nil {
		return nil, err
	}
	sp := sc.Task.Spawn
	if sp == nil || sc.Task.Model == NoModel || o.Only {
		return c, nil
	}
	for _, name := range sp.Allowed {
		if name == Analyst || name == o.Supervise || len(o.Agents) > 0 && !slices.Contains(o.Agents, name) {
			continue
		}
		a, _, err := Pinned(sc.Task, name)
		if err != nil {
			return nil, err
		}
		a.Name = name
		if len(problem.All(a.ProblemTypes, c.book.Types...)) > 0 {
			c.all = append(c.all, a)
		}
	}
	return c, nil
}

// end is the result, with a last attempt if there was one.
func (c *coordinator) end(at *Attempt, status, reason, hint string) *Result {
	if at != nil {
		c.res.Attempts = append(c.res.Attempts, *at)
	}
	c.res.Status, c.res.Reason, c.res.Hint = status, clip(reason, 2000), hint
	c.res.Solved = status == Fixed || status == Passed
	if c.res.Solved {
		c.res.Problem = nil
	}
	return &c.res
}

func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "[…] " + strings.ToValidUTF8(s[len(s)-most:], "")
}

func (c *coordinator) seen(sig, what string) bool { return c.tried[sig+" "+what] }

// first reports whether something was not done yet about a signature, and notes it.
func (c *coordinator) first(sig, what string) bool {
	if c.seen(sig, what) {
		return false
	}
	c.tried[sig+" "+what] = true
	return true
}

// escalate has a person decide, if one is to be asked. end is the result if that is
// the end.
func (c *coordinator) escalate(p *Problem, at *Attempt) (end *Result, err error) {
	act := at.Action
	if c.asked++; c.o.Escalate != "" && c.o.Escalate != Ask || c.asked > mostQuestions {
		if c.o.Escalate == Never {
			return c.end(at, Failed, act.Reasoning, act.Hint), nil
		}
		return c.end(at, Escalated, act.Reasoning, act.Hint), nil
	}
	if at.Answer, at.Words, err = c.ask(p, act); err != nil {
		return nil, err
	}
	switch at.Answer {
	case "continue":
		c.left = c.o.attempts() + 1
		c.tried, c.used = map[string]bool{}, map[string]int{} // a person has changed what it depends on
		if at.Words != "" {
			c.words, c.advised = at.Words, c.analyses()
		}
		return nil, nil
	case "abort":
		return c.end(at, Aborted, "a person said abort: "+act.Reasoning, act.Hint), nil
	}
	return c.end(at, Unanswered, fmt.Sprintf("nobody answered within %s: %s", c.o.patience(), act.Reasoning), act.Hint), nil
}

// A Question is a question to a person.
type Question struct {
	Question string  `json:"question"`
	Problem  Problem `json:"problem"`
	Action   Action  `json:"action"`
}

// ask waits for a person, who may answer from anywhere, once. It returns continue,
// abort, or "" if nobody answers in time, and what the person says besides.
func (c *coordinator) ask(p *Problem, act Action) (answer, words string, err error) {
	about := Question{Problem: *p, Action: act, Question: fmt.Sprintf("%s. %s Then continue runs it again; abort gives up.", strings.TrimSuffix(spelling.FirstLine(act.Reasoning), "."), act.Hint)}
	about.Problem.Output = tail(p.Output, 2000)
	at := "@" + c.sc.Run.Next()
	sig, err := flow.AwaitAny(c.sc.Run, about, c.o.patience(), "continue"+at, "abort"+at)
	if se, ok := errors.AsType[*flow.StepError](err); ok && se.Code == flow.TimedOut {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	c.sc.Untrusted() // whoever may send signals may not be who runs the job
	name, _, _ := strings.Cut(sig.Name, "@")
	_ = json.Unmarshal(sig.Value, &words) // what is no text says nothing
	return name, clip(words, 2000), nil
}

// What an Options.Escalate makes of a decision to escalate.
const (
	Ask    = "ask"    // a person is asked, and the job waits
	Report = "report" // it ends with a report
	Never  = "never"  // it fails: nobody is to be asked
)

// Bounds limit a coordinator, as its caller sets them: in a pipeline, or to adroit
// fix.
type Bounds struct {
	Attempts  int           `json:"attempts,omitempty"`  // repairs and retries; 0 is 3
	Escalate  string        `json:"escalate,omitempty"`  // Ask if empty
	Wait      time.Duration `json:"wait,omitempty"`      // for a person's answer; 0 is 24 hours
	Agents    []string      `json:"agents,omitempty"`    // that may repair; empty: all that the task may spawn
	Keep      bool          `json:"keep,omitempty"`      // what a repair that did not help has changed
	Memory    string        `json:"memory,omitempty"`    // On, Off; empty: what the configuration says
	Supervise string        `json:"supervise,omitempty"` // the agent that reviews decisions before they are carried out; empty: none
}

// Options configure a coordinator.
type Options struct {
	Bounds
	Named    string   // the strategy of files that is used; empty: what the configuration says
	Strategy Strategy // what is done before anything else
	Only     bool     // nothing but Strategy and what code decides
	NoRules  bool     // code does not decide: a job that began before it did, or a step that must not be
	Parallel int      // agents that repair at once; 0 and 1 are one after the other
	Hooks
}

// Hooks let the user of a coordinator decide, repair and show. A nil one does as adroit
// fix.
type Hooks struct {
	// Decide decides where code cannot.
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
	return cmp.Or(o.Attempts, defaultAttempts)
}

func (o Options) patience() time.Duration {
	return cmp.Or(o.Wait, defaultPatience)
}

// Check reports invalid options.
func (o Options) Check() error {
	switch {
	case o.Attempts < 0 || o.Attempts > mostAttempts:
		return fmt.Errorf("attempts is %d; it is 1 to %d", o.Attempts, mostAttempts)
	case o.Escalate != "" && !slices.Contains([]string{Ask, Report, Never}, o.Escalate):
		return fmt.Errorf("escalate is %q; it is ask, report or never", o.Escalate)
	case !slices.Contains([]string{"", On, Off}, o.Memory):
		return fmt.Errorf("memory is %q; it is on or off", o.Memory)
	case o.Named != "" && !typeRule.MatchString(o.Named):
		return fmt.Errorf("strategy is %q; it is the name of one", o.Named)
	case o.Parallel < 0 || o.Parallel > MostParallel:
		return fmt.Errorf("parallel is %d; it is 1 to %d", o.Parallel, MostParallel)
	case o.Wait < 0:
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

// A Result is the outcome of a problem.
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

	ended Ended
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

// A Repair records an agent's work.
type Repair struct {
	Agent   string   `json:"agent"`
	Status  string   `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`
	Cost    float64  `json:"cost_usd,omitempty"`

	Path string `json:"path,omitempty"` // of the step that had it work, above all that it did in events and logs
	// Step is the same, also for a repair that is not undone if it does not help: a memory
	// finds there what it changed.
	Step string `json:"-"`

	diff string // what it changed, by its own account
}

var typeRule = lazyregexp.New(`^[a-z][a-z0-9-]{0,39}$`)

// MostParallel bounds the agents that repair at once.
const MostParallel = 8

// A Choice is the request of the job's author; it is part of no comparison then.
type Choice struct {
	Memory   string `json:"memory,omitempty"` // On, Off
	Strategy string `json:"strategy,omitempty"`
}

// Values of Choice.Memory.
const (
	On  = "on"
	Off = "off"
)

// A Review is a supervisor's verdict on a decision. Of is the original decision, if it
// was not approved.
type Review struct {
	Verdict   string  `json:"verdict"`
	Reasoning string  `json:"reasoning"`
	Of        *Action `json:"of,omitempty"`
}

// byMemory marks decisions by knowledge from other jobs: code, so a rule.
var byMemory = Rule("memory")

// Markdown is the result for a person: what failed, what was tried and why it did
// not help, what to look at and how to go on. job is the one that it is of.
func (r Result) Markdown(job string) string {
	var b strings.Builder
	title := map[string]string{Passed: "It works", Fixed: "It works again", Escalated: "A person has to go on", Aborted: "Given up, as a person said", Unanswered: "Nobody answered", Failed: "It could not be repaired"}[r.Status]
	fmt.Fprintf(&b, "# %s\n\nCommand: %s\n", title, code(r.Command))
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n## What failed\n\n%s\n", quote(r.Reason))
	}
	if p := r.Problem; p != nil {
		fmt.Fprintf(&b, "\nType: %s. %s\n", p.Type, plain(p.Message))
		if len(p.Files) > 0 {
			fmt.Fprintf(&b, "Files that it names: %s\n", names(p.Files))
		}
		if out := strings.TrimSpace(tail(p.Output, 3000)); out != "" {
			fmt.Fprintf(&b, "\nThe end of its output:\n\n%s\n", indent(out))
		}
	}
	if len(r.Attempts) > 0 {
		b.WriteString("\n## What was tried\n\n")
	}
	for i, a := range r.Attempts {
		fmt.Fprintf(&b, "%d. %s", i+1, a.Action.Decision)
		if a.Action.Agent != "" {
			b.WriteString(" to " + a.Action.Agent)
		}
		fmt.Fprintf(&b, " (%s): %s\n", a.Action.By, plain(a.Action.Reasoning))
		if r := a.Review; r != nil {
			fmt.Fprintf(&b, "   - the supervisor: %s: %s\n", plain(r.Verdict), plain(r.Reasoning))
			if r.Of != nil {
				fmt.Fprintf(&b, "   - instead of %s %s (%s): %s\n", r.Of.Decision, r.Of.Agent, r.Of.By, plain(r.Of.Reasoning))
			}
		}
		if m := a.Repair; m != nil {
			fmt.Fprintf(&b, "   - %s: %s", cmp.Or(m.Agent, code(a.Action.Run)), m.Status)
			if m.Reason != "" && m.Status != "done" {
				b.WriteString(": " + plain(m.Reason))
			}
			if len(m.Changed) > 0 {
				b.WriteString("; changed " + plain(strings.Join(m.Changed, ", ")))
			}
			b.WriteString("\n")
			if m.Summary != "" && m.Agent != "" && (r.Solved || m != r.lastRepair()) {
				fmt.Fprintf(&b, "   - it reports: %s\n", plain(m.Summary))
			}
		}
		if a.Answer != "" {
			fmt.Fprintf(&b, "   - a person answered: %s\n", strings.TrimSpace(a.Answer+" "+plain(a.Words)))
		}
		if w := outcomes[a.Outcome]; w != "" {
			fmt.Fprintf(&b, "   - %s\n", w)
		}
		if len(a.Undone) > 0 {
			fmt.Fprintf(&b, "   - undone: %s\n", plain(strings.Join(a.Undone, ", ")))
		}
		for _, k := range a.Kept {
			fmt.Fprintf(&b, "   - not undone: %s\n", plain(k))
		}
	}
	if !r.Solved {
		b.WriteString("\n## How to go on\n\n")
		if r.Hint != "" {
			b.WriteString(plain(r.Hint) + "\n")
		}
		b.WriteString("Repair it and run the command again, or `" + hint.Name("jobs retry %s", job) + "` for another round.\n")
	}
	if m := r.lastRepair(); m != nil && !r.Solved {
		fmt.Fprintf(&b, "\n## What %s said last\n\n%s\n", plain(m.Agent), quote(m.Summary))
	}
	return b.String()
}

// lastRepair is the last one of an agent that said something, nil if there is none.
func (r Result) lastRepair() *Repair {
	for _, a := range slices.Backward(r.Attempts) {
		if m := a.Repair; m != nil && m.Agent != "" && m.Summary != "" && a.Action.Replay == "" {
			return m
		}
	}
	return nil
}

var outcomes = map[string]string{"works": "it works after that", failsOtherwise: "it fails in another way after that", "same": "it fails as before", "no change": "nothing was changed, so it was not run again"}

// plain is text on one line without what Markdown would take for markup.
func plain(s string) string {
	return strings.NewReplacer("`", "'", "<", "&lt;", "*", `\*`, "[", `\[`, "#", `\#`, "_", `\_`).Replace(strings.Join(strings.Fields(s), " "))
}

// names lists files. One with brackets or the like is code, so that it can be copied.
func names(files []string) string {
	var out []string
	for _, f := range files {
		if plain(f) != f && !strings.ContainsAny(f, " \t\n()<>`#") {
			out = append(out, code(f))
		} else {
			out = append(out, plain(f))
		}
	}
	return strings.Join(out, ", ")
}

func code(s string) string {
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "`", "'") + "`"
}

func quote(s string) string { return "> " + plain(s) }

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
