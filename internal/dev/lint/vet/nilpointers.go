package main

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// nilPointers refuses the nil pointer of a failed call in an interface: the interface is not nil, and
// what is called on it panics. The compiler makes it without a word where a call that returns a pointer
// and an error is assigned to a variable of an interface's type, or returned as one.
var nilPointers = &analysis.Analyzer{
	Name: "nilpointers",
	Doc:  "refuse a call's pointer, which comes with an error, as an interface",
	Run:  runNilPointers,
}

func runNilPointers(pass *analysis.Pass) (any, error) {
	for _, file := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(file.Pos()).Filename, "_test.go") {
			continue
		}
		var results []*types.Tuple // of the functions around a node
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				switch stack[len(stack)-1].(type) {
				case *ast.FuncDecl, *ast.FuncLit:
					results = results[:len(results)-1]
				}
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, n)
			switch n := n.(type) {
			case *ast.FuncDecl:
				results = append(results, pass.TypesInfo.Defs[n.Name].Type().(*types.Signature).Results())
			case *ast.FuncLit:
				results = append(results, pass.TypesInfo.TypeOf(n).(*types.Signature).Results())
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if len(n.Rhs) == 1 {
						refuse(pass, n.Rhs[0], i, pass.TypesInfo.TypeOf(to))
					}
				}
			case *ast.ReturnStmt:
				for i := range results[len(results)-1].Len() {
					if len(n.Results) == 1 {
						refuse(pass, n.Results[0], i, results[len(results)-1].At(i).Type())
					}
				}
			}
			return true
		})
	}
	return nil, nil
}

// refuse reports value's result i if it is a pointer beside an error, and to is an interface.
func refuse(pass *analysis.Pass, value ast.Expr, i int, to types.Type) {
	call, ok := ast.Unparen(value).(*ast.CallExpr)
	if !ok || to == nil || !types.IsInterface(to) {
		return
	}
	all, ok := pass.TypesInfo.TypeOf(call).(*types.Tuple)
	if !ok || all.Len() < 2 || all.At(all.Len()-1).Type() != types.Universe.Lookup("error").Type() {
		return
	}
	if _, ok := all.At(i).Type().Underlying().(*types.Pointer); ok {
		pass.Reportf(call.Pos(), "where this call fails, its nil pointer is an interface that is not nil: give it a variable first")
	}
}
