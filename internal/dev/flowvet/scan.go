package flowvet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A fault is one thing that is not the same in a replay.
type fault struct {
	pos     token.Pos
	what    string
	say     string // why, and what to use instead
	carries bool   // it matters to callers in other packages too
}

const (
	sayGo      = "the order in which goroutines run is not recorded; run branches with flow.Map, or move this into a step"
	sayChan    = "what a channel gives depends on who comes first; run branches with flow.Map, and wait for others with flow.Await"
	sayOrder   = "the order of a map differs each time; range over slices.Sorted(maps.Keys(m))"
	saySorted  = "the order of a map differs each time; use slices.Sorted, or sort what it gives at once"
	sayPointer = "an address differs each time; print a name or a path of what it points to"
	sayVar     = "it is written while the program runs, so that a replay may find something else; pass the value in the workflow's input, or read it in a step"
)

// verbP is %p with flags, width and index.
var verbP = lazyregexp.New(`(?:^|[^%])(?:%%)*%[-+# 0]*(?:\[\d+\])?\d*p`)

// scan fills u from body. Literals that are workflow code become units of
// their own.
func (c *code) scan(u *unit, body ast.Node) {
	add := func(n ast.Node, what, say string) { u.faults = append(u.faults, fault{n.Pos(), what, say, true}) }
	ast.PreorderStack(body, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if c.rootLit(n) {
				w := &unit{name: "a function literal in " + u.name, root: true}
				c.units = append(c.units, w)
				c.scan(w, n.Body)
				return false
			}
		case *ast.GoStmt:
			add(n, "a go statement", sayGo)
			return false
		case *ast.SelectStmt:
			add(n, "a select statement", sayChan)
		case *ast.SendStmt:
			if !comm(stack, n) {
				add(n, "a send to a channel", sayChan)
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !inComm(stack) {
				add(n, "a receive from a channel", sayChan)
			}
		case *ast.RangeStmt:
			c.ranges(n, stack, add)
		case *ast.CallExpr:
			c.call(n, stack, add)
		case *ast.Ident:
			c.refer(u, n)
		}
		return true
	})
}

// comm reports whether n is the communication of a select case.
func comm(stack []ast.Node, n ast.Node) bool {
	if len(stack) == 0 {
		return false
	}
	cc, ok := stack[len(stack)-1].(*ast.CommClause)
	return ok && cc.Comm == n
}

// inComm reports whether a receive is in the communication of a select case.
func inComm(stack []ast.Node) bool {
	for i := len(stack) - 1; i > 0; i-- {
		if s, ok := stack[i].(ast.Stmt); ok {
			return comm(stack[:i], s)
		}
	}
	return false
}

func (c *code) ranges(n *ast.RangeStmt, stack []ast.Node, add func(ast.Node, string, string)) {
	switch under(c.info.TypeOf(n.X)).(type) {
	case *types.Chan:
		add(n, "a range over a channel", sayChan)
	case *types.Map:
		if !c.unordered(n, stack) {
			add(n, "a range over a map", sayOrder)
		}
	case *types.Signature:
		if name := c.mapIter(n.X); name != "" && !c.unordered(n, stack) {
			add(n, "a range over "+name, sayOrder)
		}
	}
}

func (c *code) call(n *ast.CallExpr, stack []ast.Node, add func(ast.Node, string, string)) {
	if b, ok := c.info.Uses[callee(n)].(*types.Builtin); ok {
		if b.Name() == "make" || b.Name() == "close" {
			if _, ok := under(c.info.TypeOf(n.Args[0])).(*types.Chan); ok {
				add(n, b.Name()+" of a channel", sayChan)
			}
		}
		return
	}
	if name := c.mapIter(n); name != "" && !c.sorted(n, stack) {
		add(n, name, saySorted)
	}
	fn, ok := c.info.Uses[callee(n)].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "fmt" && !workflow(fn.Signature()) {
		return
	}
	for _, a := range n.Args {
		if v := c.info.Types[a].Value; v != nil && v.Kind() == constant.String && verbP.MatchString(constant.StringVal(v)) {
			add(a, "%p", sayPointer)
		}
	}
}

// callee returns the name of the called function, or nil.
func callee(n *ast.CallExpr) *ast.Ident {
	f := ast.Unparen(n.Fun)
	switch x := f.(type) {
	case *ast.IndexExpr:
		f = x.X
	case *ast.IndexListExpr:
		f = x.X
	}
	switch f := f.(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// under returns the underlying type; for a type parameter, that of its constraint.
func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		if i, ok := p.Constraint().Underlying().(*types.Interface); ok && i.NumEmbeddeds() == 1 {
			e := i.EmbeddedType(0)
			if un, ok := e.(*types.Union); ok && un.Len() == 1 {
				e = un.Term(0).Type()
			}
			return e.Underlying()
		}
	}
	return t.Underlying()
}

// writes notes the package variables that f writes outside of init.
func (c *code) writes(f *ast.File) {
	note := func(x ast.Expr) {
		for {
			switch y := ast.Unparen(x).(type) {
			case *ast.SelectorExpr:
				if id, ok := y.X.(*ast.Ident); ok {
					if _, ok := c.info.Uses[id].(*types.PkgName); ok {
						return // of another package: its own fact says so, or nobody does
					}
				}
				x = y.X
				continue
			case *ast.IndexExpr:
				x = y.X
				continue
			case *ast.StarExpr:
				x = y.X
				continue
			case *ast.Ident:
				if v, ok := c.info.Uses[y].(*types.Var); ok && v.Pkg() == c.pass.Pkg && v.Parent() == v.Pkg().Scope() {
					c.written[v] = true
				}
			}
			return
		}
	}
	for _, d := range f.Decls {
		if fd, ok := d.(*ast.FuncDecl); ok && fd.Recv == nil && fd.Name.Name == "init" {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					note(l)
				}
			case *ast.IncDecStmt:
				note(n.X)
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					note(n.Key)
					if n.Value != nil {
						note(n.Value)
					}
				}
			case *ast.UnaryExpr:
				// Whoever has the address of a number or a string wants to set it.
				if _, basic := under(c.info.TypeOf(n.X)).(*types.Basic); n.Op == token.AND && basic {
					note(n.X)
				}
			case *ast.CallExpr:
				if b, ok := c.info.Uses[callee(n)].(*types.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear") {
					note(n.Args[0])
				}
			}
			return true
		})
	}
}
