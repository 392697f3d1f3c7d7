package navigate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
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

// A module is a Go module that is type-checked here as far as a word of it needs: the packages that
// have the word, with the bodies of functions that have it, and of what they import what is declared.
// What comes from elsewhere is not known: names that are only reached through it are missed.
type module struct {
	dir, path string
	read      func(name string) (string, error)
	fset      *token.FileSet
	names     map[string][]string // of files by directory, relative to the workspace
	texts     map[string]string   // of those that have the word
	word      string
	dirs      map[string][]*ast.File // that have been parsed
	checked   map[string]*types.Package
	working   map[string]bool
	info      []*types.Info
	bare      bool // what is imported is not looked at
}

const (
	mostGo    = 20_000 // files of a module
	mostWhole = 5_000  // of those that have the word, which are in memory whole
)

var errNoModule = errors.New("not in a module of the workspace that is small enough to check")

// module checks what a word means in the package that a file is in. all is for references: the other
// packages are looked at as well, and what the package imports only if it has to be.
func (c code) module(ctx context.Context, file, word string, all bool) (*module, error) {
	m := &module{fset: token.NewFileSet(), names: map[string][]string{}, texts: map[string]string{}, word: word,
		dirs: map[string][]*ast.File{}, checked: map[string]*types.Package{}, working: map[string]bool{}}
	m.read = func(name string) (string, error) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		return c.read(name)
	}
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
		if strings.Contains("/"+name, "/vendor/") || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		dir := path.Dir(name)
		m.names[dir] = append(m.names[dir], name)
		if !all && dir != path.Dir(file) {
			continue
		}
		if text, err := m.read(name); err == nil && strings.Contains(text, word) {
			m.texts[name] = text
		}
		if len(m.texts) > mostWhole {
			return nil, errNoModule
		}
	}
	m.bare = all
	m.whole(path.Dir(file))
	return m, ctx.Err()
}

// parse returns the files of a directory. Of a function that does not have the word in its body, the
// body is left out.
func (m *module) parse(dir string) []*ast.File {
	files, done := m.dirs[dir]
	for _, name := range m.names[dir] {
		if done {
			break
		}
		text, has := m.texts[name]
		if !has {
			var err error
			if text, err = m.read(name); err != nil {
				continue
			}
		}
		f, _ := parser.ParseFile(m.fset, name, text, parser.SkipObjectResolution)
		if f == nil {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !(has && strings.Contains(between(m.fset, text, fn.Body), m.word)) {
				fn.Body = nil
			}
		}
		if !m.bare {
			delete(m.texts, name)
		}
		files = append(files, f)
	}
	m.dirs[dir] = files
	return files
}

// between returns a node's text.
func between(fset *token.FileSet, text string, node ast.Node) string {
	from, to := fset.PositionFor(node.Pos(), false).Offset, fset.PositionFor(node.End(), false).Offset
	return text[min(from, len(text)):max(min(from, len(text)), min(to, len(text)))]
}

// whole checks the packages of a directory, with their tests: in the package, then beside it.
func (m *module) whole(dir string) {
	byName := map[string][]*ast.File{}
	for _, f := range m.parse(dir) {
		byName[f.Name.Name] = append(byName[f.Name.Name], f)
	}
	for _, n := range slices.Sorted(maps.Keys(byName)) {
		m.check(m.importPath(dir), byName[n], false)
	}
}

