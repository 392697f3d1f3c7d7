package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// Conditions that callers branch on. Each error says which file it is about
// and what to do.
var (
	errFull     = errors.New("the disk is full")
	ErrDamaged  = errors.New("the database is damaged")
	errReadOnly = errors.New("the database cannot be written")
	errDisk     = errors.New("the disk failed")
	errClosed   = errors.New("the database is closed")
	errReplaced = errors.New("the database is gone")
)

// A newerError reports a file that a newer adroit wrote.
type newerError struct {
	Path          string
	Schema, Knows int
	Version       string // of the adroit that wrote it
}

func (e *newerError) Error() string {
	by := "a newer adroit"
	if e.Version != "" {
		by = strings.Join([]string{"adroit", e.Version}, " ")
	}
	return fmt.Sprintf("%s was written by %s (schema %d, this one knows %d); use that version or another data directory",
		e.Path, by, e.Schema, e.Knows)
}

func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
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

// fullBelow is the free space in bytes below which an I/O error means that the
// disk is full: SQLite grows its shared memory file by 32 KiB.
const fullBelow = 256 << 10

func noSpace(path string, err error) error {
	return &fullError{fmt.Errorf("%w: no space left on device; free some space for %s, then go on: %w", errFull, path, err)}
}

// A fullError is SQLite's for what the system calls ENOSPC.
type fullError struct{ error }

func (e *fullError) Unwrap() []error { return []error{e.error, unix.ENOSPC} }

// freeSpace is how many bytes this user may still write beside path.
func freeSpace(path string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// explain turns SQLite's result codes into errors that say what to do.
func explain(path string, err error) error {
	if exhaustion.Of(err) != "" {
		return err // is explained
	}
	switch code(err) & 0xff {
	case lib.SQLITE_FULL:
		return noSpace(path, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: move %s away together with its -wal file and restore a backup: %w", ErrDamaged, path, err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("%w: check the permissions of %s and of its directory: %w", errReadOnly, path, err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process holds %s; try again when it is idle: %w", exhaustion.ErrDatabaseBusy, path, err)
	case lib.SQLITE_IOERR:
		// SQLite does not pass on why the system refused.
		if free, ok := freeSpace(path); ok && free < fullBelow {
			return noSpace(path, err)
		}
		return fmt.Errorf("%w under %s: unsaved changes were lost; check the disk, then start again: %w", errDisk, path, err)
	case lib.SQLITE_CANTOPEN:
		f, oerr := os.Open(path) // for the number that SQLite does not pass on
		if f.Close(); exhaustion.Of(oerr) != "" {
			return fmt.Errorf("cannot open %s: %w: %w", path, oerr, err)
		}
		return fmt.Errorf("cannot open %s; check that its directory can be written: %w", path, err)
	}
	return err
}
