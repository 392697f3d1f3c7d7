package tools

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A Registry is a collection of tools that changes while the program runs, as
// when an MCP server adds one. Runs do not read it: they take a [Set] with
// Snapshot. The zero value is empty and ready; it is safe for concurrent use.
type Registry struct {
	mu        sync.Mutex
	set       *Set
	listeners []*listener
	queue     []delivery
	busy      bool // someone is delivering
}

// A Change describes what happened to a Registry. Names are sorted; a tool that was
// replaced is in both lists. Set is the content after the change.
type Change struct {
	Added   []string
	Removed []string
	Set     *Set
}

type listener struct {
	f    func(Change)
	gone bool // guarded by Registry.mu
}

type delivery struct {
	change Change
	to     []*listener
}

// Snapshot returns the tools registered now.
func (r *Registry) Snapshot() *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set == nil {
		r.set = newSet(nil)
	}
	return r.set
}

// Register adds tools, all or none. The error lists all faults.
func (r *Registry) Register(tools ...Tool) error { return r.Replace(nil, tools...) }

// Unregister removes tools, all or none. It is an error if one is not there.
func (r *Registry) Unregister(names ...string) error { return r.Replace(names) }

// Replace removes and adds in one change, all or nothing, so that no snapshot
// falls in between.
func (r *Registry) Replace(remove []string, add ...Tool) error {
	r.mu.Lock()
	if err := r.replace(remove, add); err != nil {
		r.mu.Unlock()
		return err
	}
	r.mu.Unlock()
	r.deliver()
	return nil
}

func (r *Registry) replace(remove []string, add []Tool) error {
	var errs []error
	for _, name := range remove {
		if _, ok := r.set.Lookup(name); !ok {
			errs = append(errs, fmt.Errorf("tool %q is not registered%s", name, spelling.DidYouMean(name, r.set.Names())))
		}
	}
	rest := r.set.where(func(t Tool) bool { return !slices.Contains(remove, t.Name) })
	set, err := rest.With(add...)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	r.set = set
	change := Change{Removed: slices.Sorted(slices.Values(remove)), Set: set}
	change.Removed = slices.Compact(change.Removed)
	for _, t := range add {
		change.Added = append(change.Added, t.Name)
	}
	slices.Sort(change.Added)
	if len(change.Added)+len(change.Removed) > 0 {
		r.queue = append(r.queue, delivery{change, slices.Clone(r.listeners)})
	}
	return nil
}

// Subscribe calls f for every change from now on, in the order of the changes,
// one at a time. f runs on a goroutine that changed the registry, without a
// lock, so it may use the registry; a change that f makes is delivered after the
// current one. After cancel returns no further call begins, though one may still
// be running in another goroutine.
func (r *Registry) Subscribe(f func(Change)) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &listener{f: f}
	r.listeners = append(r.listeners, l)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		l.gone = true
		r.listeners = slices.DeleteFunc(r.listeners, func(o *listener) bool { return o == l })
	}
}

// deliver empties the queue, unless someone else is about it: one deliverer at
// a time is what keeps changes in order.
func (r *Registry) deliver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy {
		return
	}
	r.busy = true
	defer func() { r.busy = false }() // also if a listener panics
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		for _, l := range next.to {
			if !l.gone {
				r.tell(l, next.change)
			}
		}
	}
}

// tell calls a listener with the lock released.
func (r *Registry) tell(l *listener, c Change) {
	r.mu.Unlock()
	defer r.mu.Lock()
	l.f(c)
}
