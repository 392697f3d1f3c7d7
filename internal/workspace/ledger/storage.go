package ledger

import (
	"errors"

	"golang.org/x/sys/unix"
)

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
