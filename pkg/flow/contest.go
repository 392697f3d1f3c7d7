package flow

import (
	"sync"
	"sync/atomic"
)

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
