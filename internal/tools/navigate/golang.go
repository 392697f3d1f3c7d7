package navigate

import (
	"go/ast"
	"go/parser"
	"go/token"

	"github.com/adroit-run/adroit/pkg/tools"
)

// declared lists the declarations of a Go file, as far as it can be parsed, apart
// the fields of its structs, which are no part of an outline but names that one
// asks for, and the names that are exported, called or selected.
func declared(name, text string) (syms, fields []tools.Symbol, used map[string]bool) {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if f == nil {
		return nil, nil, nil
	}
	used = map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				used[id.Name] = true
			}
		case *ast.SelectorExpr:
			used[n.Sel.Name] = true
		case *ast.Ident:
			if n.IsExported() {
				used[n.Name] = true
			}
		}
		return true
	})
	return symbolsOf(fset, name, f), fieldsOf(fset, name, f), used
}

func symbolsOf(fset *token.FileSet, name string, f *ast.File) []tools.Symbol {
	var syms []tools.Symbol
	add := func(id *ast.Ident, kind string, end token.Pos, depth int) {
		p := fset.Position(id.Pos())
		syms = append(syms, tools.Symbol{Name: id.Name, Kind: kind, Depth: depth, End: fset.Position(end).Line,
			Location: tools.Location{File: name, Line: p.Line, Column: p.Column}})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			kind := "func"
			if d.Recv != nil {
				kind = "method"
			}
			add(d.Name, kind, d.End(), 0)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name, "type", s.End(), 0)
					if t, ok := s.Type.(*ast.InterfaceType); ok {
						for _, m := range t.Methods.List {
							for _, id := range m.Names {
								add(id, "method", m.End(), 1)
							}
						}
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.Name != "_" {
							add(id, d.Tok.String(), s.End(), 0)
						}
					}
				}
			}
		}
	}
	return syms
}

func fieldsOf(fset *token.FileSet, name string, f *ast.File) []tools.Symbol {
	var syms []tools.Symbol
	ast.Inspect(f, func(n ast.Node) bool {
		if t, ok := n.(*ast.StructType); ok && t.Fields != nil {
			for _, field := range t.Fields.List {
				for _, id := range field.Names {
					p := fset.Position(id.Pos())
					syms = append(syms, tools.Symbol{Name: id.Name, Kind: "field", Location: tools.Location{File: name, Line: p.Line, Column: p.Column}})
				}
			}
		}
		return true
	})
	return syms
}