func (m *module) importPath(dir string) string {
	if m.path == "std" { // Go's own library
		return strings.TrimPrefix(strings.TrimPrefix(dir, m.dir), "/")
	}
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
func (m *module) check(importPath string, files []*ast.File, imported bool) *types.Package {
	conf := types.Config{Importer: m, Error: func(error) {}, FakeImportC: true, IgnoreFuncBodies: imported}
	if imported {
		p, _ := conf.Check(importPath, m.fset, files, nil) // what has the word in it is checked whole, too
		return p
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
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
	rel, ok := strings.CutPrefix(importPath+"/", m.path+"/")
	if m.path == "std" {
		rel, ok = importPath, m.names[path.Join(m.dir, importPath)] != nil
	}
	if ok && !m.bare && !m.working[importPath] {
		var files []*ast.File
		for _, f := range m.parse(path.Join(m.dir, rel)) {
			if !strings.HasSuffix(m.fset.Position(f.Package).Filename, "_test.go") {
				files = append(files, f)
			}
		}
		m.working[importPath] = true
		p := m.check(importPath, files, true)
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

// meant is what the name at a spot means, nil if that is not known.
func (m *module) meant(at tools.Location) types.Object {
	for _, info := range m.info {
		for _, names := range []map[*ast.Ident]types.Object{info.Uses, info.Defs} {
			for id, obj := range names {
				if obj != nil && id.Name == m.word && m.spot(id.Pos()) == at {
					return obj
				}
			}
		}
	}
	return nil
}

// declaredAt is the position of the declaration of an object, which may be nil.
func declaredAt(obj types.Object) token.Pos {
	switch o := obj.(type) {
	case *types.Func:
		return o.Origin().Pos()
	case *types.Var:
		return o.Origin().Pos()
	case nil, *types.PkgName:
		return token.NoPos // what is imported is not declared here
	}
	return obj.Pos()
}

func (m *module) spot(pos token.Pos) tools.Location {
	p := m.fset.Position(pos)
	return tools.Location{File: p.Filename, Line: p.Line, Column: p.Column}
}

func (m *module) definition(at tools.Location) (tools.Location, bool) {
	pos := declaredAt(m.meant(at))
	if !pos.IsValid() {
		return tools.Location{}, false
	}
	return m.spot(pos), true
}

func (m *module) references(at tools.Location) []tools.Location {
	obj := m.meant(at)
	if obj != nil && (obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope()) && m.full() {
		obj = m.meant(at)
	}
	pos := declaredAt(obj)
	if !pos.IsValid() {
		return nil
	}
	var spots []tools.Location
	for name, text := range m.texts { // none is left if the packages have been checked with what they import
		spots = append(spots, m.named(obj, name, text)...)
	}
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

// full checks all packages that have the word, with what they import. It reports false if that is done.
func (m *module) full() bool {
	if !m.bare {
		return false
	}
	m.bare, m.info, m.checked, m.dirs = false, nil, map[string]*types.Package{}, map[string][]*ast.File{}
	dirs := map[string]bool{}
	for name := range m.texts {
		dirs[path.Dir(name)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		m.whole(dir)
	}
	return true
}

// named returns where a file has the name of what a package declares at its top: alone in the package, and
// behind the package's name elsewhere. No type is needed for that, but for the keys of literals in the
// package, which have been checked.
func (m *module) named(obj types.Object, name, text string) (spots []tools.Location) {
	home := path.Dir(name) == path.Dir(m.spot(obj.Pos()).File)
	if !home && !strings.Contains(text, `"`+obj.Pkg().Path()+`"`) {
		return nil
	}
	f, _ := parser.ParseFile(m.fset, name, text, 0)
	if f == nil {
		return nil
	}
	alone, before := home && f.Name.Name == obj.Pkg().Name(), map[string]bool{}
	for _, imported := range f.Imports {
		switch local := imported.Name; {
		case imported.Path.Value != `"`+obj.Pkg().Path()+`"`:
		case local == nil:
			before[obj.Pkg().Name()] = true
		default:
			alone = alone || local.Name == "."
			before[local.Name] = true
		}
	}
	keys := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			keys[n.Key] = true
		case *ast.SelectorExpr: // a name that the file itself declares has an Obj
			if x, ok := n.X.(*ast.Ident); ok && n.Sel.Name == m.word && x.Obj == nil && before[x.Name] {
				spots = append(spots, m.spot(n.Sel.Pos()))
			}
		}
		return true
	})
	for _, id := range f.Unresolved {
		if alone && id.Name == m.word && !keys[id] {
			spots = append(spots, m.spot(id.Pos()))
		}
	}
	return spots
}

// References is the tool references.
var References = tools.New(tools.Metadata{
	Name: "references", Category: "code", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "who calls a function", Args: json.RawMessage(`{"name":"Total"}`)}},
	Timeout:  2 * patience,
}.ProseIn(descriptions), references)

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
		if spots, why, err = c.uses(ctx, at, word); err != nil {
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
func (c code) uses(ctx context.Context, tries []tools.Location, word string) (spots []tools.Location, why string, err error) {
	return c.ask(ctx, tries, word, tools.Codebase.References, true, (*module).references)
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
