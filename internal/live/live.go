// Package live passes the pieces of answers, which are events that no store keeps,
// to those who follow a job.
package live

import (
	"iter"
	"sync"

	"github.com/adroit-run/adroit/pkg/event"
)

// Merge yields kept and, until it ends, what comes from live meanwhile. stop
// ends kept early.
func Merge(kept iter.Seq2[event.Event, error], stop func(), live <-chan event.Event) iter.Seq2[event.Event, error] {
	type item struct {
		ev  event.Event
		err error
	}
	return func(yield func(event.Event, error) bool) {
		items, quit := make(chan item), make(chan struct{})
		var reader sync.WaitGroup
		defer reader.Wait()
		defer stop()
		defer close(quit)
		reader.Go(func() {
			defer close(items)
			for ev, err := range kept {
				select {
				case items <- item{ev, err}:
				case <-quit:
					return
				}
			}
		})
		for {
			select {
			case i, more := <-items:
				// Pieces that wait are of before this event, or a little later.
				for range len(live) {
					if !yield(<-live, nil) {
						return
					}
				}
				if !more || !yield(i.ev, i.err) {
					return
				}
				if i.ev.Kind == event.JobFinished || i.ev.Kind == event.JobWaiting {
					live = nil // the event that ends a run is its last
				}
			case ev := <-live:
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// liveBuffer is how many pieces of answers wait for a reader before the newest
// are lost.
const liveBuffer = 256

// A Broadcast passes pieces of answers to whoever follows a job. The zero value
// is ready to use; it is safe for concurrent use.
type Broadcast struct {
	mu      sync.Mutex
	readers map[string]map[chan event.Event]bool // by job
}

// Join returns what is sent for a job from now on, and what ends that.
func (b *Broadcast) Join(job string) (pieces <-chan event.Event, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := make(chan event.Event, liveBuffer)
	if b.readers == nil {
		b.readers = map[string]map[chan event.Event]bool{}
	}
	if b.readers[job] == nil {
		b.readers[job] = map[chan event.Event]bool{}
	}
	b.readers[job][ch] = true
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.readers[job], ch); len(b.readers[job]) == 0 {
			delete(b.readers, job)
		}
	}
}

// Send never blocks.
func (b *Broadcast) Send(ev event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.readers[ev.Job] {
		select {
		case ch <- ev:
		default:
		}
	}
}
