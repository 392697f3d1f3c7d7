package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Conditions that callers branch on. Each error says which file it is about
// and what to do.
var (
	ErrFull     = errors.New("the disk is full")
	ErrDamaged  = errors.New("the database is damaged")
	ErrReadOnly = errors.New("the database cannot be written")
	ErrBusy     = errors.New("the database is busy")
	ErrDisk     = errors.New("the disk failed")
	ErrClosed   = errors.New("the database is closed")
)

// A NewerError reports a file that a newer adroit wrote.
type NewerError struct {
	Path          string
	Schema, Knows int
	Version       string // of the adroit that wrote it
}

func (e *NewerError) Error() string {
	by := "a newer adroit"
	if e.Version != "" {
		by = "adroit " + e.Version
	}
	return fmt.Sprintf("%s was written by %s (schema %d, this one knows %d); use that version or another data directory",
		e.Path, by, e.Schema, e.Knows)
}

func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return lib.SQLITE_OK
}

// syncFailed reports that it is unknown what reached the disk.
func syncFailed(err error) bool {
	switch code(err) {
	case lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC:
		return true
	}
	return false
}

// explain turns SQLite's result codes into errors that say what to do.
func explain(path string, err error) error {
	switch code(err) & 0xff {
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: free some space for %s, then go on: %w", ErrFull, path, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: move %s away together with its -wal file and restore a backup: %w", ErrDamaged, path, err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("%w: check the permissions of %s and of its directory: %w", ErrReadOnly, path, err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process holds %s; try again when it is idle: %w", ErrBusy, path, err)
	case lib.SQLITE_IOERR:
		return fmt.Errorf("%w under %s: what it did not acknowledge is not kept; check the disk, then start again: %w", ErrDisk, path, err)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("cannot open %s; check that its directory can be written: %w", path, err)
	}
	return err
}
