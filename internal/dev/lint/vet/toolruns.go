package main

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// toolRunners may run the body of a tool: the handlers of steps, the test kits, and describe_tool,
// which calls the program's own body of it.
var toolRunners = []string{"internal/host", "pkg/tools", "internal/host/catalog"}

// toolRuns finds where a tool is run past the one chain of schema, rules, mode, taint,
// approval and redaction, which internal/host has.
var toolRuns = &analysis.Analyzer{
	Name: "toolruns",
	Doc:  "report calls and values of tools.Tool.Run and tools.Tool.Call outside of internal/host",
	Run: func(pass *analysis.Pass) (any, error) {
		pkg, ours := strings.CutPrefix(strings.TrimSuffix(pass.Pkg.Path(), "_test"), project+"/")
		if !ours || !isProduct(pkg) {
			return nil, nil
		}
		for _, allowed := range toolRunners {
			if pkg == allowed || strings.HasPrefix(pkg, allowed+"/") {
				return nil, nil
			}
		}
		for _, f := range pass.Files {
			if strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go") {
				continue
			}
			set := map[ast.Expr]bool{} // a body that is given to a tool
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, to := range n.Lhs {
						set[to] = true
					}
				case *ast.SelectorExpr:
					if s := pass.TypesInfo.Selections[n]; s != nil && isBody(s) && !set[n] {
						pass.Reportf(n.Pos(), "a tool is run past rules, mode, secrets and approval; perform its step with internal/host")
					}
				}
				return true
			})
		}
		return nil, nil
	},
}

// isBody reports whether a selection is the body of a tool, or a function that runs it, called or
// taken as a value.
func isBody(s *types.Selection) bool {
	name := s.Obj().Name()
	return isTool(s.Recv()) && (s.Kind() == types.FieldVal && name == "Call" || s.Kind() != types.FieldVal && name == "Run")
}

func isTool(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == "Tool" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == project+"/pkg/tools"
}
