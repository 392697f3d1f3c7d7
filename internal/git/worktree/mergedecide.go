package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A merger decides path by path.
type merger struct {
	ctx   context.Context
	c     *Copy
	f     *workspace.Files
	t     *rootfs.Tree // the copy
	leds  []*ledger.Ledger
	apart []string

	moves map[string]rootfs.Transition
	no    map[string]string // conflicts
}

// words of conflicts
const (
	bothFile  = "both sides changed it, and it is no text that can be merged"
	bothMode  = "both sides changed its mode"
	bothNew   = "it is new on both sides, and not the same"
	goneThere = "it was deleted in the copy, and changed here"
	goneHere  = "it was changed in the copy, and deleted here"
)

// decide decides about a path that was changed in the copy. An error comes from the ledger or the
// disk, not from the path.
func (j *merger) decide(th copyChange) error {
	p, ok := th.path, true
	if sub := j.c.Tree.Sub; sub != "" {
		if p, ok = strings.CutPrefix(th.path, sub+"/"); !ok {
			rel, _ := filepath.Rel(sub, th.path) // both are relative
			j.no[filepath.ToSlash(rel)] = "it lies outside of the directory that is worked in"
			return nil
		}
	}
	if i := slices.IndexFunc(j.apart, func(d string) bool { return rootfs.Within(d, th.path) }); i >= 0 {
		j.no[p] = j.apart[i] + " is a repository of its own, and was not copied"
		return nil
	}
	if th.odd != "" {
		j.no[p] = th.odd
		return nil
	}
	if err := j.f.CheckPath(p, p, true); err != nil {
		j.no[p] = reason(err)
		return nil
	}
	if th.now.Type != "" {
		if dir := j.t.GitDirWith(th.path); dir != "" {
			j.no[p] = "git takes " + dir + " for a repository of its own, with settings and hooks"
			return nil
		}
	}
	if j.f.Tree.CheckNoLinks(p) != nil {
		j.no[p] = "a directory above it is a symbolic link here"
		return nil
	}
	if th.now.Type == rootfs.TypeLink {
		if why := j.crossesLink(p, th.path); why != "" {
			j.no[p] = why
			return nil
		}
	}
	here, err := j.f.Tree.State(p, nil)
	if err != nil {
		j.no[p] = "here " + reason(err)
		return nil
	}
	if here.Type == rootfs.TypeDir {
		here = rootfs.State{} // settle looks at what is in it
	}
	if here.Equal(th.now) {
		return nil
	}
	if here.Equal(th.was) {
		return j.take(p, th, here)
	}
	return j.both(p, th, here)
}

// crossesLink explains why a link must not be taken over.
func (j *merger) crossesLink(p, in string) string {
	target, err := j.t.Root.Readlink(in)
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
	real, err := j.f.Tree.Resolve(p, to, true)
	if err == nil && real != "." {
		err = j.f.CheckPath(p, real, true)
	}
	if err != nil {
		return "it is a symbolic link, and what it leads to " + reason(err)
	}
	return ""
}

// take plans to give the path its state in the copy.
func (j *merger) take(p string, th copyChange, here rootfs.State) error {
	now := th.now
	if now.Type != "" {
		var err error
		if now, err = j.f.Ledger.Capture(j.t, th.path, false); err != nil {
			if _, large := err.(*rootfs.TooLargeError); large {
				j.no[p] = reason(err)
				return nil
			}
			return err
		}
		if now.Type != rootfs.TypeFile && now.Type != rootfs.TypeLink {
			j.no[p] = "it was changed while it was read"
			return nil
		}
	}
	j.moves[p] = rootfs.Transition{Path: rootfs.RawName(p), Before: here, After: now}
	return nil
}

