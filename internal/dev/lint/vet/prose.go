package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// prose are the fields that have words for models, people and logs, by the struct that
// declares them. What programs need to know is in a field beside them.
var prose = map[string][]string{
	"internal/problem.Error":            {"Message", "Hint"},
	"pkg/workflows/coordinator.Action":  {"Reasoning", "Hint"},
	"pkg/workflows/coordinator.Problem": {"Message"},
	"pkg/event.Event":                   {"Text", "Error"},
	"pkg/executor.Outcome":              {"Reason", "Summary"},
	"pkg/executor.Report":               {"Reason", "Summary"},
	"pkg/flow.Failure":                  {"Message"},
	"pkg/tools.Result":                  {"Text", "Summary"},
}

// readers are the functions by which a program takes words apart or compares them, by
// package; nil is all of them that have one of the names below.
var readers = map[string][]string{
	"strings": {"Compare", "Contains", "ContainsAny", "Count", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "HasPrefix", "HasSuffix", "Index", "IndexByte",
		"LastIndex", "Split", "SplitN", "Fields", "TrimPrefix", "TrimSuffix"},
	"fmt":     {"Sscan", "Sscanf", "Sscanln"},
	"strconv": {"Atoi", "ParseInt", "ParseFloat", "ParseBool", "Unquote"},
}

// readsOthers are the packages that read the words of other programs, or of journals that are
// older than the values, beside which no value is to be had.
var readsOthers = []string{"internal/calling", "internal/git", "internal/turn", "pkg/models", "pkg/parts/internal/gittool", "pkg/parts/internal/podcast", "internal/builtin/test"}

// sentence is the number of consecutive words that make a constant a sentence.
const sentence = 4

// readsProse finds places where a program reads text that was written for somebody else: a better
// wording would change its behaviour.
var readsProse = &analysis.Analyzer{
	Name: "prose",
	Doc:  "report programs that take apart, compare or match words that were written for models, people or logs",
	Run: func(pass *analysis.Pass) (any, error) {
		pkg, ours := strings.CutPrefix(strings.TrimSuffix(pass.Pkg.Path(), "_test"), project+"/")
		if !ours || !isProduct(pkg) {
			return nil, nil
		}
		for _, f := range pass.Files {
			if strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go") {
				continue
			}
			others := slices.ContainsFunc(readsOthers, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
			for _, d := range f.Decls {
				inspectProse(pass, d, others)
			}
		}
		return nil, nil
	},
}

func inspectProse(pass *analysis.Pass, d ast.Decl, others bool) {
	report := func(at ast.Node, field string) {
		pass.Reportf(at.Pos(), "a program reads %s, which has words for models and people: give what it must know a field of its own", field)
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !takesApart(typeutil.StaticCallee(pass.TypesInfo, n)) {
				return true
			}
			if len(n.Args) > 1 && isMark(pass.TypesInfo, n.Args[1]) {
				return true
			}
			if len(n.Args) > 1 && !others && isSentence(pass.TypesInfo, n.Args[1]) {
				pass.Reportf(n.Pos(), "a program looks for a sentence in a text: have who writes it return a value beside it, or put a package that reads other programs on the list")
				return false
			}
			for _, arg := range n.Args {
				if field := proseIn(pass.TypesInfo, arg); field != "" {
					report(n, field)
					return false
				}
			}
		case *ast.BinaryExpr:
			if n.Op != token.EQL && n.Op != token.NEQ {
				return true
			}
			for x, y := range map[ast.Expr]ast.Expr{n.X: n.Y, n.Y: n.X} {
				field := proseIn(pass.TypesInfo, x)
				if v := pass.TypesInfo.Types[y].Value; field != "" && v != nil && v.ExactString() != `""` {
					report(n, field)
				}
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				if field := proseIn(pass.TypesInfo, n.Tag); field != "" {
					report(n, field)
				}
			}
		}
		return true
	})
}

// isSentence reports whether an expression is a literal with several words in a row. A named
// constant does not count: the author of the text owns it.
func isSentence(info *types.Info, x ast.Expr) bool {
	if _, named := ast.Unparen(x).(*ast.Ident); named {
		return false
	}
	v := info.Types[x].Value
	if v == nil || v.Kind() != constant.String {
		return false
	}
	row := 0
	for word := range strings.FieldsSeq(constant.StringVal(v)) {
		if row++; strings.ContainsFunc(strings.Trim(word, `.,;:()[]"'`), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			row = 0
		}
		if row == sentence {
			return true
		}
	}
	return false
}

// isMark reports whether an expression is a constant without a letter or digit: the end
// of a line or sentence, which is a matter of layout.
func isMark(info *types.Info, x ast.Expr) bool {
	v := info.Types[x].Value
	return v != nil && v.Kind() == constant.String && !strings.ContainsFunc(constant.StringVal(v), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// takesApart reports whether a function reads the text that it is given.
func takesApart(fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if recv := fn.Signature().Recv(); recv != nil {
		path := fn.Pkg().Path()
		return (path == "regexp" || path == project+"/internal/text/lazyregexp") && !strings.HasPrefix(fn.Name(), "Replace")
	}
	for _, name := range readers[fn.Pkg().Path()] {
		if name == fn.Name() {
			return true
		}
	}
	return false
}

// proseIn returns the field with words that an expression is, trimmed or converted, "" if
// it is none.
func proseIn(info *types.Info, x ast.Expr) string {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		for _, arg := range x.Args {
			if field := proseIn(info, arg); field != "" {
				return field
			}
		}
	case *ast.SelectorExpr:
		v, ok := info.Uses[x.Sel].(*types.Var)
		if !ok || !v.IsField() {
			return ""
		}
		s := info.Selections[x]
		if s == nil {
			return ""
		}
		return proseField(s)
	}
	return ""
}

// proseField names the field that a selection selects, through embedded structs, if it contains
// words for people.
func proseField(s *types.Selection) string {
	t := s.Recv()
	index := s.Index()
	for i, at := range index {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return ""
		}
		f := st.Field(at)
		if i < len(index)-1 {
			t = f.Type()
			continue
		}
		n, ok := types.Unalias(t).(*types.Named)
		if !ok || n.Obj().Pkg() == nil {
			return ""
		}
		name := strings.TrimPrefix(n.Obj().Pkg().Path(), project+"/") + "." + n.Obj().Name()
		for _, field := range prose[name] {
			if field == f.Name() {
				return name + "." + field
			}
		}
	}
	return ""
}
