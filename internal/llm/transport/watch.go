package transport

import (
	"context"
	"errors"
	"time"
)

var (
	errIdle  = errors.New("idle limit")
	errTotal = errors.New("total limit")
)

// A Watch ends a request that is silent for too long or takes too long.
type Watch struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   *time.Timer // nil: no limit
	total  *time.Timer // nil: no limit
	limit  time.Duration
	whole  time.Duration
	lazy   bool // the idle limit starts with the first Touch
}

func newWatch(parent context.Context, idle, total time.Duration, now bool) *Watch {
	ctx, cancel := context.WithCancelCause(parent)
	w := &Watch{parent: parent, ctx: ctx, cancel: cancel, limit: idle, whole: total, lazy: !now}
	if idle > 0 && now {
		w.idle = time.AfterFunc(idle, func() { cancel(errIdle) })
	}
	if total > 0 {
		w.total = time.AfterFunc(total, func() { cancel(errTotal) })
	}
	return w
}

// Touch says that real data arrived: comments and blank lines do not count.
func (w *Watch) Touch() {
	switch {
	case w.idle != nil:
		w.idle.Reset(w.limit)
	case w.lazy && w.limit > 0:
		w.idle = time.AfterFunc(w.limit, func() { w.cancel(errIdle) })
	}
}

// Finish says that the answer is complete and only its tail may still come.
func (w *Watch) Finish() {
	if w.limit <= 0 || w.limit > grace {
		w.limit, w.lazy = grace, true
	}
	w.Touch()
}

func (w *Watch) stop() {
	if w.idle != nil {
		w.idle.Stop()
	}
	if w.total != nil {
		w.total.Stop()
	}
	w.cancel(nil)
}
