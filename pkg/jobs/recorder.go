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

// A recorder is a sink that passes events on to live watchers and writes them to the
// job's journal.
type recorder struct {
	ctx     context.Context // does not end with the run: what happened still happened
	journal Journal
	live    event.Sink
	clean   func(event.Event) event.Event // before anyone sees it; nil: as it is
	fail    func(cause error)             // called when an event cannot be kept: the run must not go on
	parts   atomic.Bool                   // there are sub-agents or steps of pipelines
	blind   atomic.Bool                   // live has panicked

	// logged reports whether the log has an event of the step at a path; nil is
	// no. It is asked about steps that are recalled.
	logged func(path string) bool

	mu       sync.Mutex
	recalled recalledData // since the last event
	closed   bool
	err      error
}

// emit passes ev on to live watchers and keeps it.
func (r *recorder) emit(ev event.Event) {
	if r.clean != nil && ev.Kind != event.Delta {
		ev = r.clean(ev)
	}
	if broken := r.show(ev); broken != "" {
		r.emit(event.Event{Job: ev.Job, Time: ev.Time, Kind: event.Note, Text: broken})
	}
	switch ev.Kind {
	case event.Delta:
		return
	case event.AgentStarted, event.StageStarted, event.StageFinished:
		r.parts.Store(true)
	case event.StepRecalled:
		if ev.Step == flow.KindSpawn || ev.Step == flow.Note && len(ev.Data) > 0 {
			r.parts.Store(true)
		}
	}
	// A spawn has no data, and its event is the only one that names the sub-agent.
	silent := len(ev.Data) == 0 && ev.Step != flow.KindSpawn
	inLog := ev.Kind == event.StepRecalled && (silent || r.logged != nil && r.logged(ev.Path))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if inLog {
		r.recalled.add(ev)
		return
	}
	r.writeRecalled()
	r.write(ev)
}

// show passes ev on to the live watcher. A watcher that panics gets no more events, and
// the run goes on; broken describes the panic for the log.
func (r *recorder) show(ev event.Event) (broken string) {
	if r.live == nil || r.blind.Load() {
		return ""
	}
	defer func() {
		if p := recover(); p != nil {
			r.blind.Store(true)
			broken = fmt.Sprintf("Emit has panicked and is not called any more: %v", p)
		}
	}()
	r.live(ev)
	return ""
}

// write keeps an event. It is called with mu held.
func (r *recorder) write(ev event.Event) {
	if r.err != nil {
		return
	}
	if err := r.journal.Append(r.ctx, ev); err != nil {
		r.lost(err)
	}
}

// lost ends a run whose events are lost.
func (r *recorder) lost(err error) {
	r.err = fmt.Errorf("keeping events: %w", err)
	if errors.Is(err, ErrLeaseLost) {
		r.fail(ErrLeaseLost)
	} else {
		r.fail(&storeError{r.err})
	}
}

// recalledData is the data of the step.recalled of many steps, which the log has in
// place of one for each.
type recalledData struct {
	Steps int    `json:"steps"`
	From  string `json:"from"` // path of the first
	To    string `json:"to"`   // and of the last

	job  string
	time time.Time
}

func (p *recalledData) add(ev event.Event) {
	if p.Steps == 0 {
		p.From = ev.Path
	}
	p.Steps++
	p.To, p.job, p.time = ev.Path, ev.Job, ev.Time
}

// writeRecalled keeps one event for all steps that were recalled. It is called
// with mu held.
func (r *recorder) writeRecalled() {
	if r.recalled.Steps == 0 {
		return
	}
	ev := event.Event{Job: r.recalled.job, Time: r.recalled.time, Kind: event.StepRecalled, Text: fmt.Sprintf("%d steps recalled, %s to %s", r.recalled.Steps, r.recalled.From, r.recalled.To)}
	if r.recalled.Steps == 1 {
		ev.Text = fmt.Sprintf("step %s recalled", r.recalled.From)
	}
	ev.Data, _ = json.Marshal(r.recalled) // a number and strings
	r.recalled = recalledData{}
	r.write(ev)
}

// close waits until all events are durable. What comes later is dropped.
func (r *recorder) close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeRecalled()
	r.closed = true
	if r.err == nil {
		if err := r.journal.Sync(ctx); err != nil {
			r.lost(err)
		}
	}
	return r.err
}
