package main

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// toolRunners may run the body of a tool: what performs steps, the test kits, and
// describe_tool, which goes on to the program's own body of it.
var toolRunners = []string{"internal/executor/handler", "pkg/tools", "internal/toolserver/offer"}

// toolRuns finds where a tool is run past the one chain of schema, rules, mode, taint,
// approval and redaction, which internal/executor/handler has.
var toolRuns = &analysis.Analyzer{
	Name: "toolruns",
	Doc:  "report calls of tools.Tool.Run and tools.Tool.Call outside of internal/executor/handler",
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
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if fn := typeutil.StaticCallee(pass.TypesInfo, call); fn != nil && fn.Name() == "Run" && onTool(fn.Signature().Recv()) || isCallField(pass.TypesInfo, call) {
					pass.Reportf(call.Pos(), "a tool is run past rules, mode, secrets and approval; perform its step with internal/executor/handler")
				}
				return true
			})
		}
		return nil, nil
	},
}

// isCallField reports whether a call is of the field Call of a tool, which is its body.
func isCallField(info *types.Info, call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Call" {
		return false
	}
	s := info.Selections[sel]
	return s != nil && s.Kind() == types.FieldVal && isTool(s.Recv())
}

func onTool(v *types.Var) bool { return v != nil && isTool(v.Type()) }

func isTool(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == "Tool" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == project+"/pkg/tools"
}
