package pipeline

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
)

// A Catalog is the pipelines of some layers, later ones over earlier ones. It
// never changes and is safe for concurrent use. A nil Catalog is empty.
type Catalog struct {
	pipelines agents.Set[Pipeline]
	problems  func() agents.Problems
}

var definition = agents.Kind[Pipeline]{
	Noun: "pipeline", Suffix: ".yaml", Limit: maxFile,
	Name: func(p *Pipeline) string { return p.Name },
	Read: func(l agents.Layer, file string, text []byte) (*Pipeline, agents.Problems) {
		return parse(Source{Layer: l.Name, File: file}, text)
	},
}

// Load finds the pipelines of the layers: *.yaml at the top of each. A file that cannot be used does not
// keep the others from loading, and does not uncover the pipeline it was to
// replace: [Catalog.Lookup] states what is wrong with it.
func Load(layers ...agents.Layer) *Catalog {
	set, problems := definition.Load(layers...)
	return &Catalog{set, problems}
}

// Problems returns what is wrong with any file.
func (c *Catalog) Problems() agents.Problems {
	if c == nil || c.problems == nil {
		return nil
	}
	return c.problems()
}

// With returns a catalog that also has the given pipelines, over those of the
// same name.
func (c *Catalog) With(ps ...*Pipeline) *Catalog {
	var all agents.Set[Pipeline]
	if c != nil {
		all = c.pipelines
	}
	out := &Catalog{pipelines: all.Clone()}
	for _, p := range ps {
		out.pipelines[p.Name] = agents.Of(p)
	}
	return out
}

// Names lists the pipelines, sorted.
func (c *Catalog) Names() []string {
	if c == nil {
		return nil
	}
	return c.pipelines.Names()
}

// List gives the pipelines that can be read, by name.
func (c *Catalog) List() []*Pipeline {
	if c == nil {
		return nil
	}
	return c.pipelines.Usable()
}

// Has reports whether a file claims the name, also one that cannot be used.
func (c *Catalog) Has(name string) bool { return c != nil && c.pipelines[name] != nil }

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
// agents.Problems if its file cannot be read.
func (c *Catalog) Lookup(name string) (*Pipeline, error) {
	if !c.Has(name) {
		return nil, &UnknownError{name, c.Names()}
	}
	p, problems := c.pipelines[name].Value()
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return p, nil
}
