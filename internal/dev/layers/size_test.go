package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// maxFunction bounds the lines of a function of the product.
const maxFunction = 80

// TestFunctionSize fails where a function is too long to be read at once. Test
// kits, which are tests of every implementation, may have longer ones.
func TestFunctionSize(t *testing.T) {
	functions := 0
	err := filepath.WalkDir("../../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || strings.HasSuffix(name, "test") && name != "test" || strings.HasPrefix(name, ".") && name != "..") {
			return filepath.SkipDir
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			first, last := fset.Position(fn.Pos()), fset.Position(fn.End())
			if n := last.Line - first.Line + 1; n > maxFunction {
				t.Errorf("%s:%d: %s has %d lines, at most %d are allowed; split it by what it does", file, first.Line, fn.Name.Name, n, maxFunction)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if functions < 4000 {
		t.Errorf("looked at %d functions; the tree has more", functions)
	}
}

// maxFile bounds the lines of a file outside tests.
const maxFile = 600

// TestFileSize fails where a file is about more than one thing, as far as lines can
// show that. Test kits are files like others.
func TestFileSize(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && name != "..") && file != "../../.." {
			return filepath.SkipDir
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files++
		if n := bytes.Count(text, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines, at most %d are allowed; split it by topic", file, n, maxFile)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("looked at %d files; the tree has more", files)
	}
}
