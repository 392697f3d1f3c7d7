// Package pipeline runs several agents, commands and tools one after another,
// as data states.
//
//	name: feature
//	description: Plan a feature, and build it.
//	onFailure: recovery
//	recovery: recovery
//	steps:
//	  - id: plan
//	    agent: planner
//	    input: "Plan this: {{input}}"
//	    output: plan
//	  - id: build
//	    agent: builder
//	    input: "Do this:\n{{plan}}"
//	    timeout: 30m
//	    retries: 1
//	  - id: test
//	    run: go test ./...
//	    onFailure: build
//	    max: 3
//
// [Parse] reads the text of a pipeline and [Lint] states all that is wrong with
// it, before anything runs. [Workflow] runs one: an ordinary workflow over the
// steps, which pins the pipeline with all of its agents by value, so that
// editing a file never changes a run in flight.
//
// Conditions are data and templates put in values, nothing more: a pipeline is
// not a language. What needs one is a workflow in Go; see pkg/workflows.
package pipeline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// A Pipeline is steps and what happens between them.
type Pipeline struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Inputs      []agents.Field `json:"inputs,omitempty"` // besides {{input}}; each is a variable
	// Variables are the values that variables have at the beginning.
	Variables map[string]json.RawMessage `json:"variables,omitempty"`
	Defaults  defaults                   `json:"defaults,omitzero"`
	OnFailure failurePolicy              `json:"onFailure,omitempty"` // of steps that do not say; empty is Stop
	// Limits bound all steps together where the pipeline is a job; within another
	// one, those of that one hold.
	Limits   executor.Limits `json:"limits,omitzero"`
	Recovery *recovery       `json:"recovery,omitempty"` // who is asked under the policy recovery
	// Coordinate bounds the policy Repair, for steps that do not bound it themselves.
	Coordinate *coordinator.Bounds `json:"coordinate,omitempty"`
	MaxSteps   int                 `json:"max_steps,omitempty"` // runs of steps in all; zero is defaultMaxSteps
	Steps      []Step              `json:"steps"`

	Source source `json:"-"`
}

// defaults hold for steps that do not say otherwise.
type defaults struct {
	Model   string          `json:"model,omitempty"`  // of agents that name none
	Limits  executor.Limits `json:"limits,omitzero"`  // of agents, for fields that they leave open
	Context contextLimits   `json:"context,omitzero"` // how much of earlier outputs is put in
}

// A contextLimits bounds what templates put into one text, in bytes.
type contextLimits struct {
	Each int `json:"each,omitempty"` // of one value; zero is 8 KiB
	All  int `json:"all,omitempty"`  // of all values together; zero is 32 KiB
}

// A failurePolicy states what happens after a step has failed for good.
type failurePolicy string

const (
	policyStop     failurePolicy = "stop"     // the pipeline fails; the default
	policyContinue failurePolicy = "continue" // the next step is next
	policyRecover  failurePolicy = "recovery" // an agent decides: again, skip or stop
	// policyCoordinate has a coordinator repair what a command or a check complains about: code
	// decides, then repair agents by the type of the problem, and a person where they
	// cannot. Steps of other kinds stop.
	policyCoordinate failurePolicy = "coordinate"
)

// policies lists the valid values of failurePolicy.
var policies = []failurePolicy{policyStop, policyContinue, policyRecover, policyCoordinate}

// Known reports whether p is one of the policies.
func (p failurePolicy) Known() bool { return slices.Contains(policies, p) }

// policy returns the policy after a failure of s, if it does not jump.
func (p *Pipeline) policy(s *Step) failurePolicy {
	if v := failurePolicy(s.OnFailure); slices.Contains(policies, v) {
		return v
	}
	if p.OnFailure == "" {
		return policyStop
	}
	return p.OnFailure
}

// jumps reports whether a failure of s leads to another step.
func (p *Pipeline) jumps(s *Step) bool {
	return slices.ContainsFunc(p.Steps, func(t Step) bool { return t.ID == s.OnFailure })
}

func policyNames() (out []string) {
	for _, p := range policies {
		out = append(out, string(p))
	}
	return out
}

// endID, as the target of onSuccess, ends the pipeline well.
const endID = "end"

// A recovery is the agent that is asked about failed steps.
type recovery struct {
	Agent    Agent  `json:"agent"`
	Model    string `json:"model,omitempty"`    // instead of the agent's
	Attempts int    `json:"attempts,omitempty"` // retries of one step that it may order; zero is 1
}

func (r *recovery) most() int {
	if r.Attempts == 0 {
		return 1
	}
	return r.Attempts
}

// An Agent is one by name, or one by value.
type Agent struct {
	Name string
	Spec *agents.DynamicAgent
}

// MarshalJSON writes a name as text, else the agent.
func (a Agent) MarshalJSON() ([]byte, error) {
	if a.Spec != nil {
		return json.Marshal(a.Spec)
	}
	return json.Marshal(a.Name)
}

