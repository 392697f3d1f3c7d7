package sqlite

import "sync"

// bells wake those who follow a job in this process. The zero value is ready.
type bells struct {
	mu sync.Mutex
	m  map[string]chan struct{}
}

// wait returns a channel that is closed when job changes next.
func (b *bells) wait(job string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.m[job]
	if !ok {
		if b.m == nil {
			b.m = map[string]chan struct{}{}
		}
		c = make(chan struct{})
		b.m[job] = c
	}
	return c
}

func (b *bells) ring(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.m[job]; ok {
		close(c)
		delete(b.m, job)
	}
}
