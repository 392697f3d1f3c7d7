package navigate

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

var (
	moduleLine   = lazyregexp.New(`(?m)^module\s+"?([^\s"]+)`)
	majorVersion = lazyregexp.New(`^v[0-9]+$`)
)

// A module is a Go module that is type-checked here, each package once when it
// is needed. What it imports from elsewhere is not known: names that are only
// reached through it are missed.
type module struct {
	dir, path string
	fset      *token.FileSet
	dirs      map[string][]*ast.File // by directory, relative to the workspace
	checked   map[string]*types.Package
	working   map[string]bool
	info      []*types.Info
}

const mostGo = 5000 // files of a module

var errNoModule = errors.New("not in a module of the workspace that is small enough to check")

// module parses the module that a file is in.
func (c code) module(ctx context.Context, file string) (*module, error) {
	m := &module{fset: token.NewFileSet(), dirs: map[string][]*ast.File{}, checked: map[string]*types.Package{}, working: map[string]bool{}}
	for d := path.Dir(file); ; d = path.Dir(d) {
		if text, err := c.read(path.Join(d, "go.mod")); err == nil {
			if found := moduleLine.FindStringSubmatch(text); found != nil {
				m.dir, m.path = d, found[1]
			}
			break
		}
		if d == "." || d == "/" {
			break
		}
	}
	if m.path == "" {
		return nil, errNoModule
	}
	names, err := c.files(ctx, m.dir, isGo)
	if err != nil {
		return nil, err
	}
	if len(names) > mostGo {
		return nil, errNoModule
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.Contains("/"+name, "/vendor/") || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		text, err := c.read(name)
		if err != nil {
			continue
		}
		if f, _ := parser.ParseFile(m.fset, name, text, parser.SkipObjectResolution); f != nil {
			m.dirs[path.Dir(name)] = append(m.dirs[path.Dir(name)], f)
		}
	}
	m.all()
	return m, nil
}

// all checks every package, with its tests: in the package, then beside it.
func (m *module) all() {
	var dirs []string
	for d := range m.dirs {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	for _, d := range dirs {
		byName := map[string][]*ast.File{}
		for _, f := range m.dirs[d] {
			byName[f.Name.Name] = append(byName[f.Name.Name], f)
		}
		var names []string
		for n := range byName {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			m.check(m.importPath(d), byName[n])
		}
	}
}

func (m *module) importPath(dir string) string {
	if dir == m.dir {
		return m.path
	}
	if m.dir == "." {
		return m.path + "/" + dir
	}
	return m.path + strings.TrimPrefix(dir, m.dir)
}

// check notes what the names in files mean, in spite of all errors. Objects are
// distinguished by where they are declared, so that a package may be checked
// twice: for those that import it without its tests.
func (m *module) check(importPath string, files []*ast.File) *types.Package {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: m, Error: func(error) {}, FakeImportC: true}
	p, _ := conf.Check(importPath, m.fset, files, info)
	m.info = append(m.info, info)
	return p
}

// Import implements types.Importer.
func (m *module) Import(importPath string) (*types.Package, error) {
	if importPath == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m.checked[importPath]; p != nil {
		return p, nil
	}
	if rel, ok := strings.CutPrefix(importPath+"/", m.path+"/"); ok && !m.working[importPath] {
		var files []*ast.File
		for _, f := range m.dirs[path.Join(m.dir, rel)] {
			if !strings.HasSuffix(m.fset.Position(f.Package).Filename, "_test.go") {
				files = append(files, f)
			}
		}
		m.working[importPath] = true
		p := m.check(importPath, files)
		delete(m.working, importPath)
		m.checked[importPath] = p
		return p, nil
	}
	p := types.NewPackage(importPath, guess(importPath))
	p.MarkComplete()
	m.checked[importPath] = p
	return p, nil
}

// guess returns the likely name of a package.
func guess(importPath string) string {
	name := path.Base(importPath)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(importPath))
	}
	name, _, _ = strings.Cut(name, ".")
	return strings.ReplaceAll(strings.TrimPrefix(name, "go-"), "-", "")
}

