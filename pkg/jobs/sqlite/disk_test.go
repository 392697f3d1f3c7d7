//go:build linux

package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

const sector = 512

// A disk is a SQLite VFS that passes everything on to the real one and
// remembers what was synced, so that it can say what a power cut at this
// moment might leave behind. It can also fail.
type disk struct {
	name string
	// fault, if set, may refuse an operation with a SQLite result code. It is
	// called with the lock held.
	fault func(op, path string) int32
	// each, if set, is called after every operation with the lock held.
	each func()

	mu    sync.Mutex
	files map[string]*platter
	open  map[uintptr]string // by sqlite3_file

	vfs     *lib.Tsqlite3_vfs // ours
	base    lib.Tsqlite3_vfs  // the real one
	methods map[uintptr]*methods
	keep    []any // Go functions that only C memory points to
}

// A platter is a file: what programs read, and what is certainly there.
type platter struct {
	now, synced []byte
	dirty       map[int64]bool // sectors that differ perhaps
}

type methods struct{ ours, real *lib.Tsqlite3_io_methods }

// Function pointers of the C world are pointers to Go function values here.
func pointer[F any](d *disk, f F) uintptr {
	d.keep = append(d.keep, &f)
	return *(*uintptr)(unsafe.Pointer(&f))
}

func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func at0[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

var disks atomic.Int64

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{
		name:  fmt.Sprint("disk", disks.Add(1)),
		files: map[string]*platter{}, open: map[uintptr]string{}, methods: map[uintptr]*methods{},
	}
	tls := libc.NewTLS()
	defer tls.Close()
	p := lib.Xsqlite3_vfs_find(tls, 0)
	if p == 0 {
		t.Fatal("SQLite has no VFS")
	}
	d.base = *at0[lib.Tsqlite3_vfs](p)
	ours := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(d.base)))
	d.vfs = at0[lib.Tsqlite3_vfs](ours)
	*d.vfs = d.base
	name, err := libc.CString(d.name)
	if err != nil {
		t.Fatal(err)
	}
	d.vfs.FzName, d.vfs.FpNext = name, 0
	d.vfs.FxOpen = pointer(d, d.xOpen)
	d.vfs.FxDelete = pointer(d, d.xDelete)
	if rc := lib.Xsqlite3_vfs_register(tls, ours, 0); rc != 0 {
		t.Fatalf("registering the VFS: %d", rc)
	}
	t.Cleanup(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		lib.Xsqlite3_vfs_unregister(tls, ours)
		runtime.KeepAlive(d) // SQLite has called functions that only d keeps
	})
	return d
}

func (d *disk) xOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](d.base.FxOpen)
	rc := open(tls, vfs, name, file, flags, out)
	if rc != 0 || name == 0 {
		return rc
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path := libc.GoString(name)
	d.open[file] = path
	if d.files[path] == nil {
		b, _ := os.ReadFile(path) // what was there before the test began is safe
		d.files[path] = &platter{now: b, synced: append([]byte(nil), b...), dirty: map[int64]bool{}}
	}
	f := at0[lib.Tsqlite3_file](file)
	m := d.methods[f.FpMethods]
	if m == nil {
		p := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
		m = &methods{ours: at0[lib.Tsqlite3_io_methods](p), real: at0[lib.Tsqlite3_io_methods](f.FpMethods)}
		*m.ours = *m.real
		m.ours.FxWrite = pointer(d, func(tls *libc.TLS, file, b uintptr, n int32, off int64) int32 {
			return d.do("write", file, func(p *platter) int32 {
				rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.real.FxWrite)(tls, file, b, n, off)
				if rc == 0 {
					p.write(unsafe.Slice(at0[byte](b), n), off)
				}
				return rc
			})
		})
		m.ours.FxTruncate = pointer(d, func(tls *libc.TLS, file uintptr, size int64) int32 {
			return d.do("truncate", file, func(p *platter) int32 {
				rc := function[func(*libc.TLS, uintptr, int64) int32](m.real.FxTruncate)(tls, file, size)
				if rc == 0 {
					p.now = resize(p.now, size)
				}
				return rc
			})
		})
		m.ours.FxSync = pointer(d, func(_ *libc.TLS, file uintptr, _ int32) int32 {
			// The real sync would only cost time: nobody cuts our power.
			return d.do("sync", file, func(p *platter) int32 { p.sync(); return 0 })
		})
		d.methods[f.FpMethods] = m
		d.methods[p] = m
	}
	f.FpMethods = uintptr(unsafe.Pointer(m.ours))
	return rc
}

func (d *disk) xDelete(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr, int32) int32](d.base.FxDelete)(tls, vfs, name, sync)
	d.mu.Lock()
	defer d.mu.Unlock()
	if rc == 0 {
		delete(d.files, libc.GoString(name))
	}
	return rc
}

func (d *disk) do(op string, file uintptr, f func(*platter) int32) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := d.open[file]
	if d.fault != nil {
		if rc := d.fault(op, path); rc != 0 {
			return rc
		}
	}
	p := d.files[path]
	if p == nil {
		p = &platter{dirty: map[int64]bool{}}
		d.files[path] = p
	}
	rc := f(p)
	if rc == 0 && d.each != nil {
		d.each()
	}
	return rc
}

func resize(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

func (p *platter) write(b []byte, off int64) {
	end := off + int64(len(b))
	p.now = resize(p.now, max(end, int64(len(p.now))))
	copy(p.now[off:], b)
	for s := off / sector; s*sector < end; s++ {
		p.dirty[s] = true
	}
}

func (p *platter) sync() {
	p.synced = resize(p.synced, int64(len(p.now)))
	for s := range p.dirty {
		p.copy(p.synced, s)
	}
	clear(p.dirty)
}

// copy brings sector s of what is now into b.
func (p *platter) copy(b []byte, s int64) {
	end := min((s+1)*sector, int64(len(p.now)), int64(len(b)))
	if from := s * sector; from < end {
		copy(b[from:end], p.now[from:end])
	}
}

// cut writes into dir what a power cut now could leave of the files of src:
// all that was synced, and of the rest some sectors. The caller has the lock.
func (d *disk) cut(rnd *rand.Rand, src, dir string) error {
	for path, p := range d.files {
		if filepath.Dir(path) != src || !strings.HasPrefix(filepath.Base(path), "a.db") || strings.Contains(path, ".new") {
			continue
		}
		size := int64(len(p.synced))
		if rnd.IntN(2) == 0 {
			size = int64(len(p.now))
		}
		b := resize(append([]byte(nil), p.synced...), size)
		for s := range p.dirty {
			if rnd.IntN(2) == 0 {
				p.copy(b, s)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
