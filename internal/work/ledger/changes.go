package ledger

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

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

// A Change is the net change of a job to one path. Where it leaves the process, its names are as
// [JSONName] returns them.
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

// ineffective reports whether reverting the changes would no longer change anything.
func (l *Ledger) ineffective(n *net) bool {
	if len(n.foreign()) == 0 {
		return n.orig().Equal(n.last.After)
	}
	vs, err := l.without(n, version{State: n.last.After})
	return err == nil && vs[0].Equal(n.last.After)
}

// Changes returns the job's net changes, sorted by path: a file that was created and deleted again
// is not among them. It lists the job's changes even where others have changed the files since;
// Diff reads the disk.
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

// OwnChanges lists the net change of the ledger's step to each path, in the order in which the
// step first changed them. Uncertain marks a change in which somebody else may have had a part.
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

// Changes returns the net changes of the selection, sorted by path. Uncertain ones are separate
// entries, or part of the others if they are included.
func (p Selection) Changes(ctx context.Context) ([]Change, error) {
	if err := p.l.peek(ctx); err != nil {
		return nil, err
	}
	var cs []Change
	for _, c := range slices.Concat(p.l.shifts(p.nets()), p.l.shifts(p.uncertainNets())) {
		cs = append(cs, c.Change)
	}
	slices.SortStableFunc(cs, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return slices.Clip(cs), nil
}

// Directories returns the net changes of directories, which Changes leaves out, sorted by path: of
// those made or removed, the ones that no other change lies in, also one that Changes leaves out because git ignores it.
func (p Selection) Directories(ctx context.Context) ([]Change, error) {
	return p.directories(ctx, true)
}

func (p Selection) directories(ctx context.Context, ignored bool) ([]Change, error) {
	files, err := p.Changes(ctx)
	if err != nil {
		return nil, err
	}
	filled := map[string]bool{}
	fill := func(name string) {
		for d := path.Dir(name); d != "." && !filled[d]; d = path.Dir(d) {
			filled[d] = true
		}
	}
	for _, c := range files {
		fill(c.Path)
		fill(c.From)
	}
	var dirs []Change
	for _, n := range slices.Concat(p.nets(), p.uncertainNets()) {
		was, is := n.orig(), n.last.After
		c := Change{Path: n.path, Kind: Modified, OldMode: was.Mode, Mode: is.Mode, Step: n.step, Uncertain: n.uncertain}
		switch {
		case was.Type == rootfs.TypeDir && is.Type == rootfs.TypeDir && was.Mode != is.Mode:
		case was.Type == "" && is.Type == rootfs.TypeDir:
			c.Kind = Created
		case was.Type == rootfs.TypeDir && is.Type == "":
			c.Kind = Deleted
		default:
			if n.ignored && ignored {
				fill(n.path)
			}
			continue
		}
		fill(c.Path)
		dirs = append(dirs, c)
	}
	dirs = slices.DeleteFunc(dirs, func(c Change) bool { return c.Kind != Modified && filled[c.Path] })
	slices.SortStableFunc(dirs, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return dirs, nil
}

// changedBy reports whether a step has changed something.
func (l *Ledger) changedBy(step string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.step == step }) || slices.ContainsFunc(l.moves, func(m moveEntry) bool { return m.step == step })
}

// A Selection is a part of the changes in a ledger: all of them, those of a step, or those since a
// step. It is a view: it includes later changes that belong to it.
//
// A change that was found by comparing the tree before and after a command is uncertain: the
// command, a person or another job made it. Changes lists it as such, Diff leaves it out and Undo
// leaves it alone, unless the selection is one of IncludeUncertain.
type Selection struct {
	l         *Ledger
	take      func(i int, e entry) bool
	takeMove  func(i int, m moveEntry) bool
	whole     bool
	uncertain bool
	reported  bool
	patch     bool
}

// IncludeUncertain returns the selection with changes that may be somebody else's treated as its
// own.
func (p Selection) IncludeUncertain() Selection {
	p.uncertain = true
	return p
}

