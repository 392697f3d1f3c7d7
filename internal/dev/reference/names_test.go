package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/adroit-run/adroit/"

// A tree has the names that comments and pages may use.
type tree struct {
	names    map[string]bool            // paths below the top, base names of files, and "ADR 7"
	packages map[string]map[string]bool // a package's folder → its names; "" → those of all
	folders  map[string]string          // a package's name → its folder; no two have one name
	imports  map[string]bool            // paths and base names of packages of Go's library
	sources  []sourceFile
}

type sourceFile struct {
	name string // below the top
	*token.FileSet
	*ast.File
	uses map[string]bool
}

var (
	quoted    = regexp.MustCompile("`([^`]+)`")
	docLink   = regexp.MustCompile(`\[\*?((?:[a-z][\w/]*\.)?[A-Z]+[a-z]\w*(?:\.[A-Z]\w*)?|[a-z]\w*/[\w/]+)\](?:[^(:\[]|$)`)
	treePath  = regexp.MustCompile(`(?:^|[^\w/.$*}-])(?:github.com/adroit-run/adroit/)?((?:pkg|internal|cmd|configs|docs)/[\w./*…{}-]+)`)
	goFile    = regexp.MustCompile(`(?:^|[\s(,])([a-z]\w*\.go)\b`)
	testName  = regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark)[A-Z]\w+)\b`)
	decision  = regexp.MustCompile(`\b(ADR \d+)`)
	ofPackage = regexp.MustCompile(`\b(?:[Ss]ee|from|in|of|to|by|which|with|for) package ([a-z]\w*)`)
	member    = regexp.MustCompile(`(?:^|[\s(])([a-z]\w*\.[A-Z]+[a-z]\w*(?:\.[A-Z]\w*)?)`)
	selector  = regexp.MustCompile(`^\*?([a-z]\w{2,}\.[A-Z]+[a-z]\w*(?:\.[A-Z]\w*)?)(?:\(.*\)|\{.*\})?$`)
	english   = regexp.MustCompile(`^(?:manager|variable)s?$`) // behind "package"
	mixedCaps = regexp.MustCompile(`^[a-zA-Z]+[a-z][A-Z]\w*$`)
	article   = regexp.MustCompile(`^(?:A|An|The) `)
)

// TestNamedThingsExist checks that everything that comments and pages name exists: in comments doc
// links, packages, paths, files, tests and decisions; in pages the words in backquotes.
func TestNamedThingsExist(t *testing.T) {
	tree := readTree(t)
	find := func(at string, line int, text string, pattern *regexp.Regexp, ok func(string) bool) {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			if !ok(m[1]) {
				t.Errorf("%s:%d: %s does not exist", at, line, m[1])
			}
		}
	}
	isTest := func(name string) bool { return tree.packages[""][name] }
	named := func(name string) bool { return tree.names[name] }
	for _, f := range tree.sources {
		tree.docs(t, f)
		for _, group := range f.Comments {
			for _, c := range group.List {
				for i, text := range strings.Split(c.Text, "\n") {
					if strings.HasPrefix(text, "//\t") || strings.HasPrefix(text, "//go:") {
						continue // code
					}
					n := f.Position(c.Pos()).Line + i
					find(f.name, n, text, treePath, tree.hasPath)
					find(f.name, n, text, testName, isTest)
					find(f.name, n, text, decision, named)
					find(f.name, n, text, docLink, func(name string) bool { return tree.declares(f, name) })
					find(f.name, n, text, goFile, func(name string) bool { return named(name) || strings.HasSuffix(f.name, "_test.go") })
					find(f.name, n, text, member, func(name string) bool { return f.uses[strings.Split(name, ".")[0]] || tree.declares(f, name) })
					find(f.name, n, text, ofPackage, func(name string) bool {
						return tree.folders[name] != "" || tree.imports[name] || english.MatchString(name)
					})
				}
			}
		}
	}
	seen := 0
	for _, name := range glob(t, "../../../README.md", "../../../Makefile", "../../../.github/workflows/*", "../../../docs/*.md", "../../../docs/dev/*.md", "../../../docs/adr/0*.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(b), "\n") {
			if !strings.HasSuffix(name, ".md") {
				text = "`" + text + "`"
			}
			for _, m := range quoted.FindAllStringSubmatch(text, -1) {
				seen++
				find(name, i+1, m[1], treePath, tree.hasPath)
				find(name, i+1, m[1], testName, func(name string) bool { return isTest(name) || name != m[1] })
				find(name, i+1, m[1], selector, func(name string) bool { return tree.declares(sourceFile{File: &ast.File{}}, name) })
			}
		}
	}
	if len(tree.packages) < 80 || seen < 2000 {
		t.Errorf("%d packages and %d words in backquotes seen", len(tree.packages), seen)
	}
}

// docs checks that the doc comments of the package and of exported names begin with their names,
// and that other doc comments begin with no other name.
func (t *tree) docs(test *testing.T, f sourceFile) {
	if about, ok := strings.CutPrefix(f.Doc.Text(), "Package "); ok && !strings.HasPrefix(about, f.File.Name.Name+" ") {
		test.Errorf("%s: the text of package %s is about another", f.name, f.File.Name.Name)
	}
	check := func(doc *ast.CommentGroup, name string) {
		words := strings.Fields(article.ReplaceAllString(doc.Text(), ""))
		exported := ast.IsExported(name) && !strings.HasSuffix(f.name, "_test.go")
		if len(words) > 0 && (exported || mixedCaps.MatchString(words[0])) && strings.TrimRight(words[0], ".,:’'s") != strings.TrimRight(name, "s") {
			test.Errorf("%s:%d: the comment of %s begins with %s", f.name, f.Position(doc.Pos()).Line, name, words[0])
		}
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			check(d.Doc, d.Name.Name)
		}
		if d, ok := d.(*ast.GenDecl); ok && len(d.Specs) == 1 {
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				check(d.Doc, s.Name.Name)
			case *ast.ValueSpec:
				check(d.Doc, s.Names[0].Name)
			}
		}
	}
}

// hasPath looks for a path such as pkg/flow, pkg/flow.Run or cmd/adroit/main.go.
func (t *tree) hasPath(name string) bool {
	name = strings.TrimRight(name, "./,")
	folder, symbol, _ := strings.Cut(path.Base(name), ".")
	example := strings.ContainsAny(name, "*…{}") || strings.ToLower(path.Dir(name)) != path.Dir(name) || strings.ToUpper(path.Base(name)) == path.Base(name)
	return example || t.names[name] || t.has(path.Join(path.Dir(name), folder), symbol)
}

// declares reports whether a symbol in f, such as Type.Method or pkg.Name, is declared. Other
// modules are not looked into.
func (t *tree) declares(f sourceFile, name string) bool {
	pkg, symbol, ok := strings.Cut(name, ".")
	if !ok || pkg[0] < 'a' {
		return t.has(path.Dir(f.name), name) || t.packages[name] != nil || t.imports[name]
	}
	for _, i := range f.Imports {
		if !strings.Contains(i.Path.Value, module) && (strings.Contains(path.Base(i.Path.Value), pkg) || i.Name != nil && i.Name.Name == pkg) {
			return true
		}
	}
	return t.imports[pkg] || t.has(t.folders[path.Base(pkg)], symbol)
}

// has reports whether a package declares a symbol. The field or method of a type may be
// declared by any package, as types embed others and stand for others.
func (t *tree) has(folder, symbol string) bool {
	owner, member, ok := strings.Cut(symbol, ".")
	return folder != "" && t.packages[folder][owner] && (!ok || t.packages[""][member])
}

func readTree(t *testing.T) *tree {
	out := &tree{names: map[string]bool{}, packages: map[string]map[string]bool{"": {}}, folders: map[string]string{}, imports: map[string]bool{}}
	err := fs.WalkDir(os.DirFS("../../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		out.names[name], out.names[path.Base(name)] = true, true
		n, _, _ := strings.Cut(path.Base(name), "-")
		out.names["ADR "+n], out.names["ADR "+strings.TrimLeft(n, "0")] = true, true
		if err != nil || !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			return err
		}
		f := sourceFile{name: name, FileSet: token.NewFileSet(), uses: map[string]bool{}}
		f.File, err = parser.ParseFile(f.FileSet, "../../../"+name, nil, parser.ParseComments|parser.SkipObjectResolution)
		out.add(f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// add enters the names in a file, but in the package only those that the file does not select
// from something else.
func (t *tree) add(f sourceFile) {
	t.sources = append(t.sources, f)
	folder := path.Dir(f.name)
	if t.packages[folder] == nil {
		t.packages[folder] = map[string]bool{}
	}
	t.folders[strings.TrimSuffix(f.File.Name.Name, "_test")] = folder
	selected := map[*ast.Ident]bool{}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if name := strings.Trim(n.Path.Value, `"`); !strings.Contains(name, ".") {
				t.imports[name], t.imports[path.Base(name)] = true, true
			}
		case *ast.SelectorExpr:
			selected[n.Sel] = true
		case *ast.Ident:
			f.uses[n.Name] = true
			if !selected[n] {
				t.packages[folder][n.Name], t.packages[""][n.Name] = true, true
			}
		}
		return true
	})
}
