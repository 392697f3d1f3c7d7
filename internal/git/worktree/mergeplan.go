package worktree

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

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A mergePlan lists the operations of Merge: deletions, the deepest first, directories that become
// empty by them, then all additions and changes.
type mergePlan struct {
	Moves     []rootfs.Transition `json:"moves,omitempty"`
	Conflicts []ledger.Skipped    `json:"conflicts,omitempty"`
}

// A copyChange is a path that was changed in the copy.
type copyChange struct {
	path     string // from the top of the copy
	was, now rootfs.State
	odd      string // why it cannot be brought back at all
}

func cmpPath(a, b string) int { return cmp.Compare(a, b) }

// plan compares the copy with its base and with the files here, unless that was done already, and
// records the operations.
func (c *Copy) plan(ctx context.Context, f *workspace.Files, olds []*ledger.Ledger) (*mergePlan, error) {
	if p, err := c.planned(); err != nil || p != nil {
		return p, err
	}
	var b base
	if err := rootfs.ReadJSON(c.file("base.json"), &b); err != nil {
		return nil, fmt.Errorf("reading what the worktree began with: %w", err)
	}
	t, err := rootfs.Open(c.Tree.Top)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	all, err := c.changed(ctx, t, &b)
	if err != nil {
		return nil, err
	}
	j := &merger{ctx: ctx, c: c, f: f, t: t, leds: append([]*ledger.Ledger{f.Ledger}, olds...), moves: map[string]rootfs.Transition{}, no: map[string]string{}}
	for _, d := range b.Apart {
		j.apart = append(j.apart, string(d))
	}
	for _, th := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := j.decide(th); err != nil {
			return nil, err
		}
	}
	p := j.settle()
	c.at("weighed")
	if err := rootfs.SyncFS(filepath.Join(f.Ledger.Dir, "blobs")); err != nil {
		return nil, err
	}
	if err := rootfs.WriteJSON(c.file("join.json"), p); err != nil {
		return nil, err
	}
	c.at("planned")
	return p, nil
}

// changed lists the paths of the copy that have changed, sorted.
func (c *Copy) changed(ctx context.Context, t *rootfs.Tree, b *base) ([]copyChange, error) {
	names, err := c.names(ctx, t)
	if err != nil {
		return nil, err
	}
	var out []copyChange
	dirs := map[string]bool{".": true}
	known := make(map[string]bool, len(b.Files))
	for _, o := range b.Files {
		p := string(o.Path)
		known[p] = true
		if t.IsPlainDir(path.Dir(p), dirs) && c.untouched(t, o) {
			continue
		}
		if th := readTheirs(t, p, dirs); th.odd != "" || !th.now.Equal(o.State) {
			th.was = o.State
			out = append(out, th)
		}
	}
	for i, name := range names {
		p, nested := strings.CutSuffix(name, "/")
		if known[p] || !filepath.IsLocal(p) || slices.Contains(b.Apart, rootfs.RawName(p)) || i > 0 && name == names[i-1] {
			continue
		}
		th := readTheirs(t, p, dirs)
		if th.now.Type == "" && th.odd == "" && (nested || t.IsPlainDir(p, dirs) && rootfs.Exists(filepath.Join(filepath.FromSlash(t.Dir), p, ".git"))) {
			th.odd = "a repository of its own was made there"
		}
		if th.odd != "" || th.now.Type != "" {
			out = append(out, th)
		}
	}
	slices.SortFunc(out, func(a, b copyChange) int { return cmpPath(a.path, b.path) })
	return out, nil
}

// names lists the files that are in the copy now, as far as git does not
// ignore them, and those that were committed although it does.
func (c *Copy) names(ctx context.Context, t *rootfs.Tree) ([]string, error) {
	if c.Plain {
		names, more, err := t.Walk(ctx, ".")
		if more {
			err = fmt.Errorf("there are more than %d files", rootfs.MaxNames)
		}
		return names, err
	}
	g := c.Tree.Inside()
	args := []string{"ls-files", "-co", "--exclude-standard", "--deduplicate", "-z"}
	names, err := g.ListNames(ctx, args...)
	if err != nil { // the index was spoiled: then nothing is tracked
		g = git.OnHost(c.Tree.Top, append(c.Tree.env(), "GIT_INDEX_FILE="+c.file("no index"))...)
		if names, err = g.ListNames(ctx, args...); err != nil {
			return nil, fmt.Errorf("listing what is in the worktree: %w", err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// untouched reports that a file is the one that was copied, without reading it.
func (c *Copy) untouched(t *rootfs.Tree, o original) bool {
	if o.State.Type != rootfs.TypeFile || o.Ctime == 0 || c.Made.Sub(time.Unix(0, o.Ctime)) < rootfs.ClockGranularity {
		return false
	}
	info, err := t.Root.Lstat(string(o.Path))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != o.State.Mode || info.Size() != o.State.Size {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Ino == o.Inode && rootfs.Ctime(st) == o.Ctime
}

// readTheirs reads a path of the copy. A directory counts as nothing: its entries have paths of
// their own.
func readTheirs(t *rootfs.Tree, p string, dirs map[string]bool) copyChange {
	th := copyChange{path: p}
	if !t.IsPlainDir(path.Dir(p), dirs) {
		return th
	}
	info, err := t.Root.Lstat(p)
	switch {
	case err != nil || info.IsDir():
		return th
	case info.Mode().IsRegular() && info.Size() > ledger.MaxKeep:
		th.odd = fmt.Sprintf("it has %d MB, and %d is the most that is brought back", info.Size()>>20, ledger.MaxKeep>>20)
		return th
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		th.odd = "it is no file any more"
		return th
	}
	if th.now, err = t.State(p, nil); err != nil {
		th.now, th.odd = rootfs.State{}, reason(err)
	}
	return th
}

func reason(err error) string {
	if e, ok := err.(*rootfs.PathError); ok {
		return e.Reason
	}
	return err.Error()
}
