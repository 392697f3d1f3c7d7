package agents

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/configs"
)

// An entry is a definition and what is wrong with its file.
type entry[T any] struct {
	// Former is of an entry that may have former names too.
	Former bool
	parse  func() (*T, Problems)
}

// Of returns the entry of a definition with which nothing is wrong.
func Of[T any](value *T) *entry[T] {
	return &entry[T]{parse: func() (*T, Problems) { return value, nil }}
}

// Value returns the definition, nil if the file could not be read, and what is wrong
// with the file. It parses the file the first time.
func (e *entry[T]) Value() (*T, Problems) { return e.parse() }

// A Set holds definitions by name. A nil Set is empty.
type Set[T any] map[string]*entry[T]

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
		if value, problems := s[name].Value(); value != nil && problems.Err() == nil {
			out = append(out, value)
		}
	}
	return out
}

// A Kind describes how definitions of a type are read.
type Kind[T any] struct {
	Noun   string // as in agent
	Suffix string // of the files, as in .md
	Limit  int64  // bytes of a file; Read gets one more of a longer one
	Name   func(*T) string
	Front  func(text string) string // the fields of a text in YAML; nil is all of it
	// Read reads the text of a file of the layer; nil if it cannot be a definition.
	Read func(l Layer, file string, text []byte) (*T, Problems)
}

// Load finds the definitions of the layers, later ones over earlier ones, and returns
// what is wrong with any file. A file that cannot be used does not keep the others
// from loading, and does not uncover the definition it was to replace.
func (k Kind[T]) Load(layers ...Layer) (Set[T], func() Problems) {
	s := Set[T]{}
	var unread Problems
	var all []*entry[T]
	for _, l := range layers {
		files, bad := Files(l, k.Suffix, k.Limit)
		unread = append(unread, bad...)
		in := map[string]string{} // name to file, in this layer
		for _, f := range files {
			if l.Claude && k.Front != nil && f.Problems == nil && !opensFront(f.Text) {
				unread = append(unread, Problem{File: f.Path, Line: 1, Col: 1, Severity: Note,
					Message: "it is passed over, as Claude Code does: a file without front matter is no " + k.Noun})
				continue
			}
			name, e := k.entry(l, f)
			if other, twice := in[name]; twice {
				read := e.parse
				e.parse = func() (*T, Problems) {
					value, problems := read()
					return value, append(slices.Clip(problems), Problem{File: f.Path, Line: 1, Col: 1, Severity: Error,
						Message: fmt.Sprintf("the %s %s is also in %s", k.Noun, name, other), Hint: "rename one of them"})
				}
			}
			in[name], s[name] = f.Path, e
			all = append(all, e)
		}
	}
	return s, func() Problems {
		problems := slices.Clip(unread)
		for _, e := range all {
			_, more := e.Value()
			problems = append(problems, more...)
		}
		return problems
	}
}

// opensFront reports whether a text begins as front matter does, or cannot be read, which
// is for its reader to say.
func opensFront(text []byte) bool {
	s, err := normalized(text)
	_, ok := opens(s)
	return err != nil || ok
}

// entry returns a file's entry, under its name.
func (k Kind[T]) entry(l Layer, f file) (name string, e *entry[T]) {
	name = strings.TrimSuffix(path.Base(f.Path), k.Suffix)
	if f.Problems != nil {
		return name, &entry[T]{parse: func() (*T, Problems) { return nil, f.Problems }}
	}
	fields := string(f.Text)
	if k.Front != nil {
		fields = k.Front(fields)
	}
	alike, former := nameMatches(fields, name)
	e = &entry[T]{Former: former, parse: sync.OnceValues(func() (*T, Problems) { return k.Read(l, f.Path, f.Text) })}
	if alike {
		return name, e
	}
	if value, _ := e.Value(); value != nil {
		name = k.Name(value)
	}
	return name, e
}

// named reports whether the fields of a YAML text cannot give its definition another
// name than that of its file, so that it need not be parsed for that, and whether they
// may give it former ones. No and yes may be wrong.
func nameMatches(text, file string) (alike, former bool) {
	alike = text != "" && 'a' <= text[0] && text[0] <= 'z' // or the fields may be further in
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.ContainsRune(" \t#", rune(line[0])) {
			continue // a field goes on, or there is none
		}
		key, value, ok := strings.Cut(line, ":")
		plain := ok && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && (value == "" || value[0] == ' ')
		alike = alike && plain && (key != "name" || value == " "+file)
		former = former || key == "aliases"
	}
	return alike, former || !alike
}

// A file is one file of definitions.
type file struct {
	Path     string   // with the directory of its layer
	Text     []byte   // as far as the limit, and one byte more
	Problems Problems // of reading it
}

// Files reads the files of a layer that [configs.Defines] names, in one of Claude
// Code in the directories below as well. A directory that is nil or not there is empty.
func Files(l Layer, suffix string, limit int64) (files []file, bad Problems) {
	if l.FS == nil {
		return nil, nil
	}
	err := fs.WalkDir(l.FS, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			bad = append(bad, unreadable(path.Join(l.Dir, name), "the directory", err)...)
			return fs.SkipDir
		case e.IsDir() && name != "." && (!l.Claude || strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case e.IsDir() || !configs.Defines(name, suffix, l.Claude):
			return nil
		}
		one := file{Path: path.Join(l.Dir, name)}
		if one.Text, err = read(l.FS, name, limit+1); err != nil {
			one.Problems = unreadable(one.Path, "the file", err)
		}
		files = append(files, one)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(l.Dir, "the directory", err)
	}
	return files, bad
}

func unreadable(file, what string, err error) Problems {
	return Problems{{File: file, Severity: Error, Message: what + " cannot be read: " + err.Error()}}
}

func read(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
