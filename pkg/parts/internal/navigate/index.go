package navigate

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/maphash"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
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

// An index keeps what files declare and which names they use, by modification
// time and size. It is safe for concurrent use. It answers only for files that
// its caller listed, so that callers with other deny lists share it.
type index struct {
	mu    sync.Mutex
	files map[string]indexedFile
	names map[nameID]nameCount
	count int // of declarations
}

type indexedFile struct {
	size         int64
	time, read   time.Time
	syms, fields []tools.Symbol
	declares     []nameID // the names of syms
	uses         []nameID
	words        []nameID // all, in order; nil for Go
}

// A nameCount counts the files that use a name and the declarations of it.
type nameCount struct{ users, declared int32 }

var hashSeed = maphash.MakeSeed()

// A nameID stands for a name among those that can mean the same: of languages
// that call each other, and of one package if it is not exported from Go. Two
// names hardly ever have one, and then only a rank is wrong.
type nameID uint32

func nameOf(file, name string) nameID {
	ext := path.Ext(file)
	scope := ext
	if lang := languages[strings.TrimPrefix(ext, ".")]; lang != nil && lang.family != "" {
		scope = lang.family
	} else if ext == ".go" && !token.IsExported(name) {
		scope = path.Dir(file)
	}
	var h maphash.Hash
	h.SetSeed(hashSeed)
	_, _ = h.WriteString(scope)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(name)
	return nameID(h.Sum64())
}

func namesOf(file string, names map[string]bool) []nameID {
	ids := make([]nameID, 0, len(names))
	for name := range names {
		ids = append(ids, nameOf(file, name))
	}
	slices.Sort(ids)
	return slices.Clip(slices.Compact(ids))
}

// parse lists the names that a file declares and uses.
func parse(e workspace.Entry, text string) indexedFile {
	f := indexedFile{size: e.Size, time: e.Time}
	var words, used map[string]bool
	if isGo(e.Name) {
		f.syms, f.fields, used = declared(e.Name, text)
	} else {
		f.syms, words, used = scan(e.Name, text)
	}
	for _, s := range f.syms {
		f.declares = append(f.declares, nameOf(e.Name, s.Name))
	}
	f.uses, f.words = namesOf(e.Name, used), namesOf(e.Name, words)
	return f
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
	x := &index{files: map[string]indexedFile{}, names: map[nameID]nameCount{}}
	indexes.byDir[dir] = x
	return x
}

// get returns the entry of a file if it has not changed since.
func (x *index) get(e workspace.Entry) (indexedFile, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, ok := x.files[e.Name]
	return f, ok && f.size == e.Size && f.time.Equal(e.Time) && f.read.Sub(f.time) > settled
}

func (x *index) put(name string, f indexedFile) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(name)
	if n := len(f.syms) + len(f.fields); x.count+n <= maxIndexed {
		x.files[name] = f
		x.add(f, 1)
	}
}

// drop forgets a file. The caller holds mu.
func (x *index) drop(name string) {
	if f, ok := x.files[name]; ok {
		x.add(f, -1)
		delete(x.files, name)
	}
}

// add counts a file's names, or no longer. The caller holds mu.
func (x *index) add(f indexedFile, n int32) {
	x.count += int(n) * (len(f.syms) + len(f.fields))
	change := func(id nameID, users, declared int32) {
		c := x.names[id]
		if c.users, c.declared = c.users+users, c.declared+declared; c == (nameCount{}) {
			delete(x.names, id)
			return
		}
		x.names[id] = c
	}
	for _, id := range f.uses {
		change(id, n, 0)
	}
	for _, id := range f.declares {
		change(id, 0, n)
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
	for name := range x.files {
		if !have[name] {
			x.drop(name)
		}
	}
}

// index returns what each file declares and uses. It parses files that changed
// since the last call and that the caller needs, and others for a second at most.
func (c code) index(ctx context.Context, entries []workspace.Entry, needed func(text string) bool) []indexedFile {
	x := indexOf(c.env.Files.Dir())
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
					if err != nil || isBinary(text) {
						continue // gone meanwhile, not for us to read, or not text
					}
					if now.After(until) && !needed(text) {
						continue // a later call indexes it
					}
					f = parse(entries[i], text)
					f.read = now
					x.put(entries[i].Name, f)
				}
				found[i] = f
			}
		})
	}
	workers.Wait()
	return found
}

// named returns the declarations of a name in Go files, apart the fields of
// that name, and the other files in which the word is.
func (c code) named(ctx context.Context, entries []workspace.Entry, word string) (syms, inner []tools.Symbol, others []indexedFile, names []string) {
	indexOf(c.env.Files.Dir()).keepOnly(entries)
	take := func(to *[]tools.Symbol, from []tools.Symbol) {
		for _, s := range from {
			if s.Name == word {
				*to = append(*to, s)
			}
		}
	}
	for i, f := range c.index(ctx, entries, func(text string) bool { return strings.Contains(text, word) }) {
		if isGo(entries[i].Name) {
			take(&syms, f.syms)
			take(&inner, f.fields)
		} else if _, ok := slices.BinarySearch(f.words, nameOf(entries[i].Name, firstWord(word))); ok {
			others, names = append(others, f), append(names, entries[i].Name)
		}
	}
	return syms, inner, others, names
}

