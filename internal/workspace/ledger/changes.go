package ledger

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/adroit-run/adroit/internal/rootfs"
)

// A Kind of change, as git would name it.
type Kind string

const (
	Created  Kind = "created"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // and perhaps modified
)

// A Change is what a job did to one path, all in all.
type Change struct {
	Path    string      `json:"path"`
	Kind    Kind        `json:"kind"`
	From    string      `json:"from,omitempty"`     // of a rename
	Before  string      `json:"before,omitempty"`   // digest of the original content
	After   string      `json:"after,omitempty"`    // digest of what the job last wrote
	OldMode fs.FileMode `json:"old_mode,omitempty"` // permission bits
	Mode    fs.FileMode `json:"mode,omitempty"`
	Link    bool        `json:"link,omitempty"` // a symbolic link; the digests are of its target
	Step    string      `json:"step,omitempty"` // the last step that changed it
	Unkept  bool        `json:"unkept,omitempty"`
	// Uncertain: the file changed while the step ran a command, and nothing shows
	// whether that or somebody else did it.
	Uncertain bool `json:"uncertain,omitempty"`
	// Reported: the program that worked reported that it changed the file.
	Reported bool `json:"reported,omitempty"`
}

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
	// sources are the names that what is here was renamed from, one after another.
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
}

// orig is the state before the first of the deltas.
func (n *net) orig() rootfs.State { return n.spans[0].from }

// foreign are the states that somebody else left between the spans.
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

// ineffective reports whether taking the changes out of what they left changes
// nothing any more.
func (l *Ledger) ineffective(n *net) bool {
	if len(n.foreign()) == 0 {
		return n.orig().Equal(n.last.After)
	}
	vs, err := l.without(n, version{State: n.last.After})
	return err == nil && vs[0].Equal(n.last.After)
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

// nets returns what the chosen changes come to, sorted by path.
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
			n = &net{path: p, spans: []span{{e.Before, e.After, e.Uncertain}}, unkept: b.unkept[p]}
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

// Changes returns what the job changed, all in all: a file that was created and
// deleted again is not in it. It is sorted by path. It lists what the job did,
// which others may have changed since; Diff looks at the disk.
func (l *Ledger) Changes(ctx context.Context) ([]Change, error) { return l.All().Changes(ctx) }

// A shift is a change and the net it was read from.
type shift struct {
	Change
	net
	old rootfs.State // what it is compared with
}

func (l *Ledger) shifts(ns []net) []shift {
	gone := map[string]rootfs.State{}
	for _, n := range ns {
		if n.last.After.Type == "" && n.orig().Type == rootfs.TypeFile {
			gone[n.path] = n.orig()
		}
	}
	var cs []shift
	moved := map[string]bool{}
	for _, n := range ns {
		if l.ineffective(&n) || n.orig().Type == rootfs.TypeDir || n.orig().Type == "" && n.last.After.Type == rootfs.TypeDir {
			continue // git has no directories either
		}
		c := Change{Path: n.path, Kind: Modified, Before: n.orig().Digest, After: n.last.After.Digest, OldMode: n.orig().Mode,
			Mode: n.last.After.Mode, Step: n.step, Unkept: n.unkept, Uncertain: n.uncertain, Reported: n.reported, Link: n.orig().Type == rootfs.TypeLink || n.last.After.Type == rootfs.TypeLink}
		old := n.orig()
		was, left := gone[n.from]
		switch {
		case n.orig().Type == "" && left && !moved[n.from]:
			c.Kind, c.From, c.Before, c.OldMode = Renamed, n.from, was.Digest, was.Mode
			moved[n.from], old = true, was
		case n.orig().Type == "":
			c.Kind = Created
		case n.last.After.Type == "":
			c.Kind = Deleted
		}
		cs = append(cs, shift{Change: c, net: n, old: old})
	}
	return slices.DeleteFunc(cs, func(c shift) bool { return c.Kind == Deleted && moved[c.Path] })
}

// OwnChanges lists what the ledger's step comes to for each path, in the order in
// which the step came to them. Uncertain is one that somebody else may have had
// a part in.
func (l *Ledger) OwnChanges() (nets []PathChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := map[rootfs.RawName]int{}
	for _, e := range l.entries {
		if e.step != l.StepPath {
			continue
		}
		if i, ok := at[e.Path]; ok {
			nets[i].Uncertain = nets[i].Uncertain || e.Uncertain || !e.Before.Equal(nets[i].After)
			nets[i].After = e.After
			continue
		}
		at[e.Path] = len(nets)
		nets = append(nets, PathChange{Path: e.Path, Before: e.Before, After: e.After, Uncertain: e.Uncertain})
	}
	return nets
}
