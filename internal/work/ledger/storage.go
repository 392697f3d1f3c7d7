package ledger

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// Fault returns the first storage failure that the ledger, or a Files that
// records in it, has met; nil if there was none. The error is a *StorageError. One by
// which the host is exhausted is returned once: it goes by.
func (l *Ledger) Fault() error {
	e := l.fault.Load()
	if e == nil {
		return nil
	}
	if exhaustion.Of(e) != "" {
		l.fault.CompareAndSwap(e, nil)
	}
	return e
}

// Await calls f until the host has what it takes, as [exhaustion.Retry] does. A storage failure that
// has been waited for is none.
func (l *Ledger) Await(ctx context.Context, f func() error) error {
	err := exhaustion.Retry(ctx, f)
	if e := l.fault.Load(); err == nil && e != nil && exhaustion.Of(e) != "" {
		l.fault.CompareAndSwap(e, nil)
	}
	return err
}

// Lock takes the right to add to the ledger, which only one process has at a
// time, until Close. Adding takes it too; whoever claims a job takes it first.
func (l *Ledger) Lock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begin()
}

// IsHostError reports whether err is a failure of the machine and not of what was
// asked for: it is exhausted, or its disk is broken.
func IsHostError(err error) bool { return exhaustion.Of(err) != "" || errors.Is(err, unix.EIO) }