// firstWord returns the part of a name such as valid? or my-function that a scan finds.
func firstWord(name string) string {
	for i := range len(name) {
		if !isWord(name[i]) {
			return name[:i]
		}
	}
	return name
}

// declared lists the declarations of a Go file, as far as it can be parsed, apart
// the fields of its structs, which are no part of an outline but names that one
// asks for, and the names that are exported, called or selected.
func declared(name, text string) (syms, fields []tools.Symbol, used map[string]bool) {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if f == nil {
		return nil, nil, nil
	}
	used = map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				used[id.Name] = true
			}
		case *ast.SelectorExpr:
			used[n.Sel.Name] = true
		case *ast.Ident:
			if n.IsExported() {
				used[n.Name] = true
			}
		}
		return true
	})
	return symbolsOf(fset, name, f), fieldsOf(fset, name, f), used
}

func symbolsOf(fset *token.FileSet, name string, f *ast.File) []tools.Symbol {
	var syms []tools.Symbol
	add := func(id *ast.Ident, kind string, end token.Pos, depth int) {
		p := fset.Position(id.Pos())
		syms = append(syms, tools.Symbol{Name: id.Name, Kind: kind, Depth: depth, End: fset.Position(end).Line,
			Location: tools.Location{File: name, Line: p.Line, Column: p.Column}})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			kind := "func"
			if d.Recv != nil {
				kind = "method"
			}
			add(d.Name, kind, d.End(), 0)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name, "type", s.End(), 0)
					if t, ok := s.Type.(*ast.InterfaceType); ok {
						for _, m := range t.Methods.List {
							for _, id := range m.Names {
								add(id, "method", m.End(), 1)
							}
						}
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.Name != "_" {
							add(id, d.Tok.String(), s.End(), 0)
						}
					}
				}
			}
		}
	}
	return syms
}

func fieldsOf(fset *token.FileSet, name string, f *ast.File) []tools.Symbol {
	var syms []tools.Symbol
	ast.Inspect(f, func(n ast.Node) bool {
		if t, ok := n.(*ast.StructType); ok && t.Fields != nil {
			for _, field := range t.Fields.List {
				for _, id := range field.Names {
					p := fset.Position(id.Pos())
					syms = append(syms, tools.Symbol{Name: id.Name, Kind: "field", Location: tools.Location{File: name, Line: p.Line, Column: p.Column}})
				}
			}
		}
		return true
	})
	return syms
}

const (
	mostRanked  = 300    // declarations of a map
	mostPerFile = 12     // of them, of one file
	mostSorted  = 10_000 // declarations that can be among them
	maxMap      = 12_000 // bytes, about 4,000 tokens
)

// A rankedFile is a file with those of its declarations that others use most.
type rankedFile struct {
	name  string
	score float64
	syms  []tools.Symbol
}

// repoMap shows the declarations that most files use, for a folder that is too
// large for an outline of everything.
func (c code) repoMap(ctx context.Context, entries []workspace.Entry) (tools.Result, error) {
	found := c.index(ctx, entries, func(string) bool { return true })
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%d files: the declarations that most of them use, first the most used files; narrow by path for all of a folder]\n", len(entries))
	total, shown := 0, 0
	for _, f := range indexOf(c.env.Files.Dir()).rank(found) {
		text, err := c.read(f.name)
		if err != nil {
			continue // gone meanwhile
		}
		if b.Len() > maxMap {
			break
		}
		write(&b, f.name, text, f.syms)
		total += len(f.syms)
		shown++
	}
	return tools.Result{Text: b.String(), Summary: fmt.Sprintf("the %d most used declarations, in %s of %d", total, spelling.Plural(shown, "file"), len(entries))}, nil
}

// rank chooses the declarations that most other files use by name. A name that
// many files declare says little of any of them.
func (x *index) rank(found []indexedFile) []*rankedFile {
	type scored struct {
		score     float64
		file, sym int
	}
	var all []scored
	x.mu.Lock()
	for i, f := range found {
		for j, s := range f.syms {
			n := x.names[f.declares[j]]
			score := float64(n.users) / float64(max(n.declared*n.declared, 1))
			if n.users > 1 && score >= 1 && len(s.Name) > 2 { // the file itself is one of them
				all = append(all, scored{score, i, j})
			}
		}
	}
	x.mu.Unlock()
	for least := 2.0; len(all) > mostSorted; least *= 2 {
		all = slices.DeleteFunc(all, func(d scored) bool { return d.score < least })
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.file, b.file), cmp.Compare(a.sym, b.sym))
	})
	by := map[int]*rankedFile{}
	var files []*rankedFile
	left := mostRanked
	for _, d := range all {
		f, s := by[d.file], found[d.file].syms[d.sym]
		if f == nil {
			f = &rankedFile{name: s.File}
			by[d.file], files = f, append(files, f)
		}
		if len(f.syms) < mostPerFile {
			f.syms = append(f.syms, s)
			f.score += d.score
			left--
		}
		if left == 0 {
			break
		}
	}
	for _, f := range files {
		slices.SortFunc(f.syms, func(a, b tools.Symbol) int { return cmp.Compare(a.Line, b.Line) })
	}
	slices.SortStableFunc(files, func(a, b *rankedFile) int { return cmp.Compare(b.score, a.score) })
	return files
}
