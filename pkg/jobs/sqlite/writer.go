package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

// maxBatch bounds how many writes share one commit.
const maxBatch = 256

// busyLimit bounds how long a batch waits for other processes.
const busyLimit = 30 * time.Second

// do has the writer run f in a transaction and returns when its effect is
// durable, or not there at all. The end of ctx counts only until the writer
// has taken f: afterwards the answer is waited for, so that it is true.
func (d *DB) do(ctx context.Context, f func(*tx) error) error {
	o := &op{ctx: ctx, do: f, done: make(chan error, 1)}
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

func take(batch []*op) []*op {
	live := batch[:0]
	for _, o := range batch {
		if o.state.CompareAndSwap(waiting, taken) {
			live = append(live, o)
		}
	}
	return live
}

// serve answers a batch. Where the disk is full or another process has the lock of the
// database, the batch waits, and what comes meanwhile waits behind it: nothing becomes
// durable before what was sent earlier.
func (d *DB) serve(batch []*op) {
	live := take(batch)
	for w := (exhaustion.Wait{}); len(live) > 0; {
		errs := d.perform(live)
		late := slices.IndexFunc(errs, func(err error) bool { return exhaustion.Of(err) != "" && d.broken.Load() == nil })
		if late < 0 {
			late = len(live)
		}
		for i, o := range live[:late] {
			d.answer(o, errs[i])
		}
		if live = live[late:]; len(live) > 0 {
			live = d.await(&w, live, errs[late])
		}
	}
}

// await waits before live is performed again, which failed with err, and returns it with
// what has come meanwhile and without what is not waited for any more.
func (d *DB) await(w *exhaustion.Wait, live []*op, err error) []*op {
	var most time.Duration
	stay := make([]*op, 0, len(live))
	for _, o := range live {
		patience := exhaustion.Patience(o.ctx)
		switch {
		case o.ctx.Err() != nil:
			d.answer(o, errors.Join(context.Cause(o.ctx), err))
			continue
		case w.Waited() >= patience:
			d.answer(o, w.Over(err))
			continue
		case !o.noticed:
			o.noticed = true
			exhaustion.Notify(o.ctx, err)
		}
		most = max(most, patience)
		stay = append(stay, o)
	}
	if len(stay) == 0 {
		return nil
	}
	pause, _ := w.Next(most)
	for over := time.After(pause); ; {
		select {
		case o, ok := <-d.ops:
			if !ok || len(stay) >= maxBatch {
				<-over
			}
			if ok {
				stay = append(stay, take([]*op{o})...)
			}
			if !ok || len(stay) >= maxBatch {
				return stay
			}
		case <-over:
			return stay
		}
	}
}

// perform makes live take effect, all or each by itself. An error that exhausts the host
// is the error of all later ones, too, and none of these has taken effect.
func (d *DB) perform(live []*op) []error {
	errs, spoiled, err := d.commit(live, false)
	if spoiled && len(live) > 1 && d.broken.Load() == nil {
		// One of them failed: now each is undone alone.
		errs, spoiled, err = d.commit(live, true)
	}
	if spoiled && len(live) > 1 && d.broken.Load() == nil {
		// One write undid the transaction of all: give each its own.
		for i, o := range live {
			one, _, err := d.commit([]*op{o}, false)
			errs[i] = explain(d.path, errors.Join(err, one[0]))
			if exhaustion.Of(errs[i]) != "" {
				for j := i + 1; j < len(live); j++ {
					errs[j] = errs[i]
				}
				break
			}
		}
		return errs
	}
	for i := range errs {
		if err != nil {
			errs[i] = err
		}
		errs[i] = explain(d.path, errs[i])
	}
	return errs
}

func (d *DB) answer(o *op, err error) {
	if err == nil {
		for _, job := range o.changed {
			d.feed.notify(job)
		}
	}
	if o.after != nil {
		o.after(err)
	}
	o.done <- err
}

// commit runs ops in one transaction. err is of the transaction itself, and
// spoiled reports that the ops, not the database, caused it. A failure of one op
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
			if exhaustion.Of(explain(d.path, errs[i])) != "" {
				return failed(errs[i]) // the others must not be there before it
			}
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

// moved returns an error if the file at the database's path is not the one that was
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
