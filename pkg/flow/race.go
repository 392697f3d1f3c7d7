package flow

import (
	"context"
	"slices"
)

// Lost is the code of a step of a branch of [Race] that another branch has made
// pointless.
const Lost = "lost"

// Race runs f over xs in branches, as Map does, until one of them reports that it has
// won: then what is under way in the others fails with the code [Lost], and so does
// every step that they ask for. winner is the first branch in the order of xs that
// has won, -1 if none has; it is the same on every replay.
//
// A branch must not wait for a person. Engines that cannot stop what is under way let
// the branches end by themselves.
func Race[In, Out any](r *Run, xs []In, f func(*Run, In) (out Out, won bool, err error)) (outs []Out, winner int, err error) {
	before := r.bound
	race := newRace(before)
	r.bound = race
	defer func() { r.bound = before; race.end() }()
	won, at := make([]bool, len(xs)), make([]int, len(xs))
	for i := range at {
		at[i] = i
	}
	outs, err = Map(r, at, func(r *Run, i int) (Out, error) {
		out, ok, err := f(r, xs[i])
		if won[i] = ok && err == nil; won[i] {
			race.end()
		}
		return out, err
	})
	return outs, slices.Index(won, true), err
}

// newRace is a bound without a time that ends when a branch has won.
func newRace(up *bound) *bound {
	b := &bound{up: up}
	b.lost, b.end = context.WithCancel(context.Background())
	return b
}

// isLost reports whether a race that b belongs to is over.
func (b *bound) isLost() bool {
	for ; b != nil; b = b.up {
		if b.lost != nil && b.lost.Err() != nil {
			return true
		}
	}
	return false
}

// until is ctx, which also ends with the races that b belongs to. stop releases it.
func (b *bound) context(ctx context.Context) (within context.Context, stop func()) {
	within, cancel := context.WithCancel(ctx)
	stops := []func() bool{}
	for ; b != nil; b = b.up {
		if b.lost != nil {
			stops = append(stops, context.AfterFunc(b.lost, cancel))
		}
	}
	return within, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

var errLost = &Failure{Code: Lost, Message: "another attempt was first"}
