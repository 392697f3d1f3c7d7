package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"sync"
)

// MaxFile is the most that is read or written whole, in bytes.
const MaxFile = 32 << 20

// Files is the only way to a job's files. Names are confined to one directory,
// writes are atomic, a file that somebody else changed since the job saw it is
// not overwritten, and what a change replaces goes to the ledger first. A
// handful of names are refused altogether; see deny.go.
//
// Files is safe for concurrent use, and several jobs, also in several
// processes, may work on one directory: a file's check and its change are one
// step for all of them.
type Files struct {
	*desk
	led     *Ledger // nil: no undo
	barrier Barrier // nil: none; see Under
	names   *Names  // the operator's; see Naming
}

// desk is what the Files made by At share.
type desk struct {
	tree *tree

	mu   sync.Mutex        // held for each change
	sees sync.Mutex        // guards seen
	seen map[string]string // digests, where there is no ledger
}

// Open opens the directory. led may be nil: then nothing can be undone, and the
// stale check knows only what was read through this Files.
func Open(dir string, led *Ledger) (*Files, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	f := &Files{desk: &desk{tree: t, seen: map[string]string{}}, led: led}
	if led != nil {
		if in, ok := t.inside(filepath.ToSlash(led.dir)); ok {
			t.close()
			return nil, fmt.Errorf("the ledger lies inside the workspace (%s); keep it outside, where no tool can reach it", in)
		}
		led.sweep(t)
	}
	return f, nil
}

// sweep removes the temporary file of a write that a crash cut short.
func (l *Ledger) sweep(t *tree) {
	l.mu.Lock()
	temp := l.temp
	l.mu.Unlock()
	if ok, _ := path.Match(".adroit-*.tmp", path.Base(temp)); ok {
		_ = t.root.Remove(temp)
	}
}

// At returns the same files with changes noted under a step's path.
func (f *Files) At(step string) *Files {
	if f.led == nil {
		return f
	}
	return &Files{desk: f.desk, led: f.led.At(step), barrier: f.barrier, names: f.names}
}

// Close releases the directory. Nothing may be used afterwards, nor anything At returned.
func (f *Files) Close() error { return f.tree.close() }

// Dir is the absolute path of the root, links followed.
func (f *Files) Dir() string { return filepath.FromSlash(f.tree.dir) }

// find cleans, resolves and judges a file's name.
func (f *Files) find(name string, follow, write bool) (string, error) {
	p, err := f.tree.cleanFile(name)
	if err != nil {
		return "", err
	}
	if err := f.judge(name, p, write); err != nil {
		return "", err
	}
	real, err := f.tree.resolve(name, p, follow)
	if err != nil {
		return "", err
	}
	if real == "." {
		return "", &PathError{Name: name, Reason: "is the workspace itself; name a file inside it"}
	}
	return real, f.judge(name, real, write)
}

// ReadFile returns a whole file of at most MaxFile bytes and remembers it for
// the stale check.
func (f *Files) ReadFile(name string) ([]byte, error) {
	p, err := f.find(name, true, false)
	if err != nil {
		return nil, err
	}
	b, err := f.load(name, p)
	if err != nil {
		return nil, err
	}
	return b, f.note(p, digest(b))
}

