package jobs

import (
	"context"
	"fmt"
	"sync"

	"github.com/adroit-run/adroit/pkg/event"
)

// A recorder is a sink that never blocks: it queues events, and a goroutine
// writes them to the log in order, as many at once as have come.
type recorder struct {
	log   Log
	live  event.Sink
	clean func(event.Event) event.Event // before anyone sees it; nil: as it is
	fail  func(cause error)

	mu     sync.Mutex
	queue  []event.Event
	drop   bool // the lease is lost: nothing more may be written
	closed bool
	wake   chan struct{} // has room for one
	done   sync.WaitGroup
	err    error // of the goroutine, read after done
}

// newRecorder starts a recorder. fail is called when the log cannot be
// written: a run whose events are lost must not go on as if nothing were.
func newRecorder(log Log, live event.Sink, fail func(error)) *recorder {
	r := &recorder{log: log, live: live, fail: fail, wake: make(chan struct{}, 1)}
	r.done.Go(r.write)
	return r
}

// emit passes ev on to whoever is watching and queues it for the log. What
// comes after close is late and dropped.
func (r *recorder) emit(ev event.Event) {
	if r.clean != nil && ev.Kind != event.Delta {
		ev = r.clean(ev)
	}
	if r.live != nil {
		r.live(ev)
	}
	if ev.Kind == event.Delta {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.queue = append(r.queue, ev)
	r.ring()
}

func (r *recorder) ring() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *recorder) write() {
	for {
		r.mu.Lock()
		batch, closed := r.queue, r.closed
		r.queue = nil
		if r.drop {
			batch = nil
		}
		r.mu.Unlock()
		if len(batch) > 0 && r.err == nil {
			// The run's context may have ended; what happened still happened.
			if err := r.log.Append(context.Background(), batch...); err != nil {
				r.err = fmt.Errorf("keeping events: %w", err)
				r.fail(&storeError{r.err})
			}
		}
		if len(batch) > 0 {
			continue
		}
		if closed {
			return
		}
		<-r.wake
	}
}

// close writes what is queued, or drops it if the lease was lost, and waits.
func (r *recorder) close(drop bool) error {
	r.mu.Lock()
	r.closed, r.drop = true, drop
	r.mu.Unlock()
	r.ring()
	r.done.Wait()
	return r.err
}
