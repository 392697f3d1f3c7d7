package workspace

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A joiner decides path by path.
type joiner struct {
	ctx   context.Context
	c     *Copy
	f     *Files
	t     *tree // the copy
	leds  []*Ledger
	apart []string

	moves map[string]move
	no    map[string]string // conflicts
}

// words of conflicts
const (
	bothLines = "both sides changed the same lines, or lines next to each other"
	bothFile  = "both sides changed it, and it is no text that can be merged"
	bothMode  = "both sides changed its mode"
	bothNew   = "it is new on both sides, and not the same"
	goneThere = "it was deleted in the copy, and changed here"
	goneHere  = "it was changed in the copy, and deleted here"
)

// weigh decides what becomes of a path that was changed in the copy. An error
// is one of the ledger or the disk, not of the path.
func (j *joiner) weigh(th theirs) error {
	p, ok := th.path, true
	if sub := j.c.Tree.Sub; sub != "" {
		if p, ok = strings.CutPrefix(th.path, sub+"/"); !ok {
			rel, _ := filepath.Rel(sub, th.path) // both are relative
			j.no[filepath.ToSlash(rel)] = "it lies outside of the directory that is worked in"
			return nil
		}
	}
	if i := slices.IndexFunc(j.apart, func(d string) bool { return within(d, th.path) }); i >= 0 {
		j.no[p] = j.apart[i] + " is a repository of its own, and was not copied"
		return nil
	}
	if th.odd != "" {
		j.no[p] = th.odd
		return nil
	}
	if err := j.f.judge(p, p, true); err != nil {
		j.no[p] = reason(err)
		return nil
	}
	if j.f.tree.plain(p) != nil {
		j.no[p] = "a directory above it is a symbolic link here"
		return nil
	}
	if th.now.Type == isLink {
		if why := j.leads(p, th.path); why != "" {
			j.no[p] = why
			return nil
		}
	}
	here, err := j.f.tree.state(p, nil)
	if err != nil {
		j.no[p] = "here " + reason(err)
		return nil
	}
	if here.Type == isDir {
		here = state{} // settle looks at what is in it
	}
	if here.same(th.now) {
		return nil
	}
	if here.same(th.was) {
		return j.take(p, th, here)
	}
	return j.both(p, th, here)
}

// leads says why a link must not be taken over.
func (j *joiner) leads(p, in string) string {
	target, err := j.t.root.Readlink(in)
	switch {
	case err != nil:
		return "it cannot be read"
	case path.IsAbs(target):
		return "it is a symbolic link to an absolute path"
	}
	up := true
	for part := range strings.SplitSeq(target, "/") {
		if up = up && part == ".."; part == ".." && !up {
			return "it is a symbolic link that goes up again on its way"
		}
	}
	to := path.Join(path.Dir(p), target)
	if !filepath.IsLocal(to) {
		return "it is a symbolic link that leads outside"
	}
	real, err := j.f.tree.resolve(p, to, true)
	if err == nil && real != "." {
		err = j.f.judge(p, real, true)
	}
	if err != nil {
		return "it is a symbolic link, and what it leads to " + reason(err)
	}
	return ""
}

// take plans to make the path what it is in the copy.
func (j *joiner) take(p string, th theirs, here state) error {
	now := th.now
	if now.Type != "" {
		var err error
		if now, err = j.f.led.capture(j.t, th.path, false); err != nil {
			if _, large := err.(*TooLargeError); large {
				j.no[p] = reason(err)
				return nil
			}
			return err
		}
		if now.Type != isFile && now.Type != isLink {
			j.no[p] = "it was changed while it was read"
			return nil
		}
	}
	j.moves[p] = move{Path: rawName(p), Before: here, After: now}
	return nil
}

