package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"sync"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/ledger"
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
	*fileState
	Ledger   *ledger.Ledger                             // nil: no undo
	guard    func(name string, write bool) (why string) // nil: none; see Under
	DenyList *rootfs.DenyList                           // the operator's; see Naming
}

// fileState is what the Files made by At share.
type fileState struct {
	Tree *rootfs.Tree

	mu   sync.Mutex        // held for each change
	sees sync.Mutex        // guards seen
	seen map[string]string // digests, where there is no ledger
}

// Open opens the directory. led may be nil: then nothing can be undone, and the
// stale check knows only what was read through this Files.
func Open(dir string, led *ledger.Ledger) (*Files, error) {
	t, err := rootfs.Open(dir)
	if err != nil {
		return nil, err
	}
	f := &Files{fileState: &fileState{Tree: t, seen: map[string]string{}}, Ledger: led}
	if led != nil {
		if in, ok := t.Inside(filepath.ToSlash(led.Dir)); ok {
			t.Close()
			return nil, fmt.Errorf("the data of jobs lie in the workspace (%s), where tools could change them; work in another directory (-C DIR), or keep the data elsewhere (--data-dir DIR)", in)
		}
		led.RemoveTemp(t)
	}
	return f, nil
}

// At returns the same files with changes noted under a step's path.
func (f *Files) At(step string) *Files {
	if f.Ledger == nil {
		return f
	}
	return &Files{fileState: f.fileState, Ledger: f.Ledger.At(step), guard: f.guard, DenyList: f.DenyList}
}

// Close releases the directory. Nothing may be used afterwards, nor anything At returned.
func (f *Files) Close() error { return f.Tree.Close() }

// Dir is the absolute path of the root, links followed.
func (f *Files) Dir() string { return filepath.FromSlash(f.Tree.Dir) }

// find cleans, resolves and judges a file's name.
func (f *Files) find(name string, follow, write bool) (string, error) {
	p, err := f.Tree.CleanFile(name)
	if err != nil {
		return "", err
	}
	if err := f.CheckPath(name, p, write); err != nil {
		return "", err
	}
	real, err := f.Tree.Resolve(name, p, follow)
	if err != nil {
		return "", err
	}
	if real == "." {
		return "", &rootfs.PathError{Name: name, Reason: "is the workspace itself; name a file inside it"}
	}
	return real, f.CheckPath(name, real, write)
}

// ReadFile returns a whole file of at most MaxFile bytes and remembers it for
// the stale check.
func (f *Files) ReadFile(name string) ([]byte, error) {
	p, err := f.find(name, true, false)
	if err != nil {
		return nil, err
	}
	b, err := f.Load(name, p)
	if err != nil {
		return nil, err
	}
	return b, f.Note(p, rootfs.Digest(b))
}

