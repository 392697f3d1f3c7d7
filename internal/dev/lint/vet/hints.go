package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

const (
	hintPkg  = project + "/internal/text/hint"
	cobraPkg = "github.com/spf13/cobra"
	pflagPkg = "github.com/spf13/pflag"
)

// hints finds commands of adroit in strings that internal/text/hint does not make: no test covers
// those, and they lack the flag with which the user chose the data directory. The help of a
// command is exempt.
var hints = &analysis.Analyzer{
	Name: "hints",
	Doc:  "refuse commands of adroit in strings other than the templates of internal/text/hint",
	Run:  findHints,
}

var (
	// typed finds a command in a text: its first word, or a verb for it.
	typed = lazyregexp.New(`(?:^|[\s("'\x60:;,|])adroit[ \t]+(-{1,2}[a-z]|%|[a-z]+\b|$)`)
	// commands has the first words of all commands, and commandLike the texts that are commands if
	// their first words are.
	commands, commandLike sync.Map
	// templates counts the calls of internal/text/hint.
	templates sync.Map
)

// likely is a string with a word that may be a command.
type likely struct{ at, word string }

func findHints(pass *analysis.Pass) (any, error) {
	pkg, ours := strings.CutPrefix(strings.TrimSuffix(pass.Pkg.Path(), "_test"), project+"/")
	if !ours || !isProduct(pkg) || pkg == "internal/text/hint" {
		return nil, nil
	}
	for _, f := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			_, inFunc := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.KeyValueExpr:
					key, ok := n.Key.(*ast.Ident)
					if !ok || !ofCobra(pass.TypesInfo.Uses[key]) {
						return true
					}
					if key.Name == "Use" {
						declare(pass.TypesInfo, n.Value)
					}
					return !isHelp(key.Name)
				case *ast.AssignStmt:
					sel, ok := n.Lhs[0].(*ast.SelectorExpr)
					return !ok || !ofCobra(pass.TypesInfo.Uses[sel.Sel]) || !isHelp(sel.Sel.Name)
				case *ast.CallExpr:
					return lookAtCall(pass, n, inFunc)
				case *ast.Field:
					return n.Tag == nil
				case *ast.BinaryExpr:
					return !lookAtText(pass, n)
				case *ast.BasicLit:
					lookAtText(pass, n)
				}
				return true
			})
		}
	}
	return nil, nil
}

// isHelp reports whether help pages show a field of a command.
func isHelp(field string) bool {
	return slices.Contains([]string{"Use", "Short", "Long", "Example"}, field)
}

// ofCobra reports whether o is a field of a command.
func ofCobra(o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && v.IsField() && v.Pkg() != nil && v.Pkg().Path() == cobraPkg
}

// declare keeps the name of a command.
func declare(info *types.Info, use ast.Expr) {
	if v := info.Types[use].Value; v != nil && v.Kind() == constant.String {
		name, _, _ := strings.Cut(constant.StringVal(v), " ")
		commands.Store(name, true)
	}
}

// lookAtCall reports whether the arguments of a call are to be searched, too.
func lookAtCall(pass *analysis.Pass, call *ast.CallExpr, inFunc bool) bool {
	fn, ok := typeutil.Callee(pass.TypesInfo, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return true
	}
	if use := useOf(fn, call); use != nil {
		declare(pass.TypesInfo, use)
	}
	if from := fn.Pkg().Path(); from == "fmt" || from == "strings" {
		lookAtParts(pass, call)
	}
	switch {
	case fn.Pkg().Path() == pflagPkg:
		return false // the usage of a flag
	case fn.Pkg().Path() != hintPkg || len(call.Args) == 0 || !slices.Contains([]string{"Command", "Name", "Replayed"}, fn.Name()):
		return true
	}
	templates.Store(pass.Fset.Position(call.Pos()).String(), true)
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		pass.Reportf(call.Pos(), "the template of a hint is one literal, so that a test can run what it prints")
		return true
	}
	if !inFunc && fn.Name() == "Command" {
		pass.Reportf(call.Pos(), "before main, nothing is known of the flags that the person gave: make the hint where it is printed, or use hint.Name")
	}
	if verbs := strings.Count(lit.Value, "%s"); verbs != len(call.Args)-1 || strings.Count(lit.Value, "%") != verbs || call.Ellipsis.IsValid() {
		pass.Reportf(call.Pos(), "the template has %d times %%s for %d values", verbs, len(call.Args)-1)
	}
	return true
}

// useOf returns the argument of a function that makes a command which becomes the Use of that, nil
// if fn is not such a function.
func useOf(fn *types.Func, call *ast.CallExpr) ast.Expr {
	sig := fn.Signature()
	made := false
	for v := range sig.Results().Variables() {
		p, ok := v.Type().(*types.Pointer)
		if !ok {
			continue
		}
		named, ok := p.Elem().(*types.Named)
		made = made || ok && named.Obj().Name() == "Command" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == cobraPkg
	}
	for i := range sig.Params().Len() {
		if made && i < len(call.Args) && sig.Params().At(i).Name() == "use" {
			return call.Args[i]
		}
	}
	return nil
}

// lookAtParts keeps a call that puts the program's name and a word that may be a command together.
func lookAtParts(pass *analysis.Pass, call *ast.CallExpr) {
	var words []string
	named := false
	for _, arg := range call.Args {
		parts := []ast.Expr{arg}
		if list, ok := arg.(*ast.CompositeLit); ok {
			parts = list.Elts
		}
		for _, x := range parts {
			if v := pass.TypesInfo.Types[x].Value; v != nil && v.Kind() == constant.String {
				text := strings.TrimSpace(constant.StringVal(v))
				named = named || text == "adroit"
				words = append(words, strings.Fields(text)...)
			}
		}
	}
	for _, word := range words {
		if named && !strings.ContainsAny(word, "%-") {
			commandLike.Store(likely{pass.Fset.Position(call.Pos()).String(), word}, true)
		}
	}
}

// lookAtText keeps a constant in which a command may be; it reports whether x is one.
func lookAtText(pass *analysis.Pass, x ast.Expr) bool {
	v := pass.TypesInfo.Types[x].Value
	if v == nil || v.Kind() != constant.String {
		return false
	}
	for _, m := range typed.FindAllStringSubmatch(constant.StringVal(v), -1) {
		commandLike.Store(likely{pass.Fset.Position(x.Pos()).String(), m[1]}, true)
	}
	return true
}

// otherHints returns the commands in other strings, once all packages were examined. It fails
// closed: finding no command at all is an error.
func otherHints() (found []string) {
	n := 0
	templates.Range(func(any, any) bool { n++; return true })
	if n == 0 {
		found = append(found, "hints: no template of internal/text/hint is found: name the package by where it is now")
	}
	n = 0
	commands.Range(func(any, any) bool { n++; return true })
	if n == 0 {
		found = append(found, "hints: no command is found: are commands made otherwise than with "+cobraPkg+" now?")
	}
	commandLike.Range(func(key, _ any) bool {
		l := key.(likely)
		if _, is := commands.Load(l.word); is || l.word == "" || l.word[0] == '%' || l.word[0] == '-' {
			found = append(found, fmt.Sprintf("%s: a command of adroit in a string: make it with hint.Command, which a test runs and which keeps --data-dir, or with hint.Name if it is only named", l.at))
		}
		return true
	})
	return found
}