// IncludeReported returns the selection with those uncertain changes that the program which made
// them reported.
func (p Selection) IncludeReported() Selection {
	p.reported = true
	return p
}

// Only returns the part of the selection that is about these paths.
func (p Selection) Only(paths []string) Selection {
	take := p.take
	p.take = func(i int, e entry) bool { return slices.Contains(paths, string(e.Path)) && take(i, e) }
	p.takeMove = func(int, moveEntry) bool { return false }
	p.whole = false
	return p
}

// Patch returns the selection with a Diff that git apply accepts as a whole: names start at the
// top of the repository, as in git's diffs, and binary and large files are included.
func (p Selection) Patch() Selection {
	p.patch = true
	return p
}

func (p Selection) certain(e entry) bool {
	return !e.Uncertain || p.uncertain || p.reported && e.Reported
}

// nets returns the net changes of the selection.
func (p Selection) nets() []net {
	return p.l.nets(func(i int, e entry) bool { return p.take(i, e) && p.certain(e) })
}

// uncertainNets returns the net uncertain changes, which the selection leaves alone.
func (p Selection) uncertainNets() []net {
	return p.l.nets(func(i int, e entry) bool { return p.take(i, e) && !p.certain(e) })
}

// All selects everything the job changed.
func (l *Ledger) All() Selection {
	return Selection{l: l, take: func(int, entry) bool { return true }, takeMove: func(int, moveEntry) bool { return true }, whole: true}
}

// Step selects the changes of the step with this path and of the steps below it. It is an error if
// there is no such step in the ledger.
func (l *Ledger) Step(ctx context.Context, path string) (Selection, error) {
	if _, err := l.begun(ctx, path); err != nil {
		return Selection{}, err
	}
	p := Selection{l: l, take: func(_ int, e entry) bool { return below(e.step, path) }, takeMove: func(_ int, m moveEntry) bool { return below(m.step, path) }}
	p.uncertain = strings.HasPrefix(path, undoStep) // that we made it is certain
	return p, nil
}

// From selects the changes of that step and of everything after it. It leaves out undos of earlier
// changes, unless the step is an undo itself: undoing them would bring back changes that were
// taken back.
func (l *Ledger) From(ctx context.Context, path string) (Selection, error) {
	first, err := l.begun(ctx, path)
	if err != nil {
		return Selection{}, err
	}
	if strings.HasPrefix(path, undoStep) {
		return Selection{l: l, take: func(_ int, e entry) bool { return e.record >= first }, takeMove: func(_ int, m moveEntry) bool { return m.record >= first }}, nil
	}
	var last int
	var between map[string][]rootfs.State // that a path had since the step
	take := func(i int, e entry) bool {
		if between == nil || i <= last { // another pass over the ledger
			between = map[string][]rootfs.State{}
		}
		last = i
		p := string(e.Path)
		if e.record < first || strings.HasPrefix(e.step, undoStep) && !slices.ContainsFunc(between[p], e.After.Equal) {
			return false
		}
		between[p] = append(between[p], e.Before, e.After)
		return true
	}
	passed := -1
	var values map[string][]string
	takeMove := func(i int, m moveEntry) bool {
		if values == nil || i <= passed {
			values = map[string][]string{}
		}
		passed = i
		name := m.git + "\x00" + string(m.Name)
		if m.record < first || strings.HasPrefix(m.step, undoStep) && !slices.Contains(values[name], m.After) {
			return false
		}
		values[name] = append(values[name], m.Before, m.After)
		return true
	}
	return Selection{l: l, take: take, takeMove: takeMove}, nil
}

func below(step, path string) bool { return step == path || strings.HasPrefix(step, path+".") }

