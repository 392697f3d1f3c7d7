package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A joinPlan is what Join does: deletions, the deepest first, directories that
// become empty by them, then all that is made or changed.
type joinPlan struct {
	Moves     []move    `json:"moves,omitempty"`
	Conflicts []Skipped `json:"conflicts,omitempty"`
}

// A theirs is a path that was changed in the copy.
type theirs struct {
	path     string // from the top of the copy
	was, now state
	odd      string // why it cannot be brought back at all
}

func cmpPath(a, b string) int { return cmp.Compare(a, b) }

// plan compares the copy with what it began with and with what is here, unless
// that was done already, and notes what is to be done.
func (c *Copy) plan(ctx context.Context, f *Files, olds []*Ledger) (*joinPlan, error) {
	if p, err := c.planned(); err != nil || p != nil {
		return p, err
	}
	var b base
	if err := readJSON(c.file("base.json"), &b); err != nil {
		return nil, fmt.Errorf("reading what the worktree began with: %w", err)
	}
	t, err := openTree(c.Tree.Top)
	if err != nil {
		return nil, err
	}
	defer t.close()
	all, err := c.changed(ctx, t, &b)
	if err != nil {
		return nil, err
	}
	j := &joiner{ctx: ctx, c: c, f: f, t: t, leds: append([]*Ledger{f.led}, olds...), moves: map[string]move{}, no: map[string]string{}}
	for _, d := range b.Apart {
		j.apart = append(j.apart, string(d))
	}
	for _, th := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := j.weigh(th); err != nil {
			return nil, err
		}
	}
	p := j.settle()
	c.at("weighed")
	if err := syncBlobs(filepath.Join(f.led.dir, "blobs")); err != nil {
		return nil, err
	}
	if err := keepJSON(c.file("join.json"), p); err != nil {
		return nil, err
	}
	c.at("planned")
	return p, nil
}

// changed lists what in the copy is not as it was, sorted by path.
func (c *Copy) changed(ctx context.Context, t *tree, b *base) ([]theirs, error) {
	names, err := c.names(ctx, t)
	if err != nil {
		return nil, err
	}
	var out []theirs
	dirs := map[string]bool{".": true}
	known := make(map[string]bool, len(b.Files))
	for _, o := range b.Files {
		p := string(o.Path)
		known[p] = true
		if t.straight(path.Dir(p), dirs) && c.untouched(t, o) {
			continue
		}
		if th := t.theirs(p, dirs); th.odd != "" || !th.now.same(o.State) {
			th.was = o.State
			out = append(out, th)
		}
	}
	for i, name := range names {
		p, nested := strings.CutSuffix(name, "/")
		if known[p] || !filepath.IsLocal(p) || slices.Contains(b.Apart, rawName(p)) || i > 0 && name == names[i-1] {
			continue
		}
		th := t.theirs(p, dirs)
		if th.now.Type == "" && th.odd == "" && (nested || t.straight(p, dirs) && t.has(p+"/.git")) {
			th.odd = "a repository of its own was made there"
		}
		if th.odd != "" || th.now.Type != "" {
			out = append(out, th)
		}
	}
	slices.SortFunc(out, func(a, b theirs) int { return cmpPath(a.path, b.path) })
	return out, nil
}

// names lists the files that are in the copy now, as far as git does not
// ignore them, and those that were committed although it does.
func (c *Copy) names(ctx context.Context, t *tree) ([]string, error) {
	if c.Plain {
		names, more, err := t.walk(ctx, ".")
		if more {
			err = fmt.Errorf("there are more than %d files", maxNames)
		}
		return names, err
	}
	g := c.Tree.inside()
	args := []string{"ls-files", "-co", "--exclude-standard", "--deduplicate", "-z"}
	names, err := g.list(ctx, args...)
	if err != nil { // the index was spoiled: then nothing is tracked
		g.env = append(g.env, "GIT_INDEX_FILE="+c.file("no index"))
		if names, err = g.list(ctx, args...); err != nil {
			return nil, fmt.Errorf("listing what is in the worktree: %w", err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// straight reports whether a directory is one, and so are those above it.
func (t *tree) straight(dir string, seen map[string]bool) bool {
	if ok, known := seen[dir]; known {
		return ok
	}
	ok := t.straight(path.Dir(dir), seen)
	if ok {
		info, err := t.root.Lstat(dir)
		ok = err == nil && info.IsDir()
	}
	seen[dir] = ok
	return ok
}

func (t *tree) has(p string) bool {
	_, err := t.root.Lstat(p)
	return err == nil
}

// untouched reports that a file is the one that was copied, without reading it.
func (c *Copy) untouched(t *tree, o original) bool {
	if o.State.Type != isFile || o.Ctime == 0 || c.Made.Sub(time.Unix(0, o.Ctime)) < settledIn {
		return false
	}
	info, err := t.root.Lstat(string(o.Path))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != o.State.Mode || info.Size() != o.State.Size {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Ino == o.Inode && ctime(st) == o.Ctime
}

// theirs reads a path of the copy. A directory counts as nothing: what is in it
// has paths of its own.
func (t *tree) theirs(p string, dirs map[string]bool) theirs {
	th := theirs{path: p}
	if !t.straight(path.Dir(p), dirs) {
		return th
	}
	info, err := t.root.Lstat(p)
	switch {
	case err != nil || info.IsDir():
		return th
	case info.Mode().IsRegular() && info.Size() > maxKeep:
		th.odd = fmt.Sprintf("it has %d MB, and %d is the most that is brought back", info.Size()>>20, maxKeep>>20)
		return th
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		th.odd = "it is no file any more"
		return th
	}
	if th.now, err = t.state(p, nil); err != nil {
		th.now, th.odd = state{}, reason(err)
	}
	return th
}

func reason(err error) string {
	if e, ok := err.(*PathError); ok {
		return e.Reason
	}
	return err.Error()
}
