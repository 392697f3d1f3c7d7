package flow

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A bound is the time that a part of a run may take. Its clock is started by
// the first step that is performed rather than recalled. It is safe for
// concurrent use: branches share it.
type bound struct {
	d  time.Duration
	up *bound

	lost context.Context // of a race; nil for a time
	end  context.CancelFunc
	race *contest

	mu    sync.Mutex
	until time.Time
}

// left returns the rest of the tightest bound; ok is false if there is none.
func (b *bound) left(now time.Time) (d time.Duration, ok bool) {
	for ; b != nil; b = b.up {
		if b.lost != nil {
			continue
		}
		b.mu.Lock()
		if b.until.IsZero() {
			b.until = now.Add(b.d)
		}
		rest := b.until.Sub(now)
		b.mu.Unlock()
		if !ok || rest < d {
			d, ok = rest, true
		}
	}
	return d, ok
}

// extend is for time that does not count.
func (b *bound) extend(d time.Duration) {
	for ; b != nil; b = b.up {
		b.mu.Lock()
		if !b.until.IsZero() {
			b.until = b.until.Add(d)
		}
		b.mu.Unlock()
	}
}

// least is the shortest of the bounds, zero if there are none.
func (b *bound) least() (d time.Duration) {
	for ; b != nil; b = b.up {
		if b.lost == nil && (d == 0 || b.d < d) {
			d = b.d
		}
	}
	return d
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

// context is ctx, which also ends with the races that b belongs to. stop releases it.
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

// contest returns the contest of the outermost race that b belongs to; nil if there is
// none.
func (b *bound) contest() *contest {
	var out *contest
	for ; b != nil; b = b.up {
		if b.race != nil {
			out = b.race
		}
	}
	return out
}

// Race runs f over xs in branches, as Map does, until one of them reports that it has
// won: then what is under way in the others fails with the code lost, and so does
// every step that they ask for. winner is the first branch in the order of xs that
// has won, -1 if none has; it is the same on every replay.
//
// A branch that waits for a person does not hold up the others. When one of them wins,
// its question ends as lost; the run waits for the answer only once no branch can go on
// without one. Engines that cannot stop what is under way, which are no [Racer], let the
// branches end by themselves.
func Race[In, Out any](r *Run, xs []In, f func(*Run, In) (out Out, won bool, err error)) (outs []Out, winner int, err error) {
	before := r.bound
	race := newRace(before)
	r.bound = race
	defer func() { r.bound = before; race.end() }()
	won, at := make([]bool, len(xs)), make([]int, len(xs))
	for i := range at {
		at[i] = i
	}
	branches, wins := r.engine.Fork, make([]func(), len(xs))
	if e, ok := r.engine.(Racer); ok {
		branches = func(n int, branch func(int, Engine)) {
			e.Race(n, func(i int, e Engine, win func()) { wins[i] = win; branch(i, e) })
		}
	}
	outs, err = fork(r, at, branches, func(r *Run, i int) (Out, error) {
		out, ok, err := f(r, xs[i])
		if won[i] = ok && err == nil; won[i] {
			race.end()
			if wins[i] != nil {
				wins[i]()
			}
		}
		return out, err
	})
	return outs, slices.Index(won, true), err
}

// A Racer is an [Engine] whose steps are performed elsewhere, and which stops there what is
// under way in the branches that have lost a [Race].
type Racer interface {
	// Race is Fork for the branches of a race. After a branch has called win, what is under
	// way in the others fails with the code [Lost], and so does what they ask for then.
	Race(n int, branch func(i int, e Engine, win func()))
}

// Within runs f as part of r and bounds the time that its steps may take, all
// together: what is under way when the time is over fails with the code
// [TimedOut], and so does every step of f after it. Time that passes while
// people are waited for, and while nobody runs the job, does not count: a run
// that is taken over by another process gets its time anew. Zero is no bound.
//
// Engines without a clock of their own for it bound each step by d.
func Within[Out any](r *Run, d time.Duration, f func(*Run) (Out, error)) (Out, error) {
	if d <= 0 {
		return f(r)
	}
	before := r.bound
	r.bound = &bound{d: d, up: before}
	defer func() { r.bound = before }()
	return f(r)
}
