package navigate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/parts/internal/navigate"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConformance(t *testing.T) {
	toolstest.Check(t, navigate.Outline, navigate.Definition, navigate.References, navigate.Diagnostics)
}

// shop is a module with a package that another uses, tests inside and beside
// it, and names that occur where they mean something else.
var shop = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.22\n",
	"cart/cart.go": `// Package cart has Total in its comment.
package cart

import "fmt"

// Item is a thing.
type Item struct {
	Price int
	note  string
}

// Cart has items.
type Cart struct{ items []Item }

type Adder interface {
	Add(Item)
}

const Limit = 10

// Total sums up.
func (c *Cart) Total() int {
	sum := 0 /* 🛒 Total */; for _, i := range c.items { sum += i.Price }
	fmt.Println("Total", sum)
	return sum
}

func (c *Cart) Add(i Item) { c.items = append(c.items, i) }

func Map[T any](xs []T, f func(T) T) []T { return xs }
`,
	"cart/cart_test.go":   "package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) { c := new(Cart); c.Add(Item{Price: 2}); _ = c.Total() }\n",
	"cart/ext_test.go":    "package cart_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/shop/cart\"\n)\n\nfunc TestExt(t *testing.T) { _ = new(cart.Cart).Total() }\n",
	"main.go":             "package main\n\nimport \"example.com/shop/cart\"\n\ntype Bill struct{}\n\nfunc (Bill) Total() int { return 1 }\n\nfunc main() {\n\tc := &cart.Cart{}\n\tc.Add(cart.Item{Price: 1})\n\tprintln(c.Total(), Bill{}.Total(), cart.Limit)\n}\n",
	"web/app.py":          "import os\n\nclass App:\n    def run(self):\n        def inner():\n            pass\n        return 1\n\ndef start():\n    return App().run()\n",
	"web/page.ts":         "export class Page {\n  render(): string { return '' }\n}\nexport function open() { return new Page() }\n",
	".ctags.d/evil.ctags": "--langdef=Evil\n--kinddef-Evil=e,evil,evils\n--map-Evil=+.py\n--regex-Evil=/(App)/\\1EVIL/e/\n",
}

func bench(t *testing.T, files map[string]string) *tools.Env {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	runner := process.New(dir, "", nil)
	t.Cleanup(func() { _ = runner.Close(); _ = f.Close() })
	return &tools.Env{Files: f, Exec: runner}
}

