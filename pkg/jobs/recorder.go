package jobs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A recorder is a sink that never blocks: it queues events, and a goroutine
// writes them to the log in order, as many at once as have come.
type recorder struct {
	log   Log
	live  event.Sink
	clean func(event.Event) event.Event // before anyone sees it; nil: as it is
	fail  func(cause error)
	parts atomic.Bool // there are sub-agents or steps of pipelines

	mu     sync.Mutex
	queue  []event.Event
	drop   bool // the lease is lost: nothing more may be written
	closed bool
	busy   bool          // the goroutine writes
	idle   *sync.Cond    // of mu: nothing is queued nor written
	wake   chan struct{} // has room for one
	done   sync.WaitGroup
	err    error // of the goroutine, read after done
}

// newRecorder starts a recorder. fail is called when the log cannot be
// written: a run whose events are lost must not go on as if nothing were.
func newRecorder(log Log, live event.Sink, fail func(error)) *recorder {
	r := &recorder{log: log, live: live, fail: fail, wake: make(chan struct{}, 1)}
	r.idle = sync.NewCond(&r.mu)
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
	switch ev.Kind {
	case event.Delta:
		return
	case event.AgentStarted, event.StageStarted, event.StageFinished:
		r.parts.Store(true)
	case event.StepRecalled:
		if ev.Step == flow.Spawning || ev.Step == flow.Noting && len(ev.Data) > 0 {
			r.parts.Store(true)
		}
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
		if r.busy = len(batch) > 0; !r.busy {
			r.idle.Broadcast()
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

// flush waits until what was emitted is in the log, or cannot be.
func (r *recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for (len(r.queue) > 0 || r.busy) && !r.closed {
		r.idle.Wait()
	}
}

// close writes what is queued, or drops it if the lease was lost, and waits.
func (r *recorder) close(drop bool) error {
	r.mu.Lock()
	r.closed, r.drop = true, drop
	r.idle.Broadcast()
	r.mu.Unlock()
	r.ring()
	r.done.Wait()
	return r.err
}
