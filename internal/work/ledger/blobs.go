package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Keep reads the state of p and keeps its content, so that it can be restored.
// Once the ledger is full, what the job itself wrote is no longer kept: the
// whole job can still be undone, but not every step of it alone.
func (l *Ledger) Keep(t *rootfs.Tree, p string) (rootfs.State, error) {
	l.mu.Lock()
	_, known := l.first[p]
	l.mu.Unlock()
	if known && l.Full() {
		return t.State(p, nil)
	}
	return l.Capture(t, p, true)
}

// Full reports whether the ledger has taken all it takes of what is only
// needed to undo single steps and commands.
func (b *log) Full() bool { return b.bytes() >= maxShadow }

// Size is how many bytes of content the ledger keeps.
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

func (b *log) blob() (*blobWriter, error) {
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