func (f *Files) Load(name, p string) ([]byte, error) {
	in, info, err := f.Tree.Open(name, p)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info.Size() > MaxFile {
		return nil, &rootfs.TooLargeError{Name: name, Size: info.Size(), Limit: MaxFile}
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := io.Copy(&buf, io.LimitReader(in, MaxFile+1)); err != nil {
		return nil, f.Tree.Explain(name, err)
	}
	if buf.Len() > MaxFile { // it grew, or like a file of /proc it does not tell its size
		return nil, &rootfs.TooLargeError{Name: name, Size: int64(buf.Len()), Limit: MaxFile}
	}
	return buf.Bytes(), nil
}

// Note remembers what the job saw.
func (f *Files) Note(p, digest string) error {
	if f.Ledger != nil {
		return f.Ledger.Seen(p, digest)
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
	if f.Ledger != nil {
		return f.Ledger.LastSeen(p)
	}
	f.sees.Lock()
	defer f.sees.Unlock()
	d, ok := f.seen[p]
	return d, ok
}

// fresh refuses a change to a file that is not as the job last saw it. One the
// job never saw is let through.
func (f *Files) fresh(name, p string, now rootfs.State) error {
	want, ok := f.saw(p)
	switch {
	case !ok || want == now.Digest:
		return nil
	case now.Type == "":
		return &rootfs.StaleError{Name: name, Reason: "has been deleted since it was read"}
	case want == "":
		return &rootfs.StaleError{Name: name, Reason: "has been created anew since it was deleted"}
	}
	return &rootfs.StaleError{Name: name, Reason: "has been changed since it was read, by someone else or by a command"}
}

// WriteFile gives a file new content, creating it and the directories above it
// if need be. A file keeps its mode; a new one gets 0644 less the umask. If
// name is a link that stays inside, its target is written and the link stays.
// Hard links are broken: other names of the old file keep the old content.
func (f *Files) WriteFile(name string, data []byte) error {
	return f.write(name, data, func(p string, now rootfs.State) error { return f.fresh(name, p, now) })
}

// Replace is WriteFile for a caller who knows the whole old content, and writes
// only if that is still what is there.
func (f *Files) Replace(name string, old, new []byte) error {
	want := rootfs.Digest(old)
	return f.write(name, new, func(p string, now rootfs.State) error {
		if now.Type == "" {
			return f.Tree.Explain(name, fs.ErrNotExist)
		}
		if now.Digest != want {
			return &rootfs.StaleError{Name: name, Reason: "has been changed in the meantime"}
		}
		return nil
	})
}

func (f *Files) write(name string, data []byte, check func(p string, now rootfs.State) error) error {
	if len(data) > MaxFile {
		return &rootfs.TooLargeError{Name: name, Size: int64(len(data)), Limit: MaxFile}
	}
	return f.Change(name, true, func(p string) error {
		now, err := f.Keep(p)
		if err != nil {
			return err
		}
		if now.Type == rootfs.TypeDir || now.Type == rootfs.TypeLink {
			return &rootfs.PathError{Name: name, Reason: "is a directory; name a file"}
		}
		if err := check(p, now); err != nil {
			return err
		}
		after := rootfs.State{Type: rootfs.TypeFile, Mode: now.Mode, Digest: rootfs.Digest(data), Size: int64(len(data))}
		if now.Digest == after.Digest {
			return f.Note(p, after.Digest)
		}
		perm := now.Mode
		if now.Type == "" {
			perm, after.Mode = rootfs.DefaultMode, 0o644&^rootfs.Umask()
		}
		dirs, err := f.Tree.MissingDirs(p)
		if err != nil {
			return err
		}
		f.keepAfter(data)
		temp := rootfs.TempName(p)
		ds := append(made(dirs), ledger.PathChange{Path: rootfs.RawName(p), Before: now, After: after})
		return f.commit(temp, ds, func() error {
			if err := f.makeDirs(dirs); err != nil {
				return err
			}
			return f.Tree.Put(p, temp, perm, bytes.NewReader(data))
		})
	})
}

// Change runs do with the resolved name while nobody else changes a file.
func (f *Files) Change(name string, follow bool, do func(p string) error) error {
	if _, err := f.find(name, follow, true); err != nil {
		return err // refused without waiting for a lock
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.Tree.Lock()()
	p, err := f.find(name, follow, true)
	if err != nil {
		return err
	}
	if err := do(p); err != nil {
		if f.Ledger != nil && ledger.IsDiskError(err) {
			_ = f.Ledger.RecordFailure(err)
		}
		return f.Tree.ExplainAs(name, err)
	}
	return nil
}

// Keep reads the state of p and saves its content if there is a ledger.
func (f *Files) Keep(p string) (rootfs.State, error) {
	if f.Ledger == nil {
		return f.Tree.State(p, nil)
	}
	return f.Ledger.Keep(f.Tree, p)
}

// keepAfter keeps what is about to be written, to distinguish it from later
// changes by somebody else. Without it an undo leaves such a file
// alone, so it need not be durable, and an error is no reason not to write.
func (f *Files) keepAfter(data []byte) {
	if f.Ledger != nil && len(data) <= ledger.MaxDiff && !f.Ledger.Full() {
		_ = f.Ledger.Store(data)
	}
}

// commit notes a change in the ledger, makes it, and notes what the job now
// knows of each file. A change that failed is taken back in the ledger.
func (f *Files) commit(temp string, ds []ledger.PathChange, do func() error) error {
	if f.Ledger != nil {
		if err := f.Ledger.Change(temp, ds...); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		if f.Ledger != nil {
			f.Ledger.TakeBack(ds...)
		}
		return err
	}
	var errs []error
	for _, d := range ds {
		if d.From != "" { // moved, not looked at
			if was, ok := f.saw(string(d.From)); ok && d.After.Type == rootfs.TypeFile {
				errs = append(errs, f.Note(string(d.Path), was))
			}
			continue
		}
		if d.After.Type == rootfs.TypeFile || d.Before.Type == rootfs.TypeFile {
			errs = append(errs, f.Note(string(d.Path), d.After.Digest))
		}
	}
	return errors.Join(errs...)
}

func made(dirs []string) []ledger.PathChange {
	var ds []ledger.PathChange
	for _, d := range dirs {
		ds = append(ds, ledger.PathChange{Path: rootfs.RawName(d), After: rootfs.State{Type: rootfs.TypeDir, Mode: 0o755 &^ rootfs.Umask()}})
	}
	return ds
}

func (f *Files) makeDirs(dirs []string) error {
	for _, d := range dirs {
		if err := f.Tree.Root.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return f.Tree.Explain(d, err)
		}
		if err := f.Tree.Sync(path.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// Stat describes what a name stands for; of a link it describes the link,
// provided that it stays inside.
func (f *Files) Stat(name string) (fs.FileInfo, error) {
	p, err := f.Tree.Clean(name)
	if err != nil {
		return nil, err
	}
	if err := f.CheckPath(name, p, false); err != nil {
		return nil, err
	}
	real, err := f.Tree.Resolve(name, p, true)
	if err == nil {
		err = f.CheckPath(name, real, false)
	}
	if err != nil {
		return nil, err
	}
	link, err := f.Tree.Resolve(name, p, false)
	if err != nil {
		return nil, err
	}
	info, err := f.Tree.Root.Lstat(link)
	if err != nil {
		return nil, f.Tree.Explain(name, err)
	}
	return info, nil
}

// Context returns a context for commands that belong to the step of f.
func (f *Files) Context(ctx context.Context) context.Context {
	if f.Ledger == nil || f.Ledger.StepPath == "" {
		return ctx
	}
	return ledger.AtStep(ctx, f.Ledger.StepPath)
}