// object is the position of the declaration of what the name at a spot means.
func (m *module) object(at tools.Location) token.Pos {
	for _, info := range m.info {
		for _, names := range []map[*ast.Ident]types.Object{info.Uses, info.Defs} {
			for id, obj := range names {
				p := m.fset.Position(id.Pos())
				if obj != nil && p.Filename == at.File && p.Line == at.Line && p.Column == at.Column {
					return declaredAt(obj)
				}
			}
		}
	}
	return token.NoPos
}

func declaredAt(obj types.Object) token.Pos {
	switch o := obj.(type) {
	case *types.Func:
		return o.Origin().Pos()
	case *types.Var:
		return o.Origin().Pos()
	case *types.PkgName:
		return token.NoPos // what is imported is not declared here
	}
	return obj.Pos()
}

func (m *module) spot(pos token.Pos) tools.Location {
	p := m.fset.Position(pos)
	return tools.Location{File: p.Filename, Line: p.Line, Column: p.Column}
}

func (m *module) definition(at tools.Location) (tools.Location, bool) {
	pos := m.object(at)
	if !pos.IsValid() {
		return tools.Location{}, false
	}
	return m.spot(pos), true
}

func (m *module) references(at tools.Location) []tools.Location {
	pos := m.object(at)
	if !pos.IsValid() {
		return nil
	}
	var spots []tools.Location
	for _, info := range m.info {
		for _, names := range []map[*ast.Ident]types.Object{info.Uses, info.Defs} {
			for id, obj := range names {
				if obj != nil && declaredAt(obj) == pos {
					spots = append(spots, m.spot(id.Pos()))
				}
			}
		}
	}
	slices.SortFunc(spots, func(a, b tools.Location) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(spots)
}

//go:embed references.md
var referencesProse string

// References is the tool references.
var References = tools.New(tools.Metadata{
	Name: "references", Category: "code", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "who calls a function", Args: json.RawMessage(`{"name":"Total"}`)}},
	Timeout:  2 * patience,
}.Prose(referencesProse), references)

func references(ctx context.Context, env *tools.Env, in nameInput) (tools.Result, error) {
	c := code{env}
	word, err := bare(in.Name)
	if err != nil {
		return tools.Result{}, err
	}
	var at []tools.Location
	if in.Path != "" {
		if at, err = c.near(c.clean(in.Path), in.Line, word); err != nil {
			return tools.Result{}, err
		}
	} else {
		syms, err := c.declarations(ctx, word)
		if err != nil {
			return tools.Result{}, err
		}
		if len(syms) > 1 {
			return tools.Result{}, fmt.Errorf("%s is declared in %d places; give path and line of the one you mean:\n%s", word, len(syms), c.show(locations(syms)))
		}
		if len(syms) == 1 {
			at = locations(syms)
		}
	}
	why := "its declaration was not found"
	if len(at) > 0 {
		var spots []tools.Location
		if spots, why, err = c.uses(ctx, at); err != nil {
			return tools.Result{}, err
		}
		if len(spots) > 0 {
			return c.listed(word, spots, ""), nil
		}
	}
	texts, names, err := c.with(ctx, word, func(name string) bool { return isGo(name) || isSource(name) })
	if err != nil {
		return tools.Result{}, err
	}
	var spots []tools.Location
	for _, name := range names {
		for i, line := range strings.Split(texts[name], "\n") {
			if col := column(line, word); col > 0 {
				spots = append(spots, tools.Location{File: name, Line: i + 1, Column: col})
			}
		}
	}
	if len(spots) == 0 {
		return tools.Result{}, fmt.Errorf("%s does not occur in the workspace's code; use search for other files", word)
	}
	return c.listed(word, spots, "lines with that word, whatever it means there: "+why), nil
}

// uses returns where what is at a location is referred to.
func (c code) uses(ctx context.Context, tries []tools.Location) (spots []tools.Location, why string, err error) {
	return c.ask(ctx, tries, tools.Codebase.References, (*module).references)
}

func (c code) listed(word string, spots []tools.Location, note string) tools.Result {
	res := c.found(word, "reference", spots, note)
	files := map[string]bool{}
	for _, s := range spots {
		files[s.File] = true
	}
	res.Summary = fmt.Sprintf("%s: %s in %s", word, spelling.Plural(len(spots), "reference"), spelling.Plural(len(files), "file"))
	return res
}
