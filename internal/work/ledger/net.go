package ledger

import (
	"cmp"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A span is changes of one path in a row that are in a part, and all uncertain
// or all not.
type span struct {
	from, to  rootfs.State
	uncertain bool
}

// net is the sum of a path's deltas in a part of the ledger.
type net struct {
	path  string
	from  string
	spans []span       // oldest first; where two do not meet, somebody else changed the path
	last  PathChange   // the newest of the deltas
	begun rootfs.State // before the record of that
	all   []rootfs.State
	// sources are the names from which the file was renamed, one after another.
	sources []string
	step    string
	// record is the number of the newest one's record.
	record int
	// later and mixed are the entries outside of the part that changed the path
	// after it and amid it. Step is "" if the ledger knows no more than that.
	later, mixed *entry
	unkept       bool
	uncertain    bool // some of the deltas are
	reported     bool // all of those are
	ignored      bool // all of the deltas are
}

// orig returns the state before the first of the deltas.
func (n *net) orig() rootfs.State { return n.spans[0].from }

// foreign returns the states that somebody else left between the spans.
func (n *net) foreign() []rootfs.State {
	var out []rootfs.State
	for i, s := range n.spans[1:] {
		if !s.from.Equal(n.spans[i].to) {
			out = append(out, s.from)
		}
	}
	return out
}

// rewind takes out the changes since the path was like now.
func (n *net) rewind(now rootfs.State) {
	for i, s := range n.spans {
		if s.from.Equal(now) && i > 0 {
			n.spans = n.spans[:i]
			return
		}
	}
	n.spans[len(n.spans)-1].to = now
}

// happened returns the entries whose After was ever there: one that a crash
// prevented is followed by another with the same Before.
func (b *log) happened() []bool {
	real := make([]bool, len(b.entries))
	newest := map[string][]int{} // the entries of a path's newest record
	for i, e := range b.entries {
		real[i] = true
		p := string(e.Path)
		is := newest[p]
		if len(is) > 0 && b.entries[is[0]].record == e.record {
			newest[p] = append(is, i)
			continue
		}
		if len(is) > 0 && e.Before.Equal(b.entries[is[0]].Before) && !e.Before.Equal(b.entries[is[len(is)-1]].After) {
			for _, k := range is {
				real[k] = false
			}
		}
		newest[p] = []int{i}
	}
	return real
}

// nets returns the net changes of the chosen entries, sorted by path.
func (b *log) nets(take func(i int, e entry) bool) []net {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, before := map[string]*net{}, map[string]*entry{}
	real := b.happened()
	for i := range b.entries {
		if !real[i] {
			continue
		}
		e := &b.entries[i]
		p := string(e.Path)
		n, was := found[p], before[p]
		before[p] = e
		if !take(i, *e) {
			if n != nil {
				n.later = e
			}
			continue
		}
		if n == nil {
			n = &net{path: p, spans: []span{{e.Before, e.After, e.Uncertain}}, unkept: b.unkept[p], ignored: true}
			found[p] = n
		} else {
			n.extend(e, was)
		}
		if n.record != e.record {
			n.begun = e.Before
		}
		n.all = append(n.all, e.Before, e.After)
		n.last, n.step, n.record, n.later = e.PathChange, e.step, e.record, nil
		n.reported = e.Uncertain && e.Reported && (n.reported || !n.uncertain)
		n.uncertain = n.uncertain || e.Uncertain
		n.ignored = n.ignored && e.Ignored
		switch {
		case e.From != "":
			n.from = string(e.From)
			n.sources = append(n.sources, n.from)
			if was := found[n.from]; was != nil {
				n.sources = append(n.sources, was.sources...)
				n.from = cmp.Or(was.from, n.from)
			}
		case e.After.Type == "":
			n.from = ""
		}
	}
	var ns []net
	for _, n := range found {
		// The newest record may be of something that a crash prevented: an undo, for one.
		if len(n.foreign()) > 0 || !n.orig().Equal(n.last.After) || n.record == b.records {
			ns = append(ns, *n)
		}
	}
	slices.SortFunc(ns, func(a, b net) int { return cmp.Compare(a.path, b.path) })
	return ns
}

// extend takes in one more entry of the part; was is the one before it of the
// path, of the part or not.
func (n *net) extend(e, was *entry) {
	end := &n.spans[len(n.spans)-1]
	meets := e.Before.Equal(end.to)
	if meets && e.Uncertain == end.uncertain {
		end.to = e.After
		return
	}
	switch {
	case meets:
	case n.later != nil:
		n.mixed = n.later
	case !e.Before.Equal(was.After):
		n.mixed = &entry{}
	}
	n.spans = append(n.spans, span{e.Before, e.After, e.Uncertain})
}
