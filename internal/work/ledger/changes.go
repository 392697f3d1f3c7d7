package ledger

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
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

// ineffective reports whether taking the changes out of what they left changes
// nothing any more.
func (l *Ledger) ineffective(n *net) bool {
	if len(n.foreign()) == 0 {
		return n.orig().Equal(n.last.After)
	}
	vs, err := l.without(n, version{State: n.last.After})
	return err == nil && vs[0].Equal(n.last.After)
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
		if (n.last.After.Type == "" || n.last.After.Type == rootfs.TypeDir) && n.orig().Type == rootfs.TypeFile {
			gone[n.path] = n.orig()
		}
	}
	var cs []shift
	moved := map[string]bool{}
	for _, n := range ns {
		was, is := n.orig().Type != "" && n.orig().Type != rootfs.TypeDir, n.last.After.Type != "" && n.last.After.Type != rootfs.TypeDir
		if n.ignored || l.ineffective(&n) || !was && !is {
			continue // git has no directories either
		}
		c := Change{Path: n.path, Kind: Modified, Before: n.orig().Digest, After: n.last.After.Digest, OldMode: n.orig().Mode,
			Mode: n.last.After.Mode, Step: n.step, Unkept: n.unkept, Uncertain: n.uncertain, Reported: n.reported, Link: n.orig().Type == rootfs.TypeLink || n.last.After.Type == rootfs.TypeLink}
		old := n.orig()
		source, left := gone[n.from]
		switch {
		case !was && left && !moved[n.from]:
			c.Kind, c.From, c.Before, c.OldMode = Renamed, n.from, source.Digest, source.Mode
			moved[n.from], old = true, source
		case !was:
			c.Kind = Created
		case !is:
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
		if e.step != l.StepPath || e.Ignored {
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

// Changes returns what the part comes to, sorted by path. What is uncertain is
// in it as changes of its own, or as part of the others if it is included.
func (p Selection) Changes(ctx context.Context) ([]Change, error) {
	if err := p.l.peek(ctx); err != nil {
		return nil, err
	}
	var cs []Change
	for _, c := range slices.Concat(p.l.shifts(p.nets()), p.l.shifts(p.doubtful())) {
		cs = append(cs, c.Change)
	}
	slices.SortStableFunc(cs, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return slices.Clip(cs), nil
}

// HasStep reports whether a step has changed something.
func (l *Ledger) HasStep(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.step == path }) || slices.ContainsFunc(l.moves, func(m moveEntry) bool { return m.step == path })
}
