package sqlite

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// A batch is what a journal has yet to write: checkpoints first, then steps
// that came after them, then events. A step that a checkpoint of the same batch
// forgets is never written.
type batch struct {
	steps  []*stepWrite
	inputs []input // kept for later steps
	saves  []checkpoint
	events []event.Event
	moved  bool // something of it brings the job on
}

type input struct {
	digest string
	data   json.RawMessage
}

type checkpoint struct {
	scope string
	state flow.State
}

func (b *batch) empty() bool {
	return len(b.steps) == 0 && len(b.inputs) == 0 && len(b.saves) == 0 && len(b.events) == 0
}

// begin keeps what of the intent of a repeatable step somebody reads: when a sleep is
// over, and the inputs that later steps refer to.
func (b *batch) begin(s flow.Step, deadline, now time.Time) {
	if !deadline.IsZero() {
		b.steps = append(b.steps, &stepWrite{step: s, begun: now, deadline: deadline})
	}
	if s.Keep {
		b.inputs = append(b.inputs, input{s.Digest(), s.Input})
	}
}

func (b *batch) finish(rec *flow.Record, now time.Time) {
	b.moved = b.moved || rec.Failure == nil
	i := slices.IndexFunc(b.steps, func(w *stepWrite) bool { return w.step.Path == rec.Path })
	if i < 0 {
		s := flow.Step{Job: rec.Job, Path: rec.Path, Kind: rec.Kind, Name: rec.Name}
		b.steps = append(b.steps, &stepWrite{step: s, begun: now, deadline: rec.Deadline, rec: rec})
	} else if b.steps[i].rec == nil {
		b.steps[i].rec = rec
	}
}

func (b *batch) save(scope string, st flow.State) {
	b.moved = true
	b.steps = slices.DeleteFunc(b.steps, func(w *stepWrite) bool { return strings.HasPrefix(w.step.Path, scope) })
	b.saves = slices.DeleteFunc(b.saves, func(c checkpoint) bool { return strings.HasPrefix(c.scope, scope) })
	b.saves = append(b.saves, checkpoint{scope, st})
}

// write writes b for job.
func (t *tx) write(job string, b *batch) error {
	for _, in := range b.inputs {
		if err := t.put(job, in.digest, in.data, true); err != nil {
			return err
		}
	}
	for _, c := range b.saves {
		if err := t.save(job, c.scope, c.state); err != nil {
			return err
		}
	}
	for _, w := range b.steps {
		if err := t.step(w); err != nil {
			return err
		}
	}
	return t.log(job, b.events)
}