// begun returns the number of a step's first record.
func (l *Ledger) begun(ctx context.Context, path string) (int, error) {
	if err := l.peek(ctx); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first := 0
	for _, e := range l.entries {
		if path != "" && below(e.step, path) {
			first = e.record
			break
		}
	}
	for _, m := range l.moves {
		if path != "" && below(m.step, path) && (first == 0 || m.record < first) {
			first = m.record
			break
		}
	}
	if first == 0 {
		return 0, &StepError{Step: path}
	}
	return first, nil
}

// A StepError is a step that changed nothing, or does not exist.
type StepError struct{ Step string }

func (e *StepError) Error() string {
	return fmt.Sprintf("no step %q of this job changed a file or moved a branch", e.Step)
}

// includeUncertainHint is the advice about a path that is left alone because of a doubt.
const includeUncertainHint = "; --include-uncertain takes that back too"

// uncertainReason explains an uncertain change.
func uncertainReason(step string) string {
	if step == "" {
		return "it changed while a command ran, perhaps by somebody else"
	}
	return "it changed while step " + step + " ran, perhaps by somebody else"
}

// A refNet is the net move of one reference.
type refNet struct {
	git, name    string
	orig, last   RefMove
	step         string // of last
	why          string // it is not moved back; "": it is
	any, foreign bool
}

// refNets returns the net moves of references in the selection, in the order of names, and the
// uncertain ones that it leaves alone.
func (p Selection) refNets() (nets []*refNet, doubtful []Change) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	at := map[[2]string]*refNet{}
	for i, m := range p.l.moves {
		key := [2]string{m.git, string(m.Name)}
		n := at[key]
		if n == nil {
			n = &refNet{git: m.git, name: string(m.Name)}
			at[key] = n
			nets = append(nets, n)
		}
		mine := p.takeMove(i, m)
		if mine && m.Uncertain && !p.uncertain {
			// What is as it was in the step that moved it has not moved.
			back := slices.IndexFunc(doubtful, func(c Change) bool {
				return c.Path == n.name && c.Step == m.step && c.Before == m.After && c.After == m.Before
			})
			if back >= 0 {
				doubtful = slices.Delete(doubtful, back, back+1)
			} else {
				doubtful = append(doubtful, refChange(n.name, m.Before, m.After, m.step, true))
			}
		}
		switch {
		case !mine || m.Uncertain && !p.uncertain:
			if n.any && n.why == "" {
				n.foreign = true
				n.why = "step " + m.step + " moved it later"
				if mine {
					n.why = uncertainReason(m.step) + includeUncertainHint
				}
			}
			continue
		case !n.any:
			n.any, n.orig = true, m.RefMove
		case n.last.After != m.Before && n.why == "":
			n.why = "somebody else moved it between two steps"
		}
		n.last, n.step = m.RefMove, m.step
	}
	nets = slices.DeleteFunc(nets, func(n *refNet) bool { return !n.any || n.orig.Before == n.last.After })
	slices.SortFunc(nets, func(a, b *refNet) int { return strings.Compare(a.name+"\x00"+a.git, b.name+"\x00"+b.git) })
	return nets, doubtful
}

// refChange returns the change of a reference as callers get it: its path is the name, and Before
// and After are values.
func refChange(name, before, after, step string, uncertain bool) Change {
	c := Change{Path: name, Kind: Modified, Before: before, After: after, Step: step, Uncertain: uncertain}
	switch {
	case before == "":
		c.Kind = Created
	case after == "":
		c.Kind = Deleted
	}
	return c
}

// RecordsRefs reports whether the job moved references and they are noted, as older
// versions did not.
func (l *Ledger) RecordsRefs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.moves) > 0
}

// Refs returns the net changes of references, by name.
func (p Selection) Refs(ctx context.Context) ([]Change, error) {
	if err := p.l.peek(ctx); err != nil {
		return nil, err
	}
	nets, doubtful := p.refNets()
	var out []Change
	for _, n := range nets {
		out = append(out, refChange(n.name, n.orig.Before, n.last.After, n.step, false))
	}
	return append(out, doubtful...), nil
}
