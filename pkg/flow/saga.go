package flow

import (
	"errors"
	"fmt"
	"slices"
)

// Saga runs f and, if it fails, takes back what f has done: the actions it gave
// to its Undo run as part of the workflow, the last one first. Each is a call
// of its own in the journal, so that a run killed among them goes on with the
// next one.
//
//	trip, err := flow.Saga(r, func(r *flow.Run, u *flow.Undo) (Trip, error) {
//		u.Add("cancel the flight", func(r *flow.Run) error { return cancel(r, "flight") })
//		if err := book(r, "flight"); err != nil {
//			return Trip{}, err
//		}
//		u.Add("cancel the room", func(r *flow.Run) error { return cancel(r, "room") })
//		return Trip{}, book(r, "room")
//	})
//
// The error is that of f; those of actions that fail are joined to it, and the
// actions before them run all the same. A result that f gives with its error
// is kept. A run that only stops, because it was interrupted or cancelled, is
// parked or diverged, takes nothing back. A saga that has taken back its actions
// is not reopened: see [Reopener].
func Saga[Out any](r *Run, f func(*Run, *Undo) (Out, error)) (Out, error) {
	u := &Undo{run: r}
	out, err := f(r, u)
	if err == nil {
		return out, nil
	}
	errs := []error{err}
	for _, a := range slices.Backward(u.actions) {
		begun := false
		_, err := Call(r, a.name, func(r *Run, _ struct{}) (struct{}, error) {
			begun = true
			return struct{}{}, a.do(r)
		}, struct{}{})
		if !begun {
			break // the run has stopped, and performs nothing more
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.name, err))
		}
	}
	if len(errs) == 1 {
		return out, err
	}
	return out, errors.Join(errs...)
}

// An Undo collects what a saga takes back. It belongs to the Run that the saga
// was begun on: a branch of Map has a saga of its own, and what the branches
// give back is added once Map has returned.
type Undo struct {
	run     *Run
	actions []action
}

type action struct {
	name string
	do   func(*Run) error
}

// Add gives u what takes the next step back. Add it before that step is asked
// for: a step that failed, or was interrupted, may have happened. So do must
// put up with nothing to take back. After a [Load], add again what the state
// says was done before it.
func (u *Undo) Add(name string, do func(*Run) error) {
	if u.run.forked {
		panic("flow: Undo used inside Map; begin a saga in the branch")
	}
	u.actions = append(u.actions, action{name, do})
}
