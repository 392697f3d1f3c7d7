// Package definitions holds what the catalogs of agents and pipelines share: named
// definitions, each read from a file in the directory of a layer.
//
//	files, err := definitions.Files(layer.FS, ".md", maxFile)
//	for _, f := range files {
//		set[name] = &definitions.Entry[Agent, Problems]{agent, problems}
//
// It does not know what a definition is, nor what can be wrong with one.
package definitions

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// An Entry is a definition and what is wrong with its file.
type Entry[T any, P Problems] struct {
	Value    *T // nil if the file could not be read
	Problems P
}

// Problems are what is wrong with a file. Err is nil if it can be used all the same.
type Problems interface{ Err() error }

// A Set holds definitions by name. A nil Set is empty.
type Set[T any, P Problems] map[string]*Entry[T, P]

// Clone returns a copy of the set.
func (s Set[T, P]) Clone() Set[T, P] {
	if s == nil {
		return Set[T, P]{}
	}
	return maps.Clone(s)
}

// Names returns the names, sorted.
func (s Set[T, P]) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Usable returns the definitions that can be used, by name.
func (s Set[T, P]) Usable() []*T {
	var out []*T
	for _, name := range s.Names() {
		if e := s[name]; e.Value != nil && e.Problems.Err() == nil {
			out = append(out, e.Value)
		}
	}
	return out
}

// A File is one file of definitions.
type File struct {
	Name string
	Text []byte // as far as limit, and one byte more
	Err  error  // of reading it
}

// Files reads the files of a directory that end in suffix, but for hidden ones and a
// README. A directory that is nil or not there is empty.
func Files(dir fs.FS, suffix string, limit int64) ([]File, error) {
	if dir == nil {
		return nil, nil
	}
	list, err := fs.ReadDir(dir, ".")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var files []File
	for _, f := range list {
		if f.IsDir() || !strings.HasSuffix(f.Name(), suffix) || strings.HasPrefix(f.Name(), ".") || strings.EqualFold(f.Name(), "README"+suffix) {
			continue
		}
		text, err := read(dir, f.Name(), limit+1)
		files = append(files, File{f.Name(), text, err})
	}
	return files, nil
}

func read(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
