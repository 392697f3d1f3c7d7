// Package race lists the packages that are tested with the race detector, and tests that nothing
// concurrent is missing from the list.
package race

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPackages reads the syntax trees of all packages and compares them with
// the list, which is made with grep.
func TestPackages(t *testing.T) {
	race, norace := list(t, "race"), list(t, "norace")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	code := map[string]bool{}    // packages that are not of tests alone
	found := map[string]string{} // what they have that needs the detector
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() && strings.HasPrefix(name, "pkg/") {
			if _, err := fs.Stat(os.DirFS(root), name+"/go.mod"); err == nil {
				return fs.SkipDir // a module of its own, which .ci/run tests
			}
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		seen++
		pkg := "./" + path.Dir(name)
		if !slices.Contains(race, pkg) && !slices.Contains(norace, pkg) {
			t.Errorf("%s is in no pass", pkg)
		}
		if slices.Contains(race, pkg) || strings.HasPrefix(name, "internal/dev/e2e/") {
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") && path.Base(name) != "doc.go" {
			code[pkg] = true
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if at, what := concurrent(file); what != "" {
			found[pkg] = fmt.Sprintf("%s:%d: %s", name, fset.Position(at).Line, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, what := range found {
		if code[pkg] {
			t.Errorf("%s, but internal/dev/race/packages leaves %s out of the race pass", what, pkg)
		}
	}
	if seen < 500 {
		t.Errorf("looked at %d files only: is this the repository?", seen)
	}
	script, err := os.ReadFile("packages")
	if err != nil {
		t.Fatal(err)
	}
	_, longest, _ := strings.Cut(string(script), "longest='")
	longest, _, ok := strings.Cut(longest, "'")
	if !ok {
		t.Error("internal/dev/race/packages names no packages that come first")
	}
	for _, dir := range strings.Fields(longest) {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Errorf("internal/dev/race/packages has a package come first that is not there: %v", err)
		}
	}
	if script, err = os.ReadFile("tempdir"); err != nil {
		t.Fatal(err)
	}
	onDisk := regexp.MustCompile(`\*(/(?:internal|pkg)/[a-z/]+[a-z])`).FindAllStringSubmatch(string(script), -1)
	if len(onDisk) < 4 {
		t.Errorf("internal/dev/race/tempdir keeps %d directories on the disk", len(onDisk))
	}
	for _, match := range onDisk {
		if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
			t.Errorf("internal/dev/race/tempdir keeps a package on the disk that is not there: %v", err)
		}
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

// locks are the names of package sync that guard memory. The others, sync.Once and
// its functions, and all of sync/atomic need no care of their user.
var locks = []string{"Cond", "Locker", "Map", "Mutex", "NewCond", "Pool", "RWMutex", "WaitGroup"}

// concurrent returns the first thing in a file that runs or guards goroutines.
func concurrent(file *ast.File) (at token.Pos, what string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if on, ok := n.X.(*ast.Ident); ok && on.Name == "sync" && slices.Contains(locks, n.Sel.Name) {
				at, what = n.Pos(), "uses sync."+n.Sel.Name
			}
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

// TestConcurrent tests the check itself.
func TestConcurrent(t *testing.T) {
	for body, want := range map[string]string{
		"func f() { go g() }":                           "starts a goroutine",
		"func f() { wg.Go(g) }":                         "calls Go",
		"func f() { time.AfterFunc(d, g) }":             "calls AfterFunc",
		"func f() { flow.Map(r, xs, g) }":               "calls Map",
		"func f() { flow.Map[int](r, xs, g) }":          "calls Map",
		"var mu sync.Mutex":                             "uses sync.Mutex",
		"type t struct{ sync.RWMutex }":                 "uses sync.RWMutex",
		"var once = sync.OnceValue(f)":                  "",
		"var n atomic.Int64":                            "",
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
