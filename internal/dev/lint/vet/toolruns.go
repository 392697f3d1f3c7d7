package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// toolRunners are the methods that may run the body of a tool, by package: the one that others
// call, the handlers of steps, and describe_tool, which calls the program's own body of it. A new
// function beside them is found, exported or not, also one of the same name with another receiver.
var toolRunners = map[string][]string{
	"pkg/tools":             {"Tool.Run", "Tool.Check"},
	"internal/host":         {"Host.permitted"},
	"internal/host/catalog": {"Pinned.describe", "Source.serverTool"},
}

// toolRuns finds where a tool is run past the one chain of schema, rules, mode, taint,
// approval and redaction, which internal/host has.
var toolRuns = &analysis.Analyzer{
	Name: "toolruns",
	Doc:  "report calls and values of what runs tools outside of the functions that may",
	Run: func(pass *analysis.Pass) (any, error) {
		pkg, ours := strings.CutPrefix(strings.TrimSuffix(pass.Pkg.Path(), "_test"), project+"/")
		if !ours || !isProduct(pkg) {
			return nil, nil
		}
		for _, f := range pass.Files {
			if strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go") {
				continue
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); !ok || !slices.Contains(toolRunners[pkg], methodName(pass.TypesInfo, fn)) {
					reportBodies(pass, d)
				}
			}
		}
		return nil, nil
	},
}

// methodName returns a function's name behind the name of its receiver's type, if it has one.
func methodName(info *types.Info, fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := info.TypeOf(fn.Recv.List[0].Type)
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return ""
	}
	return named.Obj().Name() + "." + fn.Name.Name
}

// reportBodies reports the bodies of tools in a declaration that are not given to a tool.
func reportBodies(pass *analysis.Pass, d ast.Decl) {
	set := map[ast.Expr]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				set[to] = true
			}
		case *ast.SelectorExpr:
			if s := pass.TypesInfo.Selections[n]; s != nil && isBody(s.Obj()) && !set[n] {
				pass.Reportf(n.Pos(), "a tool is run past rules, mode, secrets and approval; perform its step with internal/host")
			}
		}
		return true
	})
}

// bodies are the fields and methods that run a tool, by package.
var bodies = map[string][]string{"pkg/tools": {"Tool.Call", "Tool.Run"}, "internal/turn": {"Servers.Call"}, "internal/mcp": {"Pool.Call"}}

// isBody reports whether a field or method runs a tool, whatever embeds its type or was
// converted from it.
func isBody(o types.Object) bool {
	if o.Pkg() == nil {
		return false
	}
	pkg, ours := strings.CutPrefix(o.Pkg().Path(), project+"/")
	return ours && slices.ContainsFunc(bodies[pkg], func(body string) bool {
		of, name, _ := strings.Cut(body, ".")
		t := o.Pkg().Scope().Lookup(of)
		if t == nil || o.Name() != name {
			return false
		}
		member, _, _ := types.LookupFieldOrMethod(t.Type(), true, o.Pkg(), name)
		return member == o
	})
}
