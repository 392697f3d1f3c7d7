package process

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// keepStores records the history of the repositories that commands may change.
func (c *runnerSandbox) keepStores(p *protection) {
	if c.removed.dir == "" {
		return
	}
	first := c.stores == nil
	if first {
		c.stores = map[rootfs.ID]*gitStore{}
	}
	p.stores = map[rootfs.ID]*heldStore{}
	for id, r := range p.repos {
		if r.kind == gitWorktree {
			continue
		}
		root := -1
		if r.rel == ".git" && r.scan == p.scans[0] {
			root = r.scan.tree.FD()
		}
		c.keepStore(p, id, &heldStore{fd: r.fd, at: r.scan.abs(r.rel), root: root, bare: r.kind == gitBare && r.scan == p.scans[0] && r.isWhole()}, first)
	}
	for _, s := range p.scans { // a job in a worktree writes the objects of a repository elsewhere
		dir, base := filepath.Split(s.tree.Dir)
		if base != "objects" {
			continue
		}
		fd, err := unix.Open(dir, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || !c.keepStore(p, rootfs.FileID(&st), &heldStore{fd: fd, at: filepath.Clean(dir), root: -1, own: true}, first) {
			unix.Close(fd)
		}
	}
}

// keepStore reports whether a protection has a repository's history now, and its fd. What
// is there at the first command is not the job's.
func (c *runnerSandbox) keepStore(p *protection, id rootfs.ID, h *heldStore, first bool) bool {
	if p.stores[id] != nil {
		return false
	}
	h.gitStore = c.stores[id]
	if h.gitStore == nil {
		h.gitStore = openStore(fmt.Sprintf("%s-objects-%x", c.removed.dir, sha256.Sum256([]byte(h.at)))[:len(c.removed.dir)+25])
		h.made = !first
		if len(h.files) > 0 {
			_, _, _ = h.restore(h.fd) // what a command took away whose process was killed
		}
	}
	if !rootfs.IsGitDir(h.fd) {
		return false
	}
	c.stores[id] = h.gitStore
	h.keep(h.fd)
	h.users.Add(1)
	p.stores[id] = h
	return true
}

// restoreStores restores the histories of repositories that the command damaged: with removed, of
// those that are gone, otherwise of those that still exist.
func (c *check) restoreStores(removed bool) {
	for _, h := range c.stores {
		var st unix.Stat_t
		if removed != (unix.Fstat(h.fd, &st) == nil && st.Nlink == 0) {
			continue
		}
		if names := h.changed(); !removed && h.bare && len(names) > 0 && !c.everything {
			if n := len(names) - maxNotes; n > 0 {
				names = append(names[:maxNotes], fmt.Sprintf("%d more", n))
			}
			c.lost = append(c.lost, fmt.Sprintf("the bare repository %s changed while a command ran, which is in no diff and which an undo leaves: %s", h.at, strings.Join(names, ", ")))
		}
		fd := h.fd
		if removed {
			if h.root < 0 {
				if !h.made {
					c.lost = append(c.lost, ledger.RepositoryRemoved(h.at))
				}
				continue
			}
			if fd = h.again(h.root); fd < 0 {
				c.Note("the history of %s was removed while the command ran, and could not be put back", h.at)
				c.lost = append(c.lost, "the history of "+h.at+" was removed while a command ran, and could not be put back")
				continue
			}
		}
		back, written, err := h.restore(fd)
		if removed {
			unix.Close(fd)
		}
		if err != nil {
			c.Note("what was removed from %s while the command ran could not be put back: %v", h.at, err)
			c.lost = append(c.lost, "history of "+h.at+" was removed while a command ran, and could not be put back")
		}
		if len(written) > 0 {
			what := fmt.Sprintf("%d files of objects of %s, such as %s", len(written), h.at, written[0])
			c.Note("the command wrote to %s, which git never does; they cannot be put back, and git fsck shows what is lost", what)
			c.lost = append(c.lost, "written to while a command ran, and not put back: "+what)
		}
		if len(back) > 0 {
			what := strings.Join(back, ", ")
			c.Note("removed from %s while the command ran, and put back, as it is the history of the repository: %s", h.at, what)
			c.lost = append(c.lost, "removed from "+h.at+" while a command ran, and put back: "+what)
		}
	}
}
