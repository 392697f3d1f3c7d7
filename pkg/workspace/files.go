// Package workspace gives tools access to the directory of a job: its files,
// and the commands it runs there.
//
//	text, err := env.Files.ReadText("cart.go")
//	text.Content = strings.Replace(text.Content, "a", "b", 1)
//	err = env.Files.WriteText("cart.go", text) // refused if somebody else changed it
//	out, err := env.Exec.Run(ctx, tools.Command{Shell: "go test ./...", Snapshot: true})
//
// Names are relative to the workspace and use slashes. They are confined by
// [os.Root], so a name or a link that leads outside is refused, also when
// something races to swap it.
//
// It is not a sandbox: a command runs with the rights of adroit's
// user, and the output of a command reports that. It is not a version control system
// either: the ledger knows what one job changed, and nothing else.
package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"golang.org/x/sys/unix"
)

// MaxFile is the most that is read or written whole, in bytes.
const MaxFile = 32 << 20

// Files is the only way to a job's files. Names are confined to one directory,
// writes are atomic, a file that somebody else changed since the job saw it is
// not overwritten, and what a change replaces goes to the ledger first. A
// handful of names are refused altogether; see [rootfs.DenyList].
//
// Files is safe for concurrent use, and several jobs, also in several
// processes, may work on one directory: a file's check and its change are one
// step for all of them.
type Files struct {
	*fileState
	Ledger    *ledger.Ledger                             // nil: no undo
	guard     func(name string, write bool) (why string) // nil: none; see WithGuard
	DenyList  *rootfs.DenyList                           // the operator's; see WithDenyList
	accepting bool                                       // see Accepting
}

// fileState is the state shared by all Files of a Tree that At made.
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

// Context returns a context for commands that belong to the step of f.
func (f *Files) Context(ctx context.Context) context.Context {
	if f.Ledger == nil || f.Ledger.StepPath == "" {
		return ctx
	}
	return ledger.AtStep(ctx, f.Ledger.StepPath)
}

// A goneError reports that the workspace has changed since the job began with it: it was
// deleted or replaced, or cannot be reached any more.
type goneError struct {
	Dir string
	Err error // nil if there is something else in its place
}

func (e *goneError) Error() string {
	if e.Err == nil {
		return "the workspace " + e.Dir + " has been replaced by another directory or file while the job worked in it"
	}
	return "the workspace " + e.Dir + " is gone: " + e.Err.Error()
}

func (e *goneError) Unwrap() error { return e.Err }

// Present is an error if the directory is not there any more.
func (f *Files) Present() error {
	ours, err := f.Tree.Self.Stat()
	if err != nil {
		return &goneError{Dir: f.Dir(), Err: err}
	}
	now, err := os.Lstat(f.Dir())
	if err != nil {
		return &goneError{Dir: f.Dir(), Err: err}
	}
	if !os.SameFile(ours, now) {
		return &goneError{Dir: f.Dir()}
	}
	return nil
}

// FS is a read-only view with the same confinement, for search. Names that no
// tool may read do not appear in it; links are listed and, if they stay inside,
// opened, but as ever not walked into. Opening what is neither file nor
// directory is an error. Reading through it does not count for the stale check.
func (f *Files) FS() fs.FS { return readOnly{f.Tree, f.CheckPath} }

// Peek reads the first bytes of a file, up to limit, into buf if there is room. It
// is for searching many files: the stale check ignores it.
func (f *Files) Peek(name string, buf []byte, limit int64) ([]byte, error) {
	if fs.ValidPath(name) && f.CheckPath(name, name, false) == nil {
		if b, ok := f.Tree.Read(name, buf, limit); ok {
			return b, nil
		}
	}
	p, err := f.find(name, true, false)
	if err != nil {
		return nil, err
	}
	in, _, err := f.Tree.Open(name, p)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b := bytes.NewBuffer(buf[:0])
	_, err = b.ReadFrom(io.LimitReader(in, limit))
	return b.Bytes(), err
}

type readOnly struct {
	tree  *rootfs.Tree
	judge func(name, p string, write bool) error
}

func (r readOnly) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	p, err := r.tree.Clean(name)
	if err == nil {
		err = r.judge(name, p, false)
	}
	if err == nil {
		p, err = r.tree.Resolve(name, p, true)
	}
	if err == nil {
		err = r.judge(name, p, false)
	}
	if err != nil {
		return fail(err)
	}
	info, err := r.tree.Root.Lstat(p)
	if err != nil {
		return fail(r.tree.Explain(name, err))
	}
	if info.IsDir() {
		d, err := r.tree.Root.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECTORY, 0)
		if err != nil {
			return fail(r.tree.Explain(name, err))
		}
		return &openDir{f: d, at: p, judge: r.judge}, nil
	}
	in, _, err := r.tree.Open(name, p)
	if err != nil {
		return fail(err)
	}
	return openFile{in}, nil
}

// openFile hides the methods of os.File that change things.
type openFile struct{ f *os.File }

func (o openFile) Stat() (fs.FileInfo, error)                { return o.f.Stat() }
func (o openFile) Read(b []byte) (int, error)                { return o.f.Read(b) }
func (o openFile) ReadAt(b []byte, off int64) (int, error)   { return o.f.ReadAt(b, off) }
func (o openFile) Seek(off int64, whence int) (int64, error) { return o.f.Seek(off, whence) }
func (o openFile) Close() error                              { return o.f.Close() }