func (f *Files) load(name, p string) ([]byte, error) {
	in, info, err := f.tree.open(name, p)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info.Size() > MaxFile {
		return nil, &TooLargeError{Name: name, Size: info.Size(), Limit: MaxFile}
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := io.Copy(&buf, io.LimitReader(in, MaxFile+1)); err != nil {
		return nil, f.tree.explain(name, err)
	}
	if buf.Len() > MaxFile { // it grew, or like a file of /proc it does not tell its size
		return nil, &TooLargeError{Name: name, Size: int64(buf.Len()), Limit: MaxFile}
	}
	return buf.Bytes(), nil
}

// note remembers what the job saw.
func (f *Files) note(p, digest string) error {
	if f.led != nil {
		return f.led.Seen(p, digest)
	}
	f.sees.Lock()
	defer f.sees.Unlock()
	f.seen[p] = digest
	return nil
}

// Seen reports whether this job has read or written the file, so that the stale
// check protects it.
func (f *Files) Seen(name string) bool {
	p, err := f.find(name, true, false)
	if err != nil {
		return false
	}
	_, ok := f.saw(p)
	return ok
}

func (f *Files) saw(p string) (string, bool) {
	if f.led != nil {
		return f.led.saw(p)
	}
	f.sees.Lock()
	defer f.sees.Unlock()
	d, ok := f.seen[p]
	return d, ok
}

// fresh refuses a change to a file that is not as the job last saw it. One the
// job never saw is let through.
func (f *Files) fresh(name, p string, now state) error {
	want, ok := f.saw(p)
	switch {
	case !ok || want == now.Digest:
		return nil
	case now.Type == "":
		return &StaleError{Name: name, Reason: "has been deleted since it was read"}
	case want == "":
		return &StaleError{Name: name, Reason: "has been created anew since it was deleted"}
	}
	return &StaleError{Name: name, Reason: "has been changed since it was read, by someone else or by a command"}
}

// WriteFile gives a file new content, creating it and the directories above it
// if need be. A file keeps its mode; a new one gets 0644 less the umask. If
// name is a link that stays inside, its target is written and the link stays.
// Hard links are broken: other names of the old file keep the old content.
func (f *Files) WriteFile(name string, data []byte) error {
	return f.write(name, data, func(p string, now state) error { return f.fresh(name, p, now) })
}

// Replace is WriteFile for a caller who knows the whole old content, and writes
// only if that is still what is there.
func (f *Files) Replace(name string, old, new []byte) error {
	want := digest(old)
	return f.write(name, new, func(p string, now state) error {
		if now.Type == "" {
			return f.tree.explain(name, fs.ErrNotExist)
		}
		if now.Digest != want {
			return &StaleError{Name: name, Reason: "has been changed in the meantime"}
		}
		return nil
	})
}

func (f *Files) write(name string, data []byte, check func(p string, now state) error) error {
	if len(data) > MaxFile {
		return &TooLargeError{Name: name, Size: int64(len(data)), Limit: MaxFile}
	}
	return f.change(name, true, func(p string) error {
		now, err := f.keep(p)
		if err != nil {
			return err
		}
		if now.Type == isDir || now.Type == isLink {
			return &PathError{Name: name, Reason: "is a directory; name a file"}
		}
		if err := check(p, now); err != nil {
			return err
		}
		after := state{Type: isFile, Mode: now.Mode, Digest: digest(data), Size: int64(len(data))}
		if now.Digest == after.Digest {
			return f.note(p, after.Digest)
		}
		perm := now.Mode
		if now.Type == "" {
			perm, after.Mode = newMode, 0o644&^umask()
		}
		dirs, err := f.tree.missing(p)
		if err != nil {
			return err
		}
		f.keepAfter(data)
		temp := tempName(p)
		ds := append(made(dirs), delta{Path: rawName(p), Before: now, After: after})
		return f.commit(temp, ds, func() error {
			if err := f.makeDirs(dirs); err != nil {
				return err
			}
			return f.tree.put(p, temp, perm, bytes.NewReader(data))
		})
	})
}

// change runs do with the resolved name while nobody else changes a file.
func (f *Files) change(name string, follow bool, do func(p string) error) error {
	if _, err := f.find(name, follow, true); err != nil {
		return err // refused without waiting for a lock
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.tree.lock()()
	p, err := f.find(name, follow, true)
	if err != nil {
		return err
	}
	if err := do(p); err != nil {
		if f.led != nil && diskFailed(err) {
			_ = f.led.failed(err)
		}
		return f.tree.explainAs(name, err)
	}
	return nil
}

// keep reads the state of p and saves its content if there is a ledger.
func (f *Files) keep(p string) (state, error) {
	if f.led == nil {
		return f.tree.state(p, nil)
	}
	return f.led.keep(f.tree, p)
}

// keepAfter keeps what is about to be written, so that what somebody else makes
// of it later can be told apart from it. Without it an undo leaves such a file
// alone, so it need not be durable, and an error is no reason not to write.
func (f *Files) keepAfter(data []byte) {
	if f.led != nil && len(data) <= maxDiff && !f.led.full() {
		_ = f.led.store(data)
	}
}

// commit notes a change in the ledger, makes it, and notes what the job now
// knows of each file. A change that failed is taken back in the ledger.
func (f *Files) commit(temp string, ds []delta, do func() error) error {
	if f.led != nil {
		if err := f.led.change(temp, ds...); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		if f.led != nil {
			f.led.took(ds...)
		}
		return err
	}
	var errs []error
	for _, d := range ds {
		if d.From != "" { // moved, not looked at
			if was, ok := f.saw(string(d.From)); ok && d.After.Type == isFile {
				errs = append(errs, f.note(string(d.Path), was))
			}
			continue
		}
		if d.After.Type == isFile || d.Before.Type == isFile {
			errs = append(errs, f.note(string(d.Path), d.After.Digest))
		}
	}
	return errors.Join(errs...)
}

func made(dirs []string) []delta {
	var ds []delta
	for _, d := range dirs {
		ds = append(ds, delta{Path: rawName(d), After: state{Type: isDir, Mode: 0o755 &^ umask()}})
	}
	return ds
}

func (f *Files) makeDirs(dirs []string) error {
	for _, d := range dirs {
		if err := f.tree.root.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return f.tree.explain(d, err)
		}
		if err := f.tree.sync(path.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// Stat describes what a name stands for; of a link it describes the link,
// provided that it stays inside.
func (f *Files) Stat(name string) (fs.FileInfo, error) {
	p, err := f.tree.clean(name)
	if err != nil {
		return nil, err
	}
	if err := f.judge(name, p, false); err != nil {
		return nil, err
	}
	real, err := f.tree.resolve(name, p, true)
	if err == nil {
		err = f.judge(name, real, false)
	}
	if err != nil {
		return nil, err
	}
	link, err := f.tree.resolve(name, p, false)
	if err != nil {
		return nil, err
	}
	info, err := f.tree.root.Lstat(link)
	if err != nil {
		return nil, f.tree.explain(name, err)
	}
	return info, nil
}
