package sqlite

import "sync"

// A notifier wakes those who follow a job in this process. The zero value is ready.
type notifier struct {
	mu sync.Mutex
	m  map[string]chan struct{}
}

// wait returns a channel that is closed when job changes next.
func (n *notifier) wait(job string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.m[job]
	if !ok {
		if n.m == nil {
			n.m = map[string]chan struct{}{}
		}
		c = make(chan struct{})
		n.m[job] = c
	}
	return c
}

func (n *notifier) notify(job string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c, ok := n.m[job]; ok {
		close(c)
		delete(n.m, job)
	}
}
