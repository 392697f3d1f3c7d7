package flowvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// mapIter returns the name of the function if x calls one that iterates over a map in map order,
// or "".
func (c *code) mapIter(x ast.Expr) string {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return ""
	}
	fn, ok := c.info.Uses[callee(call)].(*types.Func)
	if !ok || fn.Pkg() == nil || !slices.Contains([]string{"maps", "golang.org/x/exp/maps"}, fn.Pkg().Path()) {
		return ""
	}
	if !slices.Contains([]string{"Keys", "Values", "All"}, fn.Name()) {
		return ""
	}
	return "maps." + fn.Name()
}

// sorts are the functions that put their first argument in order.
const sorts = "Sort SortFunc SortStableFunc Strings Ints Float64s Slice SliceStable Stable"

// is reports whether call is of one of names in one of paths.
func (c *code) is(call *ast.CallExpr, paths, names string) bool {
	fn, ok := c.info.Uses[callee(call)].(*types.Func)
	return ok && fn.Pkg() != nil && of(paths, fn.Pkg().Path()) && has(names, fn.Name())
}

// sorted reports whether the map order of the values from n, a call that mapIter names, is lost at
// once.
func (c *code) sorted(n *ast.CallExpr, stack []ast.Node) bool {
	if len(stack) == 0 {
		return false
	}
	switch up := stack[len(stack)-1].(type) {
	case *ast.RangeStmt:
		return up.X == n // judged as a range
	case *ast.CallExpr:
		switch {
		case c.is(up, "slices", "Sorted SortedFunc SortedStableFunc"), c.is(up, "maps", "Collect Insert"):
			return true
		case c.is(up, "slices", "Collect AppendSeq"):
			return c.kept(up, stack[:len(stack)-1])
		}
	case *ast.AssignStmt: // golang.org/x/exp/maps gives a slice
		return c.kept(n, stack)
	}
	return false
}

// kept reports whether x is a slice that is sorted before its order matters.
func (c *code) kept(x ast.Expr, stack []ast.Node) bool {
	if len(stack) < 2 {
		return false
	}
	if call, ok := stack[len(stack)-1].(*ast.CallExpr); ok && c.is(call, "slices", "Contains ContainsFunc Max Min") {
		return true // the order is not asked for
	}
	as, ok := stack[len(stack)-1].(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || as.Rhs[0] != x {
		return false
	}
	return c.sortedAfter(as, types.ExprString(as.Lhs[0]), stack[:len(stack)-1])
}

// sortedAfter reports whether the first statement after s that has to do with
// the slice named name sorts it. stack is above s.
func (c *code) sortedAfter(s ast.Stmt, name string, stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		for _, later := range after(stack[i], s) {
			if !mentions(later, name) {
				continue
			}
			x, ok := later.(*ast.ExprStmt)
			if !ok {
				return false
			}
			call, ok := x.X.(*ast.CallExpr)
			return ok && c.is(call, "slices sort golang.org/x/exp/slices", sorts) && mentions(call.Args[0], name)
		}
		switch up := stack[i].(type) {
		case *ast.FuncLit:
			return false
		case ast.Stmt:
			s = up
		}
	}
	return false
}

// after returns the statements that follow s in block.
func after(block ast.Node, s ast.Stmt) []ast.Stmt {
	var list []ast.Stmt
	switch b := block.(type) {
	case *ast.BlockStmt:
		list = b.List
	case *ast.CaseClause:
		list = b.Body
	case *ast.CommClause:
		list = b.Body
	}
	return list[slices.Index(list, s)+1:]
}

// mentions reports whether name occurs in n.
func mentions(n ast.Node, name string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && types.ExprString(x) == name {
			found = true
		}
		return !found
	})
	return found
}

// unordered reports whether it makes no difference in which order the loop n
// over a map runs.
func (c *code) unordered(n *ast.RangeStmt, stack []ast.Node) bool {
	l := &loop{c: c, n: n}
	if k, ok := n.Key.(*ast.Ident); ok && n.Tok == token.DEFINE {
		l.key = c.info.Defs[k]
	}
	steps := false
	ast.Inspect(n.Body, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && c.info.TypeOf(x) != nil && marked(c.info.TypeOf(x)) {
			steps = true
		}
		return !steps
	})
	if steps || !l.free(n.Body) || l.exits && (l.gathers || len(l.results) > 1) {
		return false
	}
	for _, name := range l.slices {
		if !c.sortedAfter(n, name, stack) {
			return false
		}
	}
	return true
}

