// Package race holds the list of packages that are tested with the race
// detector, and the test that nothing concurrent is missing from it.
package race

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPackages reads the syntax trees of all packages and compares them with
// the list, which is made with grep.
func TestPackages(t *testing.T) {
	race, norace := list(t, "race"), list(t, "norace")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		seen++
		pkg := "./" + path.Dir(name)
		if !slices.Contains(race, pkg) && !slices.Contains(norace, pkg) {
			t.Errorf("%s is in no pass", pkg)
		}
		if slices.Contains(race, pkg) {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if at, what := concurrent(file); what != "" {
			t.Errorf("%s:%d: %s, but internal/race/packages leaves %s out of the race pass", name, fset.Position(at).Line, what, pkg)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 500 {
		t.Errorf("looked at %d files only: is this the repository?", seen)
	}
	if slices.Contains(norace, "./pkg/flow") {
		t.Error("./pkg/flow is in the pass without the race detector as well")
	}
}

func list(t *testing.T, pass string) []string {
	t.Helper()
	out, err := exec.Command("./packages", pass).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// concurrent returns the first thing in a file that runs or guards goroutines.
func concurrent(file *ast.File) (at token.Pos, what string) {
	for _, spec := range file.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); name == "sync" || name == "sync/atomic" {
			return spec.Pos(), "imports " + name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at, what = n.Pos(), "starts a goroutine"
		case *ast.CallExpr:
			fun := n.Fun
			if generic, ok := fun.(*ast.IndexExpr); ok {
				fun = generic.X
			}
			sel, ok := fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			on, _ := sel.X.(*ast.Ident)
			if sel.Sel.Name == "Go" || sel.Sel.Name == "AfterFunc" || sel.Sel.Name == "Map" && on != nil && on.Name == "flow" {
				at, what = n.Pos(), "calls "+sel.Sel.Name
			}
		}
		return what == ""
	})
	return at, what
}

// TestConcurrent holds the check itself to what it must find.
func TestConcurrent(t *testing.T) {
	for body, want := range map[string]string{
		"func f() { go g() }":                           "starts a goroutine",
		"func f() { wg.Go(g) }":                         "calls Go",
		"func f() { time.AfterFunc(d, g) }":             "calls AfterFunc",
		"func f() { flow.Map(r, xs, g) }":               "calls Map",
		"func f() { flow.Map[int](r, xs, g) }":          "calls Map",
		"import \"sync\"":                               "imports sync",
		"import \"sync/atomic\"":                        "imports sync/atomic",
		"func f() { strings.Map(g, \"go func()\") }":    "",
		"// go func() {}\nimport \"golang.org/x/sync\"": "",
	} {
		t.Run(body, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+body, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, what := concurrent(file); what != want {
				t.Errorf("found %q, want %q", what, want)
			}
		})
	}
}
