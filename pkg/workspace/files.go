package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
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
