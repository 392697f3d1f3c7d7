package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// pollOthers is the interval at which the feed looks for writes of other processes.
// Writes of this process wake it at once.
const pollOthers = 100 * time.Millisecond

// page bounds what a follower reads at once: no read transaction stays open
// while the caller thinks, so the write-ahead log can be emptied.
const page = 256

// feedKept is the least number of a topic's latest events kept in memory. A reader that
// is further behind reads from the file.
const feedKept = 1024

// allJobs is the topic of the events of all jobs.
const allJobs = ""

// A feed reads the event log once for all followers: one goroutine, which lives as
// long as there are any, reads what is new and passes it to the topics.
type feed struct {
	d *DB

	mu      sync.Mutex
	topics  map[string]*topic // by job
	dirty   map[string]bool   // topics whose job has changed
	wake    chan struct{}     // has a value if dirty has
	quit    chan struct{}     // nil while nobody reads
	stopped chan struct{}
	closed  error
	reads   int // of the log, for tests
}

// A topic is shared by the followers of one job, or of all. Its events are never changed in
// place, so that readers may keep a part of them.
type topic struct {
	readers int
	evs     []event.Event
	start   int64         // the number of the event before the first of evs
	over    bool          // the job runs no more
	err     error         // why nothing more comes
	changed chan struct{} // closed and replaced at every change
}

func (t *topic) ring() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// notify wakes the followers of a job.
func (f *feed) notify(job string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.quit != nil {
		f.changed(job)
	}
}

// changed has the reader look at a topic. It is called with mu held.
func (f *feed) changed(name string) {
	f.dirty[name] = true
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// join adds a reader to a topic. What is committed after join returns reaches the topic.
func (f *feed) join(ctx context.Context, name string) (*topic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed != nil {
		return nil, f.closed
	}
	if f.quit == nil {
		last, err := f.d.lastEvent(ctx)
		if err != nil {
			return nil, err
		}
		f.topics, f.dirty, f.wake = map[string]*topic{}, map[string]bool{}, make(chan struct{}, 1)
		before := f.stopped
		f.quit, f.stopped = make(chan struct{}), make(chan struct{})
		go func(quit, stopped chan struct{}) {
			defer close(stopped)
			if before != nil {
				<-before
			}
			f.read(last, quit)
		}(f.quit, f.stopped)
	}
	t := f.topics[name]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
		f.topics[name] = t
	}
	t.readers++
	f.changed(name) // it may have ended meanwhile
	return t, nil
}

// leave takes a reader away. The last one ends the reading.
func (f *feed) leave(name string, t *topic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.readers--; t.readers > 0 || f.topics[name] != t {
		return
	}
	delete(f.topics, name)
	if len(f.topics) == 0 && f.quit != nil {
		close(f.quit)
		f.quit = nil
	}
}

