package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A config is one way to build: files of all of them are rewritten together.
type config struct{ os, arch, tags string }

var configs = []config{{"linux", "amd64", ""}, {"linux", "amd64", "failpoints,race"}, {"darwin", "arm64", ""}, {"freebsd", "amd64", ""}}

type remap struct {
	plan     *plan
	files    map[string]*file
	decls    map[string]map[string]bool // package-level names by folder
	names    map[object]string          // what each is named from now on
	aliases  map[object]object          // names that stand for one of a package that becomes the same
	pkgNames map[string]string
	problems []string
}

// A file is a source file with what refers to something.
type file struct {
	path    string // from the root
	dir     string // of its package, "_test" for a test of another package
	pkg     string
	src     []byte
	clause  [2]int
	doc     [2]int
	imports []spec
	uses    map[[2]int]use
	deleted map[[2]int]object // declarations of aliases
	edits   map[[2]int]string
	notes   [][2]int // comments
}

type spec struct {
	start, end int
	name, path string // as written
	std        string // the package's own name
}

// A use is an identifier that refers to a package-level name.
type use struct {
	obj       object
	qualified bool   // start to end is "q.Name"
	q         string // as written
	local     map[string]bool
	nameAt    int // where the name begins
}

func (r *remap) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// folder is the folder of a package of this module.
func folder(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func (r *remap) load(c config) error {
	env := append(os.Environ(), "GOOS="+c.os, "GOARCH="+c.arch, "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Tests: true, Env: env, Fset: token.NewFileSet()}
	if c.tags != "" {
		cfg.BuildFlags = []string{"-tags=" + c.tags}
	}
	list, err := packages.Load(cfg, "./...")
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, p := range list {
		dir, ok := folder(strings.TrimSuffix(p.PkgPath, ".test"))
		if !ok || strings.HasSuffix(p.PkgPath, ".test") {
			continue
		}
		for _, e := range p.Errors {
			if c.os == "linux" {
				r.problem("load %s: %v", c.os, e)
			}
		}
		if p.Types == nil {
			continue
		}
		for _, syntax := range p.Syntax {
			name, err := filepath.Rel(root, cfg.Fset.Position(syntax.Pos()).Filename)
			if err != nil || strings.HasPrefix(name, "..") {
				continue
			}
			r.read(c, p, dir, name, syntax)
		}
	}
	return nil
}

// read takes what a file declares and refers to.
func (r *remap) read(c config, p *packages.Package, dir, name string, syntax *ast.File) {
	tf := p.Fset.File(syntax.Pos())
	off := func(pos token.Pos) int { return tf.Offset(pos) }
	f := r.files[name]
	if f == nil {
		src, err := os.ReadFile(name)
		if err != nil {
			r.problem("read: %v", err)
			return
		}
		f = &file{path: name, dir: dir, pkg: syntax.Name.Name, src: src, uses: map[[2]int]use{}, deleted: map[[2]int]object{}, edits: map[[2]int]string{}}
		f.clause = [2]int{off(syntax.Name.Pos()), off(syntax.Name.End())}
		if syntax.Doc != nil {
			f.doc = [2]int{off(syntax.Doc.Pos()), off(syntax.Doc.End())}
		}
		for _, g := range syntax.Comments {
			f.notes = append(f.notes, [2]int{off(g.Pos()), off(g.End())})
		}
		for _, s := range syntax.Imports {
			sp := spec{start: off(s.Pos()), end: off(s.End()), path: strings.Trim(s.Path.Value, `"`)}
			if s.Name != nil {
				sp.name = s.Name.Name
			}
			if ip := p.Imports[sp.path]; ip != nil {
				sp.std = ip.Name
			}
			f.imports = append(f.imports, sp)
		}
		r.files[name] = f
	}
	for i, sp := range f.imports {
		if sp.std == "" {
			if ip := p.Imports[sp.path]; ip != nil {
				f.imports[i].std = ip.Name
			}
		}
	}
	if r.pkgNames == nil {
		r.pkgNames = map[string]string{}
	}
	r.pkgNames[dir] = p.Name
	if r.decls[dir] == nil {
		r.decls[dir] = map[string]bool{}
	}
	r.declare(f, p, dir, syntax, off)
	r.refer(f, p, syntax, off)
}

// declare notes the package-level names of a file.
func (r *remap) declare(f *file, p *packages.Package, dir string, syntax *ast.File, off func(token.Pos) int) {
	add := func(id *ast.Ident) { r.decls[dir][id.Name] = true }
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name != "init" && d.Name.Name != "_" {
				add(d.Name)
				if t, ok := r.forwards(p, d); ok {
					r.alias(f, dir, d.Name.Name, t, off(start(d.Doc, d)), off(d.End()))
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				from, to := off(start(nil, s)), off(s.End())
				if len(d.Specs) == 1 {
					from, to = off(start(d.Doc, d)), off(d.End())
				}
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
					if len(d.Specs) > 1 {
						from = off(start(s.Doc, s))
					}
					if s.Assign.IsValid() {
						if t, ok := r.target(p, s.Type); ok {
							r.alias(f, dir, s.Name.Name, t, from, to)
						}
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name != "_" {
							add(n)
						}
					}
					if len(d.Specs) > 1 {
						from = off(start(s.Doc, s))
					}
					if len(s.Names) == 1 && len(s.Values) == 1 {
						if t, ok := r.target(p, s.Values[0]); ok {
							r.alias(f, dir, s.Names[0].Name, t, from, to)
						}
					}
				}
			}
		}
	}
}

