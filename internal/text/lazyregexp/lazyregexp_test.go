package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

func TestConcurrentUse(t *testing.T) {
	re := lazyregexp.New(`^(a+)b$`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m := re.FindStringSubmatch("aab"); len(m) != 2 || m[1] != "aa" {
				t.Errorf("FindStringSubmatch = %q", m)
			}
		})
	}
	wg.Wait()
	if first := re.Regexp(); re.Regexp() != first {
		t.Error("the expression was compiled twice")
	}
}

func TestWrongPatternPanicsInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted a pattern that does not compile")
		}
	}()
	lazyregexp.New(`(`)
}

// maxRepeat is the largest bound of a counted repetition: x{0,1000} compiles
// to a thousand copies of x. A larger bound is checked in code.
const maxRepeat = 200

// TestSource keeps the packages of the program from compiling expressions
// before main, and from expressions that are expensive to compile.
func TestSource(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	files, variables := 0, 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || path.Dir(name) == "internal/text/lazyregexp" {
			return nil
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if _, isFunc := decl.(*ast.FuncDecl); isFunc {
				continue // compiled when the function is called
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				fun, _ := call.Fun.(*ast.SelectorExpr)
				if fun == nil {
					return true
				}
				pkg, _ := fun.X.(*ast.Ident)
				switch {
				case pkg == nil:
				case pkg.Name == "regexp" && strings.HasPrefix(fun.Sel.Name, "MustCompile"):
					t.Errorf("%s: compiles an expression before main; use lazyregexp.New", fset.Position(call.Pos()))
				case pkg.Name == "lazyregexp":
					variables++
					for _, bound := range repeats(call) {
						if bound > maxRepeat {
							t.Errorf("%s: a repetition of up to %d; match without a bound and check the length in code", fset.Position(call.Pos()), bound)
						}
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 || variables < 100 {
		t.Errorf("looked at %d files with %d expressions only: is this the repository?", files, variables)
	}
}

var counted = regexp.MustCompile(`\{(?:\d+,)?(\d+)\}`)

// repeats returns the bounds of the counted repetitions in the literals of n.
func repeats(n ast.Node) []int {
	var bounds []int
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for _, m := range counted.FindAllStringSubmatch(lit.Value, -1) {
				bound, _ := strconv.Atoi(m[1]) // digits; too many give the largest int
				bounds = append(bounds, bound)
			}
		}
		return true
	})
	return bounds
}
