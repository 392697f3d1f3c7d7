// Package definitions holds what the catalogs of agents, pipelines and problems share:
// named definitions, each read from a file in the directory of a layer.
//
//	kind := definitions.Kind[Agent]{Noun: "agent", Suffix: ".md", Limit: maxFile, Name: nameOf, Read: parse}
//	set, problems := kind.Load(layers...)
//
// It does not know what a definition is, nor what can be wrong with the text of one.
package definitions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
)

// An Entry is a definition and what is wrong with its file.
type Entry[T any] struct {
	Value    *T // nil if the file could not be read
	Problems agents.Problems
}

// A Set holds definitions by name. A nil Set is empty.
type Set[T any] map[string]*Entry[T]

// Clone returns a copy of the set.
func (s Set[T]) Clone() Set[T] {
	if s == nil {
		return Set[T]{}
	}
	return maps.Clone(s)
}

// Names returns the names, sorted.
func (s Set[T]) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Usable returns the definitions that can be used, by name.
func (s Set[T]) Usable() []*T {
	var out []*T
	for _, name := range s.Names() {
		if e := s[name]; e.Value != nil && e.Problems.Err() == nil {
			out = append(out, e.Value)
		}
	}
	return out
}

// A Kind is how definitions of a type are read from files.
type Kind[T any] struct {
	Noun   string // as in agent
	Suffix string // of the files, as in .md
	Limit  int64  // bytes of a file; Read gets one more of a longer one
	Name   func(*T) string
	// Read reads the text of a file of the layer; nil if it cannot be a definition.
	Read func(l agents.Layer, file string, text []byte) (*T, agents.Problems)
}

// Load reads the definitions of the layers, later ones over earlier ones. A file that
// cannot be used does not keep the others from loading, and does not uncover the
// definition it was to replace.
func (k Kind[T]) Load(layers ...agents.Layer) (Set[T], agents.Problems) {
	s := Set[T]{}
	var all agents.Problems
	for _, l := range layers {
		files, bad := Files(l, k.Suffix, k.Limit)
		all = append(all, bad...)
		in := map[string]string{} // name to file, in this layer
		for _, f := range files {
			e := &Entry[T]{Problems: f.Problems}
			name := strings.TrimSuffix(path.Base(f.Path), k.Suffix)
			if f.Problems == nil {
				e.Value, e.Problems = k.Read(l, f.Path, f.Text)
			}
			if e.Value != nil {
				name = k.Name(e.Value)
			}
			if other, twice := in[name]; twice {
				e.Problems = append(e.Problems, agents.Problem{File: f.Path, Line: 1, Col: 1, Severity: agents.Error,
					Message: fmt.Sprintf("the %s %s is also in %s", k.Noun, name, other), Hint: "rename one of them"})
			}
			in[name], s[name] = f.Path, e
			all = append(all, e.Problems...)
		}
	}
	return s, all
}

// A File is one file of definitions.
type File struct {
	Path     string          // with the directory of its layer
	Text     []byte          // as far as the limit, and one byte more
	Problems agents.Problems // of reading it
}

// Files reads the files of a layer that end in suffix, but for hidden ones and a
// README. A directory that is nil or not there is empty.
func Files(l agents.Layer, suffix string, limit int64) ([]File, agents.Problems) {
	if l.FS == nil {
		return nil, nil
	}
	list, err := fs.ReadDir(l.FS, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(l.Dir, "the directory", err)
	}
	var files []File
	for _, f := range list {
		if f.IsDir() || !strings.HasSuffix(f.Name(), suffix) || strings.HasPrefix(f.Name(), ".") || strings.EqualFold(f.Name(), "README"+suffix) {
			continue
		}
		one := File{Path: path.Join(l.Dir, f.Name())}
		if one.Text, err = read(l.FS, f.Name(), limit+1); err != nil {
			one.Problems = unreadable(one.Path, "the file", err)
		}
		files = append(files, one)
	}
	return files, nil
}

func unreadable(file, what string, err error) agents.Problems {
	return agents.Problems{{File: file, Severity: agents.Error, Message: what + " cannot be read: " + err.Error()}}
}

func read(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
