package flowvet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// code records what a package's functions do and call.
type code struct {
	pass    *analysis.Pass
	info    *types.Info
	units   []*unit                // in the order of the source
	named   map[types.Object]*unit // functions, and variables that begin as one
	written map[types.Object]bool  // variables of this package
}

// A unit is the body of one function with the literals in it, except for
// those that are workflow code by themselves.
type unit struct {
	name string
	obj  types.Object // nil for a literal
	root bool         // workflow code by its parameters
	// variable marks the initial value of a package variable.
	variable bool
	faults   []fault
	refs     []ref
}

// A ref is a mention of a function or a package variable.
type ref struct {
	pos token.Pos
	obj types.Object
}

// file finds the units of one file.
func (c *code) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			fn, ok := c.info.Defs[d.Name].(*types.Func)
			if !ok || d.Body == nil {
				continue
			}
			u := &unit{name: plainName(fn), obj: fn, root: workflow(fn.Signature())}
			c.units = append(c.units, u)
			c.named[fn] = u
			c.scan(u, d.Body)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					c.vars(s)
				}
			}
		}
	}
}

// vars makes units of the initial values of package variables: a function, a table of functions,
// or a value that differs in each process.
func (c *code) vars(s *ast.ValueSpec) {
	for i, v := range s.Values {
		names := s.Names
		if len(s.Values) == len(s.Names) {
			names = s.Names[i : i+1]
		}
		u := &unit{name: names[0].Name, variable: true}
		c.units = append(c.units, u)
		for _, n := range names {
			if obj := c.info.Defs[n]; obj != nil && n.Name != "_" {
				u.obj = obj
				c.named[obj] = u
			}
		}
		if lit, ok := v.(*ast.FuncLit); ok && c.rootLit(lit) {
			u.root, u.variable = true, false
			v = nil
			c.scan(u, lit.Body)
		}
		if v != nil {
			c.scan(u, v)
		}
	}
}

func (c *code) rootLit(lit *ast.FuncLit) bool {
	sig, ok := c.info.TypeOf(lit).(*types.Signature)
	return ok && workflow(sig)
}

// plainName returns f or T.f.
func plainName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		t := types.Unalias(recv.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if n, ok := t.(*types.Named); ok {
			return n.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// refer records that u mentions obj, or the fault of that mention.
func (c *code) refer(u *unit, id *ast.Ident) {
	obj := c.info.Uses[id]
	switch o := obj.(type) {
	case *types.Func:
		obj = o.Origin()
	case *types.Var:
		if o.IsField() || o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
			return
		}
	default:
		return
	}
	if obj.Pkg() == nil {
		return // as of the method of error
	}
	if obj.Pkg() != c.pass.Pkg {
		if b := banned(obj); b != nil {
			u.faults = append(u.faults, fault{id.Pos(), short(obj), b.say, !b.local})
			return
		}
	}
	u.refs = append(u.refs, ref{id.Pos(), obj})
}

// short returns pkg.F or pkg.T.F.
func short(obj types.Object) string {
	if fn, ok := obj.(*types.Func); ok {
		return fn.Pkg().Name() + "." + plainName(fn)
	}
	return obj.Pkg().Name() + "." + obj.Name()
}

// report reports the faults of all that workflow code reaches in this package.
func (c *code) report() {
	seen := map[*unit]bool{}
	said := map[string]bool{}
	var visit func(u *unit, way string)
	visit = func(u *unit, way string) {
		if seen[u] {
			return
		}
		seen[u] = true
		where := "workflow code"
		switch {
		case way == "":
			way = u.name
		case u.variable:
			way += " uses " + u.name
		default:
			way += " calls " + u.name
		}
		if way != u.name {
			where += " (" + way + ")"
		}
		for _, f := range c.all(u) {
			p := c.pass.Fset.Position(f.pos)
			words := fmt.Sprintf("%s in %s: %s", f.what, where, f.say)
			// A variable is often named more than once in a line.
			if key := fmt.Sprint(p.Filename, p.Line, words); !said[key] {
				said[key] = true
				c.pass.Report(analysis.Diagnostic{Pos: f.pos, Message: words})
			}
		}
		for _, r := range u.refs {
			if to := c.named[r.obj]; to != nil && !to.root {
				visit(to, way)
			}
		}
	}
	for _, u := range c.units {
		if u.root {
			visit(u, "")
		}
	}
}

// all returns the faults of u and the known faults of functions in other packages and of variables
// that it mentions.
func (c *code) all(u *unit) []fault {
	out := slices.Clone(u.faults)
	for _, r := range u.refs {
		var f varies
		far := r.obj.Pkg() != c.pass.Pkg
		if far && c.pass.ImportObjectFact(r.obj, &f) {
			out = append(out, fault{r.pos, fmt.Sprintf("%s, which uses %s (%s),", short(r.obj), f.What, f.Where), f.Say, true})
		}
		if v, ok := r.obj.(*types.Var); ok && (c.written[v] || far && c.pass.ImportObjectFact(v, new(written))) {
			out = append(out, fault{r.pos, "the package variable " + v.Name(), sayVar, false})
		}
	}
	slices.SortStableFunc(out, func(a, b fault) int { return int(a.pos - b.pos) })
	return out
}

// export exports facts about the package's functions and variables for the packages that import
// it.
func (c *code) export() {
	known := map[types.Object]*varies{}
	find := func(u *unit) *varies {
		for _, f := range c.all(u) {
			if !f.carries {
				continue
			}
			var far varies
			for _, r := range u.refs {
				if r.pos == f.pos && c.pass.ImportObjectFact(r.obj, &far) {
					return &far
				}
			}
			p := c.pass.Fset.Position(f.pos)
			return &varies{f.what, fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line), f.say}
		}
		for _, r := range u.refs {
			if f := known[r.obj]; f != nil {
				return f
			}
		}
		return nil
	}
	for changed := true; changed; {
		changed = false
		for _, u := range c.units {
			if u.obj == nil || u.root || known[u.obj] != nil {
				continue
			}
			if f := find(u); f != nil {
				known[u.obj] = f
				changed = true
			}
		}
	}
	for _, u := range c.units {
		if u.obj != nil && u.obj.Exported() && known[u.obj] != nil {
			c.pass.ExportObjectFact(u.obj, known[u.obj])
		}
	}
	for obj := range c.written { // facts have no order
		if obj.Exported() {
			c.pass.ExportObjectFact(obj, new(written))
		}
	}
}
