package rates

import (
	"sync"
	"time"
)

// A Limiter allows what keeps to a rate: in any period of its length at most N
// events. It is safe for concurrent use.
type Limiter struct {
	rate Rate
	now  func() time.Time

	mu   sync.Mutex
	seen []time.Time // of the events allowed in the last period, the oldest first
}

// NewLimiter returns a limiter that asks now for the time, or the clock if now
// is nil.
func NewLimiter(rate Rate, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{rate: rate, now: now}
}

// Allow reports whether an event may happen now, and counts it if so.
func (l *Limiter) Allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.forget(now)
	if len(l.seen) > l.rate.N {
		return false
	}
	l.seen = append(l.seen, now)
	return true
}

// Wait is how long it takes until the next event may happen: 0 if it may
// happen now, -1 if it never may.
func (l *Limiter) Wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.forget(now)
	if len(l.seen) < l.rate.N {
		return 0
	}
	return l.seen[0].Add(l.rate.Per).Sub(now)
}

// Left is how many events may happen now.
func (l *Limiter) Left() int {
	l.forget(l.now())
	return max(l.rate.N-len(l.seen), 0)
}

// forget drops the events that are older than the period. The caller holds mu.
func (l *Limiter) forget(now time.Time) {
	old := 0
	for old < len(l.seen) && now.Sub(l.seen[old]) > l.rate.Per {
		old++
	}
	l.seen = l.seen[old:]
}
