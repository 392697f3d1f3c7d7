package rates

import (
	"sync"
	"time"
)

// A Group has a limiter for each key, such as an address or a user.
type Group struct {
	rate Rate
	now  func() time.Time

	mu       sync.Mutex
	limiters map[string]*Limiter
}

// NewGroup returns a group whose keys all have the same rate.
func NewGroup(rate Rate, now func() time.Time) *Group {
	return &Group{rate: rate, now: now, limiters: map[string]*Limiter{}}
}

// Allow reports whether an event of the key may happen now.
func (g *Group) Allow(key string) bool {
	g.mu.Lock()
	l, ok := g.limiters[key]
	if !ok {
		l = NewLimiter(g.rate, g.now)
	}
	g.mu.Unlock()
	return l.Allow()
}

// Keys is how many keys the group knows.
func (g *Group) Keys() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.limiters)
}
