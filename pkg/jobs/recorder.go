package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A recorder is a sink that never blocks: it queues events, and a goroutine
// writes them to the log in order, as many at once as have come.
type recorder struct {
	log   Journal
	live  event.Sink
	clean func(event.Event) event.Event // before anyone sees it; nil: as it is
	fail  func(cause error)
	parts atomic.Bool // there are sub-agents or steps of pipelines

	// known reports whether the log has an event of the step at a path; nil is
	// no. It is asked about steps that are recalled.
	known func(path string) bool

	mu     sync.Mutex
	past   Recalled // steps that were recalled since the last event
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
func newRecorder(log Journal, live event.Sink, fail func(error)) *recorder {
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
	// A spawn has no data, and its event is the only one that names the sub-agent.
	silent := len(ev.Data) == 0 && ev.Step != flow.Spawning
	past := ev.Kind == event.StepRecalled && (silent || r.known != nil && r.known(ev.Path))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if past {
		r.past.add(ev)
		return
	}
	r.tellPast()
	r.queue = append(r.queue, ev)
	r.ring()
}

// Recalled is the data of the step.recalled of many steps, which the log has in
// place of one for each.
type Recalled struct {
	Steps int    `json:"steps"`
	From  string `json:"from"` // path of the first
	To    string `json:"to"`   // and of the last

	job  string
	time time.Time
}

func (p *Recalled) add(ev event.Event) {
	if p.Steps == 0 {
		p.From = ev.Path
	}
	p.Steps++
	p.To, p.job, p.time = ev.Path, ev.Job, ev.Time
}

// tellPast queues one event for all steps that were recalled. It is called with
// mu held.
func (r *recorder) tellPast() {
	if r.past.Steps == 0 {
		return
	}
	ev := event.Event{Job: r.past.job, Time: r.past.time, Kind: event.StepRecalled, Text: fmt.Sprintf("%d steps recalled, %s to %s", r.past.Steps, r.past.From, r.past.To)}
	if r.past.Steps == 1 {
		ev.Text = fmt.Sprintf("step %s recalled", r.past.From)
	}
	ev.Data, _ = json.Marshal(r.past) // a number and strings
	r.past = Recalled{}
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
				if errors.Is(err, ErrLeaseLost) {
					r.fail(ErrLeaseLost)
				} else {
					r.fail(&storeError{r.err})
				}
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
	r.tellPast()
	r.closed, r.drop = true, drop
	r.idle.Broadcast()
	r.mu.Unlock()
	r.ring()
	r.done.Wait()
	return r.err
}
