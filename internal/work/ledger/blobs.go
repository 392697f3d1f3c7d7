package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// Keep reads the state of p and keeps its content, so that it can be restored. Once the ledger is
// full, content that the job itself wrote is no longer kept: the whole job can still be undone,
// but not every single step of it.
func (l *Ledger) Keep(t *rootfs.Tree, p string) (rootfs.State, error) {
	l.mu.Lock()
	_, known := l.first[p]
	l.mu.Unlock()
	if known && l.Full() {
		return t.State(p, nil)
	}
	return l.Capture(t, p, true)
}

// Full reports whether the ledger has reached its limit for content that is needed only to undo
// single steps and commands.
func (b *log) Full() bool { return b.bytes() >= maxShadow }

// Size returns the number of bytes of content that the ledger keeps.
func (b *log) Size() int64 { return b.bytes() }

func (b *log) bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size >= 0 {
		return b.size
	}
	b.size = 0
	files, _ := os.ReadDir(filepath.Join(b.Dir, "blobs")) // what cannot be read counts as nothing
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			b.size += info.Size()
		}
	}
	return b.size
}

// Capture reads the state of p and copies its content to the blobs.
func (b *log) Capture(t *rootfs.Tree, p string, sync bool) (rootfs.State, error) {
	if info, err := t.Root.Lstat(p); err == nil && info.Mode().IsRegular() && info.Size() > MaxKeep {
		return rootfs.State{}, &rootfs.TooLargeError{Name: p, Size: info.Size(), Limit: MaxKeep}
	}
	w, err := b.blob()
	if err != nil {
		return rootfs.State{}, err
	}
	defer w.Drop()
	s, err := t.State(p, w)
	if err != nil || s.Digest == "" {
		return s, err
	}
	return s, w.commit(s.Digest, sync)
}

func (b *log) blobPath(digest string) string { return filepath.Join(b.Dir, "blobs", digest) }

// Load returns kept content.
func (b *log) Load(want string) ([]byte, error) {
	b.mu.Lock()
	data, ok := b.memory[want]
	b.mu.Unlock()
	if ok {
		return data, nil
	}
	data, err := os.ReadFile(b.blobPath(want))
	if err != nil {
		return nil, fmt.Errorf("the original content is not in the ledger: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("the original content in the ledger is damaged (%s)", want[:12])
	}
	return data, nil
}

// A blobWriter is content on its way into the ledger.
type blobWriter struct {
	b *log
	f *os.File
}

// blob begins content. The journal is begun first: there is no content without a note of its length.
func (b *log) blob() (*blobWriter, error) {
	b.mu.Lock()
	err := b.begin()
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Join(b.Dir, "blobs"), "new-*") // 0600
	if err != nil {
		return nil, b.RecordFailure(fmt.Errorf("keeping content in the ledger: %w", err))
	}
	return &blobWriter{b: b, f: f}, nil
}

func (w *blobWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if err != nil {
		err = w.b.RecordFailure(fmt.Errorf("keeping content in the ledger: %w", err))
	}
	return n, err
}

