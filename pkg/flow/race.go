package flow

import "slices"

// Race runs f over xs in branches, as Map does, until one of them reports that it has
// won: then what is under way in the others fails with the code lost, and so does
// every step that they ask for. winner is the first branch in the order of xs that
// has won, -1 if none has; it is the same on every replay.
//
// A branch that waits for a person does not hold up the others. When one of them wins,
// its question ends as lost; the run waits for the answer only once no branch can go on
// without one. Engines that cannot stop what is under way let the branches end by
// themselves.
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
