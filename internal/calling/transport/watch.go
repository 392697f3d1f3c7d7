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
	late   bool // the total limit does too
}

func newWatch(parent context.Context, idle, total time.Duration, now, late bool) *Watch {
	ctx, cancel := context.WithCancelCause(parent)
	w := &Watch{parent: parent, ctx: ctx, cancel: cancel, limit: idle, whole: total, lazy: !now, late: late}
	if idle > 0 && now {
		w.idle = time.AfterFunc(idle, func() { cancel(errIdle) })
	}
	if total > 0 && !late {
		w.total = time.AfterFunc(total, func() { cancel(errTotal) })
	}
	return w
}

// Touch says that real data arrived: comments and blank lines do not count.
func (w *Watch) Touch() {
	if w.late && w.total == nil && w.whole > 0 {
		w.total = time.AfterFunc(w.whole, func() { w.cancel(errTotal) })
	}
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
