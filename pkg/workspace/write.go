package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"path"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// WriteFile gives a file new content, creating it and the directories above it
// if need be. A file keeps its mode; a new one gets 0644 less the umask. If
// name is a link that stays inside, its target is written and the link stays.
// Hard links are broken: other names of the old file keep the old content.
func (f *Files) WriteFile(name string, data []byte) error {
	return f.write(name, data, func(p string, now rootfs.State) error { return f.checkUnchanged(name, p, now) })
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
		f.storeNewContent(data)
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
		if f.Ledger != nil && ledger.IsHostError(err) {
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

// storeNewContent stores the content that is about to be written, to distinguish it from
// later changes by somebody else. Without it an undo leaves such a file alone, so it need
// not be durable, and an error does not prevent the write.
func (f *Files) storeNewContent(data []byte) {
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
			if was, ok := f.lastSeen(string(d.From)); ok && d.After.Type == rootfs.TypeFile {
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
	_, ok := f.lastSeen(p)
	return ok
}

func (f *Files) lastSeen(p string) (string, bool) {
	if f.Ledger != nil {
		return f.Ledger.LastSeen(p)
	}
	f.sees.Lock()
	defer f.sees.Unlock()
	d, ok := f.seen[p]
	return d, ok
}

// checkUnchanged refuses a change to a file that is not as the job last saw it. A file
// that the job never saw is let through.
func (f *Files) checkUnchanged(name, p string, now rootfs.State) error {
	want, ok := f.lastSeen(p)
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

// Fresh is a *StaleError if the file is not as this job last saw it, and nil if
// it is or was never seen. It is for a tool that is about to read the file
// again in order to change it: reading makes the new content the one that was
// seen, though nobody was shown it.
func (f *Files) Fresh(name string) error {
	p, err := f.find(name, true, true)
	if err != nil {
		return err
	}
	b, err := f.Load(name, p)
	if err != nil {
		return err
	}
	return f.checkUnchanged(name, p, rootfs.State{Type: rootfs.TypeFile, Digest: rootfs.Digest(b)})
}
