package process

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// maxBackup bounds the size kept of one file or tree, in bytes.
const maxBackup = 4 << 20

// A backup is the content of a file, a link or a small tree before a command.
type backup struct {
	scan *scan
	rel  string // as it was named then
	// anchor is the directory, identified by ID, from which below leads to the file: a repository,
	// or the directory of the file.
	anchor rootfs.ID
	below  string
	held   *node
}

// A node is one file, link or directory of a backup.
type node struct {
	Mode     uint32
	Data     []byte // or where a link leads
	Children map[string]*node
}

var errTooLarge = errors.New("it is too large to be kept")

// readNode reads the file or small tree at a name. left is the number of bytes that may still be
// read.
func readNode(dir int, name string, left *int64) (*node, error) {
	st, err := rootfs.StatAt(dir, name)
	if err != nil {
		return nil, err
	}
	n := &node{Mode: uint32(st.Mode)}
	switch rootfs.TypeOf(&st) {
	case unix.S_IFLNK:
		to, err := rootfs.LinkAt(dir, name)
		n.Data = []byte(to)
		return n, err
	case unix.S_IFREG:
		var large *rootfs.TooLargeError
		if n.Data, err = rootfs.ReadAt(dir, name, *left); errors.As(err, &large) {
			err = errTooLarge
		}
		*left -= int64(len(n.Data))
		if errors.Is(err, unix.EACCES) {
			err = nil // nobody who is not root made it so; its mode is compared
		}
		return n, err
	case unix.S_IFDIR:
		fd, err := rootfs.OpenDirAt(dir, name)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		n.Children = map[string]*node{}
		entries, err := rootfs.ListAt(fd)
		if errors.Is(err, unix.EACCES) {
			return n, nil
		}
		for _, e := range entries {
			c, cerr := readNode(fd, e.Name(), left)
			if errors.Is(cerr, errTooLarge) {
				return nil, cerr
			}
			if cerr == nil {
				n.Children[e.Name()] = c
			}
		}
		return n, err
	}
	return n, nil
}

// same reports whether two nodes hold the same, modes included.
func (n *node) same(o *node) bool {
	return n != nil && o != nil && n.Mode == o.Mode && bytes.Equal(n.Data, o.Data) && maps.EqualFunc(n.Children, o.Children, (*node).same)
}

// differing returns the names below a node, or else its own, that are not the same in another.
func (n *node) differing(o *node, at string) (names []string) {
	switch {
	case n.same(o):
		return nil
	case n == nil || o == nil || n.Children == nil || o.Children == nil:
		some := cmp.Or(n, o)
		for name := range some.Children {
			names = append(names, (*node)(nil).differing(some.Children[name], path.Join(at, name))...)
		}
		if len(names) == 0 {
			names = []string{at}
		}
		return names
	}
	for name, c := range n.Children {
		names = append(names, c.differing(o.Children[name], path.Join(at, name))...)
	}
	for name, c := range o.Children {
		if n.Children[name] == nil {
			names = append(names, (*node)(nil).differing(c, path.Join(at, name))...)
		}
	}
	return names
}

