package adroit

import (
	"context"
	"iter"
	"sync"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/pkg/event"
)

// Events implements [JobReader].
func (rt *Runtime) Events(ctx context.Context, ref string, o EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		j, m, err := rt.find(ctx, ref)
		if err != nil {
			yield(event.Event{}, apierr.AsError(err))
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		kept := m.Store.Events(ctx, j.ID, o.After, o.Follow)
		if o.Follow && o.Live {
			pieces, leave := rt.live.join(j.ID)
			defer leave()
			kept = merge(kept, stop, pieces)
		}
		for ev, err := range kept {
			if !yield(ev, asError(err)) {
				return
			}
		}
	}
}

// merge yields kept and, until it ends, what comes from live meanwhile. stop
// ends kept early.
func merge(kept iter.Seq2[event.Event, error], stop func(), live <-chan event.Event) iter.Seq2[event.Event, error] {
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

// A broadcast passes pieces of answers to whoever follows a job. The zero value
// is ready to use; it is safe for concurrent use.
type broadcast struct {
	mu      sync.Mutex
	readers map[string]map[chan event.Event]bool // by job
}

// join returns what is sent for a job from now on, and what ends that.
func (b *broadcast) join(job string) (pieces <-chan event.Event, leave func()) {
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

// send never blocks.
func (b *broadcast) send(ev event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.readers[ev.Job] {
		select {
		case ch <- ev:
		default:
		}
	}
}
