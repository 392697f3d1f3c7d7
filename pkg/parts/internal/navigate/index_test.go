package navigate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// old makes a file whose time of modification identifies its content.
func old(t *testing.T, dir, name, text string, age time.Duration) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func where(t *testing.T, env *tools.Env, word string) string {
	t.Helper()
	syms, err := code{env}.declarations(t.Context(), word)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, s := range syms {
		at = append(at, fmt.Sprintf("%s:%d", s.File, s.Line))
	}
	return strings.Join(at, " ")
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	env := &tools.Env{Files: files}
	expect := func(what, word, want string) {
		t.Helper()
		if got := where(t, env, word); got != want {
			t.Errorf("%s: %s is at %q, want %q", what, word, got, want)
		}
	}
	old(t, dir, "a.go", "package a\n\nfunc F() {}\n", time.Hour)
	old(t, dir, "b.go", "package a\n\ntype T struct {\n\tX int\n}\n", time.Hour)
	old(t, dir, "huge.go", "package a\n\nfunc Huge() {}\n"+strings.Repeat("//\n", maxFile/3+1), time.Hour)
	old(t, dir, "broken.go", "package a\n\nfunc Broken() {}\n\nfunc (", time.Hour)
	expect("a function", "F", "a.go:3")
	expect("a field", "X", "b.go:4")
	expect("a file that is too large", "Huge", "")
	expect("a file that cannot be parsed whole", "Broken", "broken.go:3")
	x := indexOf(files.Dir())
	if n := len(x.files); n != 3 {
		t.Errorf("%d files are indexed, want 3", n)
	}

	old(t, dir, "a.go", "package a\n\n\nfunc F() {}\n", time.Minute)
	expect("a file that changed", "F", "a.go:4")
	old(t, dir, "a.go", "package a\n\n\nfunc G() {}\n", time.Second/2)
	old(t, dir, "a.go", "package a\n\nfunc G() {} \n", time.Second/2)
	expect("a file that changed just now", "G", "a.go:3")
	if f := x.files["a.go"]; f.read.Sub(f.time) > settled {
		t.Error("a file that changed just now would not be read again")
	}

	if err := os.Remove(filepath.Join(dir, "b.go")); err != nil {
		t.Fatal(err)
	}
	expect("a file that was deleted", "T", "")
	expect("a file that was deleted", "X", "")

	old(t, dir, "d.go", "package a\n\nfunc D() {}\n", time.Hour)
	expect("before it is denied", "D", "d.go:3")
	env = &tools.Env{Files: files.WithGuard(func(name string, _ bool) string {
		if name == "d.go" {
			return "it is denied"
		}
		return ""
	})}
	expect("a denied file that is indexed", "D", "")
}

func TestScan(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a.py":    {"\"\"\"\nclass Doc:\n\"\"\"\n@dec\nasync def f(a,\n    b):\n    def inner(): pass\n        def deep(): pass\nclass K(Base):\n    x = 'def s(): '  # def c():\n    def m(self): pass\nif module is None: pass\n", "def f, def inner, class K, def m"},
		"a.ts":    {"// class No {}\nexport default class A<T> {\n  private render(x: () => void): string {\n    if (x) {\n    }\n  }\n  get(a) {\n    describe('x', () => {\n    })\n  }\n}\nexport const max = 3\n  const inner = 1\nexport async function* gen() {}\nexport interface I { a: string }\nexport const enum E {}\nconst t = `\nclass No {`\nfoo(1)\n", "class A, func render, func get, const max, function gen, interface I, const E, const t"},
		"a.rs":    {"pub(crate) fn f<'a>(x: &'a str) -> String {\n}\nimpl S {\n    pub async fn m(&self) {}\n}\npub struct S;\nstatic mut N: i32 = 0;\nmacro_rules! mac {}\n", "fn f, fn m, struct S, static N, macro_rules mac"},
		"a.c":     {"/* int no() {} */\n#define X 1\nstruct point {\n  int x;\n};\nstatic struct point *make(int a,\n    int b)\n{\n  if (a) {\n  }\n  call(a);\n}\nint decl(int);\nint main(void) { return 0; }\nenum color\n{ RED };\n", "struct point, func make, func main, enum color"},
		"A.java":  {"@Test\npublic final class A extends B {\n  @Override\n  public List<String> names(int x) throws E {\n    for (int i : x) {\n    }\n    run(x);\n  }\n  abstract void none();\n}\ninterface I {}\n", "class A, func names, interface I"},
		"a.kt":    {"data class P(val x: Int)\nfun String.shout(): String = this\ninternal object O\n", "class P, fun shout, object O"},
		"a.rb":    {"module M\n  class C < D\n    def self.make\n  end\nend\ndef top?\n", "module M, class C, def top"},
		"a.sh":    {"# f() {\nf() {\n  echo '}'\n}\nfunction g {\n}\nif true; then\n  g\nfi\n", "func f, function g"},
		"a.sql":   {"CREATE OR REPLACE VIEW v AS SELECT 1; -- CREATE TABLE no\ncreate table if not exists people (id int);\n", "view v, table people"},
		"a.proto": {"message M {\n  string s = 1;\n}\nservice S {\n  rpc Get(M) returns (M);\n}\n", "message M, service S, rpc Get"},
		"a.lua":   {"local function f(x) end\nfunction M.g() end\n-- function no()\n", "function f, function g"},
		"a.ex":    {"defmodule A.B do\n  def run(x) do\n  end\n  defp help, do: 1\nend\n", "defmodule B, def run, defp help"},
	} {
		syms, words, used := scan(name, c.text)
		var got []string
		for _, s := range syms {
			line := strings.Split(c.text, "\n")[s.Line-1]
			if !strings.HasPrefix(line[s.Column-1:], s.Name) || !words[s.Name] {
				t.Errorf("%s: %s is not at %d:%d, or no word", name, s.Name, s.Line, s.Column)
			}
			got = append(got, s.Kind+" "+s.Name)
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s declares %s\nwant %s", name, got, c.want)
		}
		if used["No"] || used["no"] {
			t.Errorf("%s: what a comment or a string has counts as used", name)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add("a.ts", "export class A { m(x) {\n`${\"}` /* */ }")
	f.Add("a.py", "'\\")
	f.Fuzz(func(t *testing.T, name, text string) {
		syms, _, _ := scan(name, text)
		for _, s := range syms {
			switch {
			case s.Line < 1:
				t.Errorf("s.Line < 1: %+v", s)
			case s.Line > strings.Count(text, "\n")+1:
				t.Errorf(`s.Line > strings.Count(text, "\n")+1: %+v`, s)
			case s.Column < 1:
				t.Errorf("s.Column < 1: %+v", s)
			case s.Name == "":
				t.Errorf(`s.Name is "": %+v`, s)
			}
		}
	})
}
