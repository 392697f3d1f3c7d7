package edit_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/edit"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestFormsConform(t *testing.T) { toolstest.Check(t, edit.Blocks, edit.Patch, edit.Long) }

// tree makes a workspace of the files given.
func tree(t *testing.T, content map[string]string) *tools.Env {
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
	t.Cleanup(func() { files.Close() })
	return &tools.Env{Files: files}
}

func contents(t *testing.T, env *tools.Env) map[string]string {
	t.Helper()
	out := map[string]string{}
	dir := env.Files.Dir()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		out[strings.TrimPrefix(p, dir+"/")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func run(t *testing.T, tool tools.Tool, env *tools.Env, in any) tools.Result {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Run(context.Background(), env, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

var start = map[string]string{"a.txt": "one\ntwo\nthree\n", "sub/b.txt": "alpha\nbeta\n", "c.go": "package c\n\nfunc f() {\n\tx()\n}\n\nfunc g() {\n\tx()\n}\n"}

// with is start with some files changed; "" takes one out.
func with(changes map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range start {
		out[k] = v
	}
	for k, v := range changes {
		if out[k] = v; v == "" {
			delete(out, k)
		}
	}
	return out
}

func TestPatch(t *testing.T) {
	for _, c := range []struct {
		name, patch string
		want        map[string]string // nil: refused
		says        string
	}{
		{"all it can", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: d/e.txt\n+new\n+\n+file\n*** Delete File: sub/b.txt\n*** Update File: c.go\n*** Move to: cc.go\n@@ func g() {\n-\tx()\n+\ty()\n*** End Patch",
			with(map[string]string{"a.txt": "one\n2\nthree\n", "d/e.txt": "new\n\nfile\n", "sub/b.txt": "", "c.go": "", "cc.go": "package c\n\nfunc f() {\n\tx()\n}\n\nfunc g() {\n\ty()\n}\n"}), "c.go renamed to cc.go +1 -1"},
		{"two hunks in order", "*** Begin Patch\n*** Update File: c.go\n@@ func f() {\n-\tx()\n+\tx(1)\n@@\n func g() {\n-\tx()\n+\tx(2)\n*** End Patch",
			with(map[string]string{"c.go": "package c\n\nfunc f() {\n\tx(1)\n}\n\nfunc g() {\n\tx(2)\n}\n"}), "+2 -2"},
		{"ambiguous", "*** Begin Patch\n*** Update File: c.go\n@@\n-\tx()\n+\ty()\n*** End Patch", nil, "2 times"},
		{"under a line that is not there", "*** Begin Patch\n*** Update File: c.go\n@@ func h() {\n-\tx()\n+\ty()\n*** End Patch", nil, "2 times"},
		{"only the last hunk does not fit", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: sub/b.txt\n@@\n-gamma\n+delta\n*** End Patch", nil, "nothing of it was applied"},
		{"only adds", "*** Begin Patch\n*** Update File: a.txt\n@@\n+four\n*** End Patch", nil, "does not say where"},
		{"adds at the end", "*** Begin Patch\n*** Update File: a.txt\n@@\n+four\n*** End of File\n*** End Patch", with(map[string]string{"a.txt": "one\ntwo\nthree\nfour\n"}), "+1 -0"},
		{"not the end", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End of File\n*** End Patch", nil, "not the end"},
		{"a file that exists", "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch", nil, "exists already"},
		{"to a name that exists", "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.go\n*** End Patch", nil, "exists already"},
		{"moved only", "*** Begin Patch\n*** Update File: a.txt\n*** Move to: z/a.txt\n*** End Patch", with(map[string]string{"a.txt": "", "z/a.txt": start["a.txt"]}), "renamed"},
		{"outside", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: ../evil\n+x\n*** End Patch", nil, "nothing of it was applied"},
		{"a placeholder", "*** Begin Patch\n*** Add File: n.go\n+package n\n+// ... rest of the code\n*** End Patch", nil, "leaves code out"},
		{"unified, three files", "```diff\ndiff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+hi\n--- a/sub/b.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-alpha\n-beta\n```",
			with(map[string]string{"a.txt": "one\n2\nthree\n", "n.txt": "hi\n", "sub/b.txt": ""}), "n.txt created"},
		{"unified, the line decides", "--- a/c.go\n+++ b/c.go\n@@ -8 +8 @@\n-\tx()\n+\ty()\n", with(map[string]string{"c.go": "package c\n\nfunc f() {\n\tx()\n}\n\nfunc g() {\n\ty()\n}\n"}), "+1 -1"},
		{"blocks instead", "a.txt\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE", nil, "search/replace blocks, not a patch"},
		{"nothing", "please change a.txt", nil, "*** Begin Patch"},
		{"empty", "*** Begin Patch\n*** End Patch", nil, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := tree(t, start)
			r := run(t, edit.Patch, env, edit.PatchInput{Patch: c.patch})
			want := c.want
			if want == nil {
				want = start
			}
			if got := contents(t, env); !equal(got, want) || r.Failed != (c.want == nil) || !strings.Contains(r.Text, c.says) {
				t.Errorf("got %q\nwant %q\n%s", got, want, r.Text)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	block := func(old, new string) string {
		return "<<<<<<< SEARCH\n" + old + "=======\n" + new + ">>>>>>> REPLACE\n"
	}
	for _, c := range []struct {
		name, blocks string
		want         map[string]string
		says         string
	}{
		{"two files, a new one", "a.txt\n" + block("two\n", "2\n") + "\nthen **sub/b.txt**:\n\n`sub/b.txt`\n```\n" + block("beta\n", "") + "```\n### n.txt\n" + block("", "hi\n"),
			with(map[string]string{"a.txt": "one\n2\nthree\n", "sub/b.txt": "alpha\n", "n.txt": "hi\n"}), "n.txt created"},
		{"the path goes on", "a.txt\n" + block("one\n", "1\n") + block("three\n", "3\n"), with(map[string]string{"a.txt": "1\ntwo\n3\n"}), "+2 -2"},
		{"one of two does not fit", "a.txt\n" + block("one\n", "1\n") + block("four\n", "4\n"), nil, "block 2 of 2"},
		{"no path", block("one\n", "1\n"), nil, "names no file"},
		{"no end", "a.txt\n<<<<<<< SEARCH\none\n=======\n1\n", nil, "lacks"},
		{"two dividers", "a.txt\n" + block("one\n=======\n", "1\n"), nil, "two lines of ======="},
		{"a block in a block", "a.txt\n<<<<<<< SEARCH\none\n" + block("one\n", "1\n"), nil, "before the one"},
		{"empty search of a file", "a.txt\n" + block("", "x\n"), nil, "SEARCH part is empty"},
		{"none", "change one to 1", nil, "there is no block"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := tree(t, start)
			r := run(t, edit.Blocks, env, edit.BlocksInput{Blocks: c.blocks})
			want := c.want
			if want == nil {
				want = start
			}
			if got := contents(t, env); !equal(got, want) || r.Failed != (c.want == nil) || !strings.Contains(r.Text, c.says) {
				t.Errorf("got %q\nwant %q\n%s", got, want, r.Text)
			}
		})
	}
}

// Several replacements in one file are made in order, all or none.
func TestPieces(t *testing.T) {
	env := tree(t, start)
	r := run(t, edit.File, env, edit.Input{Path: "a.txt", Edits: []edit.Piece{{Old: "one", New: "two too"}, {Old: "three", New: "3"}, {Old: "two", New: "2", All: true}}})
	if got := contents(t, env)["a.txt"]; r.Failed || got != "2 too\n2\n3\n" {
		t.Errorf("got %q: %s", got, r.Text)
	}
	env = tree(t, start)
	for _, in := range []edit.Input{
		{Path: "a.txt", Edits: []edit.Piece{{Old: "one", New: "1"}, {Old: "four", New: "4"}}},
		{Path: "a.txt", Edits: []edit.Piece{{Old: "one", New: "1"}, {Old: "1", New: "one"}}},
		{Path: "a.txt", Old: "one", New: "1", Edits: []edit.Piece{{Old: "two", New: "2"}}},
		{Path: "a.txt"},
	} {
		if r := run(t, edit.File, env, in); !r.Failed || !equal(contents(t, env), start) {
			t.Errorf("%+v: %s, %q", in, r.Text, contents(t, env))
		}
	}
}

// A file of several that changed since it was read stops all of them.
func TestStaleAmongSeveral(t *testing.T) {
	env := tree(t, start)
	if _, err := env.Files.ReadLines("sub/b.txt", 1, 9); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(env.Files.Dir(), "sub/b.txt")
	if err := os.WriteFile(mine, []byte("alpha\nbeta\ngamma\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := run(t, edit.Patch, env, edit.PatchInput{Patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: sub/b.txt\n@@\n-alpha\n+a\n*** End Patch"})
	if !r.Failed || !strings.Contains(r.Text, "someone else") || contents(t, env)["a.txt"] != start["a.txt"] {
		t.Errorf("%s: %q", r.Text, contents(t, env))
	}
}

// An error in the midst of writing takes back what was written before it.
func TestTakenBack(t *testing.T) {
	env := tree(t, start)
	// That the new n.txt cannot hold a file shows only when it is written.
	r := run(t, edit.Patch, env, edit.PatchInput{Patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: n.txt\n+x\n*** Update File: c.go\n*** Move to: cc.go\n*** Add File: n.txt/y\n+x\n*** Delete File: sub/b.txt\n*** End Patch"})
	if !r.Failed || !equal(contents(t, env), start) || !strings.Contains(r.Text, "Nothing of this edit is in the files") {
		t.Errorf("%s: %q", r.Text, contents(t, env))
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a.txt\n@@ x\n one\n-two\n+2\n*** End of File\n*** End Patch")
	f.Add("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
	f.Add("a.txt\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []struct {
			tool tools.Tool
			in   any
		}{{edit.Patch, edit.PatchInput{Patch: s}}, {edit.Blocks, edit.BlocksInput{Blocks: s}}} {
			env := tree(t, start)
			b, err := json.Marshal(c.in)
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.tool.Run(context.Background(), env, b)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(r.Text, "the tool crashed") {
				t.Fatal(r.Text)
			}
			if r.Failed && !equal(contents(t, env), start) {
				t.Fatalf("refused, yet changed: %s", r.Text)
			}
		}
	})
}
