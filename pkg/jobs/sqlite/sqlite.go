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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	_ "modernc.org/sqlite"
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
		db, err := Open(ctx, filepath.Join(dir, "adroit.db"), Options{})
		if err != nil {
			return nil, err
		}
		return db, nil
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
	d.feed.d = d
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
	d.feed.close(errClosed)
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

// Commits returns the number of transactions that this process has committed, each with a
// sync of the disk.
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

// readAhead reads the steps of a run that is replayed before it asks for them, so
// that a recalled step takes neither the write lock nor a query of its own. It
// holds at most maxAhead steps for each branch that is under way, without
// outputs that lie in blobs.
type readAhead struct {
	mu      sync.Mutex
	counted bool
	stopped bool // with steps of former runs left
	left    int  // steps that the run has not asked for yet; from zero on nothing is read
	read    map[string]*readStep
}

// maxAhead is the number of steps that are read at once. Outputs in rows have at most
// inline bytes each.
const maxAhead = 64

// A readStep is a step as it lies in its table: a big output is a digest.
type readStep struct {
	rec flow.Record
	big string
}

// stop ends reading ahead: what a checkpoint forgets must not be recalled.
func (a *readAhead) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.counted || a.left > 0 {
		a.stopped = true
	}
	a.counted, a.left, a.read = true, 0, nil
}

const (
	countQuery = "select count(*) from steps where job = ?"
	aheadQuery = `select path, kind, name, sum, deadline, done, output, big, failure from steps
		where job = ?1 and path in (select value from json_each(?2))
		and exists (select 1 from jobs where id = ?1 and token = ?3 and owner <> '')`
)

// known returns the step at s.Path if a former run has finished it. If it has
// not, sure reports that there is no step at all; otherwise the writer has to
// look.
func (j *journal) known(ctx context.Context, s flow.Step) (rec *flow.Record, sure bool, err error) {
	a := &j.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.counted {
		if err := j.d.count1.QueryRowContext(ctx, j.job).Scan(&a.left); err != nil {
			return nil, false, explain(j.d.path, err)
		}
		a.counted = true
	}
	if a.left <= 0 {
		return nil, !a.stopped, nil
	}
	r, ok := a.read[s.Path]
	if !ok {
		if err := j.page(ctx, s.Path); err != nil {
			return nil, false, explain(j.d.path, err)
		}
		if r, ok = a.read[s.Path]; !ok {
			return nil, true, nil
		}
	}
	delete(a.read, s.Path)
	if a.left--; a.left == 0 {
		a.read = nil
	}
	if !r.rec.Done {
		return nil, false, nil // it may be performed: that takes the lease
	}
	if r.big != "" {
		if err := j.d.blob1.QueryRowContext(ctx, r.big).Scan((*[]byte)(&r.rec.Output)); err != nil {
			return nil, false, fmt.Errorf("%w: output of step %s: %w", ErrDamaged, s.Path, err)
		}
	}
	return &r.rec, true, nil
}

// page reads the step at path and those that come next in its scope: the more,
// the further the run has got there. A journal whose lease is lost finds none.
func (j *journal) page(ctx context.Context, path string) error {
	dot := strings.LastIndexByte(path, '.') + 1
	n, err := strconv.Atoi(path[dot:])
	if err != nil {
		return nil // not a path of a workflow's step
	}
	paths := make([]string, min(max(n, 4), maxAhead))
	for i := range paths {
		paths[i] = path[:dot] + strconv.Itoa(n+i)
	}
	in, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	rows, err := j.d.ahead1.QueryContext(ctx, j.job, string(in), j.token)
	if err != nil {
		return err
	}
	defer rows.Close()
	if j.ahead.read == nil {
		j.ahead.read = map[string]*readStep{}
	}
	for rows.Next() {
		r := &readStep{rec: flow.Record{Job: j.job}}
		var deadline int64
		var failure []byte
		if err := rows.Scan(&r.rec.Path, &r.rec.Kind, &r.rec.Name, &r.rec.Sum, &deadline, &r.rec.Done, (*[]byte)(&r.rec.Output), &r.big, &failure); err != nil {
			return err
		}
		r.rec.Deadline = at(deadline)
		if failure != nil {
			r.rec.Failure = new(flow.Failure)
			if err := stored.Decode(failure, r.rec.Failure); err != nil {
				return fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, r.rec.Path, err)
			}
		}
		j.ahead.read[r.rec.Path] = r
	}
	return rows.Err()
}