// both decides about a path that was changed on both sides.
func (j *joiner) both(p string, th theirs, here state) error {
	was, now := th.was, th.now
	switch {
	case now.Type == "":
		j.no[p] = goneThere
		return nil
	case here.Type == "":
		j.no[p] = goneHere
		return nil
	case was.Type == "":
		j.no[p] = bothNew
		return nil
	case was.Type != isFile || here.Type != isFile || now.Type != isFile:
		j.no[p] = bothFile
		return nil
	}
	out := here
	switch {
	case here.Mode == was.Mode:
		out.Mode = now.Mode
	case now.Mode != was.Mode && now.Mode != here.Mode:
		j.no[p] = bothMode
		return nil
	}
	if now.Digest == was.Digest || now.Digest == here.Digest { // our content, their mode
		if _, err := j.f.led.capture(j.f.tree, p, false); err != nil {
			return err
		}
		j.moves[p] = move{Path: rawName(p), Before: here, After: out}
		return nil
	}
	merged, why, err := j.merge(p, th, here)
	if err != nil {
		return err
	}
	if why != "" {
		j.no[p] = why
		return nil
	}
	out.Digest, out.Size = digest(merged), int64(len(merged))
	if !out.same(here) {
		j.moves[p] = move{Path: rawName(p), Before: here, After: out}
	}
	return nil
}

// settle finds the moves that others or what is here do not let be, and puts
// what is left in order.
func (j *joiner) settle() *joinPlan {
	gone := map[string]bool{} // directories that become empty by deletions
	for again := true; again; {
		again = false
		gone = j.emptied()
		for _, p := range slices.Sorted(maps.Keys(j.moves)) {
			if why := j.clash(p, gone); why != "" {
				j.no[p] = why
				delete(j.moves, p)
				again = true
			}
		}
	}
	plan := &joinPlan{}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(j.moves))) {
		if j.moves[p].After.Type == "" {
			plan.Moves = append(plan.Moves, j.moves[p])
		}
	}
	for _, d := range slices.Backward(slices.Sorted(maps.Keys(gone))) {
		plan.Moves = append(plan.Moves, move{Path: rawName(d), Dir: true})
	}
	for _, p := range slices.Sorted(maps.Keys(j.moves)) {
		if j.moves[p].After.Type != "" {
			plan.Moves = append(plan.Moves, j.moves[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(j.no)) {
		plan.Conflicts = append(plan.Conflicts, Skipped{Path: p, Reason: j.no[p]})
	}
	return plan
}

// emptied are the directories that are not in the copy, and in which nothing is
// left here once the planned deletions are made.
func (j *joiner) emptied() map[string]bool {
	gone := map[string]bool{}
	up := map[string]bool{}
	for p, m := range j.moves {
		if m.After.Type == "" {
			for d := path.Dir(p); d != "."; d = path.Dir(d) {
				up[d] = true
			}
		}
	}
	for _, d := range slices.Backward(slices.Sorted(maps.Keys(up))) {
		if info, err := j.t.root.Lstat(path.Join(j.c.Tree.Sub, d)); err == nil && info.IsDir() {
			continue
		}
		entries, err := fs.ReadDir(j.f.tree.root.FS(), d)
		left := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			p := path.Join(d, e.Name())
			m, ok := j.moves[p]
			return !(gone[p] || ok && m.After.Type == "")
		})
		if err == nil && !left {
			gone[d] = true
		}
	}
	return gone
}

// clash says why a move cannot be made.
func (j *joiner) clash(p string, gone map[string]bool) string {
	m := j.moves[p]
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if j.no[d] != "" {
			return "it goes with " + d + ", which cannot be brought back"
		}
		info, err := j.f.tree.root.Lstat(d)
		if other, planned := j.moves[d]; m.After.Type != "" && err == nil && !info.IsDir() && !(planned && other.After.Type == "") {
			return d + " is a file here"
		}
	}
	if m.After.Type == "" {
		return ""
	}
	if info, err := j.f.tree.root.Lstat(p); err == nil && info.IsDir() && !gone[p] {
		return "it is a directory here, with something in it"
	}
	return ""
}
