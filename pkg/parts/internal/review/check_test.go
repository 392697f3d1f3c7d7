package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func run(t *testing.T, files map[string]string, diff, args string) tools.Result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	b, err := json.Marshal(diff)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check.Run(t.Context(), &tools.Env{Files: ws, Artifacts: artifacts{"diff": b}}, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLinks(t *testing.T) {
	files := map[string]string{
		"docs/b.md": "# Two words\n\n## Again\n\n## Again\n\n<a id=\"here\"></a>\n",
		"c.txt":     "c",
	}
	for _, c := range []struct{ text, fault string }{
		{"[ok](docs/b.md) [ok](c.txt#any) [ok](https://example.org/x)", ""},
		{"[ok](docs/b.md#two-words) [ok](docs/b.md#again-1) [ok](docs/b.md#here)", ""},
		{"# Self `code`\n[ok](#self-code) [ok](/c.txt) [ok](<c.txt> \"title\")", ""},
		{"`[no](gone.md)` is code\n```\n[no](gone.md)\n```", ""},
		{"Guide\n=====\n\n[a](#guide) [b](#हिन्दी-शीर्षक) [c](#️-settings) [d](#init-and-main) [e](#in-a-quote) [f](#oldpath) [g](#own) [h](#html) [i](#top) [j](#a--b) [k](#a-b)\n\n" +
			"## हिन्दी शीर्षक\n\n## ⚙️ Settings ##\n\n## __init__ and _main_\n\n> ## In a quote\n\n<!-- [old](#gone) -->\n\n## <strike>.old(path)</strike>\n\n## Named {#own}\n\n<h2>HTML</h2>\n\n## A & b\n", ""},
		{"---\ntitle: x\n---\n[x](#title-x)", "a.md:4: the link #title-x"},
		{"<p>\n<img src=\"gone.png\">", "a.md:2: the link gone.png"},
		{"- a\n\n      [x](gone.md)\n\n  [y][]\n\n[y]: c.txt 'title'", ""},
		{"[x](gone.md)", "a.md:1: the link gone.md leads nowhere"},
		{"\n![x](img/gone.png)", "a.md:2: "},
		{"[x]: gone.md", "a.md:1: "},
		{"[x](docs/b.md#three)", "a heading that docs/b.md does not have"},
		{"[x](#nowhere)", "a heading that a.md does not have"},
		{"[x](../outside.md)", "leads nowhere"},
	} {
		files["a.md"] = c.text
		r := run(t, files, "", `{"paths":["a.md"]}`)
		if r.Failed != (c.fault != "") || !strings.Contains(r.Text, c.fault) {
			t.Errorf("%q: %+v, want %q", c.text, r, c.fault)
		}
	}
}

// Files are read in the encoding that they have.
func TestEncoding(t *testing.T) {
	wide := []byte{0xff, 0xfe}
	for _, c := range "# Täg\r\n[a](#täg)" {
		wide = append(wide, byte(c), byte(c>>8))
	}
	for name, text := range map[string]string{"UTF-16": string(wide), "with a mark": "\uFEFF# Täg\n\n[a](#täg)"} {
		if r := run(t, map[string]string{"a.md": text}, "", `{"paths":["a.md"]}`); r.Failed || !strings.Contains(r.Text, "1 link") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCode(t *testing.T) {
	for _, c := range []struct{ lang, code, fault string }{
		{"go", "package x\n\nfunc F() {}", ""},
		{"go", "func F() {}", ""},
		{"go", "x := f()\nif x != nil {\n}", ""},
		{"go", "x := f(\n…\n)", ""},
		{"go", "x := f()\nif x {", "a.md:"},
		{"json", `{"a": [1]}`, ""},
		{"json", "{\n\"a\": 1,,\n}", "a.md:4: the json"},
		{"json", "{\n  // where, or \"what\"\n  \"a\": \"http://x\", /* or\n  */ \"b\": [1, 2,],\n}", ""},
		{"json", "\"servers\": {\"shop\": {\"command\": \"shop\"}},", ""},
		{"json", "{\"a\": 1},\n{\"a\": 2}", ""},
		{"json", "{\"items\": [1, 2, ...]}", ""},
		{"json", "{\"a\": <number>}", ""},
		{"json", "{\"a\": \"http://x}", "a.md:"},
		{"go", "import \"shop\"\n\nc := shop.New()\nc.Run()", ""},
		{"go", "func f() {}\n\nf()\nf()", ""},
		{"go", "import \"shop\"\n\nc := shop.New(\nc.Run()", "a.md:"},
		{"go", "f(x, ...)", ""},
		{"go", "func main() {", "found 'EOF'"},
		{"bash", "git checkout <branch>", ""},
		{"bash", "shop export --to <file> --since <day>", ""},
		{"bash", "$ shop list (all)\nbread (rye)", ""},
		{"bash", "echo (all)", "a.md:"},
		{"yaml", "name: shop\nrun: echo {{ x }}", ""},
		{"yaml", "a: 1\nb: [2]", ""},
		{"yaml", "a: [1", "a.md:"},
		{"sh", "adroit run x | jq . && echo done", ""},
		{"bash", "if true; then echo", "the bash in this block cannot be parsed"},
		{"python", "def (", ""},
		{"", "{", ""},
	} {
		r := run(t, map[string]string{"a.md": "```" + c.lang + "\n" + c.code + "\n```\n"}, "", `{"paths":["a.md"]}`)
		if r.Failed != (c.fault != "") || !strings.Contains(r.Text, c.fault) {
			t.Errorf("%s %q: %+v, want %q", c.lang, c.code, r, c.fault)
		}
	}
}

// Only what the job changed is held against it.
func TestChanged(t *testing.T) {
	files := map[string]string{"old.md": "[x](gone.md)", "new.md": "fine", "x.go": "package x"}
	if r := run(t, files, "--- a/new.md\n+++ b/new.md\n@@ -1 +1 @@\n--- a/x.go\n+++ b/x.go\n", `{}`); r.Failed || !strings.Contains(r.Text, "1 file,") {
		t.Errorf("%+v", r)
	}
	if r := run(t, files, "--- a/old.md\n+++ b/old.md\n", `{}`); !r.Failed {
		t.Errorf("%+v", r)
	}
	if r := run(t, files, "", `{}`); r.Failed || !strings.Contains(r.Text, "No Markdown file") {
		t.Errorf("%+v", r)
	}
}
