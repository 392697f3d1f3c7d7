package lsp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A language is a small project in which first.X calls a function that second.X declares.
type language struct {
	name    string
	program string
	bin     string // the variable that says where it is
	files   map[string]string
	edited  string
	broken  string // what the edited file becomes
	says    string // part of the only new diagnostic
	line    int
	at      tools.Location   // a use
	def     tools.Location   // its declaration
	refs    []tools.Location // all of it
	symbols string
}

func languages() []language {
	return []language{
		{
			name: "go", program: "gopls", bin: "GOPLS_BIN",
			files: map[string]string{
				"go.mod":   "module example.com/shop\n\ngo 1.22\n",
				"cart.go":  "package shop\n\nfunc Sum() int {\n\tvar old string = 1\n\t_ = old\n\t/* 🛒 */ return Price(2) + Price(3)\n}\n",
				"price.go": "package shop\n\n// Price is of n pieces.\nfunc Price(n int) int { return n * 7 }\n",
			},
			edited: "cart.go",
			broken: "package shop\n\n// Sum is new.\nfunc Sum() int {\n\tvar old string = 1\n\t_ = old\n\t/* 🛒 */ return Price(2) + Cost(3)\n}\n",
			says:   "undefined: Cost", line: 7,
			at: tools.Location{File: "cart.go", Line: 6, Column: 20}, def: tools.Location{File: "price.go", Line: 4, Column: 6},
			refs:    []tools.Location{{File: "cart.go", Line: 6, Column: 20}, {File: "cart.go", Line: 6, Column: 31}, {File: "price.go", Line: 4, Column: 6}},
			symbols: "func Sum",
		},
		{
			name: "typescript", program: "typescript-language-server", bin: "LANGUAGE_SERVERS",
			files: map[string]string{
				"tsconfig.json": `{"compilerOptions":{"strict":true,"module":"esnext","target":"es2022","moduleResolution":"bundler"}}`,
				"cart.ts":       "import { price } from './price'\nexport function sum(): number {\n  const old: string = 1\n  /* 🛒 */ return price(2)\n}\n",
				"price.ts":      "export function price(n: number): number { return n * 7 }\n",
			},
			edited: "cart.ts",
			broken: "import { price } from './price'\n\nexport function sum(): number {\n  const old: string = 1\n  /* 🛒 */ return price('2')\n}\n",
			says:   "not assignable to parameter of type 'number'", line: 5,
			at: tools.Location{File: "cart.ts", Line: 4, Column: 21}, def: tools.Location{File: "price.ts", Line: 1, Column: 17},
			refs:    []tools.Location{{File: "cart.ts", Line: 1, Column: 10}, {File: "cart.ts", Line: 4, Column: 21}, {File: "price.ts", Line: 1, Column: 17}},
			symbols: "func sum",
		},
		{
			name: "python", program: "pyright-langserver", bin: "LANGUAGE_SERVERS",
			files: map[string]string{
				"cart.py":  "from price import price\n\ndef sum_up() -> int:\n    old: str = 1\n    s = '🛒'; return price(2)\n",
				"price.py": "def price(n: int) -> int:\n    return n * 7\n",
			},
			edited: "cart.py",
			broken: "from price import price\n\n\ndef sum_up() -> int:\n    old: str = 1\n    s = '🛒'; return price('2')\n",
			says:   "cannot be assigned to parameter", line: 6,
			at: tools.Location{File: "cart.py", Line: 5, Column: 24}, def: tools.Location{File: "price.py", Line: 1, Column: 5},
			refs:    []tools.Location{{File: "cart.py", Line: 1, Column: 19}, {File: "cart.py", Line: 5, Column: 24}, {File: "price.py", Line: 1, Column: 5}},
			symbols: "func sum_up",
		},
	}
}

// install puts the real server on PATH. CI has them all, so that one that is
// missing there is a failure.
func (l language) install(t *testing.T) {
	t.Helper()
	testenv.NeedsBuilt(t, l.program, l.bin)
}

