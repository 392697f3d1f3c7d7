package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Share keeps content that the ledgers of several jobs have in common once: dir
// has it by its digest, and each ledger a hard link. It is called before
// anything is added. Where links cannot be made each ledger keeps its own.
func (l *Ledger) Share(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("opening the store of former content: %w", err)
	}
	l.mu.Lock()
	l.shared = dir
	l.mu.Unlock()
	keepReserve(dir)
	return nil
}

// reserveName is a file in a store of content that an undo gives up for room
// when the disk is full, of reserveSize bytes.
const (
	reserveName = "reserve"
	reserveSize = 1 << 20
)

// keepReserve makes the reserve if it is not there. Without room there is none.
func keepReserve(dir string) {
	name := filepath.Join(dir, reserveName)
	if _, err := os.Lstat(name); err == nil {
		return
	}
	if err := rootfs.WriteScratch(name, 0o600, make([]byte, reserveSize)); err != nil {
		_ = os.Remove(name)
	}
}

// giveReserve makes room on a full disk, and reports whether it could.
func (b *log) giveReserve() bool {
	b.mu.Lock()
	dir := b.shared
	b.mu.Unlock()
	return dir != "" && os.Remove(filepath.Join(dir, reserveName)) == nil
}

// SweepContent removes from a store of content what no ledger has any more, and
// returns how many bytes that were.
func SweepContent(dir string) (freed int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var errs []error
	for _, e := range entries {
		if e.Name() == reserveName {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // gone by another sweep
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink != 1 || !info.Mode().IsRegular() {
			continue
		}
		// A ledger that links it just now keeps its own link.
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			errs = append(errs, err)
			continue
		}
		freed += info.Size()
	}
	return freed, errors.Join(append(errs, err)...)
}

// Content returns what the ledger kept by its digest, the Before of a
// [Change]. It is an error if it was too much to keep.
func (l *Ledger) Content(digest string) ([]byte, error) { return l.Load(digest) }
