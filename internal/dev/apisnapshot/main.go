// Api prints, for each package, its lines of Go outside tests, its exported
// names and their methods: make count. Its test compares the names of the
// public packages with testdata/api.txt.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	packages, err := read(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
	slices.SortStableFunc(packages, func(a, b pkg) int { return cmp.Compare(b.lines, a.lines) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "lines\tfiles\tnames\tmethods\t\n")
	var all, kits pkg
	for _, p := range packages {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", p.lines, p.files, len(p.names), len(p.methods), p.dir)
		all.add(p)
		if p.testKit() {
			kits.add(p)
		}
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  in all\n", all.lines, all.files, len(all.names), len(all.methods))
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  without test kits\n", all.lines-kits.lines, all.files-kits.files, len(all.names)-len(kits.names), len(all.methods)-len(kits.methods))
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
	fmt.Println(count(packages), "names in public packages, without test kits")
}

// A pkg describes a package without its tests.
type pkg struct {
	dir            string // from the root of the module, with slashes
	lines, files   int    // of all systems
	names, methods []string
}

func (p *pkg) add(q pkg) {
	p.lines, p.files = p.lines+q.lines, p.files+q.files
	p.names, p.methods = append(p.names, q.names...), append(p.methods, q.methods...)
}

// testKit reports whether only tests import the package.
func (p *pkg) testKit() bool {
	return strings.HasPrefix(p.dir, "internal/dev/e2e/") || strings.HasSuffix(p.dir, "test") && p.dir != "internal/builtin/test"
}

// public reports whether programs outside this module can import the package.
func (p *pkg) public() bool {
	return strings.HasPrefix(p.dir, "pkg/") && !strings.Contains(p.dir, "/internal")
}

// read reads the packages below root that have Go files outside tests, sorted
// by their directories.
func read(root string) (packages []pkg, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		dir, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		p := pkg{dir: filepath.ToSlash(dir)}
		if err := p.read(name); err != nil {
			return err
		}
		if p.files > 0 {
			packages = append(packages, p)
		}
		return nil
	})
	return packages, err
}

// read counts all files of a directory, and takes the names of those that are
// built for Linux.
func (p *pkg) read(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	linux := build.Default
	linux.GOOS, linux.GOARCH, linux.CgoEnabled = "linux", "amd64", false
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p.lines, p.files = p.lines+bytes.Count(text, []byte("\n")), p.files+1
		if built, err := linux.MatchFile(dir, filepath.Base(file)); err != nil {
			return err
		} else if !built {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if tree.Name.Name != "main" {
			p.exported(tree)
		}
	}
	slices.Sort(p.names)
	slices.Sort(p.methods)
	return nil
}

// exported adds the exported names that a file declares, each with its kind.
func (p *pkg) exported(tree *ast.File) {
	name := func(kind string, id *ast.Ident) {
		if id.IsExported() {
			p.names = append(p.names, kind+" "+id.Name)
		}
	}
	for _, decl := range tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				name("func", decl.Name)
			} else if of := receiver(decl.Recv.List[0].Type); ast.IsExported(of) && decl.Name.IsExported() {
				p.methods = append(p.methods, "method "+of+"."+decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					name("type", spec.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						name(decl.Tok.String(), id)
					}
				}
			}
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// count returns the number of exported names visible to programs outside this module, without test
// kits.
func count(packages []pkg) (n int) {
	for _, p := range packages {
		if p.public() && !p.testKit() {
			n += len(p.names)
		}
	}
	return n
}

// snapshot lists the exported names of the public packages, a line each, after how
// many they are.
func snapshot(packages []pkg) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d names outside test kits\n", count(packages))
	for _, p := range packages {
		if !p.public() {
			continue
		}
		for _, name := range append(slices.Clone(p.names), p.methods...) {
			fmt.Fprintf(&b, "%s: %s\n", strings.TrimPrefix(p.dir, "pkg/"), name)
		}
	}
	return b.Bytes()
}
