package temporal

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
)

// Each host numbers the events of all its jobs. A cursor is the last number of each that a reader has.
type cursor map[string]int64

// cursors are the places of the readers of this process, by the number of the event that each had last: an
// event of several hosts has a number of its own in each stream. It is safe for concurrent use.
type cursors struct {
	mu   sync.Mutex
	next int64
	at   map[int64]cursor
}

// mostCursors bounds the places that are kept. Who comes with an older one begins anew.
const mostCursors = 20_000

// keep numbers a place. The numbers of a process are above those of an earlier one.
func (c *cursors) keep(at cursor) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.next, c.at = time.Now().UnixMicro(), map[int64]cursor{}
	}
	c.next++
	c.at[c.next] = maps.Clone(at)
	delete(c.at, c.next-mostCursors)
	return c.next
}

// find returns the place that has a number, empty if it is none of this process.
func (c *cursors) find(id int64) cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.at[id]; ok {
		return maps.Clone(at)
	}
	return cursor{}
}

// AllEvents implements [adroit.JobReader]. The events of one host have the numbers of its store. Those of
// several hosts come in the order of each host, with numbers of this process: a reader goes on after one of
// them, and begins anew after one of an earlier process. The events of a host that is away come when it is
// back.
func (r *remote) AllEvents(ctx context.Context, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if o.Live {
			yield(event.Event{}, problem.Invalidf("follow the job itself", "pieces of answers are not among the events of all jobs"))
			return
		}
		hosts, err := r.t.everyHost(ctx)
		if err != nil {
			yield(event.Event{}, problem.AsError(err))
			return
		}
		if len(hosts) == 0 {
			r.Client.AllEvents(ctx, o)(yield) // nobody answers
			return
		}
		ctx, stop := context.WithCancel(ctx)
		var readers sync.WaitGroup
		defer readers.Wait()
		defer stop()
		at, last := r.places.find(o.After), min(o.After, 0)
		if len(hosts) == 1 {
			at = cursor{hosts[0]: o.After}
		}
		type from struct {
			host string
			ev   event.Event
			err  error
		}
		in, over := make(chan from), make(chan struct{})
		begun := map[string]bool{}
		begin := func(hosts []string) {
			for _, host := range hosts {
				if begun[host] {
					continue
				}
				begun[host] = true
				own := adroit.EventOptions{After: at[host], Follow: o.Follow}
				if own.After == 0 {
					own.After = last
				}
				readers.Go(func() {
					for ev, err := range r.follow(ctx, host, own) {
						select {
						case in <- from{host, ev, err}:
						case <-ctx.Done():
							return
						}
					}
				})
			}
		}
		begin(hosts)
		if !o.Follow {
			go func() { readers.Wait(); close(over) }()
		}
		for {
			select {
			case f := <-in:
				if at[f.host] = f.ev.ID; f.err == nil && len(begun) > 1 {
					f.ev.ID = r.places.keep(at)
				}
				if !yield(f.ev, f.err) || f.err != nil {
					return
				}
			case <-over:
				return
			case <-time.After(newHostEvery):
				if hosts, err := r.t.everyHost(ctx); err == nil && o.Follow {
					begin(hosts)
				}
			case <-ctx.Done():
				yield(event.Event{}, problem.AsError(context.Cause(ctx)))
				return
			}
		}
	}
}

// newHostEvery is how often a reader of all events looks for new hosts, and for one that is away.
const newHostEvery = 5 * time.Second

// everyHost is each host that polls or has jobs.
func (t *Cluster) everyHost(ctx context.Context) ([]string, error) {
	hosts, err := t.hosts(ctx, 0)
	if err != nil {
		return nil, err
	}
	away, err := t.awayHosts(ctx, hosts)
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(hosts, away)))), err
}

// follow reads the events of all jobs of a host, whose answers have a bounded size.
func (r *remote) follow(ctx context.Context, host string, o adroit.EventOptions) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			before, gone := o.After, false
			for ev, err := range r.t.on(host).AllEvents(ctx, o) {
				if gone = errors.Is(err, errAway); gone {
					break
				}
				if err == nil {
					o.After = ev.ID
				}
				if !yield(ev, err) || err != nil {
					return
				}
			}
			switch {
			case ctx.Err() != nil, !o.Follow && (gone || o.After == before):
				return
			case !gone:
				continue // it has waited for some
			}
			select {
			case <-time.After(newHostEvery):
			case <-ctx.Done():
				return
			}
		}
	}
}