func call(t *testing.T, env *tools.Env, tool tools.Tool, args string) tools.Result {
	t.Helper()
	r, err := tool.Run(t.Context(), env, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func has(t *testing.T, r tools.Result, wants ...string) {
	t.Helper()
	if r.Failed {
		t.Errorf("failed: %s", r.Text)
	}
	for _, w := range wants {
		if !strings.Contains(r.Text, w) {
			t.Errorf("no %q in\n%s", w, r.Text)
		}
	}
}

func lacks(t *testing.T, r tools.Result, nots ...string) {
	t.Helper()
	for _, n := range nots {
		if strings.Contains(r.Text, n) {
			t.Errorf("%q in\n%s", n, r.Text)
		}
	}
}

func TestOutlineGo(t *testing.T) {
	env := bench(t, shop)
	r := call(t, env, navigate.Outline, `{"path":"cart/cart.go"}`)
	has(t, r, "7-10: type Item struct", "22-26: func (c *Cart) Total() int", "    16: Add(Item)", "19: const Limit = 10", "func Map[T any]")
	if r.Summary != "8 declarations in 1 file" {
		t.Errorf("summary %q", r.Summary)
	}
	env = bench(t, map[string]string{"half.go": "package half\n\nfunc A() {}\n\nfunc B( {\n"})
	has(t, call(t, env, navigate.Outline, `{"path":"half.go"}`), "3: func A()")
}

func TestOutlineCtags(t *testing.T) {
	testenv.NeedsProgram(t, "ctags")
	env := bench(t, shop)
	r := call(t, env, navigate.Outline, `{"path":"web"}`)
	has(t, r, "web/app.py", "class App", "    4-7: def run(self)", "9-10: def start()", "export class Page", "render(): string")
	lacks(t, r, "inner", "EVIL")
}

func TestOutlineWithoutCtags(t *testing.T) {
	t.Setenv("PATH", "")
	env := bench(t, shop)
	r := call(t, env, navigate.Outline, `{"path":"web"}`)
	has(t, r, "web/app.py", "3: class App", "    4: def run(self)", "9: def start()", "1: export class Page", "2: render(): string", "universal-ctags is not installed")
	lacks(t, r, "inner", "EVIL")
	has(t, call(t, env, navigate.Outline, `{}`), "func (c *Cart) Total() int", "def start()")
	has(t, call(t, env, navigate.Definition, `{"name":"App"}`), "web/app.py\n3: class App")
	env = bench(t, map[string]string{"lib/a.rb": "class A\n  def valid?\n  end\nend\n"})
	has(t, call(t, env, navigate.Definition, `{"name":"valid?"}`), "lib/a.rb\n2: def valid?")
	if r := call(t, env, navigate.Outline, `{"path":"web/missing.py"}`); !r.Failed || !strings.Contains(r.Text, "does not exist") {
		t.Errorf("%+v, want that the file does not exist", r)
	}
}

// A folder with more files than an outline shows is mapped: what most files use
// comes first, and names that everybody declares do not.
func TestRepositoryMap(t *testing.T) {
	files := map[string]string{
		"z/core.py":  "class Engine:\n    def start_engine(self):\n        pass\n\ndef unused_helper():\n    pass\n\ndef run():\n    pass\n",
		"z/core.go":  "package z\n\n// Core is used by all.\ntype Core struct{}\n\nfunc Unused() {}\n\nfunc (Core) Run() {}\n",
		"z/notes.md": "Engine Engine Engine\n",
	}
	for i := range 150 {
		files[fmt.Sprintf("a/f%03d.py", i)] = fmt.Sprintf("from z.core import Engine\n\ndef run():\n    Engine().start_engine()\n    f%03d()\n", i)
		files[fmt.Sprintf("b/p%03d/f.go", i)] = "package p\n\nimport \"z\"\n\nfunc Run() { z.Core{}.Run() }\n"
	}
	env := bench(t, files)
	r := call(t, env, navigate.Outline, `{}`)
	has(t, r, "[302 files: ", "z/core.py (10 lines)\n  1: class Engine\n    2: def start_engine(self)\n", "z/core.go (9 lines)\n  4: type Core struct{}\n")
	lacks(t, r, "unused_helper", "Unused", "notes.md")
	if at, first := strings.Index(r.Text, "z/core"), strings.Index(r.Text, " lines)"); at < 0 || first < at {
		t.Errorf("files that are used less come first:\n%.300s", r.Text)
	}
	has(t, call(t, env, navigate.Outline, `{"path":"z"}`), "unused_helper", "func Unused()")

	// An edit shows in the next map.
	if err := env.Files.WriteFile("z/core.py", []byte("\n\nclass Engine:\n    pass\n")); err != nil {
		t.Fatal(err)
	}
	has(t, call(t, env, navigate.Outline, `{}`), "3: class Engine")
}

// The map of a real tree is bounded, and has what everybody knows of it.
func TestRepositoryMapOfGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := workspace.Open(filepath.Join(strings.TrimSpace(string(root)), "src", "net"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	env := &tools.Env{Files: f, Exec: process.New(f.Dir(), "", nil)}
	r := call(t, env, navigate.Outline, `{}`)
	has(t, r, "http/request.go", "type Request struct", "url/url.go", "net.go", "type Conn interface")
	if len(r.Text) > 14_000 {
		t.Errorf("the map has %d bytes", len(r.Text))
	}
}

// ctags finds names that are more than a word.
func TestDefinitionCtags(t *testing.T) {
	testenv.NeedsProgram(t, "ctags")
	env := bench(t, map[string]string{"lib/a.rb": "class A\n  def valid?\n  end\nend\n", "lib/b.rb": "# valid? is elsewhere\n"})
	r := call(t, env, navigate.Definition, `{"name":"valid?"}`)
	has(t, r, "lib/a.rb\n2: def valid?")
	lacks(t, r, "lib/b.rb")
}

func TestDefinitionWithoutServer(t *testing.T) {
	env := bench(t, shop)
	// Which Total is meant is found by types; the line is off by one.
	r := call(t, env, navigate.Definition, `{"name":"c.Total()","path":"main.go","line":11}`)
	has(t, r, "cart/cart.go\n22: func (c *Cart) Total() int {")
	lacks(t, r, "Bill")
	r = call(t, env, navigate.Definition, `{"name":"Total"}`)
	has(t, r, "cart/cart.go\n22: ", "main.go\n7: func (Bill) Total() int")
	has(t, call(t, env, navigate.Definition, `{"name":"Price"}`), "cart/cart.go\n8: Price int")
	for args, want := range map[string]string{
		`{"name":"Nowhere"}`:                   "nothing in the workspace is known to declare Nowhere",
		`{"name":"Total","path":"go.mod"}`:     "does not occur in go.mod",
		`{"name":"+"}`:                         "is not a name",
		`{"name":"Total","path":"missing.go"}`: "missing.go",
	} {
		if r := call(t, env, navigate.Definition, args); !r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
}

func TestReferencesWithoutServer(t *testing.T) {
	env := bench(t, shop)
	r := call(t, env, navigate.References, `{"name":"Total","path":"cart/cart.go","line":21}`)
	has(t, r, "cart/cart.go\n22: ", "cart/cart_test.go\n5: ", "cart/ext_test.go\n9: ", "main.go\n12: ")
	lacks(t, r, "7: func (Bill)", "23: ", "whatever it means")
	if r.Summary != "Total: 4 references in 4 files" {
		t.Errorf("summary %q", r.Summary)
	}
	if r := call(t, env, navigate.References, `{"name":"Total"}`); !r.Failed || !strings.Contains(r.Text, "declared in 2 places") {
		t.Errorf("%+v, want a question which is meant", r)
	}
	has(t, call(t, env, navigate.References, `{"name":"Limit"}`), "cart/cart.go\n19: ", "main.go\n12: ")
	t.Run("text", func(t *testing.T) {
		testenv.NeedsProgram(t, "ctags")
		has(t, call(t, env, navigate.References, `{"name":"App"}`), "whatever it means there", "web/app.py\n3: class App:", "10: return App().run()")
	})
}

// A line with "yes" refers to what a/a.go declares at its top, one with "no" does not.
func TestReferencesAtTheTop(t *testing.T) {
	files := map[string]string{
		"go.mod":       "module example.com/m\n",
		"a/a.go":       "package a\n\n// Name is in this comment: no\nfunc Name() {} // yes\n\ntype s struct {\n\tName int // no\n}\n\nvar x = s{Name: 1} // no\n\nvar _ = map[string]any{\"Name\": Name} // yes\n\nfunc (s) m(Name int) int { return Name } // no\n\nfunc n() { Name() } // yes\n",
		"a/b.go":       "package a\n\nfunc o() {\n\tName() // yes\n\tName := 1 // no\n\t_ = Name // no\n}\n",
		"a/in_test.go": "package a_test\n\nimport \"example.com/m/a\"\n\nfunc p() { a.Name() } // yes\n",
		"b/b.go":       "package b\n\nimport (\n\tother \"example.com/m/a\"\n\t\"example.com/away\"\n)\n\nfunc q() {\n\tother.Name() // yes\n\taway.Call[any](other.Name) // yes\n\tother := away.New() // no\n\tother.Name() // no\n}\n",
		"c/c.go":       "package c\n\nimport . \"example.com/m/a\"\n\nfunc r() { Name() } // yes\n",
		"d/d.go":       "package d\n\nimport \"example.com/m/e/a\"\n\nfunc u() { a.Name() } // no\n",
		"e/a/a.go":     "package a\n\nfunc Name() {} // no\n",
	}
	r := call(t, bench(t, files), navigate.References, `{"name":"Name","path":"a/a.go","line":4}`)
	yes := 0
	for _, text := range files {
		yes += strings.Count(text, "// yes\n")
	}
	lacks(t, r, "// no", ": no")
	if got := strings.Count(r.Text, "// yes"); got != yes {
		t.Errorf("%d of %d references:\n%s", got, yes, r.Text)
	}
}

func TestDiagnosticsWithoutServer(t *testing.T) {
	t.Setenv("GOFLAGS", "") // -trimpath changes the paths that go vet prints
	env := bench(t, map[string]string{
		"go.mod":   "module example.com/x\n\ngo 1.22\n",
		"a/a.go":   "package a\n\nimport \"fmt\"\n\nfunc A() { fmt.Printf(\"%d\\n\", \"x\") }\n",
		"b/b.go":   "package b\n\nfunc B() int { return nix }\n",
		"c/c.go":   "package c\n",
		"web/x.py": "x = \n",
	})
	has(t, call(t, env, navigate.Diagnostics, `{"path":"a/a.go"}`), "a/a.go:5: error: fmt.Printf format %d")
	has(t, call(t, env, navigate.Diagnostics, `{"path":"b"}`), "b/b.go:3: error: undefined: nix")
	has(t, call(t, env, navigate.Diagnostics, `{"path":"c"}`), "no diagnostics")
	if r := call(t, env, navigate.Diagnostics, `{"path":"web"}`); !r.Failed || !strings.Contains(r.Text, "no language server for x.py") {
		t.Errorf("%+v, want it said plainly", r)
	}
	has(t, call(t, env, navigate.Diagnostics, `{}`), "undefined: nix", "[no language server for x.py here]")
}

// TestServed finds the same through real language servers.
func TestServed(t *testing.T) {
	for _, c := range []struct{ program, bin, file, name, broken, says string }{
		{"gopls", "GOPLS_BIN", "main.go", "Cart", "main.go", "undefined: nix"},
		{"typescript-language-server", "LANGUAGE_SERVERS", "web/page.ts", "Page", "web/bad.ts", "Cannot find name 'nix'"},
		{"pyright-langserver", "LANGUAGE_SERVERS", "web/app.py", "App", "web/bad.py", `"nix" is not defined`},
	} {
		t.Run(c.program, func(t *testing.T) {
			testenv.NeedsBuilt(t, c.program, c.bin)
			env := bench(t, shop)
			code := lsp.New(env.Exec, env.Files, lsp.Options{Servers: lsp.Known()})
			defer code.Close()
			env.Code = code
			line := map[string]string{"main.go": "10", "web/page.ts": "4", "web/app.py": "10"}[c.file]
			r := call(t, env, navigate.Definition, `{"name":"`+c.name+`","path":"`+c.file+`","line":`+line+`}`)
			has(t, r, map[string]string{"main.go": "cart/cart.go\n13: type Cart struct", "web/page.ts": "1: export class Page", "web/app.py": "3: class App:"}[c.file])
			r = call(t, env, navigate.References, `{"name":"`+c.name+`","path":"`+c.file+`","line":`+line+`}`)
			has(t, r, line+": ")
			lacks(t, r, "whatever it means")
			has(t, call(t, env, navigate.Diagnostics, `{"path":"`+c.file+`"}`), "no diagnostics")

			text := map[string]string{".go": "package main\n\nfunc bad() { nix() }\n", ".ts": "nix()\n", ".py": "nix()\n"}
			if c.broken == "main.go" {
				c.broken = "bad.go"
			}
			if err := env.Files.WriteFile(c.broken, []byte(text[filepath.Ext(c.broken)])); err != nil {
				t.Fatal(err)
			}
			has(t, call(t, env, navigate.Diagnostics, `{"path":"`+c.broken+`"}`), c.broken, c.says)
			has(t, call(t, env, navigate.Outline, `{"path":"`+c.file+`"}`), map[string]string{"main.go": "func main()", "web/page.ts": "render(): string", "web/app.py": "def run(self)"}[c.file])
		})
	}
}
