package workspace

import (
	"cmp"
	"io/fs"
	"slices"
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
}

// net is the sum of a path's deltas in a part of the ledger.
type net struct {
	path   string
	from   string
	orig   state // before the first of them
	last   delta // the newest of them
	step   string
	record int    // that of the newest
	later  string // the newest step outside the part that changed the path afterwards
	mixed  string // a step outside the part that changed the path in between
	unkept bool
}

// nets returns what the chosen changes come to, sorted by path.
func (b *book) nets(take func(i int, e entry) bool) []net {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]*net{}
	for i, e := range b.log {
		p := string(e.Path)
		n := found[p]
		if !take(i, e) {
			if n != nil {
				n.later = e.step
			}
			continue
		}
		if n == nil {
			n = &net{path: p, orig: e.Before, unkept: b.unkept[p]}
			found[p] = n
		} else if n.later != "" && !e.Before.same(n.last.After) {
			n.mixed = n.later
		}
		n.last, n.step, n.record, n.later = e.delta, e.step, e.record, ""
		switch {
		case e.From != "":
			n.from = string(e.From)
			if was := found[n.from]; was != nil && was.from != "" {
				n.from = was.from
			}
		case e.After.Type == "":
			n.from = ""
		}
	}
	var ns []net
	for _, n := range found {
		// The newest record may be of something that a crash prevented: an undo, for one.
		if !n.orig.same(n.last.After) || n.record == b.records {
			ns = append(ns, *n)
		}
	}
	slices.SortFunc(ns, func(a, b net) int { return cmp.Compare(a.path, b.path) })
	return ns
}

// Changes returns what the job changed, all in all: a file that was created and
// deleted again is not in it. It is sorted by path. It tells what the job did,
// which others may have changed since; Diff looks at the disk.
func (l *Ledger) Changes() ([]Change, error) { return l.All().Changes() }

// A shift is a change and the net it was read from.
type shift struct {
	Change
	net
	old state // what it is compared with
}

func changes(ns []net) []shift {
	gone := map[string]state{}
	for _, n := range ns {
		if n.last.After.Type == "" && n.orig.Type == isFile {
			gone[n.path] = n.orig
		}
	}
	var cs []shift
	moved := map[string]bool{}
	for _, n := range ns {
		if n.orig.same(n.last.After) || n.orig.Type == isDir || n.orig.Type == "" && n.last.After.Type == isDir {
			continue // git has no directories either
		}
		c := Change{Path: n.path, Kind: Modified, Before: n.orig.Digest, After: n.last.After.Digest, OldMode: n.orig.Mode,
			Mode: n.last.After.Mode, Step: n.step, Unkept: n.unkept, Link: n.orig.Type == isLink || n.last.After.Type == isLink}
		old := n.orig
		was, left := gone[n.from]
		switch {
		case n.orig.Type == "" && left && !moved[n.from]:
			c.Kind, c.From, c.Before, c.OldMode = Renamed, n.from, was.Digest, was.Mode
			moved[n.from], old = true, was
		case n.orig.Type == "":
			c.Kind = Created
		case n.last.After.Type == "":
			c.Kind = Deleted
		}
		cs = append(cs, shift{Change: c, net: n, old: old})
	}
	return slices.DeleteFunc(cs, func(c shift) bool { return c.Kind == Deleted && moved[c.Path] })
}