// write makes a node anew in a directory.
func (n *node) write(dir int, name string) error {
	switch n.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return rootfs.SymlinkAt(string(n.Data), dir, name)
	case unix.S_IFREG:
		return rootfs.CreateAt(dir, name, bytes.NewReader(n.Data), fs.FileMode(n.Mode&0o777))
	case unix.S_IFDIR:
		if err := rootfs.MkdirAt(dir, name, n.Mode&0o777|0o700); err != nil {
			return err
		}
		fd, err := rootfs.OpenDirAt(dir, name)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for _, c := range slices.Sorted(maps.Keys(n.Children)) {
			if err := n.Children[c].write(fd, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// now reads the current file in place of a backup.
func (b backup) now() (*node, error) {
	dir, base, err := rootfs.OpenParent(b.scan.tree.FD(), b.rel)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	left := int64(maxBackup)
	return readNode(dir, base, &left)
}

// restore restores a changed file from its backup, in the directory that it was in, wherever that
// is by now, and in no other.
func (c *check) restore(b backup) {
	anchor, rel := c.locate(b)
	if anchor < 0 {
		// Removed with its directory, which is reported for repositories only.
		if r := c.protection.repos[b.anchor]; r != nil && r.kind == gitMain && b.below == "config" {
			c.Note("the git directory %s was removed by the command", b.scan.abs(r.rel))
		}
		return
	}
	defer unix.Close(anchor)
	at := path.Join(rel, b.below)
	dir, err := rootfs.OpenBeneath(anchor, path.Dir(b.below))
	if err != nil {
		c.Note("%s was changed by the command and could not be put back: %v", b.scan.abs(at), err)
		return
	}
	defer unix.Close(dir)
	base := path.Base(b.below)
	left := int64(maxBackup)
	now, err := readNode(dir, base, &left)
	switch {
	case b.held == nil && err == nil, b.held == nil && errors.Is(err, errTooLarge):
		return // too large then, too large now
	case b.held == nil:
		c.Note("%s was changed by the command and was too large to put back; look at it before you trust it", b.scan.abs(at))
		return
	case err == nil && now.same(b.held), c.allowed(b, now, err, dir, at):
		return
	}
	if !errors.Is(err, unix.ENOENT) {
		if _, err := c.removed.take(dir, base); err != nil && !errors.Is(err, unix.ENOENT) {
			c.Note("%s was changed by the command and could not be put back: %v", b.scan.abs(at), err)
			return
		}
	}
	if err := b.held.write(dir, base); err != nil {
		c.Note("%s was changed by the command and could not be put back: %v", b.scan.abs(at), err)
		return
	}
	c.Note("%s was changed by the command and put back, since it configures programs that run outside of the sandbox", b.scan.abs(at))
}

// locate opens the directory that a backup is anchored in.
func (c *check) locate(b backup) (int, string) {
	open := func(rel string) int {
		if fd, err := rootfs.OpenBeneath(b.scan.tree.FD(), rel); err == nil {
			if rootfs.SameDir(fd, b.anchor) {
				return fd
			}
			unix.Close(fd)
		}
		return -1
	}
	old := strings.TrimSuffix(strings.TrimSuffix(b.rel, b.below), "/")
	old = cmp.Or(old, ".")
	if fd := open(old); fd >= 0 {
		return fd, old
	}
	for _, r := range c.repos {
		if r.scan == b.scan && rootfs.SameDir(r.fd, b.anchor) {
			return open(r.rel), r.rel
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(b.scan.dirs)) {
		if b.scan.dirs[rel].stamp.ID == b.anchor {
			return open(rel), rel
		}
	}
	return -1, ""
}

// allowed reports whether a change is one that git makes when a repository, a submodule or a
// linked work tree is moved or removed. It inspects the current file at a name of the tree, in the
// open directory dir.
func (c *check) allowed(b backup, now *node, err error, dir int, at string) bool {
	gone := errors.Is(err, unix.ENOENT)
	base := path.Base(b.rel)
	if base == ".git" && b.held.Mode&unix.S_IFMT == unix.S_IFREG {
		return gone || now != nil && now.Mode&unix.S_IFMT == unix.S_IFREG && c.leadsHere(b.scan, dir, found{rel: at})
	}
	r := c.repoOf(b.anchor)
	switch {
	case r == nil:
		return false
	case r.kind == gitWorktree && base == "gitdir":
		return true // where the work tree is, for git worktree list
	case now == nil || now.Mode&unix.S_IFMT != unix.S_IFREG:
		return false
	case r.kind == gitModule && base == "config", r.kind == gitWorktree && base == "config.worktree":
		return plainConfig(now.Data, b.held.Data, r.Inside)
	}
	return false
}

func (c *check) repoOf(id rootfs.ID) *gitDir {
	i := slices.IndexFunc(c.repos, func(r *gitDir) bool { return rootfs.SameDir(r.fd, id) })
	if i < 0 {
		return nil
	}
	return c.repos[i]
}
