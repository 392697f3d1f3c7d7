package flow

import (
	"encoding/json"
	"errors"
	"iter"
)

// Pull drives wf by hand, one step at a time, like a generator: for tests of
// workflows that need no model and no journal. The caller answers each step by
// calling reply before asking for the next. Branches run one after the other.
func Pull(wf Workflow, input json.RawMessage) (next func() (s Step, reply func(any, error), ok bool), stop func(), result func() (json.RawMessage, error)) {
	var out json.RawMessage
	var werr error
	n, s := iter.Pull2(func(yield func(Step, func(any, error)) bool) {
		out, werr = wf.Run(NewRun("pull", &pull{yield: yield}), input)
	})
	return n, s, func() (json.RawMessage, error) { return out, werr }
}

type pull struct {
	yield   func(Step, func(any, error)) bool
	stopped bool
}

var errStopped = errors.New("flow: pull stopped")

func (p *pull) Do(s Step) (res json.RawMessage, err error) {
	switch s.Kind {
	case KindCall, Note, Return:
		return json.RawMessage("{}"), nil
	case Checkpoint, Restore:
		return nil, nil
	}
	if p.stopped {
		return nil, errStopped
	}
	err = errors.New("flow: the step was not answered")
	if !p.yield(s, func(v any, rerr error) {
		if rerr != nil {
			res, err = nil, &StepError{s.Path, s.Kind, s.Name, *asFailure(rerr)}
			return
		}
		res, err = json.Marshal(v)
	}) {
		p.stopped = true
		return nil, errStopped
	}
	return res, err
}

func (p *pull) Fork(n int, branch func(int, Engine)) {
	for i := range n {
		branch(i, p)
	}
}
