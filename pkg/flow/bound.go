package flow

import (
	"context"
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

// left is what remains of the tightest bound; ok is false if there is none.
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
