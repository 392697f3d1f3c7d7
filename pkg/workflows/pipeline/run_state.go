package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// A run is one of a pipeline: what it knows so far. Branches of a group have
// one of their own.
type run struct {
	p      *Pipeline
	sc     *executor.Scope
	models []string
	input  json.RawMessage
	vars   map[string]json.RawMessage
	steps  map[string]record
	counts map[string]int
	total  int
	inner  bool // within another pipeline
	spent  bool // the job's own limits are used up
	denied bool // a person has denied a step
}

// bind gives the step's variable its value.
func (x *run) bind(s *Step, o outcome) {
	if s.Output != "" {
		x.vars[s.Output] = o.output
	}
}

// The bounds of a file at which a pipeline ends, as [executor.Outcome] names them.
const (
	LimitMax      = "max"
	LimitMaxSteps = "max_steps"
)

// capped reports that a step must not be run once more.
func (x *run) capped(s *Step) error {
	most := x.p.MaxSteps
	most = cmp.Or(most, defaultMaxSteps)
	switch {
	case s.Max > 0 && x.counts[s.ID] >= s.Max:
		return stopped(LimitMax, "step %s was run %d times, as often as its max allows", s.ID, s.Max)
	case x.total >= most:
		return stopped(LimitMaxSteps, "%d steps were run, as many as max_steps allows; %s would be next", most, s.ID)
	}
	return nil
}

func stopped(limit, format string, args ...any) error {
	return &executor.StopError{Outcome: executor.Outcome{Status: executor.Limit, Limit: limit, Reason: fmt.Sprintf(format, args...)}}
}

// An outcome is the result of one attempt at a step, or of all.
type outcome struct {
	record
	ended     string // of a failure: the status of an executor.Outcome
	code      string
	limit     string // that an agent has reached
	skipped   bool   // by its condition, not by a recovery
	diagnosis string
	spent     *executor.StopError // the job's own limits are used up
	denied    bool                // by a person: to try again would ask again
	rows      []Row
	problem   *coordinator.Problem // of a failed call: what there is to decide by
}

func done(output json.RawMessage) outcome {
	return outcome{record: record{status: statusDone, output: output}}
}

func failed(format string, args ...any) outcome {
	return outcome{record: record{status: Failed, output: quote(""), err: fmt.Sprintf(format, args...)}, ended: executor.Failed}
}

// withheld states why a step is skipped, "" if it is not.
func (x *run) withheld(s *Step) (string, error) {
	for _, id := range s.Needs {
		switch r, ok := x.steps[id]; {
		case !ok:
			return "it needs " + id + ", which has not run", nil
		case r.status != statusDone:
			return "it needs " + id + ", which is " + r.status, nil
		}
	}
	if s.When == nil {
		return "", nil
	}
	return s.When.holds(x.look)
}

// look finds the value that a path names.
func (x *run) look(path string) (json.RawMessage, error) {
	parts := strings.Split(path, ".")
	switch parts[0] {
	case "input":
		return into(x.input, parts[1:], path)
	case "steps":
		if len(parts) < 3 {
			return nil, fmt.Errorf("{{%s}} is not a value", path)
		}
		r, ok := x.steps[parts[1]]
		if !ok && parts[2] != "status" {
			return nil, fmt.Errorf("{{%s}} has no value: step %s has not run", path, parts[1])
		}
		v, err := r.field(parts[2])
		if err != nil {
			return nil, fmt.Errorf("{{%s}}: %w", path, err)
		}
		return into(v, parts[3:], path)
	}
	v, ok := x.vars[parts[0]]
	if !ok {
		return nil, fmt.Errorf("{{%s}} has no value: no step that ran has written it", path)
	}
	return into(v, parts[1:], path)
}

// filler puts values into the texts of one step.
func (x *run) filler() *filler {
	f := &filler{look: x.look, each: x.p.Defaults.Context.Each, all: x.p.Defaults.Context.All}
	f.each = cmp.Or(f.each, defaultEach)
	if f.all == 0 {
		f.all = max(defaultAll, f.each)
	}
	return f
}

// typed reports whether the job reads the values of results: one that began before
// they had any goes on with their texts.
func (x *run) typed() bool { return x.sc.Task.Revision >= turn.TypedResults }

// whole reports whether the job reads the values of failed calls and cuts values only
// in prompts.
func (x *run) whole() bool { return x.sc.Task.Revision >= turn.WholeValues }

// argsFiller fills the arguments of a tool. They are no part of a prompt, and a file
// that is written has all of a value.
func (x *run) argsFiller() *filler {
	f := x.filler()
	if x.typed() {
		f.each, f.all = 2*turn.MaxValue, 8*turn.MaxValue
	}
	return f
}

// valueFiller fills what an inner pipeline gets: its steps have prompts of their own.
func (x *run) valueFiller() *filler {
	if x.whole() {
		return x.argsFiller()
	}
	return x.filler()
}

// branch is a run of x for one step of a group.
func (x *run) branch(sc *executor.Scope) *run {
	y := *x
	y.sc, y.vars, y.steps, y.counts = sc, maps.Clone(x.vars), maps.Clone(x.steps), map[string]int{}
	return &y
}
