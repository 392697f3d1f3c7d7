// Package flow runs durable workflows: ordinary Go functions whose effects
// are steps.
//
// A workflow is a Go function; each effect it wants is a serialisable [Step];
// an [Engine] performs it, retries it, or recalls what it returned the first
// time. Step is to Engine what http.Request is to http.RoundTripper, and a
// [Mux] of handlers is to steps what http.ServeMux is to requests.
//
//	func Greet(r *flow.Run, name string) (string, error) {
//		who, err := flow.Do[string](r, "lookup", "directory", name)
//		if err != nil {
//			return "", err
//		}
//		if err := flow.Sleep(r, time.Hour); err != nil {
//			return "", err
//		}
//		return "hello " + who, nil
//	}
//
//	var Workflow = flow.Define("greet", Greet)
//
// Workflow code is replayed: no clocks, randomness, goroutines, environment
// or map order in a function that takes a *Run. Those come from steps. The vet
// check of internal/dev/flowvet finds them.
//
// The package is not a job queue: it knows one run at a time. See pkg/jobs.
package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// An Engine carries steps to whatever performs them.
type Engine interface {
	// Do performs s, or recalls what it returned the first time. A failed
	// step is a *StepError; any other error ends the run without an outcome.
	Do(s Step) (json.RawMessage, error)
	// Fork runs n branches, at once if it can, and returns when all have.
	Fork(n int, branch func(i int, e Engine))
}

// A Run is one execution of a workflow. It is not safe for concurrent use;
// branches of Map get their own.
type Run struct {
	job    string
	engine Engine
	scope  string // path prefix, empty or ending in a dot
	next   int
	forked bool
	known  []Workflow // for Child
	bound  *bound     // see Within; nil for none
}

// NewRun starts a run of job on e.
func NewRun(job string, e Engine) *Run { return &Run{job: job, engine: e} }

// Job is the id of the job this run belongs to.
func (r *Run) Job() string { return r.job }

// Next is the path that the next step will have. A workflow that must name a
// step before asking for it, as an approval does, may use it.
func (r *Run) Next() string { return r.scope + strconv.Itoa(r.next) }

func (r *Run) path() string {
	if r.forked {
		panic("flow: Run used inside Map; use the branch's own Run")
	}
	p := r.scope + strconv.Itoa(r.next)
	r.next++
	return p
}

// Do asks for one step and waits for what it yields.
func Do[Out any](r *Run, kind, name string, in any) (Out, error) {
	s, err := r.step(Step{Kind: kind, Name: name}, in)
	if err != nil {
		var zero Out
		return zero, err
	}
	res, err := r.engine.Do(s)
	return output[Out](s, res, err)
}

// DoKeep is Do for a step whose input later steps refer to. It returns the
// input's digest too, which is the same on every replay.
func DoKeep[Out any](r *Run, kind, name string, in any) (Out, string, error) {
	s, err := r.step(Step{Kind: kind, Name: name, Keep: true}, in)
	if err != nil {
		var zero Out
		return zero, "", err
	}
	s.digest = Digest(s.Input)
	res, err := r.engine.Do(s)
	out, err := output[Out](s, res, err)
	return out, s.digest, err
}

// step completes s, which comes next in r and has in as its input.
func (r *Run) step(s Step, in any) (Step, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return s, fmt.Errorf("%s %s: encoding input: %w", s.Kind, s.Name, err)
	}
	s.Job, s.Path, s.Input = r.job, r.path(), b
	s.Within, s.bound = r.bound.least(), r.bound
	return s, nil
}

// output decodes what an engine returned for s.
func output[Out any](s Step, res json.RawMessage, err error) (Out, error) {
	var out Out
	if err != nil || len(res) == 0 { // no output: a step that was only to be done
		return out, err
	}
	if own, ok := any(&out).(json.Unmarshaler); ok {
		err = own.UnmarshalJSON(res) // what was encoded here need not be scanned twice before it is decoded
	} else {
		err = json.Unmarshal(res, &out)
	}
	if err != nil {
		return out, fmt.Errorf("%s %s: decoding output: %w", s.Kind, s.Name, err)
	}
	return out, nil
}

// Map runs f over xs in branches and keeps order. Siblings of a failed branch
// finish and their results are kept; the errors are joined.
func Map[In, Out any](r *Run, xs []In, f func(*Run, In) (Out, error)) ([]Out, error) {
	return fork(r, xs, r.engine.Fork, f)
}

