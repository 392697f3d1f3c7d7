// Package sqlite keeps jobs, journals and event logs in one SQLite file.
//
//	rt, err := adroit.Open(ctx, adroit.Options{Storage: adroit.Storage{Data: dir, Store: sqlite.Store(dir)}, …})
//
// What a method acknowledged survives the end of the process and the end of
// the power: the file is in WAL mode with synchronous=FULL, and everything
// that arrives while one commit is being synced shares the next one. Several
// processes of one machine may open the same file.
//
// It is not for network file systems, and not for several machines.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Store returns what opens the store of the data directory dir, which it makes if
// it is not there: adroit.Options.Store.
func Store(dir string) func(context.Context) (jobs.Store, error) {
	return func(ctx context.Context) (jobs.Store, error) {
		if dir == "" {
			return nil, errors.New("sqlite: Store has no directory; give it adroit.Options.Data")
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return Open(ctx, filepath.Join(dir, "adroit.db"), Options{})
	}
}

var _ jobs.Store = (*DB)(nil)

// Open opens the database at path, creates it if there is none, and brings it
// to this program's schema. It never replaces a file that it cannot read.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := FinishExchange(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := prepare(ctx, path, o); err != nil {
		return nil, err
	}
	d := &DB{path: path, vfs: o.vfs, ops: make(chan *op, maxBatch), stopped: make(chan struct{}), stmts: map[string]*sql.Stmt{}, clock: machine()}
	// This process runs, whatever the system says of it: asking the system
	// for each job that runs here costs more than the query.
	me, gone := lock.Name(), d.clock.gone
	d.clock.gone = func(o string) bool { return o != me && gone(o) }
	if o.clock != nil {
		d.clock = *o.clock
	}
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(explain(path, err), d.release())
	}
	go d.loop()
	return d, nil
}

func (d *DB) open(ctx context.Context, o Options) (err error) {
	d.write, err = sql.Open("sqlite", dsn(d.path, o.vfs, append([]string{"journal_mode(wal)", "journal_size_limit(16777216)", "wal_autocheckpoint(4000)", "cache_size(-32768)"}, o.pragmas...)...))
	if err != nil {
		return err
	}
	d.write.SetMaxOpenConns(1)
	if d.conn, err = d.write.Conn(ctx); err != nil {
		return err
	}
	if o.Check {
		if err := check(ctx, d.conn, d.path); err != nil {
			return err
		}
	}
	if err := migrate(ctx, d.conn, d.path, o.Version); err != nil {
		return err
	}
	if d.opened, err = os.Lstat(d.path); err != nil {
		return err
	}
	d.read, err = sql.Open("sqlite", dsn(d.path, o.vfs, "query_only(1)"))
	if err != nil {
		return err
	}
	d.read.SetMaxOpenConns(4)
	d.read.SetMaxIdleConns(4)
	return d.prepare(ctx)
}

// prepare prepares the statements of the readers.
func (d *DB) prepare(ctx context.Context) (err error) {
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&d.job1, "select " + columns + " from jobs where id = ?"},
		{&d.fence1, "select 1 from jobs where id = ? and token = ? and owner <> ''"},
		{&d.blob1, "select data from blobs where digest = ?"},
		{&d.count1, countQuery},
		{&d.ahead1, aheadQuery},
	} {
		if *p.to, err = d.read.PrepareContext(ctx, p.query); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the writes that were begun, shortens the write-ahead log and
// closes the file. Methods called after it return an error.
func (d *DB) Close() error {
	d.closing.Lock()
	if d.closed {
		d.closing.Unlock()
		if !d.reads {
			<-d.stopped
		}
		return nil
	}
	d.closed = true
	if d.reads {
		d.closing.Unlock()
		return d.release()
	}
	close(d.ops)
	d.closing.Unlock()
	<-d.stopped
	if d.broken.Load() == nil {
		// Another process may be reading; then its last close does this.
		_, _ = d.conn.ExecContext(context.Background(), "pragma wal_checkpoint(truncate)")
	}
	return d.release()
}

func (d *DB) release() error {
	if d.opened != nil && errors.Is(d.moved(), errReplaced) {
		// The last connection that SQLite closes deletes the log by its name,
		// which may be that of another database by now. Better leave it open.
		return nil
	}
	var errs []error
	for _, s := range d.stmts {
		errs = append(errs, s.Close())
	}
	for _, s := range []*sql.Stmt{d.job1, d.fence1, d.blob1, d.count1, d.ahead1} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	if d.write != nil {
		errs = append(errs, d.write.Close())
	}
	return errors.Join(errs...)
}

// Commits is how many transactions this process has committed, each with a sync of
// the disk.
func (d *DB) Commits() int64 { return d.commits.Load() }

// Backup writes a consistent copy of the database to path while work goes on.
// It refuses a path that exists.
func (d *DB) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("backup: %s exists; choose another name", path)
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part*")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer os.Remove(part.Name())
	defer part.Close()
	// A connection of its own: the readers' are query-only, and the writer's is
	// busy.
	db, err := sql.Open("sqlite", dsn(d.path, d.vfs))
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "vacuum into ?", part.Name()); err != nil {
		return fmt.Errorf("backup to %s: %w", path, explain(d.path, err))
	}
	if err := errors.Join(part.Sync(), os.Link(part.Name(), path), syncDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}