// close ends the reading and waits for that.
func (f *feed) close(err error) {
	f.mu.Lock()
	f.closed = err
	stopped := f.stopped
	if f.quit != nil {
		close(f.quit)
		f.quit = nil
	}
	f.end(err)
	f.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// end ends all topics. It is called with mu held.
func (f *feed) end(err error) {
	for name, t := range f.topics {
		t.err = err
		t.ring()
		delete(f.topics, name)
	}
}

// read reads what was committed after the event with the number last, until quit is closed
// or the log cannot be read.
func (f *feed) read(last int64, quit chan struct{}) {
	tick := time.NewTicker(pollOthers)
	defer tick.Stop()
	f.mu.Lock()
	wake := f.wake
	f.mu.Unlock()
	for all := true; ; {
		next, err := f.look(last, all, quit)
		if err != nil {
			f.mu.Lock()
			if f.quit == quit { // else somebody has ended it already
				f.quit = nil
				f.end(err)
			}
			f.mu.Unlock()
			return
		}
		last = next
		select {
		case <-wake:
			all = false
		case <-tick.C:
			all = true
		case <-quit:
			return
		}
	}
}

// look passes on what is new. In this order, so that nothing falls between: first see which
// jobs run, then read their events. Without all, it looks at jobs that have changed only.
func (f *feed) look(last int64, all bool, quit chan struct{}) (int64, error) {
	ctx := context.Background()
	if all {
		if err := f.d.moved(); err != nil { // nobody will write here again
			return last, err
		}
	}
	f.mu.Lock()
	var names []string
	for name := range f.topics {
		if name != allJobs && (all || f.dirty[name]) {
			names = append(names, name)
		}
	}
	if f.quit == quit {
		clear(f.dirty)
	}
	f.mu.Unlock()
	ended := map[string]error{}
	for _, name := range names {
		r, err := f.d.peek(ctx, name)
		if status := jobs.Status(""); err == nil {
			if status = f.d.job(r).Status; status == jobs.Running || status == jobs.Queued {
				continue
			}
		}
		ended[name] = err
	}
	for {
		evs, err := f.d.logged(ctx, last, page)
		if err != nil {
			return last, err
		}
		f.pass(quit, last, evs)
		if len(evs) > 0 {
			last = evs[len(evs)-1].ID
		}
		if len(evs) < page {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, err := range ended {
		if t := f.topics[name]; t != nil && f.quit == quit {
			t.over, t.err = err == nil, err
			t.ring()
			delete(f.topics, name) // the next reader finds out anew whether it runs
		}
	}
	return last, nil
}

// pass gives events, which follow the one with the number last, to the topics.
func (f *feed) pass(quit chan struct{}, last int64, evs []event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.quit != quit || len(evs) == 0 {
		return
	}
	f.reads++
	rung := map[*topic]bool{}
	for _, ev := range evs {
		if t := f.topics[allJobs]; t != nil {
			t.add(last, ev, func(ev event.Event) int64 { return ev.ID })
			rung[t] = true
		}
		if t := f.topics[ev.Job]; t != nil {
			one := ev
			one.ID = 0
			t.add(ev.Seq-1, one, func(ev event.Event) int64 { return ev.Seq })
			rung[t] = true
		}
		last = ev.ID
	}
	for t := range rung {
		t.ring()
	}
}

// add adds an event that follows the one with the number before.
func (t *topic) add(before int64, ev event.Event, number func(event.Event) int64) {
	if len(t.evs) == 0 {
		t.start = before
	}
	if len(t.evs) == 2*feedKept {
		t.start = number(t.evs[feedKept-1])
		t.evs = slices.Clone(t.evs[feedKept:])
	}
	t.evs = append(t.evs, ev)
}

// A since is a topic's state for a reader.
type since struct {
	evs     []event.Event // after the reader's last
	gap     bool          // what precedes them is in the file only
	start   int64         // where they begin
	over    bool
	err     error
	changed <-chan struct{}
}

func (f *feed) since(t *topic, after int64, number func(event.Event) int64) since {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := since{over: t.over, err: t.err, changed: t.changed, start: t.start}
	if len(t.evs) == 0 {
		return s
	}
	if s.gap = after < t.start; !s.gap {
		i, _ := slices.BinarySearchFunc(t.evs, after+1, func(ev event.Event, n int64) int { return int(number(ev) - n) })
		s.evs = t.evs[i:]
	}
	return s
}

// follow yields the events of a topic after the one with a number: those of the file by
// read, a page at a time, then those that come.
func (f *feed) follow(ctx context.Context, name string, after int64, number func(event.Event) int64,
	read func(after int64) ([]event.Event, error), yield func(event.Event, error) bool) {
	t, err := f.join(ctx, name)
	if err != nil {
		yield(event.Event{}, err)
		return
	}
	defer f.leave(name, t)
	for behind := true; ; {
		s := f.since(t, after, number)
		if behind || s.gap {
			if s.evs, err = read(after); err != nil {
				yield(event.Event{}, err)
				return
			}
			if behind = len(s.evs) == page; len(s.evs) == 0 && s.gap {
				after = s.start // what was there was removed
				continue
			}
		}
		for _, ev := range s.evs {
			if !yield(ev, nil) {
				return
			}
			after = number(ev)
		}
		switch {
		case len(s.evs) > 0:
			continue
		case s.err != nil:
			yield(event.Event{}, s.err)
			return
		case s.over:
			return
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			yield(event.Event{}, context.Cause(ctx))
			return
		}
	}
}

// Events implements jobs.Store. A job that is queued counts as running: its
// follower waits for it to start.
func (d *DB) Events(ctx context.Context, job string, after int64, follow bool) iter.Seq2[event.Event, error] {
	read := func(after int64) ([]event.Event, error) { return d.after(ctx, job, after) }
	return func(yield func(event.Event, error) bool) {
		for {
			r, err := d.peek(ctx, job) // before its events, so that none falls between
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			status := d.job(r).Status
			evs, err := read(after)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			switch {
			case len(evs) > 0:
			case !follow || status != jobs.Running && status != jobs.Queued:
				return
			default:
				d.feed.follow(ctx, job, after, func(ev event.Event) int64 { return ev.Seq }, read, yield)
				return
			}
		}
	}
}

// AllEvents implements jobs.Store.
func (d *DB) AllEvents(ctx context.Context, after int64, follow bool) iter.Seq2[event.Event, error] {
	read := func(after int64) ([]event.Event, error) { return d.logged(ctx, after, page) }
	return func(yield func(event.Event, error) bool) {
		if after < 0 {
			err := d.read.QueryRowContext(ctx, "select coalesce(min(n), 1) - 1 from (select n from events order by n desc limit ?)", -after).Scan(&after)
			if err != nil {
				yield(event.Event{}, explain(d.path, err))
				return
			}
		}
		if follow {
			d.feed.follow(ctx, allJobs, after, func(ev event.Event) int64 { return ev.ID }, read, yield)
			return
		}
		for {
			evs, err := read(after)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
				after = ev.ID
			}
			if len(evs) < page {
				return
			}
		}
	}
}

func (d *DB) after(ctx context.Context, job string, seq int64) ([]event.Event, error) {
	return d.events(ctx, "select 0, data from events where job = ? and seq > ? order by seq limit ?", job, seq, page)
}

// logged are events of all jobs.
func (d *DB) logged(ctx context.Context, n int64, most int) ([]event.Event, error) {
	return d.events(ctx, "select n, data from events where n > ? order by n limit ?", n, most)
}

// lastEvent is the number of the last event.
func (d *DB) lastEvent(ctx context.Context) (n int64, err error) {
	err = d.read.QueryRowContext(ctx, "select coalesce(max(n), 0) from events").Scan(&n)
	return n, explain(d.path, err)
}

func (d *DB) events(ctx context.Context, query string, args ...any) (evs []event.Event, err error) {
	rows, err := d.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		var ev event.Event
		var n int64
		if err := rows.Scan(&n, &b); err != nil {
			return nil, explain(d.path, err)
		}
		if err := json.Unmarshal(b, &ev); err != nil {
			return nil, fmt.Errorf("%w: event after %v: %w", ErrDamaged, args, err)
		}
		ev.ID = n
		evs = append(evs, ev)
	}
	return evs, explain(d.path, rows.Err())
}
