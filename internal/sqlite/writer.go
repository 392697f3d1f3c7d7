package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	lib "modernc.org/sqlite/lib"
)

// maxBatch bounds how many writes share one commit.
const maxBatch = 256

// busyLimit bounds how long a batch waits for other processes.
const busyLimit = 30 * time.Second

// do has the writer run f in a transaction and returns when its effect is
// durable, or not there at all. The end of ctx counts only until the writer
// has taken f: afterwards the answer is waited for, so that it is true.
func (d *DB) do(ctx context.Context, f func(*tx) error) error {
	o := &op{do: f, done: make(chan error, 1)}
	if err := d.send(ctx, o); err != nil {
		return err
	}
	return d.wait(ctx, o)
}

// send hands o to the writer, which takes what is sent in this order.
func (d *DB) send(ctx context.Context, o *op) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.closing.RLock()
	defer d.closing.RUnlock()
	if d.closed {
		return errClosed
	}
	if d.reads {
		return fmt.Errorf("%w: %s was opened for reading only", errReadOnly, d.path)
	}
	select {
	case d.ops <- o:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait returns the outcome of an op that was sent.
func (d *DB) wait(ctx context.Context, o *op) error {
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		if o.state.CompareAndSwap(waiting, abandoned) {
			return context.Cause(ctx)
		}
		return <-o.done
	}
}

// loop is the writer. Close ends it and waits.
func (d *DB) loop() {
	defer close(d.stopped)
	batch := make([]*op, 0, maxBatch)
	for o := range d.ops {
		batch = append(batch[:0], o)
		for more := true; more && len(batch) < maxBatch; {
			select {
			case o, ok := <-d.ops:
				if more = ok; ok {
					batch = append(batch, o)
				}
			default:
				more = false
			}
		}
		d.serve(batch)
		if d.fold && len(d.ops) == 0 {
			d.fold = false
			// At best: readers that need the log are not waited for.
			_, _ = d.conn.ExecContext(context.Background(), "pragma wal_checkpoint(passive)")
		}
	}
}

func (d *DB) serve(batch []*op) {
	live := batch[:0]
	for _, o := range batch {
		if o.state.CompareAndSwap(waiting, taken) {
			live = append(live, o)
		}
	}
	if len(live) == 0 {
		return
	}
	errs, spoiled, err := d.commit(live, false)
	if spoiled && len(live) > 1 && d.broken.Load() == nil {
		// One of them failed: now each is undone alone.
		errs, spoiled, err = d.commit(live, true)
	}
	if spoiled && len(live) > 1 && d.broken.Load() == nil {
		// One write undid the transaction of all: give each its own.
		for _, o := range live {
			errs, _, err := d.commit([]*op{o}, false)
			d.answer(o, errors.Join(err, errs[0]))
		}
		return
	}
	for i, o := range live {
		if err != nil {
			errs[i] = err
		}
		d.answer(o, errs[i])
	}
}

func (d *DB) answer(o *op, err error) {
	if err == nil {
		for _, job := range o.changed {
			d.notifier.notify(job)
		}
	}
	err = explain(d.path, err)
	if o.after != nil {
		o.after(err)
	}
	o.done <- err
}

// commit runs ops in one transaction. err is of the transaction itself, and
// spoiled says that the ops, not the database, caused it. A failure of one op
// undoes that one alone with savepoints, which take as long as a write does, and
// all of them without.
func (d *DB) commit(ops []*op, savepoints bool) (errs []error, spoiled bool, err error) {
	errs = make([]error, len(ops))
	if p := d.broken.Load(); p != nil {
		return errs, false, *p
	}
	if err := d.begin(); err != nil {
		return errs, false, err
	}
	failed := func(err error) ([]error, bool, error) {
		if syncFailed(err) {
			// What the kernel did not write it may forget: a later sync that
			// succeeds would prove nothing.
			d.broken.Store(&err)
		}
		_, _ = d.conn.ExecContext(context.Background(), "rollback")
		return errs, true, err
	}
	for i, o := range ops {
		t := &tx{d: d, o: o}
		o.changed = o.changed[:0]
		if !savepoints {
			if errs[i] = o.do(t); errs[i] != nil {
				_, _, _ = failed(errs[i])
				return errs, len(ops) > 1, nil
			}
			continue
		}
		if _, err := t.exec("savepoint op"); err != nil {
			return failed(err)
		}
		if errs[i] = o.do(t); errs[i] != nil {
			if _, err := t.exec("rollback to op"); err != nil {
				return failed(errors.Join(errs[i], err))
			}
		}
		if _, err := t.exec("release op"); err != nil {
			return failed(err)
		}
	}
	if _, err := (&tx{d: d}).exec("commit"); err != nil {
		return failed(err)
	}
	d.commits.Add(1)
	// SQLite does not notice that its file has no name any more: what it wrote
	// there is lost.
	if err := d.moved(); err != nil {
		d.broken.Store(&err)
		return errs, false, err
	}
	return errs, false, nil
}

// moved is an error if the file at the database's path is not the one that was
// opened.
func (d *DB) moved() error {
	now, err := os.Lstat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was deleted while it was in use; what was written since is lost; put the file or a backup back before you start again", errReplaced, d.path)
	case err != nil:
		return fmt.Errorf("database: %w", err)
	case !os.SameFile(now, d.opened):
		return fmt.Errorf("%w: %s was replaced by another file while it was in use; what was written since is lost", errReplaced, d.path)
	}
	return nil
}

// begin takes SQLite's write lock, which other processes may hold.
func (d *DB) begin() error {
	for start := time.Now(); ; {
		_, err := (&tx{d: d}).exec("begin immediate")
		if err == nil || code(err)&0xff != lib.SQLITE_BUSY || time.Since(start) > busyLimit {
			return err
		}
	}
}