type openDir struct {
	f     *os.File
	at    string
	judge func(name, p string, write bool) error
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.f.Stat() }
func (o *openDir) Close() error               { return o.f.Close() }

func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.at, Err: unix.EISDIR}
}

// ReadDir lists what may be read.
func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		all, err := o.f.ReadDir(n)
		kept := all[:0]
		for _, e := range all {
			name := path.Join(o.at, e.Name())
			if o.judge(name, name, false) == nil {
				kept = append(kept, e)
			}
		}
		if len(kept) > 0 || err != nil || n <= 0 {
			return kept, err
		}
		if len(all) == 0 {
			return nil, io.EOF
		}
	}
}

// ReadLines returns n lines from the given one, counted from 1, and fewer if
// they are long. However large the file, it takes little memory and bounded
// time. A file of up to MaxFile bytes is remembered for the stale check.
func (f *Files) ReadLines(name string, from, n int) (rootfs.Page, error) {
	p, err := f.find(name, true, false)
	if err != nil {
		return rootfs.Page{}, err
	}
	in, info, err := f.Tree.Open(name, p)
	if err != nil {
		return rootfs.Page{}, err
	}
	defer in.Close()
	if info.Size() <= rootfs.PageText {
		b, err := f.Load(name, p)
		if err != nil {
			return rootfs.Page{}, err
		}
		if err := f.Note(p, rootfs.Digest(b)); err != nil {
			return rootfs.Page{}, err
		}
		return rootfs.PageOf(b, from, n)
	}
	page, err := rootfs.ReadPage(in, from, n, func(sum string, whole bool) error {
		if !whole || info.Size() > MaxFile {
			return nil
		}
		return f.Note(p, sum)
	})
	page.Size = info.Size()
	if err != nil {
		return rootfs.Page{}, f.Tree.ExplainAs(name, err)
	}
	return page, nil
}

// ReadText reads a text file and remembers it for the stale check. A binary
// file, or one whose bytes could not be restored, is an *EncodingError.
func (f *Files) ReadText(name string) (rootfs.Text, error) {
	b, err := f.ReadFile(name)
	if err != nil {
		return rootfs.Text{}, err
	}
	t, reason := rootfs.Decode(b)
	if reason != "" {
		return rootfs.Text{}, &rootfs.EncodingError{Name: name, Reason: reason}
	}
	return t, nil
}

// WriteText writes a Text back. Lines that were not edited keep their bytes. A
// Text that was not read, such as Text{Content: s}, is written as UTF-8.
func (f *Files) WriteText(name string, t rootfs.Text) error {
	b, reason := t.Encode()
	if reason != "" {
		return &rootfs.EncodingError{Name: name, Reason: reason}
	}
	return f.WriteFile(name, b)
}

// Revert takes back what the step of f has changed so far, for a step that was
// interrupted, so that it can be performed again. It reports false, and changes
// nothing, if that cannot be done for certain: because somebody else has
// changed one of the files since, or because links or directories were changed.
func (f *Files) Revert() (bool, error) {
	if f.Ledger == nil || f.Ledger.StepPath == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.Tree.Lock()()
	nets := f.Ledger.OwnChanges()
	var todo []ledger.PathChange
	for _, n := range slices.Backward(nets) {
		now, err := f.Tree.State(string(n.Path), nil)
		if err != nil {
			return false, err
		}
		switch {
		case n.Uncertain:
			return false, nil
		case now.Type == n.Before.Type && now.Digest == n.Before.Digest:
			continue
		case now.Type != n.After.Type || now.Digest != n.After.Digest:
			return false, nil
		case n.Before.Type == rootfs.TypeDir || n.Before.Type == rootfs.TypeLink || n.After.Type == rootfs.TypeLink:
			return false, nil
		}
		todo = append(todo, ledger.PathChange{Path: n.Path, Before: now, After: n.Before})
	}
	for _, d := range todo {
		if err := f.restore(d); err != nil {
			return false, err
		}
	}
	return true, nil
}

// restore gives a path the state d.After, whose content the ledger has.
func (f *Files) restore(d ledger.PathChange) error {
	p := string(d.Path)
	if d.After.Type == "" {
		return f.commit("", []ledger.PathChange{d}, func() error {
			if err := f.Tree.Root.Remove(p); err != nil {
				return f.Tree.Explain(p, err)
			}
			return f.Tree.Sync(path.Dir(p))
		})
	}
	data, err := f.Ledger.Load(d.After.Digest)
	if err != nil {
		return err
	}
	temp := rootfs.TempName(p)
	return f.commit(temp, []ledger.PathChange{d}, func() error {
		return f.Tree.Put(p, temp, d.After.Mode, bytes.NewReader(data))
	})
}

// Watch notes how the files are, for work that somebody else does among them
// and that [Snapshot.Record] then takes into the ledger, under the step of f.
// It returns nil where no ledger is kept.
func (f *Files) Watch(ctx context.Context) (*ledger.Snapshot, error) {
	if f.Ledger == nil {
		return nil, nil
	}
	return f.Ledger.Snapshot(f.Context(ctx), f.Dir())
}
