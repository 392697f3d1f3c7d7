package navigate

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

const (
	maxIndexes = 8       // workspaces that are kept; a process rarely has more
	maxIndexed = 400_000 // declarations of a workspace that are kept
	// patienceToIndex bounds what a call spends on files that it needs not parse.
	patienceToIndex = time.Second
	// settled is the age from which a modification time identifies a content: a
	// file may change twice within the resolution of its file system's clock.
	settled = 2 * time.Second
)

// indexes are the declarations of the workspaces of this process, by directory.
// ADR 0050 has why they are in memory.
var indexes struct {
	sync.Mutex
	byDir map[string]*index
}

// An index keeps the declarations of Go files by modification time and size. It
// is safe for concurrent use. It answers only for files that its caller listed,
// so that callers with other deny lists share it.
type index struct {
	mu    sync.Mutex
	files map[string]indexedFile
	count int // of declarations
}

type indexedFile struct {
	size         int64
	time         time.Time
	syms, fields []tools.Symbol
}

func indexOf(dir string) *index {
	indexes.Lock()
	defer indexes.Unlock()
	if x := indexes.byDir[dir]; x != nil {
		return x
	}
	if len(indexes.byDir) >= maxIndexes || indexes.byDir == nil {
		indexes.byDir = map[string]*index{}
	}
	x := &index{files: map[string]indexedFile{}}
	indexes.byDir[dir] = x
	return x
}

// get returns the entry of a file if it has not changed since.
func (x *index) get(e workspace.Entry) (indexedFile, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, ok := x.files[e.Name]
	return f, ok && f.size == e.Size && f.time.Equal(e.Time)
}

func (x *index) put(name string, f indexedFile, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, ok := x.files[name]; ok {
		x.count -= len(old.syms) + len(old.fields)
		delete(x.files, name)
	}
	if n := len(f.syms) + len(f.fields); now.Sub(f.time) > settled && x.count+n <= maxIndexed {
		x.files[name] = f
		x.count += n
	}
}

// keepOnly drops files that are not in the workspace any more.
func (x *index) keepOnly(entries []workspace.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.files) <= len(entries) {
		return
	}
	have := make(map[string]bool, len(entries))
	for _, e := range entries {
		have[e.Name] = true
	}
	for name, f := range x.files {
		if !have[name] {
			x.count -= len(f.syms) + len(f.fields)
			delete(x.files, name)
		}
	}
}

// named returns the declarations of a name in Go files and, apart, the fields of
// that name. It parses files that changed since the last call.
func (c code) named(ctx context.Context, entries []workspace.Entry, word string) (syms, inner []tools.Symbol) {
	x := indexOf(c.env.Files.Dir())
	x.keepOnly(entries)
	until := time.Now().Add(patienceToIndex)
	found := make([]indexedFile, len(entries))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f, ok := x.get(entries[i])
				if !ok {
					now := time.Now()
					text, err := c.read(entries[i].Name)
					if err != nil {
						continue // gone meanwhile, or not for us to read
					}
					if now.After(until) && !strings.Contains(text, word) {
						continue // it does not declare word; a later call indexes it
					}
					f = indexedFile{size: entries[i].Size, time: entries[i].Time}
					f.syms, f.fields = declared(entries[i].Name, text)
					x.put(entries[i].Name, f, now)
				}
				found[i] = f
			}
		})
	}
	workers.Wait()
	for _, f := range found {
		for _, s := range f.syms {
			if s.Name == word {
				syms = append(syms, s)
			}
		}
		for _, s := range f.fields {
			if s.Name == word {
				inner = append(inner, s)
			}
		}
	}
	return syms, inner
}
