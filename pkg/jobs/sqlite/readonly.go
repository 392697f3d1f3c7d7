package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// OpenReadOnly opens the database at path for the methods that read: on a disk
// that is full or mounted read-only, or of another user. Methods that write
// return ErrReadOnly. Use Open wherever it works: it follows other processes,
// and OpenReadOnly may show the state of the moment it was opened.
func OpenReadOnly(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := FinishExchange(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if err := header(f, path, st.Size()); err != nil {
		return nil, err
	}
	var errs []error
	for _, way := range readOnlyWays(path) {
		d := &DB{path: path, reads: true, opened: st, clock: machine()}
		if err = d.openReadOnly(ctx, way); err == nil {
			return d, nil
		}
		errs = append(errs, explain(path, err), d.release())
	}
	return nil, errors.Join(errs...)
}

// ReadOnly reports whether the database was opened by [OpenReadOnly].
func (d *DB) ReadOnly() bool { return d.reads }

// OpenReadable opens the database at path as [Open] does, or, where it cannot be
// written, as [OpenReadOnly] does: then denied is why.
func OpenReadable(ctx context.Context, path string, o Options) (d *DB, denied, err error) {
	d, denied = Open(ctx, path, o)
	if denied == nil {
		return d, nil, nil
	}
	for _, e := range []error{errReadOnly, errFull, errDisk, fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT} {
		if !errors.Is(denied, e) {
			continue
		}
		if d, err = OpenReadOnly(ctx, path); err == nil {
			return d, denied, nil
		}
		break
	}
	return nil, nil, denied
}

// readOnlyWays are the data source names to try, best first. A database in WAL
// mode needs a shared memory file beside it, which a full or read-only disk
// does not let SQLite create. Where there is no log to read, the file can be
// taken for immutable; where there is one, an exclusive connection keeps the
// index of the log in its own memory. See "Read-Only Databases" in
// https://sqlite.org/wal.html and the VFS unix-none in https://sqlite.org/vfs.html.
func readOnlyWays(path string) []string {
	way := func(vfs string, pragmas ...string) string {
		return strings.Replace(dsn(path, vfs, append(pragmas, "query_only(1)")...), "mode=rw", "mode=ro", 1)
	}
	wal, err := os.Stat(path + "-wal")
	switch {
	case err == nil && wal.Size() > 0:
		return []string{way(""), way("unix-none", "locking_mode(exclusive)")}
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return []string{way(""), way("") + "&immutable=1"}
	}
	return []string{way("")}
}

func (d *DB) openReadOnly(ctx context.Context, name string) (err error) {
	if d.read, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(1) // more would wait for an exclusive one
	files, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return err
	}
	var at int
	if err := d.read.QueryRowContext(ctx, "pragma user_version").Scan(&at); err != nil {
		return err
	}
	switch {
	case at > len(files):
		return &newerError{Path: d.path, Schema: at, Knows: len(files)}
	case at < len(files):
		return fmt.Errorf("%w: %s is of an older adroit (schema %d, this one has %d) and cannot be updated", errReadOnly, d.path, at, len(files))
	}
	var n int
	if err := d.read.QueryRowContext(ctx, "select count(*) from jobs").Scan(&n); err != nil {
		return err
	}
	return d.prepare(ctx)
}
