package problem

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// Every type that has a name here is on the list, and is the type that its name means.
func TestTypes(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST || n > 0 { // the first are the types
			continue
		}
		for _, spec := range g.Specs {
			for i, x := range spec.(*ast.ValueSpec).Values {
				name, err := strconv.Unquote(x.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				n++
				if !slices.Contains(Types, name) {
					t.Errorf("%s is not on the list of types", spec.(*ast.ValueSpec).Names[i])
				}
				if got, ok := Canonical(name); !ok || got != name {
					t.Errorf("%s means the type %q, %v", name, got, ok)
				}
			}
		}
	}
	if n != len(Types) {
		t.Errorf("the list has %d types, and %d have names", len(Types), n)
	}
}
