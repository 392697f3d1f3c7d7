package workspace

import (
	"cmp"
	"context"
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

// net is the sum of a path's deltas.
type net struct {
	path   string
	from   string
	orig   state // before the job
	last   delta // the newest
	step   string
	unkept bool
}

// nets returns what is different from before the job, sorted by path.
func (b *book) nets() []net {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ns []net
	for p, orig := range b.first {
		last := b.last[p]
		if orig.same(last.After) {
			continue
		}
		ns = append(ns, net{path: p, from: b.from[p], orig: orig, last: last, step: b.step[p], unkept: b.unkept[p]})
	}
	slices.SortFunc(ns, func(a, b net) int { return cmp.Compare(a.path, b.path) })
	return ns
}

// Changes returns what the job changed, all in all: a file that was created and
// deleted again is not in it. It is sorted by path. It tells what the job did,
// which others may have changed since; Diff looks at the disk.
func (l *Ledger) Changes() ([]Change, error) {
	if err := l.settle(context.Background()); err != nil {
		return nil, err
	}
	ns := l.nets()
	gone := map[string]bool{}
	for _, n := range ns {
		if n.last.After.Type == "" && n.orig.Type == isFile {
			gone[n.path] = true
		}
	}
	var cs []Change
	moved := map[string]bool{}
	for _, n := range ns {
		if n.orig.Type == isDir || n.orig.Type == "" && n.last.After.Type == isDir {
			continue // git has no directories either
		}
		c := Change{Path: n.path, Kind: Modified, Before: n.orig.Digest, After: n.last.After.Digest, OldMode: n.orig.Mode,
			Mode: n.last.After.Mode, Step: n.step, Unkept: n.unkept, Link: n.orig.Type == isLink || n.last.After.Type == isLink}
		switch {
		case n.orig.Type == "" && gone[n.from] && !moved[n.from]:
			was := l.original(n.from)
			c.Kind, c.From, c.Before, c.OldMode = Renamed, n.from, was.Digest, was.Mode
			moved[n.from] = true
		case n.orig.Type == "":
			c.Kind = Created
		case n.last.After.Type == "":
			c.Kind = Deleted
		}
		cs = append(cs, c)
	}
	return slices.DeleteFunc(cs, func(c Change) bool { return c.Kind == Deleted && moved[c.Path] }), nil
}

func (b *book) original(p string) state {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first[p]
}
