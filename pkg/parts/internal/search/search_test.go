package search

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) { toolstest.Check(t, Tool) }

func open(t testing.TB, content map[string]string) *tools.Env {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(dir, t.TempDir(), nil)
	t.Cleanup(func() { ex.Close(); files.Close() })
	return &tools.Env{Files: files, Exec: ex}
}

func call(t *testing.T, env *tools.Env, in Input) tools.Result {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Tool.Run(context.Background(), env, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSearch(t *testing.T) {
	env := open(t, map[string]string{
		"a.go": "package a\n\nfunc F() {\n\tG()\n}\n\nfunc G() {}\n", "b/c.go": "package c\r\n// F(x) is\r\n", "bin": "F()\x00", ".env": "F()",
		"long.js": strings.Repeat("x", 5000) + "needle" + strings.Repeat("y", 5000), "many": strings.Repeat("hay\n", 500),
	})
	for _, c := range []struct {
		name, want string
		in         Input
	}{
		{"regexp", "a.go\n3:func F() {\n7:func G() {}\n", Input{Pattern: `^func [A-Z]\(\)`}},
		{"literal", "b/c.go\n2:// F(x) is\n", Input{Pattern: `F(x)`, Literal: true}},
		{"end of a crlf line", "b/c.go\n2:// F(x) is\n", Input{Pattern: `is$`}},
		{"glob", "b/c.go\n1:package c\n", Input{Pattern: `package`, Glob: "b/*.go"}},
		{"dir", "b/c.go\n1:package c\n", Input{Pattern: `package`, Dir: "b"}},
		{"file as dir", "a.go\n1:package a\n", Input{Pattern: `package`, Dir: "./a.go"}},
		{"context", "a.go\n2-\n3:func F() {\n4-\tG()\n--\n6-\n7:func G() {}\n", Input{Pattern: `^func`, Context: 1, Dir: "a.go"}},
		{"none", "no match\n", Input{Pattern: `zzz`}},
		{"neither secrets nor binaries", "a.go\n3:func F() {\n", Input{Pattern: `F()`, Literal: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := call(t, env, c.in); r.Failed || r.Text != c.want {
				t.Errorf("got %q\nwant %q", r.Text, c.want)
			}
		})
	}
	if r := call(t, env, Input{Pattern: "needle"}); !strings.Contains(r.Text, "needle") || len(r.Text) > 600 {
		t.Errorf("a match far into a line: %q", r.Text)
	}
	if r := call(t, env, Input{Pattern: "hay", Max: 3}); strings.Count(r.Text, ":hay") != 3 || !strings.Contains(r.Text, "narrower") || !strings.HasPrefix(r.Summary, "more than 3") {
		t.Errorf("max: %q %q", r.Summary, r.Text)
	}
	for p, want := range map[string]string{"F(": "3:func F() {", "needle)": "no match", "[]": "no match"} {
		if r := call(t, env, Input{Pattern: p, Context: -1, Max: -1}); r.Failed || !strings.HasPrefix(r.Text, "[searched for as plain text: error parsing regexp") || !strings.Contains(r.Text, want) {
			t.Errorf("%q as plain text: %q", p, r.Text)
		}
	}
	for _, p := range []string{`\d(`, `(?=x)`, ""} {
		if r := call(t, env, Input{Pattern: p}); !r.Failed {
			t.Errorf("%q: %s", p, r.Text)
		}
	}
	if r := call(t, env, Input{Pattern: "x", Dir: "../"}); !r.Failed {
		t.Errorf("searched outside: %s", r.Text)
	}
}

// words are the pieces of files and patterns: letters with odd cases, bytes that are not
// UTF-8, line ends of all kinds.
var words = []string{"foo", "FOO", "k", "K", "\u212a", "é", "É", "\xe9", "\xff\xfe", " ", "\t", "_", "0", "٣", "ſ", "s", "\r", "\r\n", "\n", "\n", "\uFFFD", ".", "a-b", "\u00a0", "世界", "\x00", "\ufeff"}

var patterns = []string{
	"foo", "(?i)foo", "(?i)k", "(?i)s", `\bfoo\b`, `\Bfoo`, `\w+`, `\W`, `\d`, `\D+$`, `\s`, `\S\S`, "^foo", "foo$", "^$", "^.$", "^..$", ".", `[^a-z]`,
	`^[^f]*$`, "é", "(?i)é", `\x{e9}`, `[é-ü]`, "a*", "(foo|k)+", "f.?o{1,2}", `^\W+$`, "(?:)", `\pL`, `\p{Greek}`, `[[:alpha:]]k`, `\Afoo`, `foo\z`,
	`k\b`, `.k`, "foo.*foo", `\.`, `[\x{fffd}]`, "世", `^\s*$`, "(?s).foo", "x*?", `(?i)[k-s]`, `\x{fffd}`, `\x00`,
}

func randomFiles() map[string]string {
	rng := rand.New(rand.NewPCG(1, 2))
	content := map[string]string{"-odd name": "foo\n", "with space/and\nnewline": "foo k\n", "bom": "\ufefffoo\nk\n", "utf16": "\xff\xfef\x00o\x00o\x00"}
	for i := range 300 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(words[rng.IntN(len(words))])
		}
		content[fmt.Sprintf("d%d/f%d", i%7, i)] = b.String()
	}
	return content
}

// Whole files at once, by several goroutines, are searched as line by line.
func TestSameAsLineByLine(t *testing.T) {
	env := open(t, randomFiles())
	for _, p := range patterns {
		for _, limit := range []int{1, 7, 1 << 20} {
			q := query{re: regexp.MustCompile(p), max: limit, context: 1}
			names, _, err := q.candidates(t.Context(), env.Files, Input{})
			if err != nil {
				t.Fatal(err)
			}
			var want found
			for _, name := range names {
				if b, err := env.Files.Peek(name, nil, maxFile); err == nil && !binary(b) && !want.full {
					q.file(name, b, nil, &want)
				}
			}
			if got := q.run(t.Context(), env.Files, names).result(q); got.Text != want.result(q).Text {
				t.Errorf("%s, %d at most: got\n%s\nwant\n%s", p, limit, got.Text, want.result(q).Text)
			}
		}
	}
}

func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		`foo`: "foo", `(?i)foo`: "", `a+longer(x|y)`: "longer", `(?:abc)?d`: "d", `(ab){2}`: "ab", `(ab){0,2}`: "", `a|b`: "", `\x{fffd}abc`: "", `^func (\w+)Total\(`: "Total(",
	} {
		if got := string(newFilter(regexp.MustCompile(pattern)).literal); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// Conformance 14: no pattern takes more than linear time.
func TestCatastrophic(t *testing.T) {
	env := open(t, map[string]string{"a": strings.Repeat("a", 1<<20) + "\n" + strings.Repeat("a", 1<<20)})
	if r := call(t, env, Input{Pattern: `^(a+)+$x`}); r.Text != "no match\n" {
		t.Errorf("%.200q", r.Text)
	}
}
