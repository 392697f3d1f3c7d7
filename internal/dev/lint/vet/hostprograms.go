package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// hostPrograms finds where the product starts a program by its name, or looks for one,
// past internal/system/hostexec: PATH may lead to a directory in which a job has written.
var hostPrograms = &analysis.Analyzer{
	Name: "hostprograms",
	Doc:  "refuse functions of os/exec that look for a program on PATH outside of internal/system/hostexec",
	Run: func(pass *analysis.Pass) (any, error) {
		pkg, ours := strings.CutPrefix(strings.TrimSuffix(pass.Pkg.Path(), "_test"), project+"/")
		if !ours || !isProduct(pkg) || pkg == "internal/system/hostexec" {
			return nil, nil
		}
		for _, f := range pass.Files {
			if strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if startsByName(pass.TypesInfo, n) {
						pass.Reportf(n.Pos(), "a program is looked for on PATH, where a job may have written; use internal/system/hostexec")
					}
				case *ast.CompositeLit:
					if t, ok := pass.TypesInfo.TypeOf(n).(*types.Named); ok && t.Obj().Name() == "Cmd" && t.Obj().Pkg().Path() == "os/exec" {
						pass.Reportf(n.Pos(), "make an exec.Cmd with internal/system/hostexec")
					}
				}
				return true
			})
		}
		return nil, nil
	},
}

// startsByName reports whether a call of os/exec may go by PATH.
func startsByName(info *types.Info, call *ast.CallExpr) bool {
	fn := typeutil.StaticCallee(info, call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "os/exec" {
		return false
	}
	at := 0
	switch fn.Name() {
	case "LookPath":
		return true
	case "Command":
	case "CommandContext":
		at = 1
	default:
		return false
	}
	name := info.Types[call.Args[at]].Value
	return name == nil || !strings.HasPrefix(constant.StringVal(name), "/")
}
