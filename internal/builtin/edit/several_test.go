package edit_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestFormsConform(t *testing.T) {
	toolstest.Check(t, edit.Blocks, edit.Patch, edit.Long, edit.Replay)
}

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
		{"no end mark", "*** Begin Patch\n*** Add File: n.txt\n+hello\n", nil, "may have been cut"},
		{"two patches", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\nand\n*** Begin Patch\n*** Delete File: sub/b.txt\n*** End Patch", with(map[string]string{"a.txt": "1\ntwo\nthree\n", "sub/b.txt": ""}), "sub/b.txt deleted"},
		{"two diffs, each in a fence", "```diff\n--- a/a.txt\n+++ b/a.txt\n@@\n-one\n+1\n```\nand\n~~~\n--- a/sub/b.txt\n+++ b/sub/b.txt\n@@\n-beta\n+b\n~~~\n", with(map[string]string{"a.txt": "1\ntwo\nthree\n", "sub/b.txt": "alpha\nb\n"}), "sub/b.txt +1 -1"},
		{"a hunk after the end", "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n@@\n-two\n+2\n", nil, "belongs to no file"},
		{"the end mark in the context", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n *** End Patch\n-two\n+2\n*** End Patch", nil, "0 matches"},
		{"unified, a mode", "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n", nil, "old mode 100644"},
		{"unified, an empty file among others", "diff --git a/e.txt b/e.txt\nnew file mode 100644\nindex 0..1\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n", nil, "e.txt"},
		{"unified, renamed only, at the end", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\ndiff --git a/c.go b/d.go\nrename from c.go\nrename to d.go\n", nil, "c.go"},
		{"unified, renamed and changed", "diff --git a/a.txt b/z.txt\nsimilarity index 60%\nrename from a.txt\nrename to z.txt\n--- a/a.txt\n+++ b/z.txt\n@@ -1 +1 @@\n-one\n+1\n", with(map[string]string{"a.txt": "", "z.txt": "1\ntwo\nthree\n"}), "renamed to z.txt"},
		{"unified, deleted though it holds more", "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", nil, "other lines than"},
		{"unified, a new file in two hunks", "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +9 @@\n+b\n", nil, "the file is new"},
		{"unified, a folder named b", "--- b/sub.txt\n+++ b/sub.txt\n@@ -1 +1 @@\n-one\n+1\n", nil, "b/sub.txt"},
		{"unified, the last newline goes", "--- a/a.txt\n+++ b/a.txt\n@@ -2,2 +2,2 @@\n two\n-three\n+three\n\\ No newline at end of file\n", with(map[string]string{"a.txt": "one\ntwo\nthree"}), "a.txt"},
		{"unified, a new file without a last newline", "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n", with(map[string]string{"n.txt": "a"}), "n.txt created"},
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

// Fences in the context of a patch are lines of the file: those of Markdown do
// not end a patch, whatever its form.
func TestPatchOfFences(t *testing.T) {
	const was = "# Title\nold line\n\n```bash\nmake\n```\n\nmiddle\n\ntail a\ntail b\n"
	const is = "# Title\nnew line\n\n```bash\nmake\n```\n\nmiddle\n\ntail a\ntail c\n"
	first := " # Title\n-old line\n+new line\n \n ```bash\n make\n ```\n"
	second := " tail a\n-tail b\n+tail c\n"
	unified := "--- a/README.md\n+++ b/README.md\n@@ -1,6 +1,6 @@\n" + first + "@@ -10,2 +10,2 @@\n" + second + "--- a/main.go\n+++ b/main.go\n@@ -1 +1 @@\n-package a\n+package b\n"
	framed := "*** Update File: README.md\n@@\n" + first + "@@\n" + second + "*** Update File: main.go\n@@\n-package a\n+package b\n"
	bare := strings.Replace(unified, " ```bash\n make\n ```\n", "```bash\nmake\n```\n", 1) // the blanks were forgotten
	for name, c := range map[string]struct {
		patch string
		fits  bool
	}{
		"unified":                         {unified, true},
		"unified in a fence":              {"Here:\n\n```diff\n" + unified + "```\nDone.\n", true},
		"unified in a fence, not closed":  {"```diff\n" + unified, true},
		"unified in a longer fence":       {"````diff\n" + bare + "````\n", true},
		"no frame":                        {framed, true},
		"no frame, in a fence":            {"```\n" + framed + "```\n", true},
		"framed":                          {"*** Begin Patch\n" + framed + "*** End Patch\n", true},
		"framed in a fence":               {"```\n*** Begin Patch\n" + framed + "*** End Patch\n```\n", true},
		"blanks forgotten":                {bare, true},
		"blanks forgotten, in a fence":    {"```diff\n" + bare + "```\n", false},
		"cut in the fence, then the rest": {"```diff\n" + strings.Replace(unified, " ```\n", "```\n", 1) + "```\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"README.md": was, "main.go": "package a\n"}
			env := tree(t, files)
			r := run(t, edit.Patch, env, edit.PatchInput{Patch: c.patch})
			if c.fits {
				files = map[string]string{"README.md": is, "main.go": "package b\n"}
			}
			if got := contents(t, env); r.Failed == c.fits || !equal(got, files) {
				t.Errorf("got %q\n%s", got, r.Text)
			}
		})
	}
}

// The line after @@ says which of several places is meant, also in files that
// are not indented, and that the only one is not.
func TestPatchHeaders(t *testing.T) {
	const flat = "fn a\nx=10\ny=2\nfn b\nx=10\ny=20\n"
	const md = "# G\n\n## Linux\n\nRun it:\n\n    make\n\n## Mac\n\nRun it:\n\n    make\n"
	const py = "class A:\n    def run(self):\n        one()\n        two()\n\nclass B:\n    def run(self):\n        two()\n"
	for _, c := range []struct{ name, text, hunks, want string }{
		{"opencode's test", flat, "@@ fn b\n-x=10\n+x=11\n", "fn a\nx=10\ny=2\nfn b\nx=11\ny=20\n"},
		{"the first of two", flat, "@@ fn a\n-x=10\n+x=11\n", "fn a\nx=11\ny=2\nfn b\nx=10\ny=20\n"},
		{"no such line", flat, "@@ fn c\n-x=10\n+x=11\n", ""},
		{"headings", md, "@@ ## Linux\n-    make\n+    make all\n", strings.Replace(md, "    make\n", "    make all\n", 1)},
		{"the last heading", md, "@@ ## Mac\n Run it:\n \n-    make\n+    gmake\n", strings.TrimSuffix(md, "make\n") + "gmake\n"},
		{"its place is gone, a sibling is left", strings.Replace(flat, "x=10\n", "", 1), "@@ fn a\n-x=10\n+x=11\n", ""},
		{"the only place is above", strings.TrimSuffix(flat, "x=10\ny=20\n"), "@@ fn b\n-x=10\n+x=11\n", ""},
		{"one after the other, the line is above both", py, "@@ class A:\n-        one()\n+        1()\n@@ class A:\n-        two()\n+        2()\n", strings.Replace(strings.Replace(py, "one", "1", 1), "two", "2", 1)},
		{"the hunk before put another line of the kind between", "fn a\nx\ny\nz\n", "@@ fn a\n x\n+fn b\n y\n@@ fn a\n-z\n+Z\n", "fn a\nx\nfn b\ny\nZ\n"},
		{"a line that is there twice says nothing", py, "@@ class A:\n-        one()\n+        1()\n@@ def run(self):\n-        two()\n+        2()\n", ""},
		{"two lines", py, "@@ class B:\n@@ def run(self):\n-        two()\n+        2()\n", strings.TrimSuffix(py, "two()\n") + "2()\n"},
		{"made before, and the same is elsewhere", "a\nb\nnew line\nc\n" + strings.Repeat("-\n", 9) + "b\nc\n", "@@ -2,2 +2,3 @@\n b\n+new line\n c\n", ""},
		{"its place is gone, a sibling is left without the blank line", "fn a\ny=2\nfn b\nx=10\ny=20\n", "@@ fn a\n \n-x=10\n+x=11\n", ""},
		{"lines to take out, at another line", "a\nb\nc\n", "@@ -9,2 +9,0 @@\n-a\n-b\n", "c\n"},
		{"made before, and what it removed was the end of what is under the line", "fn a\n}\nadded\nx=10\n}\nfn c\nx=10\nfn d\n", "@@ fn a\n }\n-fn c\n+added\n x=10\n", ""},
		{"at the end, made before", "a\nnew line\n", "@@\n+new line\n*** End of File\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := tree(t, map[string]string{"a.txt": c.text})
			r := run(t, edit.Patch, env, edit.PatchInput{Patch: "*** Begin Patch\n*** Update File: a.txt\n" + c.hunks + "*** End Patch"})
			want := c.want
			if want == "" {
				want = c.text
			}
			if got := contents(t, env)["a.txt"]; got != want || r.Failed != (c.want == "") {
				t.Errorf("got %q\nwant %q\n%s", got, want, r.Text)
			}
		})
	}
}

// The path above a block is taken as it is written, whatever it begins with.
func TestBlockPaths(t *testing.T) {
	for line, path := range map[string]string{
		"fileutil.go": "", "files/a.go": "", "paths.py": "", "filepath/match.go": "", "File.cs": "", "path/to/x.go": "", "*a.go": "", "#a.go": "", "-x/a.go": "",
		"file.go": "", "filename.txt": "", "path.go": "", "Pathfinder.java": "", "file/a.go": "", "filename/a.go": "", "file_test.go": "", "path_test.go": "",
		"file-a.go": "", "path.d/a": "", "--a.go": "", ";a.go": "", "file.name": "", "_file.go": "", ".file": "", "x/file.go": "",
		"File: fileutil.go": "fileutil.go", "file:a.go": "a.go", "Filename: `a.go`": "a.go", "path a.go": "a.go", "# path.go": "path.go", "// a.go": "a.go", "//a.go": "a.go",
		"**fileutil.go**": "fileutil.go", "**File:** `a.go`": "a.go", "**File: a.go**": "a.go", "### `file.go`:": "file.go", "- file/a.go": "file/a.go", "* `path.go`": "path.go", "'a.go'": "a.go",
	} {
		if path == "" {
			path = line
		}
		// What a path was cut to is there too, and would take the change.
		files := map[string]string{path: "package x\n"}
		for i := range path {
			if rest := strings.TrimLeft(path[i:], "/"); i > 0 && rest != "" && !strings.Contains("/"+path, "/"+rest+"/") && !strings.Contains(path, rest+"/") {
				files[rest] = "package x\n"
			}
		}
		for _, old := range []string{"package x\n", ""} {
			if old == "" {
				delete(files, path)
			}
			env := tree(t, files)
			r := run(t, edit.Blocks, env, edit.BlocksInput{Blocks: line + "\n<<<<<<< SEARCH\n" + old + "=======\npackage y\n>>>>>>> REPLACE\n"})
			got := contents(t, env)
			if r.Failed || got[path] != "package y\n" || strings.Count(strings.Join(slices.Collect(maps.Values(got)), ""), "y") != 1 {
				t.Errorf("%s: %s, want %s", line, r.Text, path)
			}
		}
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
		{"twice in the file", "c.go\n" + block("\tx()\n", "\ty()\n"), nil, "the SEARCH lines are in the file 2 times (exactly); nothing was changed. Add lines around the one you mean:\n"},
		{"three points between blocks", "a.txt\n" + block("one\n", "1\n") + "...\n" + block("three\n", "3\n") + "\u2026\n" + block("two\n", "2\n"), with(map[string]string{"a.txt": "1\n2\n3\n"}), "+3 -3"},
		{"a block without its beginning", "a.txt\n" + block("one\n", "1\n") + "two\n=======\n2\n>>>>>>> REPLACE\n", nil, "no <<<<<<< SEARCH begins"},
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

// named matches the lines that name a file in a patch, in either form.
var named = regexp.MustCompile(`(?m)^(?:\*\*\* (?:Update|Add|Delete) File: *(.+?)|--- a/(.+)\n\+\+\+ b/.+\n@@.*)\s*$`)

// A text that is applied is applied to every file that it names.
func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a.txt\n@@ x\n one\n-two\n+2\n*** End of File\n*** End Patch")
	f.Add("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
	f.Add("```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n```\n--- a/sub/b.txt\n+++ b/sub/b.txt\n@@\n-beta\n+b\n")
	f.Add("a.txt\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []struct {
			tool tools.Tool
			in   any
		}{{edit.Patch, edit.PatchInput{Patch: s}}, {edit.Blocks, edit.BlocksInput{Blocks: s}}} {
			env := tree(t, start)
			r := run(t, c.tool, env, c.in)
			if strings.HasPrefix(r.Text, "the tool crashed") {
				t.Fatal(r.Text)
			}
			if r.Failed && !equal(contents(t, env), start) {
				t.Fatalf("refused, yet changed: %s", r.Text)
			}
			if r.Failed || c.tool.Name != edit.Patch.Name {
				continue
			}
			for _, m := range named.FindAllStringSubmatch(strings.ReplaceAll(s, "\r\n", "\n"), -1) {
				if !strings.Contains(r.Text, strings.TrimSpace(m[1]+m[2])) {
					t.Fatalf("%q is not in the result of %q: %s", m[1]+m[2], s, r.Text)
				}
			}
		}
	})
}

// Whatever lines a patch has for context, in whatever form it comes: all of it
// is applied or nothing.
func FuzzPatchWhole(f *testing.F) {
	f.Add("```bash\nmake\n```", false)
	f.Add("```bash\nmake\n```", true)
	f.Add("~~~\n*** End Patch\n--- a/x\n+++ b/x\n@@\n\n*** Update File: b.txt\n<<<<<<< SEARCH", false)
	f.Fuzz(func(t *testing.T, context string, bare bool) {
		if strings.ContainsAny(context, "\r\x00") || !utf8.ValidString(context) {
			return
		}
		body := " " + strings.ReplaceAll(context, "\n", "\n ")
		if bare { // the blanks were forgotten
			if body = context; changing.MatchString(body) {
				return
			}
		}
		file := func(first, last string) string { return first + "\n" + context + "\n" + last + "\n" }
		was := map[string]string{"a.txt": file("first was", "last was"), "b.txt": "other was\n"}
		is := map[string]string{"a.txt": file("first is", "last is"), "b.txt": "other is\n"}
		hunks := "@@\n-first was\n+first is\n" + body + "\n@@\n-last was\n+last is\n"
		unified := "--- a/a.txt\n+++ b/a.txt\n" + hunks + "--- a/b.txt\n+++ b/b.txt\n@@\n-other was\n+other is\n"
		codex := "*** Update File: a.txt\n" + hunks + "*** Update File: b.txt\n@@\n-other was\n+other is\n"
		for _, patch := range []string{unified, "```diff\n" + unified + "```\n", "~~~\n" + codex + "~~~\n", codex, "*** Begin Patch\n" + codex + "*** End Patch\n"} {
			env := tree(t, was)
			r := run(t, edit.Patch, env, edit.PatchInput{Patch: patch})
			if got := contents(t, env); !equal(got, was) && !equal(got, is) || r.Failed != equal(got, was) {
				t.Fatalf("%q was applied in part: %q\n%s", patch, got, r.Text)
			}
		}
	})
}

// changing matches lines of context that mean something else without the blank
// in front.
var changing = regexp.MustCompile(`(?m)^([-+ @\\]|\*\*\*|diff --git )`)

// What a person is asked to approve is the diff that the edit then makes; nothing is written
// or noted as read for it, and an edit that does not fit has none.
func TestPreview(t *testing.T) {
	for _, tc := range []struct {
		tool tools.Tool
		args string
		want string
	}{
		{edit.File, `{"path":"a.txt","old":"two","new":"2"}`, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{edit.Long, `{"path":"a.txt","old":"two","new":"2"}`, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{edit.Blocks, `{"blocks":"a.txt\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n"}`, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"},
		{edit.Patch, `{"patch":"*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: a.txt\n*** End Patch\n"}`, "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"},
		{edit.File, `{"path":"a.txt","old":"three","new":"3"}`, ""},
		{edit.File, `{"path":"none.txt","old":"three","new":"3"}`, ""},
	} {
		env := tree(t, map[string]string{"a.txt": "one\ntwo\n"})
		if got := tc.tool.Preview(env, json.RawMessage(tc.args)); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.tool.Name, tc.args, got, tc.want)
		}
		if b, err := fs.ReadFile(env.Files.FS(), "a.txt"); err != nil || string(b) != "one\ntwo\n" {
			t.Errorf("the file is %q, %v", b, err)
		}
	}
}