func start(doc *ast.CommentGroup, n ast.Node) token.Pos {
	if doc != nil {
		return doc.Pos()
	}
	return n.Pos()
}

// alias notes that a name stands for one of a package that becomes the same.
func (r *remap) alias(f *file, dir, name string, t object, from, to int) {
	if r.plan.dest(dir, r.pkgNames[dir]).dir != r.plan.dest(t.dir, "").dir || t.dir == dir {
		return
	}
	r.aliases[object{dir, name}] = t
	f.deleted[[2]int{from, to}] = object{dir, name}
}

// target is the package-level name that q.Name is.
func (r *remap) target(p *packages.Package, e ast.Expr) (object, bool) {
	if x, ok := e.(*ast.IndexExpr); ok {
		e = x.X
	}
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return object{}, false
	}
	q, ok := s.X.(*ast.Ident)
	if !ok {
		return object{}, false
	}
	pn, ok := p.TypesInfo.Uses[q].(*types.PkgName)
	if !ok {
		return object{}, false
	}
	dir, ok := folder(pn.Imported().Path())
	return object{dir, s.Sel.Name}, ok
}

// forwards reports whether a function does nothing but call another with its own
// arguments.
func (r *remap) forwards(p *packages.Package, d *ast.FuncDecl) (object, bool) {
	if d.Body == nil || len(d.Body.List) != 1 || d.Type.TypeParams != nil {
		return object{}, false
	}
	var e ast.Expr
	switch s := d.Body.List[0].(type) {
	case *ast.ReturnStmt:
		if len(s.Results) != 1 {
			return object{}, false
		}
		e = s.Results[0]
	case *ast.ExprStmt:
		e = s.X
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return object{}, false
	}
	var params []string
	for _, f := range d.Type.Params.List {
		for _, n := range f.Names {
			params = append(params, n.Name)
		}
	}
	if len(params) != len(call.Args) {
		return object{}, false
	}
	for i, a := range call.Args {
		if id, ok := a.(*ast.Ident); !ok || id.Name != params[i] {
			return object{}, false
		}
	}
	t, ok := r.target(p, call.Fun)
	if !ok {
		return object{}, false
	}
	if o := p.TypesInfo.Uses[call.Fun.(*ast.SelectorExpr).Sel]; o != nil {
		if _, ok := o.(*types.Func); !ok {
			return object{}, false
		}
		if p.TypesInfo.Defs[d.Name] != nil && !types.Identical(o.Type(), p.TypesInfo.Defs[d.Name].Type()) {
			return object{}, false
		}
	}
	return t, true
}

// refer notes what a file refers to.
func (r *remap) refer(f *file, p *packages.Package, syntax *ast.File, off func(token.Pos) int) {
	info := p.TypesInfo
	sel := map[*ast.Ident]*ast.SelectorExpr{}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if q, ok := s.X.(*ast.Ident); ok {
				if _, ok := info.Uses[q].(*types.PkgName); ok {
					sel[s.Sel] = s
				}
			}
		}
		return true
	})
	visible := func(pos token.Pos) map[string]bool {
		out := map[string]bool{}
		for s := p.Types.Scope().Innermost(pos); s != nil && s != p.Types.Scope() && s != types.Universe; s = s.Parent() {
			if s.Parent() == p.Types.Scope() {
				break // the file's: imports
			}
			for _, n := range s.Names() {
				if _, o := s.LookupParent(n, pos); o != nil && o.Parent() == s {
					out[n] = true
				}
			}
		}
		return out
	}
	note := func(id *ast.Ident, o types.Object) {
		if o == nil || o.Pkg() == nil || id.Name == "_" {
			return
		}
		name := id.Name
		if v, ok := o.(*types.Var); ok && v.IsField() {
			if !v.Embedded() {
				return
			}
			obj, ok := embedded(v)
			if !ok {
				return
			}
			f.uses[[2]int{off(id.Pos()), off(id.End())}] = use{obj: obj, nameAt: -1, local: nil}
			return
		}
		if o.Parent() != o.Pkg().Scope() {
			return
		}
		dir, ok := folder(o.Pkg().Path())
		if !ok {
			return
		}
		u := use{obj: object{dir, name}, local: visible(id.Pos())}
		at := [2]int{off(id.Pos()), off(id.End())}
		if s := sel[id]; s != nil {
			u.qualified, u.q, at[0], u.nameAt = true, s.X.(*ast.Ident).Name, off(s.Pos()), off(id.Pos())
		}
		f.uses[at] = u
	}
	for id, o := range info.Uses {
		if p.Fset.File(id.Pos()) == p.Fset.File(syntax.Pos()) {
			note(id, o)
		}
	}
	for id, o := range info.Defs {
		if p.Fset.File(id.Pos()) == p.Fset.File(syntax.Pos()) {
			if v, ok := o.(*types.Var); ok && v.IsField() {
				continue // an embedded type is noted as a use
			}
			note(id, o)
		}
	}
}

// embedded is the type's name behind an embedded field.
func embedded(v *types.Var) (object, bool) {
	t := v.Type()
	if pt, ok := t.(*types.Pointer); ok {
		t = pt.Elem()
	}
	var tn *types.TypeName
	switch t := t.(type) {
	case *types.Alias:
		tn = t.Obj()
	case *types.Named:
		tn = t.Obj()
	default:
		return object{}, false
	}
	if tn.Pkg() == nil {
		return object{}, false
	}
	dir, ok := folder(tn.Pkg().Path())
	return object{dir, tn.Name()}, ok
}
