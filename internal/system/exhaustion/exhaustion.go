// Package exhaustion recognises errors by which the host reports that a resource has run out for a
// while: open files, processes, memory, disk space, the lock of a database. Such an error is no
// verdict on the operation: it waits and is tried again.
//
//	err := exhaustion.Retry(ctx, func() error { return rootfs.WriteFile(path, b) })
//
// It decides by error numbers and never by words. A missing permission, a read-only file system
// and a broken disk are not exhaustion: they are failures.
package exhaustion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A Resource is a resource that a host can run out of.
type Resource string

const (
	OpenFiles Resource = "open_files"
	Processes Resource = "processes"
	Memory    Resource = "memory"
	Disk      Resource = "disk_space"
	Database  Resource = "database" // another process has its lock
)

// Words describes the condition of the host for people.
func (r Resource) Words() string {
	switch r {
	case OpenFiles:
		return "no more files can be opened"
	case Processes:
		return "no more processes can be started"
	case Memory:
		return "there is no memory left"
	case Disk:
		return "the disk is full"
	case Database:
		return "another process has the lock of the database"
	}
	return string(r)
}

// ErrDatabaseBusy is an error of a database whose lock another process has.
var ErrDatabaseBusy = errors.New("the database is busy")

// Of returns the resource that an error reports as exhausted, or "" for any other error.
func Of(err error) Resource {
	switch {
	case err == nil:
		return ""
	case forks(err):
		return Processes
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return OpenFiles
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Disk
	case errors.Is(err, syscall.ENOMEM):
		return Memory
	case errors.Is(err, ErrDatabaseBusy):
		return Database
	}
	return ""
}

// forks reports whether a process could not be made because there are too many, or too
// many namespaces, which is ENOSPC. EAGAIN of other calls only means that they would
// have to wait.
func forks(err error) bool {
	switch e := err.(type) {
	case *os.PathError:
		if e.Op == "fork/exec" && (errors.Is(e.Err, syscall.EAGAIN) || errors.Is(e.Err, syscall.ENOSPC)) {
			return true
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return forks(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if forks(err) {
				return true
			}
		}
	}
	return false
}

// numbers are the error numbers that Of knows, for processes that report theirs to
// another one.
var numbers = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOMEM}

// Number returns the error number by which Of recognises err, or 0.
func Number(err error) syscall.Errno {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return n
		}
	}
	return 0
}

// A beforeError came before anything was done.
type beforeError struct{ error }

func (e *beforeError) Unwrap() error { return e.error }

// Before marks err as an error from before anything was done: any operation may then be tried
// again. Before of nil is nil.
func Before(err error) error {
	if err == nil {
		return nil
	}
	return &beforeError{err}
}

// IsBefore reports whether err is marked by [Before].
func IsBefore(err error) bool { return errors.As(err, new(*beforeError)) }

const (
	// patience bounds the wait for the host.
	patience = 10 * time.Minute
	// maxWaitAfterCancel bounds the wait after the waiting operation was asked to end.
	maxWaitAfterCancel = 5 * time.Second

	firstWait = 50 * time.Millisecond
	longWait  = 2 * time.Second
)

type watch struct{ begun atomic.Bool }

type (
	patienceKey struct{}
	outliveKey  struct{}
	noticeKey   struct{}
	begunKey    struct{}
	changesKey  struct{}
)

// WithPatience bounds how long the host is waited for, instead of ten minutes.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, d)
}

// Outlive returns a context for work that must be finished after the end of ctx. Then it waits for
// the host for some seconds at most.
func Outlive(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), outliveKey{}, ctx)
}

// Patience returns how long operations with this context wait for the host.
func Patience(ctx context.Context) time.Duration {
	most := patience
	if d, ok := ctx.Value(patienceKey{}).(time.Duration); ok {
		most = d
	}
	for before, ok := ctx.Value(outliveKey{}).(context.Context); ok; before, ok = before.Value(outliveKey{}).(context.Context) {
		if before.Err() != nil {
			return min(most, maxWaitAfterCancel)
		}
	}
	return most
}

// WithNotice has f called when something with this context begins to wait for the host,
// once each time, in a goroutine of its own.
func WithNotice(ctx context.Context, f func(Resource, error)) context.Context {
	return context.WithValue(ctx, noticeKey{}, f)
}

// WithChanges returns a context for operations that change something: a file that an exhausted
// host lets us open only for reading is waited for instead.
func WithChanges(ctx context.Context) context.Context {
	return context.WithValue(ctx, changesKey{}, true)
}

// Changes reports whether ctx is of [WithChanges].
func Changes(ctx context.Context) bool { return ctx.Value(changesKey{}) != nil }

// Notify reports that something with this context begins to wait because of err.
func Notify(ctx context.Context, err error) {
	if f, ok := ctx.Value(noticeKey{}).(func(Resource, error)); ok && f != nil {
		go f(Of(err), err)
	}
}

// Watch returns a context for one attempt; begun reports whether a command was begun in it.
func Watch(ctx context.Context) (_ context.Context, begun func() bool) {
	w := new(watch)
	return context.WithValue(ctx, begunKey{}, w), w.begun.Load
}

// Begun notes that something was begun that an attempt cannot take back: a command runs.
func Begun(ctx context.Context) {
	if w, ok := ctx.Value(begunKey{}).(*watch); ok {
		w.begun.Store(true)
	}
}

// A Wait tracks how long one caller has waited for the host. The zero value has not waited.
type Wait struct {
	since time.Time
	tries int
}

// First reports whether nothing was waited for yet.
func (w *Wait) First() bool { return w.tries == 0 }

// Waited returns the time since the first wait.
func (w *Wait) Waited() time.Duration {
	if w.tries == 0 {
		return 0
	}
	return time.Since(w.since)
}

// Next returns the time to wait before the next try; ok is false once most has passed.
func (w *Wait) Next(most time.Duration) (d time.Duration, ok bool) {
	now := time.Now()
	if w.tries == 0 {
		w.since = now
	}
	if now.Sub(w.since) >= most {
		return 0, false
	}
	d = min(firstWait<<min(w.tries, 8), longWait)
	w.tries++
	return d, true
}

// Over returns err after waiting in vain.
func (w *Wait) Over(err error) error {
	return fmt.Errorf("%w (%s; waited for %s)", err, Of(err).Words(), w.Waited().Round(time.Second))
}

// Retry calls f until it returns another error than one of an exhausted host, none
// included, until ctx ends, or until its patience is over. f must be one that can be
// called again.
func Retry(ctx context.Context, f func() error) error {
	for w := (Wait{}); ; {
		err := f()
		if Of(err) == "" {
			return err
		}
		first := w.First()
		d, ok := w.Next(Patience(ctx))
		if !ok {
			return w.Over(err)
		}
		if first {
			Notify(ctx, err)
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
