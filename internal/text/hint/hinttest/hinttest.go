// Package hinttest has tests find the commands that the product prints.
package hinttest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Template is one of a call of internal/text/hint, and where that is.
type Template struct{ At, Text string }

// Templates lists the templates in the product packages below root.
func Templates(root string) (out []Template, err error) {
	fset := token.NewFileSet()
	for _, dir := range []string{"internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if text, ok := templateOf(n); ok {
					out = append(out, Template{fset.Position(n.Pos()).String(), text})
				}
				return true
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) < 200 {
		return nil, fmt.Errorf("only %d templates of commands are found: are these the files?", len(out))
	}
	return out, nil
}

// templateOf returns the template of a call of internal/text/hint, which a vet rule requires to be
// a literal.
func templateOf(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Command", "Name", "Replayed"}, fn.Sel.Name) {
		return "", false
	}
	pkg, ok := fn.X.(*ast.Ident)
	lit, isText := call.Args[0].(*ast.BasicLit)
	if !ok || pkg.Name != "hint" || !isText {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