// project lays out files and returns the servers for them.
func project(t *testing.T, files map[string]string, o lsp.Options) (*lsp.Servers, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	f, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	runner := process.New(dir, t.TempDir(), nil)
	s := lsp.New(runner, f, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
		_ = f.Close()
	})
	return s, dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestReal drives the real servers: problems that an edit causes are told apart from earlier ones,
// and positions are right on a line with a character that takes two UTF-16 units.
func TestReal(t *testing.T) {
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			l.install(t)
			s, dir := project(t, l.files, lsp.Options{Servers: lsp.Known()})
			ctx := within(t, 10*time.Minute)

			found, err := s.Diagnose(ctx, l.edited)
			if err != nil {
				t.Fatal(err)
			}
			if len(errorsOf(found)) != 1 {
				t.Fatalf("to begin with: %v, want the one error that is there", found)
			}
			defs, err := s.Definition(ctx, l.at)
			if err != nil || len(defs) != 1 || defs[0] != l.def {
				t.Errorf("definition of %v: %v, %v; want %v", l.at, defs, err, l.def)
			}
			refs, err := s.References(ctx, l.def)
			if err != nil || !equal(refs, l.refs) {
				t.Errorf("references of %v: %v, %v; want %v", l.def, refs, err, l.refs)
			}
			syms, err := s.Symbols(ctx, l.edited)
			var names []string
			for _, sym := range syms {
				names = append(names, sym.Kind+" "+sym.Name)
			}
			if err != nil || !strings.Contains(strings.Join(names, "\n"), l.symbols) {
				t.Errorf("symbols %v, %v; want %s", names, err, l.symbols)
			}

			write(t, filepath.Join(dir, l.edited), l.broken)
			start := time.Now()
			fresh, err := s.Appeared(ctx, lsp.Change{File: l.edited, Before: l.files[l.edited]})
			t.Logf("%s: the edit was judged in %s", l.name, time.Since(start))
			switch {
			case err != nil:
				t.Errorf("unexpected error: after an edit that breaks: %v, %v; want line %d: %s", fresh, err, l.line, l.says)
			case len(fresh) != 1:
				t.Errorf("len(fresh) is %v, want 1: after an edit that breaks: %v, %v; want line %d: %s", len(fresh), fresh, err, l.line, l.says)
			case !strings.Contains(fresh[0].Message, l.says):
				t.Errorf("fresh[0].Message lacks l.says: after an edit that breaks: %v, %v; want line %d: %s", fresh, err, l.line, l.says)
			case fresh[0].Line != l.line:
				t.Errorf("fresh[0].Line is %v, want %v: after an edit that breaks: %v, %v; want line %d: %s", fresh[0].Line, l.line, fresh, err, l.line, l.says)
			}
			write(t, filepath.Join(dir, l.edited), l.files[l.edited])
			if fresh, err = s.Appeared(ctx, lsp.Change{File: l.edited}); err != nil || len(fresh) != 0 {
				t.Errorf("after an edit that mends: %v, %v; want none", fresh, err)
			}
		})
	}
}

// TestRealFirst compares with the text before also if the server never saw it.
func TestRealFirst(t *testing.T) {
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			l.install(t)
			s, dir := project(t, l.files, lsp.Options{Servers: lsp.Known()})
			ctx := within(t, 10*time.Minute)
			write(t, filepath.Join(dir, l.edited), l.broken)
			fresh, err := s.Appeared(ctx, lsp.Change{File: l.edited, Before: l.files[l.edited]})
			if err != nil || len(fresh) != 1 || !strings.Contains(fresh[0].Message, l.says) {
				t.Errorf("%v, %v; want %s", fresh, err, l.says)
			}
		})
	}
}

func errorsOf(ds []tools.Diagnostic) (out []tools.Diagnostic) {
	for _, d := range ds {
		if d.Severity == "error" {
			out = append(out, d)
		}
	}
	return out
}

func equal(a, b []tools.Location) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
