package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
)

// prepare makes sure that there is a plausible database at path, and creates
// one if there is nothing.
func prepare(ctx context.Context, path string, o Options) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(ctx, path, o)
	case err != nil:
		return fmt.Errorf("database: %w", err)
	case st.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("database %s is a symbolic link; name the file itself", path)
	case !st.Mode().IsRegular():
		return fmt.Errorf("database %s is not a regular file; choose another path", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s may not be written by this user; change its owner or choose another data directory", errReadOnly, path)
	}
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer f.Close()
	if err := header(f, path, st.Size()); err != nil {
		return err
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return fmt.Errorf("database %s can be read by others: %w", path, err)
		}
	}
	return nil
}

// header looks at the first hundred bytes, which SQLite documents, before
// SQLite does: it would take an empty file for a new database.
func header(f io.ReaderAt, path string, size int64) error {
	var h [100]byte
	if size == 0 {
		return fmt.Errorf("%w: %s is empty; move it away to start anew, or restore a backup", ErrDamaged, path)
	}
	n, err := f.ReadAt(h[:], 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("database %s: %w", path, err)
	}
	if string(h[:min(n, 16)]) != "SQLite format 3\x00"[:min(n, 16)] {
		return fmt.Errorf("%w: %s is not a SQLite database; choose another data directory", ErrDamaged, path)
	}
	if n < len(h) {
		return truncated(path)
	}
	if id := binary.BigEndian.Uint32(h[68:]); id != appID {
		return fmt.Errorf("%s is a database of another program; choose another data directory", path)
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(h[28:]))
	valid := [4]byte(h[24:28]) == [4]byte(h[92:96])
	// With a write-ahead log beside it, the file may be behind its header.
	wal, err := os.Stat(path + "-wal")
	if logged := err == nil && wal.Size() > 0; valid && !logged && size < page*pages {
		return truncated(path)
	}
	return nil
}

func truncated(path string) error {
	return fmt.Errorf("%w: %s is shorter than it says; move it away together with %s-wal and restore a backup", ErrDamaged, path, filepath.Base(path))
}

// create makes a complete database under another name and then renames it: a process
// killed here leaves either nothing or a database.
func create(ctx context.Context, path string, o Options) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the data directory: %w", err)
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".new*")
	if err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	if err := fill(ctx, f.Name(), o); err != nil {
		return fmt.Errorf("creating the database: %w", explain(path, err))
	}
	if err := place(f.Name(), path); err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	return syncDir(dir)
}

// place gives a new database its name, unless another process was faster. The log of a
// database that was deleted is moved aside first: SQLite would take its pages for pages
// of the new database.
func place(from, path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close(dir) }()
	if err := lock.Lock(dir); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	for _, ext := range []string{"-wal", "-shm"} {
		left := path + ext
		if _, err := os.Lstat(left); err != nil {
			continue
		}
		if err := os.Rename(left, fmt.Sprintf("%s.left-%d", left, time.Now().UnixNano())); err != nil {
			return err
		}
	}
	// Link, unlike rename, never replaces a file.
	if err := os.Link(from, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// fill makes a database of an empty file that nobody else knows yet. It needs no
// journal: if this is cut short, the file goes as a whole.
func fill(ctx context.Context, path string, o Options) (err error) {
	db, err := sql.Open("sqlite", dsn(path, o.vfs, "journal_mode(off)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := migrate(ctx, conn, path, o.Version); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "pragma journal_mode = wal") // here, where it takes one write
	return err
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// check reads the whole file.
func check(ctx context.Context, c *sql.Conn, path string) error {
	var result string
	if err := c.QueryRowContext(ctx, "pragma quick_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s: %s; move it away together with its -wal file and restore a backup", ErrDamaged, path, result)
	}
	return nil
}

// busyTimeout bounds the time for which SQLite itself waits for another process's
// transaction; see also busyLimit.
const busyTimeout = 5 * time.Second

func dsn(path, vfs string, extra ...string) string {
	q := url.Values{"mode": {"rw"}, "_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"synchronous(full)",
		"foreign_keys(0)",
	}, extra...)}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// appID marks the file as adroit's, in SQLite's application_id.
const appID = 0x61647274

//go:embed schema/*.sql
var schema embed.FS

// movedSuffix ends the names of files that move rows to a table like the one which the
// first file makes. They are skipped for a new database, which has no rows: parsing such
// a file takes as long as all others.
const movedSuffix = "_moved.sql"

// migrate applies the numbered files of schema that the database has not seen, in
// one transaction, so that a kill leaves the old or the new.
func migrate(ctx context.Context, c *sql.Conn, path, version string) error {
	files, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return err
	}
	if unseen, err := pending(ctx, c, path, files); err != nil || len(unseen) == 0 {
		return err
	}
	if _, err := c.ExecContext(ctx, "begin immediate"); err != nil {
		return err
	}
	unseen, err := pending(ctx, c, path, files) // another process may have been faster
	if err == nil && len(unseen) > 0 {
		err = apply(ctx, c, unseen, len(files), version)
	}
	if err == nil {
		_, err = c.ExecContext(ctx, "commit")
	}
	if err != nil {
		_, _ = c.ExecContext(context.WithoutCancel(ctx), "rollback")
	}
	return err
}

// pending returns the files that the database has not seen.
func pending(ctx context.Context, c *sql.Conn, path string, files []string) ([]string, error) {
	var at int
	if err := c.QueryRowContext(ctx, "pragma user_version").Scan(&at); err != nil {
		return nil, err
	}
	if at > len(files) {
		var by string
		_ = c.QueryRowContext(ctx, "select value from meta where key = 'adroit'").Scan(&by)
		return nil, &newerError{Path: path, Schema: at, Knows: len(files), Version: by}
	}
	return files[at:], nil
}

func apply(ctx context.Context, c *sql.Conn, files []string, schemas int, version string) error {
	for i, name := range files {
		if len(files) == schemas && strings.HasSuffix(name, movedSuffix) {
			continue
		}
		text, err := schema.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", schemas-len(files)+i+1, err)
		}
	}
	if _, err := c.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d; pragma application_id = %d", schemas, appID)); err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, `insert into meta (key, value) values ('adroit', ?)
		on conflict do update set value = excluded.value`, version)
	return err
}
