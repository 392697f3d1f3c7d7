package process

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// maxBackup bounds what is kept of one file or tree, in bytes.
const maxBackup = 4 << 20

// A backup is what a file, a link or a small tree held before a command.
type backup struct {
	scan *scan
	rel  string // as it was named then
	// anchor is the directory, by what it is, from which below leads to the file:
	// a repository, or the directory that the file is in.
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

// readNode reads what a name stands for. left is how many bytes may still be read.
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

// now reads what is in the place of a backup.
func (b backup) now() (*node, error) {
	dir, base, err := rootfs.OpenParent(b.scan.tree.FD(), b.rel)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	left := int64(maxBackup)
	return readNode(dir, base, &left)
}