// fork is Map over an engine's way to run branches.
func fork[In, Out any](r *Run, xs []In, branches func(int, func(int, Engine)), f func(*Run, In) (Out, error)) ([]Out, error) {
	outs, errs := make([]Out, len(xs)), make([]error, len(xs))
	if len(xs) == 0 {
		return outs, nil
	}
	prefix := r.path() + "."
	r.forked = true
	defer func() { r.forked = false }()
	ended := r.bound.contest().fork(len(xs))
	branches(len(xs), func(i int, e Engine) {
		defer ended()
		outs[i], errs[i] = f(&Run{job: r.job, engine: e, scope: prefix + strconv.Itoa(i) + ".", known: r.known, bound: r.bound}, xs[i])
	})
	return outs, errors.Join(errs...)
}

// Call runs another workflow as part of this one, in its own path scope.
func Call[In, Out any](r *Run, name string, f func(*Run, In) (Out, error), in In) (Out, error) {
	own, err := r.Part(name)
	if err != nil {
		var zero Out
		return zero, err
	}
	return f(own, in)
}

// Part begins a part of the run, whose steps have a path scope of their own.
func (r *Run) Part(name string) (*Run, error) {
	scope := r.scope + strconv.Itoa(r.next) + "."
	if _, err := Do[struct{}](r, KindCall, name, nil); err != nil {
		return nil, err
	}
	return &Run{job: r.job, engine: r.engine, scope: scope, known: r.known, bound: r.bound}, nil
}

// Sleep pauses the run for d, across restarts.
func Sleep(r *Run, d time.Duration) error {
	_, err := Do[struct{}](r, KindSleep, d.String(), d)
	return err
}

// Save makes state the point from which this scope of the run resumes, and
// lets the engine forget the steps before it. Call it only where the workflow
// needs nothing but state to go on.
func Save(r *Run, state any) error {
	input, err := writeState(r.next, state)
	if err != nil {
		return fmt.Errorf("checkpoint: encoding state: %w", err)
	}
	_, err = r.engine.Do(Step{Job: r.job, Path: r.scope, Kind: checkpoint, Input: input})
	return err
}

const stateNext, stateValue = `{"next":`, `,"value":`

// writeState encodes a State with this value, without scanning what is encoded
// already: it comes with every turn.
func writeState(next int, value any) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteString(stateNext + strconv.Itoa(next) + stateValue)
	err := json.NewEncoder(&b).Encode(value)
	return append(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), '}'), err
}

// readState decodes what writeState wrote without scanning the value, and any
// other encoding of a State as usual.
func readState(b json.RawMessage) (State, error) {
	if rest, ok := bytes.CutPrefix(b, []byte(stateNext)); ok && b[len(b)-1] == '}' {
		if next, value, ok := bytes.Cut(rest, []byte(stateValue)); ok {
			if n, err := strconv.Atoi(string(next)); err == nil {
				return State{Next: n, Value: value[: len(value)-1 : len(value)-1]}, nil
			}
		}
	}
	var st State
	err := json.Unmarshal(b, &st)
	return st, err
}

// Load gives the state saved last in this scope and moves the run to the point
// after it. It reports false in a run that has saved nothing.
func Load(r *Run, state any) (bool, error) {
	b, err := r.engine.Do(Step{Job: r.job, Path: r.scope, Kind: restore})
	if err != nil || len(b) == 0 {
		return false, err
	}
	var st State
	if err := json.Unmarshal(b, &st); err != nil {
		return false, fmt.Errorf("checkpoint: decoding: %w", err)
	}
	if err := json.Unmarshal(st.Value, state); err != nil {
		return false, fmt.Errorf("checkpoint: decoding state: %w", err)
	}
	r.next = st.Next
	return true, nil
}

// Peek gives the state that is kept for a scope, as in "2.", without moving the run. It
// reports false if there is none.
func (r *Run) Peek(scope string, state any) (bool, error) {
	b, err := r.engine.Do(Step{Job: r.job, Path: scope, Kind: restore})
	if err != nil || len(b) == 0 {
		return false, err
	}
	st, err := readState(b)
	if err != nil {
		return false, fmt.Errorf("checkpoint: decoding: %w", err)
	}
	return true, json.Unmarshal(st.Value, state)
}

// A Workflow is a named function with its types erased. The name is pinned by
// the jobs that run it: changed code gets a new name.
type Workflow struct {
	Name string
	Run  func(*Run, json.RawMessage) (json.RawMessage, error)
}

// Define names a typed workflow. On an error that comes with a result, the
// result is kept: Run returns both.
func Define[In, Out any](name string, f func(*Run, In) (Out, error)) Workflow {
	return Workflow{name, func(r *Run, b json.RawMessage) (json.RawMessage, error) {
		var in In
		if len(b) > 0 {
			if err := json.Unmarshal(b, &in); err != nil {
				return nil, fmt.Errorf("workflow %s: decoding input: %w", name, err)
			}
		}
		out, err := f(r, in)
		res, merr := json.Marshal(out)
		if merr != nil {
			return nil, errors.Join(err, fmt.Errorf("workflow %s: encoding output: %w", name, merr))
		}
		return res, err
	}}
}