// A loop is a body over a map in which each iteration has the same effect independently of earlier
// ones.
type loop struct {
	c       *code
	n       *ast.RangeStmt
	key     types.Object
	slices  []string // appended to
	gathers bool     // leaves more behind with each round
	exits   bool     // may end early: then with one of results only
	results []string
	set     map[string]string // what is set to a constant
}

func (l *loop) free(s ast.Stmt) bool {
	switch s := s.(type) {
	case nil, *ast.EmptyStmt:
		return true
	case *ast.BlockStmt:
		return !slices.ContainsFunc(s.List, func(s ast.Stmt) bool { return !l.free(s) })
	case *ast.IfStmt:
		return (s.Init == nil || l.free(s.Init)) && l.free(s.Body) && (s.Else == nil || l.free(s.Else))
	case *ast.DeclStmt:
		return true
	case *ast.BranchStmt:
		l.exits = l.exits || s.Tok == token.BREAK
		return s.Label == nil && (s.Tok == token.BREAK || s.Tok == token.CONTINUE)
	case *ast.ReturnStmt:
		text := "return"
		for _, r := range s.Results {
			if l.c.info.Types[r].Value == nil && !l.c.info.Types[r].IsNil() {
				return false
			}
			text += " " + types.ExprString(r)
		}
		l.exits = true
		l.result(text)
		return true
	case *ast.IncDecStmt:
		l.gathers = true
		return l.whole(s.X)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		b, ok := l.c.info.Uses[callee(call)].(*types.Builtin)
		l.gathers = true
		return ok && b.Name() == "delete" && l.isKey(call.Args[1])
	case *ast.AssignStmt:
		return l.assign(s)
	}
	return false
}

func (l *loop) result(text string) {
	if !slices.Contains(l.results, text) {
		l.results = append(l.results, text)
	}
}

// whole reports whether x is a whole number, whose sum has no order.
func (l *loop) whole(x ast.Expr) bool {
	b, ok := under(l.c.info.TypeOf(x)).(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

func (l *loop) isKey(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	return ok && l.key != nil && l.c.info.Uses[id] == l.key
}

func (l *loop) assign(s *ast.AssignStmt) bool {
	switch s.Tok {
	case token.DEFINE:
		return true
	case token.ADD_ASSIGN, token.SUB_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN:
		l.gathers = true
		return l.whole(s.Lhs[0])
	case token.ASSIGN:
	default:
		return false
	}
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return false
	}
	to, from := ast.Unparen(s.Lhs[0]), ast.Unparen(s.Rhs[0])
	if id, ok := to.(*ast.Ident); ok {
		if id.Name == "_" {
			return true
		}
		if obj := l.c.info.Uses[id]; obj != nil && l.n.Body.Pos() <= obj.Pos() && obj.Pos() < l.n.Body.End() {
			return true // of this round alone
		}
	}
	if x, ok := to.(*ast.IndexExpr); ok {
		l.gathers = true
		_, isMap := under(l.c.info.TypeOf(x.X)).(*types.Map)
		return isMap && l.isKey(x.Index)
	}
	if l.c.info.Types[from].Value != nil {
		name, value := types.ExprString(to), types.ExprString(from)
		l.result("set " + name)
		if l.set == nil {
			l.set = map[string]string{}
		}
		before, again := l.set[name]
		l.set[name] = value
		return !again || before == value
	}
	call, ok := from.(*ast.CallExpr)
	if !ok {
		return false
	}
	b, ok := l.c.info.Uses[callee(call)].(*types.Builtin)
	if !ok || len(call.Args) == 0 || types.ExprString(call.Args[0]) != types.ExprString(to) {
		return false
	}
	l.gathers = true
	switch b.Name() {
	case "append":
		l.slices = append(l.slices, types.ExprString(to))
		return true
	case "min", "max":
		return true
	}
	return false
}
