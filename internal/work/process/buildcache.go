package process

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Places of a command's Go build cache. The user's own cache is never written, since its content
// is linked into the user's programs without a question; and no job uses another job's output,
// since that could make its tests pass.
const (
	warmSlots  = 4       // caches of one job that are kept for its next commands
	maxSlots   = 64      // commands of one job at a time that have the user's below their own
	maxCache   = 2 << 30 // bytes; a cache beyond it is begun anew
	staleCache = 30 * 24 * time.Hour
)

// A slot is a build cache that belongs to one command while it runs: the kernel does not specify
// what happens if two write into one layer. The lock of the file ends with the runner, also if
// that is killed.
type slot struct {
	dir  string
	lock *os.File
	warm bool // kept when the command has ended
}

// upper returns the layer that the command writes.
func (s *slot) upper() string { return filepath.Join(s.dir, "go-build") }

// takeSlot locks the first free slot below dir. The first is the one that the
// last command used, if it has ended, so one command after another is warm. It
// is nil if too many are taken.
func takeSlot(dir string) (*slot, error) {
	for n := range maxSlots {
		s := &slot{dir: filepath.Join(dir, strconv.Itoa(n)), warm: n < warmSlots}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, err
		}
		f, err := lock.Create(filepath.Join(s.dir, "lock"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // whoever had it is just taking it away
		}
		if err != nil {
			return nil, err
		}
		if err := lock.Try(f); err != nil {
			f.Close()
			if errors.Is(err, lock.ErrHeld) {
				continue
			}
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if !same(f) { // taken away between opening and locking
			_ = lock.Close(f)
			continue
		}
		s.lock = f
		return s, nil
	}
	return nil, nil
}

// same reports whether f is still the file of its name.
func same(f *os.File) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(a, b)
}

// free gives the slot back. One that is not to be warm, or has grown beyond
// limit, is emptied first; limit is in bytes, 0 asks for no look.
func (s *slot) free(limit int64) {
	if s == nil {
		return
	}
	if !s.warm || limit > 0 && larger(s.dir, limit) {
		_ = rootfs.RemoveAll(s.dir) // what is left is overwritten, or goes with the job
	}
	_ = lock.Close(s.lock)
}

// larger reports whether the files of a tree take more than limit bytes.
func larger(dir string, limit int64) bool {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if size += info.Size(); size > limit {
				return fs.SkipAll
			}
		}
		return nil
	})
	return size > limit
}

// userCache returns the user's Go build cache, or "".
func userCache() string {
	dir := os.Getenv("GOCACHE")
	if dir == "" {
		if d, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(d, "go-build")
		}
	}
	if r, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(r) {
		return r
	}
	return ""
}

// cacheName returns the name of the build cache of all jobs of one workspace, for the levels that
// cannot put a job's own cache on top of the user's: compiling the standard library for each job
// would be too slow. No other workspace ever sees it.
func cacheName(root string) string {
	return fmt.Sprintf("go-build-%x", sha256.Sum256([]byte(root)))[:25]
}

// tidyCaches removes the caches below dir that were not used for long, or have
// grown too large, and notes that the one called own is in use.
func tidyCaches(dir, own string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // none yet
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), "go-build") {
			continue
		}
		if e.Name() == own {
			_ = os.Chtimes(path, now, now) // it only decides how long a cache is kept
		} else if now.Sub(info.ModTime()) > staleCache {
			_ = rootfs.RemoveAll(path)
		}
	}
}
