package adroit

import (
	"iter"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/pkg/event"
)

// Merge yields kept and, until it ends, the pieces that come meanwhile, those of a
// step between its start and its end. stop ends kept early.
func mergeEvents(kept iter.Seq2[event.Event, error], stop func(), pieces *eventReader) iter.Seq2[event.Event, error] {
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
		o := order{yield: yield, early: map[string][]event.Event{}}
		wake := pieces.wake
		for {
			select {
			case i, more := <-items:
				// Pieces that wait are of before this event, or a little later.
				if wake != nil && !o.pieces(pieces.take()) || !more || !o.kept(i.ev, i.err) {
					return
				}
				if i.ev.Kind == event.JobFinished || i.ev.Kind == event.JobWaiting {
					wake = nil // the event that ends a run is its last
				}
			case <-wake:
				if !o.pieces(pieces.take()) {
					return
				}
			}
		}
	}
}

// An order yields pieces behind the start of their step: they are here before the
// store has it.
type order struct {
	yield func(event.Event, error) bool
	early map[string][]event.Event // pieces of steps whose start is still to come, by path
}

func (o *order) pieces(evs []event.Event) bool {
	for _, ev := range evs {
		before, early := o.early[ev.Path]
		switch {
		case early:
			o.early[ev.Path] = append(before, ev)
		case ev.Kind == event.StepStarted:
			o.early[ev.Path] = nil
		case !o.yield(ev, nil):
			return false
		}
	}
	return true
}

func (o *order) kept(ev event.Event, err error) bool {
	if !o.yield(ev, err) {
		return false
	}
	if ev.Kind != event.StepStarted {
		return true
	}
	evs := o.early[ev.Path]
	delete(o.early, ev.Path)
	return o.pieces(evs)
}

const (
	// most bounds the pieces of answers that wait for a reader before the newest
	// are lost: more than those of a long answer.
	most = 1 << 14
	// absent bounds the number of readers expected at once.
	absent = 64
)

// A Broadcast passes pieces of answers to a job's followers. The zero value
// is ready to use; it is safe for concurrent use.
type eventBroadcast struct {
	mu       sync.Mutex
	readers  map[string][]*eventReader // by job
	expected []*eventReader            // readers of jobs that nobody has joined yet, the oldest first
}

// A Reader queues a job's events that were sent and not read yet.
type eventReader struct {
	from  *eventBroadcast
	job   string
	queue []event.Event
	wake  chan struct{}
}

// Expect keeps what is sent for a job from now on for the next reader. One
// that does not come is forgotten when others are expected.
func (b *eventBroadcast) Expect(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.takeExpected(job); r != nil {
		b.remove(r)
	}
	if len(b.expected) == absent {
		b.remove(b.expected[0])
		b.expected = slices.Delete(b.expected, 0, 1)
	}
	b.expected = append(b.expected, b.add(job))
}

// Join returns a reader of what is sent for a job from now on, or since a reader
// was expected.
func (b *eventBroadcast) Join(job string) *eventReader {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.takeExpected(job); r != nil {
		return r
	}
	return b.add(job)
}

// Send passes on a piece of an answer, or that a step has started. It never blocks.
func (b *eventBroadcast) Send(ev event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.readers[ev.Job] {
		if len(r.queue) == most {
			continue
		}
		r.queue = append(r.queue, ev)
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (b *eventBroadcast) takeExpected(job string) *eventReader {
	i := slices.IndexFunc(b.expected, func(r *eventReader) bool { return r.job == job })
	if i < 0 {
		return nil
	}
	r := b.expected[i]
	b.expected = slices.Delete(b.expected, i, i+1)
	return r
}

func (b *eventBroadcast) add(job string) *eventReader {
	r := &eventReader{from: b, job: job, wake: make(chan struct{}, 1)}
	if b.readers == nil {
		b.readers = map[string][]*eventReader{}
	}
	b.readers[job] = append(b.readers[job], r)
	return r
}

func (b *eventBroadcast) remove(r *eventReader) {
	rest := slices.DeleteFunc(b.readers[r.job], func(other *eventReader) bool { return other == r })
	if b.readers[r.job] = rest; len(rest) == 0 {
		delete(b.readers, r.job)
	}
}

// Leave ends the reading.
func (r *eventReader) Leave() {
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	r.from.remove(r)
}

func (r *eventReader) take() []event.Event {
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	evs := r.queue
	r.queue = nil
	return evs
}
