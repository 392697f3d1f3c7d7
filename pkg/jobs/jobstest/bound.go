package jobstest

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// patience bounds a test's use of a store: one that gives no place in the queue, or no end
// of a log, is refused and not waited for.
const patience = time.Minute

var errPatience = errors.New("the test has waited for the store for a minute")

// A bounded store has errors after a time, where a test would go on for ever.
type bounded struct {
	jobs.Store
	until time.Time
}

func bound(s jobs.Store) jobs.Store { return &bounded{s, time.Now().Add(patience)} }

func (b *bounded) over() error {
	if time.Now().After(b.until) {
		return errPatience
	}
	return nil
}

func (b *bounded) List(ctx context.Context, q jobs.Query) ([]*jobs.Job, error) {
	if err := b.over(); err != nil {
		return nil, err
	}
	return b.Store.List(ctx, q)
}

func (b *bounded) Events(ctx context.Context, id string, after int64, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ctx, stop := context.WithDeadlineCause(ctx, b.until, errPatience)
		defer stop()
		for ev, err := range b.Store.Events(ctx, id, after, follow) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (b *bounded) AllEvents(ctx context.Context, after int64, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ctx, stop := context.WithDeadlineCause(ctx, b.until, errPatience)
		defer stop()
		for ev, err := range b.Store.AllEvents(ctx, after, follow) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (b *bounded) Claim(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	if err := b.over(); err != nil {
		return nil, nil, err
	}
	j, journal, err := b.Store.Claim(ctx, id, owner, ttl)
	return j, b.journal(journal), err
}

func (b *bounded) Enqueue(ctx context.Context, id, owner string, ttl time.Duration) (*jobs.Job, jobs.Journal, error) {
	j, journal, err := b.Store.Enqueue(ctx, id, owner, ttl)
	return j, b.journal(journal), err
}

func (b *bounded) journal(j jobs.Journal) jobs.Journal {
	if j == nil {
		return nil
	}
	return &boundedJournal{j, b}
}

type boundedJournal struct {
	jobs.Journal
	of *bounded
}

func (j *boundedJournal) Start(ctx context.Context, atOnce int) (int, error) {
	if err := j.of.over(); err != nil {
		return 0, err
	}
	return j.Journal.Start(ctx, atOnce)
}

func (j *boundedJournal) Heartbeat(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := j.of.over(); err != nil {
		return false, err
	}
	return j.Journal.Heartbeat(ctx, ttl)
}

func (j *boundedJournal) Receive(ctx context.Context, s flow.Step, names []string) (*flow.Record, error) {
	if err := j.of.over(); err != nil {
		return nil, err
	}
	return j.Journal.Receive(ctx, s, names)
}
