package flow

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// lost is the code of a step of a branch of [Race] that another branch has made
// pointless.
const lost = "lost"

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

// newRace is a bound without a time that ends when a branch has won.
func newRace(up *bound) *bound {
	b := &bound{up: up, race: &contest{working: 1}}
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
	if b == nil {
		return ctx, func() {}
	}
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

// A contest counts what the branches of a race do, those of races within it as well.
type contest struct {
	mu      sync.Mutex
	working int // branches that have not ended and do not wait for a person
	waiting int // that do
	settled int // of the waiting, that have found no answer since the last change
	changes int
}

func (c *contest) change(working, waiting int) {
	if c == nil {
		return
	}
	c.mu.Lock() //flowvet:ignore no outcome depends on it, only when the run waits
	c.working, c.waiting = c.working+working, c.waiting+waiting
	c.settled, c.changes = 0, c.changes+1
	c.mu.Unlock() //flowvet:ignore see above
}

// fork has n branches at work instead of one; each calls ended at its end, and after the
// last it is one again.
func (c *contest) fork(n int) (ended func()) {
	var left atomic.Int64
	left.Store(int64(n)) //flowvet:ignore see above
	c.change(n-1, 0)
	return func() {
		if left.Add(-1) > 0 { //flowvet:ignore see above
			c.change(-1, 0)
		}
	}
}

// A question is one that a branch waits for an answer to.
type question struct {
	changes int
	settled bool
}

// stuck reports whether no branch can go on without an answer: none is at work, and all
// that wait have looked for one since the last was.
func (c *contest) stuck(q *question) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.working > 0:
		return false
	case q.changes != c.changes:
		q.changes, q.settled = c.changes, false // look once more
	case !q.settled:
		q.settled = true
		c.settled++
	}
	return q.settled && c.settled == c.waiting
}

// contest is that of the outermost race that b belongs to; nil if there is none.
func (b *bound) contest() *contest {
	var out *contest
	for ; b != nil; b = b.up {
		if b.race != nil {
			out = b.race
		}
	}
	return out
}

var errLost = &Failure{Code: lost, Message: "another attempt was first"}
