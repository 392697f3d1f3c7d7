package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// A checks is the module in a directory. What it reads of a file it keeps for the
// next platform.
type checks struct {
	dir      string // absolute
	cache    string // for what was linked
	out      io.Writer
	fset     *token.FileSet
	files    sync.Map            // path to func() (*ast.File, error)
	compiled map[string][]string // files of each package, by its ID, on the first platform
}

func open(dir string, out io.Writer) (*checks, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cache := os.Getenv("ADROIT_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		cache = filepath.Join(home, ".cache", "adroit")
	}
	return &checks{dir: abs, cache: cache, out: out, fset: token.NewFileSet(), compiled: map[string][]string{}}, nil
}

// load returns the packages of the module and their tests, with types, and below them
// all that they import.
func (c *checks) load(env []string) ([]*packages.Package, error) {
	return packages.Load(&packages.Config{
		Mode:      packages.LoadAllSyntax | packages.NeedModule | packages.NeedForTest,
		Dir:       c.dir,
		Env:       env,
		Fset:      c.fset,
		ParseFile: c.parse,
		Tests:     true,
	}, "./...")
}

// parse reads a file once. Outside the module it omits bodies of functions and elements of tables:
// only their types are needed.
func (c *checks) parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	read := sync.OnceValues(func() (*ast.File, error) {
		f, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
		if f != nil && !c.within(name) {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					d.Body = nil
				case *ast.GenDecl:
					empty(d)
				}
			}
			f.Comments = nil
		}
		return f, err
	})
	kept, _ := c.files.LoadOrStore(name, read)
	return kept.(func() (*ast.File, error))()
}

// empty leaves out the elements of literals whose type does not depend on them.
func empty(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, x := range v.Values {
			if ref, ok := x.(*ast.UnaryExpr); ok {
				x = ref.X
			}
			lit, ok := x.(*ast.CompositeLit)
			if !ok {
				continue
			}
			if array, ok := lit.Type.(*ast.ArrayType); ok && array.Len != nil {
				if _, counted := array.Len.(*ast.Ellipsis); counted {
					continue
				}
			}
			lit.Elts = nil
		}
	}
}

func (c *checks) within(name string) bool {
	return strings.HasPrefix(name, c.dir+string(filepath.Separator))
}

// own reports whether a package is of the module, and not the main that go test writes.
func own(p *packages.Package) bool {
	return p.Module != nil && p.Module.Main && !strings.HasSuffix(p.PkgPath, ".test")
}

// foreign returns the packages of other modules below list, with their versions.
func foreign(list []*packages.Package) []string {
	found := map[string]bool{}
	packages.Visit(list, nil, func(p *packages.Package) {
		if p.Module != nil && !p.Module.Main {
			found[p.PkgPath+"@"+p.Module.Version] = true
		}
	})
	return slices.Sorted(maps.Keys(found))
}