func (w *blobWriter) commit(digest string, sync bool) error {
	to := w.b.blobPath(digest)
	if info, err := os.Lstat(to); err == nil && info.Mode().IsRegular() {
		return nil
	}
	var err error
	if sync {
		err = w.f.Sync()
	}
	if info, ierr := w.f.Stat(); ierr == nil {
		w.b.shareBlob(w.f.Name(), digest, info.Size())
	}
	err = errors.Join(err, os.Rename(w.f.Name(), to))
	if sync {
		err = errors.Join(err, rootfs.SyncDir(filepath.Dir(to)))
	}
	if err != nil {
		return w.b.RecordFailure(fmt.Errorf("keeping content in the ledger: %w", err))
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	if info, err := w.f.Stat(); err == nil && w.b.size >= 0 {
		w.b.size += info.Size()
	}
	return nil
}

func (w *blobWriter) Drop() {
	w.f.Close()
	_ = os.Remove(w.f.Name()) // gone already if it was committed
}

// Store keeps content that is about to be written. It is not synced.
func (b *log) Store(data []byte) error { return b.store(data, false) }

// Hold keeps content that a person is asked about.
func (b *log) Hold(data []byte) error { return b.store(data, true) }

func (b *log) store(data []byte, sync bool) error {
	w, err := b.blob()
	if err != nil {
		return err
	}
	defer w.Drop()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.commit(rootfs.Digest(data), sync)
}

// shareBlob replaces a file that is about to become a blob by the one that other
// ledgers have, or offers it to them.
func (b *log) shareBlob(temp, digest string, size int64) {
	b.mu.Lock()
	dir := b.shared
	b.mu.Unlock()
	if dir == "" {
		return
	}
	all := filepath.Join(dir, digest)
	if info, err := os.Lstat(all); err != nil || !info.Mode().IsRegular() || info.Size() != size {
		_ = os.Remove(all)     // one that is damaged
		_ = os.Link(temp, all) // else this ledger has it alone
		return
	}
	again := temp + "l"
	if os.Link(all, again) == nil && os.Rename(again, temp) != nil {
		_ = os.Remove(again)
	}
}

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

// SweepContent removes from a store of content everything that no ledger refers to any more, and
// returns the number of bytes freed.
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

// Content returns content that the ledger kept, by its digest, the Before of a [Change]. It is an
// error if it was too large to keep.
func (l *Ledger) Content(digest string) ([]byte, error) { return l.Load(digest) }

// MaxKeep bounds the content kept for one file. A larger one is not changed by
// the file tools, and a command's change to it cannot be undone.
const MaxKeep = 256 << 20

// maxShadow bounds the content that a ledger keeps beyond the files' original content, in bytes.
const maxShadow = 2 << 30

// MaxDiff is the largest content that is compared line by line, in bytes.
const MaxDiff = 4 << 20

// Fault returns the first storage failure that the ledger, or a Files that
// records in it, has met; nil if there was none. The error is a *StorageError. One by
// which the host is exhausted is returned once: it goes by.
func (l *Ledger) Fault() error {
	e := l.fault.Load()
	if e == nil {
		return nil
	}
	if exhaustion.Of(e) != "" {
		l.fault.CompareAndSwap(e, nil)
	}
	return e
}

// Await calls f until the host has the resources for it, as [exhaustion.Retry] does. A storage
// failure that a retry has overcome is not recorded.
func (l *Ledger) Await(ctx context.Context, f func() error) error {
	err := exhaustion.Retry(ctx, f)
	if e := l.fault.Load(); err == nil && e != nil && exhaustion.Of(e) != "" {
		l.fault.CompareAndSwap(e, nil)
	}
	return err
}

// Lock takes the right to add to the ledger, which only one process has at a time, until Close.
// Adding takes it too; a process that claims a job takes it first.
func (l *Ledger) Lock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begin()
}

// IsHostError reports whether err is a failure of the machine and not of the operation: the host
// is exhausted, or its disk is broken.
func IsHostError(err error) bool { return exhaustion.Of(err) != "" || errors.Is(err, unix.EIO) }

// Verify reads all data for undoing the job and returns an error that lists missing or damaged
// parts, or nil.
func (l *Ledger) Verify(ctx context.Context) error {
	l.mu.Lock()
	first, unkept := maps.Clone(l.first), maps.Clone(l.unkept)
	var errs []error
	if l.damage != "" {
		errs = append(errs, errors.New(l.damage))
	}
	l.mu.Unlock()
	for _, p := range slices.Sorted(maps.Keys(first)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s := first[p]; s.Digest != "" && !unkept[p] {
			if _, err := l.Load(s.Digest); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p, err))
			}
		}
	}
	return errors.Join(errs...)
}