// both decides about a path that was changed on both sides.
func (j *merger) both(p string, th copyChange, here rootfs.State) error {
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
	case was.Type != rootfs.TypeFile || here.Type != rootfs.TypeFile || now.Type != rootfs.TypeFile:
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
		if _, err := j.f.Ledger.Capture(j.f.Tree, p, false); err != nil {
			return err
		}
		j.moves[p] = rootfs.Transition{Path: rootfs.RawName(p), Before: here, After: out}
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
	out.Digest, out.Size = rootfs.Digest(merged), int64(len(merged))
	if !out.Equal(here) {
		j.moves[p] = rootfs.Transition{Path: rootfs.RawName(p), Before: here, After: out}
	}
	return nil
}

// settle drops the moves that other moves or existing files prevent, and sorts the rest.
func (j *merger) settle() *mergePlan {
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
	plan := &mergePlan{}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(j.moves))) {
		if j.moves[p].After.Type == "" {
			plan.Moves = append(plan.Moves, j.moves[p])
		}
	}
	for _, d := range slices.Backward(slices.Sorted(maps.Keys(gone))) {
		plan.Moves = append(plan.Moves, rootfs.Transition{Path: rootfs.RawName(d), Dir: true})
	}
	for _, p := range slices.Sorted(maps.Keys(j.moves)) {
		if j.moves[p].After.Type != "" {
			plan.Moves = append(plan.Moves, j.moves[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(j.no)) {
		plan.Conflicts = append(plan.Conflicts, ledger.Skipped{Path: p, Reason: j.no[p]})
	}
	return plan
}

// emptied returns the directories that are not in the copy, and that are empty here once the
// planned deletions are made.
func (j *merger) emptied() map[string]bool {
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
		if info, err := j.t.Root.Lstat(path.Join(j.c.Tree.Sub, d)); err == nil && info.IsDir() {
			continue
		}
		entries, err := fs.ReadDir(j.f.Tree.Root.FS(), d)
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

// clash explains why a move cannot be made.
func (j *merger) clash(p string, gone map[string]bool) string {
	m := j.moves[p]
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if j.no[d] != "" {
			return "it goes with " + d + ", which cannot be brought back"
		}
		info, err := j.f.Tree.Root.Lstat(d)
		if other, planned := j.moves[d]; m.After.Type != "" && err == nil && !info.IsDir() && !(planned && other.After.Type == "") {
			return d + " is a file here"
		}
	}
	if m.After.Type == "" {
		return ""
	}
	if info, err := j.f.Tree.Root.Lstat(p); err == nil && info.IsDir() && !gone[p] {
		return "it is a directory here, with something in it"
	}
	return ""
}

// merge merges a text that both sides changed, line by line, and keeps the result. why explains
// that it cannot be done, or not without a decision.
func (j *merger) merge(p string, th copyChange, here rootfs.State) (merged []byte, why string, err error) {
	if max(th.was.Size, th.now.Size, here.Size) > ledger.MaxDiff {
		return nil, bothFile, nil
	}
	old, err := j.c.before(j.ctx, th.path, th.was, j.leds)
	if err != nil {
		return nil, "both sides changed it, and what it was like before is not known any more", j.ctx.Err()
	}
	load := func(t *rootfs.Tree, p string) ([]byte, error) {
		s, err := j.f.Ledger.Capture(t, p, false)
		if err != nil {
			return nil, err
		}
		return j.f.Ledger.Load(s.Digest)
	}
	ours, err := load(j.f.Tree, p)
	if err != nil {
		return nil, "", err
	}
	new, err := load(j.t, th.path)
	if err != nil {
		return nil, "", err
	}
	if rootfs.Digest(ours) != here.Digest || !rootfs.IsText(old) || !rootfs.IsText(ours) || !rootfs.IsText(new) {
		return nil, bothFile, nil
	}
	merged, clean, err := rootfs.MergeText(j.ctx, j.c.home, old, ours, new)
	if err != nil {
		return nil, fmt.Sprintf("both sides changed it, and git did not merge it: %v", err), j.ctx.Err()
	}
	if !clean {
		return nil, rootfs.SameLines, nil
	}
	return merged, "", j.f.Ledger.Store(merged)
}
