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

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/pkg/flow"
	"golang.org/x/sys/unix"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
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

// A fullError is SQLite's error for ENOSPC.
type fullError struct{ error }

func (e *fullError) Unwrap() []error { return []error{e.error, unix.ENOSPC} }

// freeSpace returns the number of bytes that this user may still write beside path.
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
		d.feed.d = d
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
// written, as [OpenReadOnly] does: denied is then the reason.
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

// Verify reads the whole database and returns what is wrong with it, one
// sentence a fault, nothing if all is well: damaged pages, gaps in event logs,
// rows of jobs that are not there, content that is missing or is not what its
// digest says. An error means that it could not be read to the end.
func (d *DB) Verify(ctx context.Context) ([]string, error) {
	var faults []string
	for _, c := range []struct{ query, fault string }{
		{"select * from pragma_integrity_check where integrity_check <> 'ok' limit 20", "%s"},
		{`select jobs.id from jobs left join events on events.job = jobs.id group by jobs.id
			having count(events.seq) <> jobs.seq or coalesce(max(events.seq), 0) <> jobs.seq`, "the event log of %s has gaps"},
		{`select distinct job from (select job from steps union all select job from checkpoints union all select job from signals
			union all select job from refs union all select job from events) where job not in (select id from jobs)`, "there are records of %s, a job that does not exist"},
		{"select job || ' ' || digest from refs where digest not in (select digest from blobs)", "content is missing: %s"},
		{"select job || ' ' || path from steps where big <> '' and big not in (select digest from blobs)", "the result of a step is missing: %s"},
		{`select digest from blobs where not exists (select 1 from refs where refs.digest = blobs.digest)
			and not exists (select 1 from steps where steps.big = blobs.digest)`, "no job needs content %s"},
	} {
		err := d.each(ctx, c.query, func(rows *sql.Rows) error {
			var what string
			err := rows.Scan(&what)
			faults = append(faults, fmt.Sprintf(c.fault, what))
			return err
		})
		if err != nil {
			return faults, err
		}
	}
	err := d.each(ctx, "select digest, data from blobs", func(rows *sql.Rows) error {
		var digest string
		var data []byte
		err := rows.Scan(&digest, &data)
		if err == nil && flow.Digest(data) != digest {
			faults = append(faults, fmt.Sprintf("content %s is damaged", digest))
		}
		return err
	})
	return faults, err
}

// each calls f for every row of a query.
func (d *DB) each(ctx context.Context, query string, f func(*sql.Rows) error) error {
	rows, err := d.read.QueryContext(ctx, query)
	if err != nil {
		return explain(d.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return explain(d.path, err)
		}
	}
	return explain(d.path, errors.Join(rows.Err(), rows.Close()))
}
