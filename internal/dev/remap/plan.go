package main

import (
	"fmt"
	"os"
	"strings"
)

const module = "github.com/adroit-run/adroit"

// A plan says where folders go.
type plan struct {
	to    map[string]place  // by old folder
	order []string          // old folders as they were listed
	names map[object]string // names that somebody chose
	words []string          // files whose literals name nothing of the tree
}

type place struct{ dir, name string }

// An object is a package-level name. In tests of another package (foo_test) the
// folder ends in "_test".
type object struct{ dir, name string }

func readMap(mapFile, namesFile string) (*plan, error) {
	p := &plan{to: map[string]place{}, names: map[object]string{}}
	b, err := os.ReadFile(mapFile)
	if err != nil {
		return nil, err
	}
	for l := range strings.Lines(string(b)) {
		f := strings.Fields(l)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 2 || len(f) > 3 {
			return nil, fmt.Errorf("%q is no line of a map", l)
		}
		to := place{dir: f[1], name: f[1][strings.LastIndexByte(f[1], '/')+1:]}
		if len(f) == 3 {
			to.name = f[2]
		}
		p.to[f[0]] = to
		p.order = append(p.order, f[0])
	}
	b, err = os.ReadFile(namesFile)
	if os.IsNotExist(err) {
		return p, nil
	}
	for l := range strings.Lines(string(b)) {
		f := strings.Fields(l)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if f[0] == "words" {
			p.words = append(p.words, f[1:]...)
			continue
		}
		dir, name, ok := strings.Cut(f[0], ":")
		if len(f) != 2 || !ok {
			return nil, fmt.Errorf("%q is no line of names", l)
		}
		p.names[object{dir, name}] = f[1]
	}
	return p, err
}

// dest is where a folder goes; others stay.
func (p *plan) dest(dir, name string) place {
	base, test := strings.CutSuffix(dir, "_test")
	to, ok := p.to[base]
	if !ok {
		to = place{dir: base, name: strings.TrimSuffix(name, "_test")}
	}
	if test {
		to.dir += "_test"
		to.name += "_test"
	}
	return to
}
