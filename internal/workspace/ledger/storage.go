package ledger

import (
	"errors"

	"golang.org/x/sys/unix"
)

// A StorageError reports that the machine failed, not the call: the ledger
// cannot be written or is locked by another process, or the disk is full or
// broken. No other call would do better until somebody puts that right.
type StorageError struct{ Err error }

func (e *StorageError) Error() string { return e.Err.Error() }

func (e *StorageError) Unwrap() error { return e.Err }

// RecordFailure keeps the first storage failure, so that it is found whatever a tool
// makes of the error: see Fault.
func (b *log) RecordFailure(err error) error {
	if err != nil {
		b.fault.CompareAndSwap(nil, &StorageError{err})
	}
	return err
}

// Fault returns the first storage failure that the ledger, or a Files that
// records in it, has met; nil if there was none. The error is a *StorageError.
func (l *Ledger) Fault() error {
	if e := l.fault.Load(); e != nil {
		return e
	}
	return nil
}

// Lock takes the right to add to the ledger, which only one process has at a
// time, until Close. Adding takes it too; whoever claims a job takes it first.
func (l *Ledger) Lock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begin()
}

// IsDiskError reports whether err is the disk's failure.
func IsDiskError(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EIO)
}
