// Package flowvet finds code that makes a workflow behave differently when it is replayed: clocks,
// randomness, goroutines, map order, the machine, and package variables that change.
//
//	go install github.com/adroit-run/adroit/cmd/flowvet@latest
//	go vet -vettool=$(which flowvet) ./...
//
// Workflow code is every function that has a *flow.Run or an *executor.Scope as a parameter, the
// function literals in it, and the functions it calls: in its own package all of them, in other
// packages of the same module as far as clocks, randomness, goroutines, order and the machine go.
// Calls through an interface or a variable are not followed. Test files are not examined.
//
// A false finding is excused where it is, with a reason:
//
//	level := slog.Default() //flowvet:ignore set once in main, and only for people
//
// The package is not a proof. A golden journal detects what it misses.
package flowvet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer is the check, for go vet and every other driver of go/analysis.
var Analyzer = &analysis.Analyzer{
	Name:      "flowvet",
	Doc:       "report what makes workflow code run otherwise when it is replayed\n\nA workflow is replayed after a restart, and has to ask for the same steps again.",
	URL:       "https://pkg.go.dev/github.com/adroit-run/adroit/internal/flow/flowvet",
	Run:       run,
	FactTypes: []analysis.Fact{new(varies), new(written)},
}

// varies is the fact of a function that does not do the same each time.
type varies struct {
	What  string // what in it: "time.Now"
	Where string // file:line
	Say   string
}

func (*varies) AFact()           {}
func (f *varies) String() string { return f.What }

// written is the fact of a package variable that is written after init.
type written struct{}

func (*written) AFact()         {}
func (*written) String() string { return "written" }

const module = "github.com/adroit-run/adroit/"

// marks are the types whose pointer as a parameter makes workflow code.
var marks = map[string]string{
	module + "pkg/flow":     "Run",
	module + "pkg/executor": "Scope",
}

// marked reports whether t is a pointer to one of marks.
func marked(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && n.Obj().Pkg() != nil && marks[n.Obj().Pkg().Path()] == n.Obj().Name()
}

// workflow reports whether a function of this signature is workflow code.
func workflow(sig *types.Signature) bool {
	for v := range sig.Params().Variables() {
		if marked(v.Type()) {
			return true
		}
	}
	return sig.Recv() != nil && marked(sig.Recv().Type())
}

// foreign reports whether a package belongs to the standard library or to a module other than the
// ones worked on. The analysis does not look into its functions: a cache behind a mutex there does
// not matter here.
func foreign(path string, mod *analysis.Module) bool {
	if mod != nil && mod.Path != "" && mod.Path != "std" {
		return mod.Version != ""
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func run(pass *analysis.Pass) (any, error) {
	if foreign(pass.Pkg.Path(), pass.Module) {
		return nil, nil
	}
	c := &code{pass: pass, info: pass.TypesInfo, named: map[types.Object]*unit{}, written: map[types.Object]bool{}}
	var files []*ast.File
	for _, f := range pass.Files {
		if !strings.HasSuffix(pass.Fset.Position(f.FileStart).Filename, "_test.go") {
			files = append(files, f)
		}
	}
	for _, f := range files {
		c.writes(f)
	}
	for _, f := range files {
		c.file(f)
	}
	x := excuses(pass, files)
	c.drop(x)
	c.report()
	c.export()
	x.report(pass)
	return nil, nil
}