// strict reads a pipeline, or a part of one, and refuses what it does not know: a condition
// that a newer program has put there would not be heeded.
func strict(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Agent) UnmarshalJSON(b []byte) error {
	*a = Agent{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &a.Name)
	}
	if err := strict(b, &a.Spec); err != nil {
		return err
	}
	a.Name = a.Spec.Name
	return nil
}

// A Step is one thing to do. Exactly one of Agent, Run, Tool, Await, Pipeline
// and Parallel is set.
type Step struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // for people

	Agent    *Agent  `json:"agent,omitempty"`
	Run      string  `json:"run,omitempty"`      // a command line, run by the tool shell
	Tool     string  `json:"tool,omitempty"`     // called with Args
	Await    *await  `json:"await,omitempty"`    // waits for a person
	Pipeline *within `json:"pipeline,omitempty"` // another one, as one step
	Parallel []Step  `json:"parallel,omitempty"` // steps that run at once

	// Input is a template: the prompt of an agent, the input of a pipeline.
	Input string `json:"input,omitempty"`
	// Inputs are templates of the declared inputs of an agent or a pipeline.
	Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
	// Args are the arguments of a tool; texts in them are templates.
	Args json.RawMessage `json:"args,omitempty"`
	// Check reports that Tool or Run was written as a check: lint refuses a tool whose
	// success proves nothing.
	Check bool `json:"check,omitempty"`
	// Repeatable is set if running Run, or calling Tool, twice does no harm: one that was
	// interrupted is then run again, and no person is asked.
	Repeatable bool `json:"repeatable,omitempty"`
	// Output names the variable that the output is bound to.
	Output string `json:"output,omitempty"`

	// Worktree gives the agent a copy of the work tree to itself; what it changed
	// is brought back, and what others have changed meanwhile fails the step.
	Worktree bool `json:"worktree,omitempty"`

	MCPServers []string `json:"mcp_servers,omitempty"` // servers whose tools the agent has besides

	Model  string          `json:"model,omitempty"` // instead of the agent's
	Limits executor.Limits `json:"limits,omitzero"` // instead of the agent's, field by field

	When    *condition    `json:"when,omitempty"`    // else the step is skipped
	Needs   []string      `json:"needs,omitempty"`   // steps that must be done, else it is skipped
	Timeout time.Duration `json:"timeout,omitempty"` // of one attempt
	Retries retries       `json:"retries,omitzero"`
	Until   *condition    `json:"until,omitempty"` // else the step is run again
	Max     int           `json:"max,omitempty"`   // runs of the step, by until and by jumps; retries are not counted

	OnSuccess string `json:"onSuccess,omitempty"` // a step's id, or End; empty is the next step
	OnFailure string `json:"onFailure,omitempty"` // a step's id or a Policy; empty is the pipeline's policy
	// Coordinate bounds the policy Repair of this step.
	Coordinate *coordinator.Bounds `json:"coordinate,omitempty"`
}

// retries are further attempts at a step that failed.
type retries struct {
	Attempts int           `json:"attempts,omitempty"` // besides the first
	Backoff  time.Duration `json:"backoff,omitempty"`  // before the first of them, doubled for each further
}

// await states which signal a step waits for, and what the person is asked.
type await struct {
	Signal   string `json:"signal"`
	Question string `json:"question,omitempty"` // a template
}

// within is a pipeline within another: by name, and by value once it is pinned.
type within struct {
	Name string
	Spec *Pipeline
}

// MarshalJSON writes a name as text, else the pipeline.
func (w within) MarshalJSON() ([]byte, error) {
	if w.Spec != nil {
		return json.Marshal(w.Spec)
	}
	return json.Marshal(w.Name)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *within) UnmarshalJSON(b []byte) error {
	*w = within{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &w.Name)
	}
	if err := strict(b, &w.Spec); err != nil {
		return err
	}
	w.Name = w.Spec.Name
	return nil
}

