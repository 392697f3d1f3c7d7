package flow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Every kind that has a name here has a role, and the table has no other kind.
func TestRolesAreWhole(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "pull.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		kind, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		if seen++; roles[kind] == roleHandled {
			t.Errorf("%s has no role: an engine would look for a handler", spec.Names[0])
		}
		return true
	})
	if seen == 0 || seen != len(roles) {
		t.Errorf("%d kinds have names and %d have roles", seen, len(roles))
	}
}
