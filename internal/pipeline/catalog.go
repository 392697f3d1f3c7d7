package pipeline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
)

// A Layer is a directory of pipelines: *.yaml at the top of FS. A nil FS, or a
// directory that is not there, is an empty layer.
type Layer struct {
	Name string // built in, user, project: for people
	FS   fs.FS
	Dir  string // where FS is, for the file names in problems; may be empty
}

// A Catalog is the pipelines of some layers, later ones over earlier ones. It
// never changes and is safe for concurrent use. A nil Catalog is empty.
type Catalog struct {
	entries map[string]*entry
}

type entry struct {
	pipeline *Pipeline // nil if the file could not be read
	problems agents.Problems
}

// Load reads all pipelines of the layers. A file that cannot be used does not
// keep the others from loading, and does not uncover the pipeline it was to
// replace: [Catalog.Lookup] states what is wrong with it.
func Load(layers ...Layer) (*Catalog, agents.Problems) {
	c := &Catalog{entries: map[string]*entry{}}
	var all agents.Problems
	for _, l := range layers {
		all = append(all, c.load(l)...)
	}
	return c, all
}

func (c *Catalog) load(l Layer) agents.Problems {
	if l.FS == nil {
		return nil
	}
	files, err := fs.ReadDir(l.FS, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return agents.Problems{{File: l.Dir, Severity: agents.Error, Message: "the directory cannot be read: " + err.Error()}}
	}
	var all agents.Problems
	in := map[string]string{} // name to file, in this layer
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".yaml") || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		from := Source{Layer: l.Name, File: path.Join(l.Dir, f.Name())}
		name := strings.TrimSuffix(f.Name(), ".yaml")
		e := &entry{}
		if src, err := readFile(l.FS, f.Name()); err != nil {
			e.problems = agents.Problems{{File: from.File, Severity: agents.Error, Message: "the file cannot be read: " + err.Error()}}
		} else {
			e.pipeline, e.problems = parse(from, src)
		}
		if e.pipeline != nil {
			name = e.pipeline.Name
		}
		if other, twice := in[name]; twice {
			e.problems = append(e.problems, agents.Problem{File: from.File, Line: 1, Col: 1, Severity: agents.Error,
				Message: fmt.Sprintf("the pipeline %s is also in %s", name, other), Hint: "rename one of them"})
		}
		in[name] = from.File
		c.entries[name] = e
		all = append(all, e.problems...)
	}
	return all
}

// readFile reads a file as far as Parse takes it, and one byte more.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// With returns a catalog that also has the given pipelines, over those of the
// same name.
func (c *Catalog) With(ps ...*Pipeline) *Catalog {
	out := &Catalog{entries: map[string]*entry{}}
	if c != nil {
		for name, e := range c.entries {
			out.entries[name] = e
		}
	}
	for _, p := range ps {
		out.entries[p.Name] = &entry{pipeline: p}
	}
	return out
}

// Names lists the pipelines, sorted.
func (c *Catalog) Names() []string {
	if c == nil {
		return nil
	}
	return sorted(c.entries)
}

// List gives the pipelines that can be read, by name.
func (c *Catalog) List() []*Pipeline {
	var out []*Pipeline
	for _, name := range c.Names() {
		if e := c.entries[name]; e.pipeline != nil && e.problems.Err() == nil {
			out = append(out, e.pipeline)
		}
	}
	return out
}

// Has reports whether a file claims the name, also one that cannot be used.
func (c *Catalog) Has(name string) bool { return c != nil && c.entries[name] != nil }

// An UnknownError reports a name that no pipeline has.
type UnknownError struct {
	Name  string
	Names []string
}

func (e *UnknownError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("there is no pipeline %s, nor any other", e.Name)
	}
	return fmt.Sprintf("there is no pipeline %s", e.Name)
}

// Lookup finds a pipeline. The error is an *UnknownError, or an
// *agents.ProblemError if its file cannot be read.
func (c *Catalog) Lookup(name string) (*Pipeline, error) {
	if !c.Has(name) {
		return nil, &UnknownError{name, c.Names()}
	}
	e := c.entries[name]
	if err := e.problems.Err(); err != nil {
		return nil, err
	}
	return e.pipeline, nil
}

// Lint gives all that is wrong with all pipelines, by file and place.
func (c *Catalog) Lint(k Known) agents.Problems {
	k.Pipelines = c
	var all agents.Problems
	for _, name := range c.Names() {
		e := c.entries[name]
		all = append(all, e.problems...)
		if e.pipeline != nil {
			all = append(all, Lint(e.pipeline, k)...)
		}
	}
	return all.Sort()
}