// Kind states which of the kinds a step is: agent, run, tool, await, pipeline or
// parallel; "" if it is none.
func (s *Step) Kind() string {
	if kinds := s.kinds(); len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// called names the step in messages, also one without an id, which is a fault of its own.
func (s *Step) called() string {
	if s.ID == "" {
		return "this step"
	}
	return "the step " + s.ID
}

func (s *Step) kinds() []string {
	var out []string
	for _, k := range stepKinds {
		if k.is(s) {
			out = append(out, k.key)
		}
	}
	return out
}

// A stepKind is one of the things that a step does, by its key.
type stepKind struct {
	key, field string // in files; of Step
	is         func(*Step) bool
}

// stepKinds is the list that everything made of steps is checked against: parsing, lint,
// running, descriptions and the schema. A step of no kind fails.
var stepKinds = []stepKind{
	{"agent", "Agent", func(s *Step) bool { return s.Agent != nil }},
	{"run", "Run", func(s *Step) bool { return s.Run != "" }},
	{"tool", "Tool", func(s *Step) bool { return s.Tool != "" }},
	{"await", "Await", func(s *Step) bool { return s.Await != nil }},
	{"pipeline", "Pipeline", func(s *Step) bool { return s.Pipeline != nil }},
	{"parallel", "Parallel", func(s *Step) bool { return s.Parallel != nil }},
}

// commands reports whether the step runs a command or checks something: what fails
// there is for a coordinator.
func (s *Step) commands() bool { return s.Run != "" || s.Tool != "" }

// shell is the tool that runs commands.
const shell = "shell"

// Title returns the step's name for people.
func (s *Step) Title() string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

// Bounds of a pipeline.
const (
	defaultMaxSteps = 100
	maxMaxSteps     = 10_000
	maxSteps        = 200 // in the file, those of groups counted
	maxRetries      = 20
	maxValues       = 2000 // places in which templates put one in
	maxNesting      = 5    // of groups, and of pipelines within pipelines
	defaultEach     = 8 << 10
	defaultAll      = 32 << 10
)

// IDs and names of variables become parts of templates and of events.
var (
	nameRule = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)
	idRule   = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	varRule  = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
)

// CheckName returns what is wrong with the name of a pipeline.
func CheckName(name string) error {
	if nameRule.MatchString(name) {
		return nil
	}
	return problem.Invalidf("it is lower-case letters, digits, _ and -, at most 64, and begins with a letter", "%q cannot be the name of a pipeline", name)
}

// A repaired is a step while a coordinator tries to get it done.
type repaired struct {
	x   *run
	s   *Step
	row *Row
	o   outcome // of the last attempt

	changes   coordinator.Adjustments // for the next attempt
	diagnosis string
}

// options returns the step's options for coordination: its retries, then its policy.
func (t *repaired) options() coordinator.Options {
	o := coordinator.Moves(t.x.sc.Task)
	o.NoRules = true
	if n := t.s.Retries.Attempts; n > 0 {
		o.Strategy = append(o.Strategy, coordinator.Move{Retry: true, Times: n, Wait: t.s.Retries.Backoff})
	}
	if t.x.recovers(t.s) {
		o.Strategy = append(o.Strategy, coordinator.Move{Decide: true, Times: t.x.p.Recovery.most()})
		o.NoRules = !t.x.coded() || t.s.Kind() != "run" && t.s.Kind() != "tool" // what agents say is no output of a program
	}
	if t.x.coordinates(t.s) {
		return t.repairs(o)
	}
	o.Decide = func(*coordinator.Problem, int) (coordinator.Action, error) {
		d, err := t.x.recover(t.s, t.row.Attempts, &t.o)
		return d.action(), err
	}
	o.Show = t.show
	return o
}

// coordinates reports whether a coordinator is the policy of s.
func (x *run) coordinates(s *Step) bool {
	return !x.p.jumps(s) && x.p.policy(s) == policyCoordinate && s.commands()
}

// repairs are the options of a step that a coordinator repairs.
func (t *repaired) repairs(o coordinator.Options) coordinator.Options {
	o.Only, o.NoRules = false, false
	o.Bounds = *cmp.Or(t.s.Coordinate, t.x.p.Coordinate, &coordinator.Bounds{})
	o.Show = func(p *coordinator.Problem, at *coordinator.Attempt) error {
		if at.Action.By == coordinator.Rule("retries") {
			return t.show(p, at)
		}
		t.diagnosis = decisionOf(at.Action).Diagnosis
		return coordinator.Announce(t.x.sc, at)
	}
	return o
}

// show reports a retry, or what was decided.
func (t *repaired) show(_ *coordinator.Problem, at *coordinator.Attempt) error {
	x, act := t.x, at.Action
	switch act.By {
	case coordinator.Rule("strategy"):
		return nil // nothing is left to try
	case coordinator.Rule("retries"):
		return x.sc.Run.Emit(event.StageRetried, t.s.ID, map[string]any{"error": t.o.err, "attempt": t.row.Attempts + 1, "of": t.s.Retries.Attempts + 1, "wait_ns": act.Wait})
	}
	d := decisionOf(act)
	t.changes, t.diagnosis = act.Changes, d.Diagnosis
	return x.sc.Run.Emit(event.StageRecovery, fmt.Sprintf("%s: %s: %s", t.s.ID, d.Decision, spelling.FirstLine(d.Diagnosis)), d)
}

// recovers reports whether the recovery agent is asked about s. The steps of a
// group have been asked about each when the group fails.
func (x *run) recovers(s *Step) bool {
	if x.p.Recovery == nil || x.p.jumps(s) {
		return false
	}
	if s.Parallel != nil && s.OnFailure == "" {
		return false
	}
	return x.p.policy(s) == policyRecover
}
