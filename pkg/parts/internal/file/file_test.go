package file

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) { toolstest.Check(t, Read, Write, List, Delete, Move) }

func open(t *testing.T, content map[string]string) *tools.Env {
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

func call(t *testing.T, tool tools.Tool, env *tools.Env, in any) tools.Result {
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

func TestRead(t *testing.T) {
	var long strings.Builder
	for i := 1; i <= 1000; i++ {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	env := open(t, map[string]string{
		"a.txt": "one\ntwo\r\nthree", "long.txt": long.String(), "empty": "", "bin": "a\x00b", ".env": "KEY=x",
		"wide.txt": strings.Repeat(strings.Repeat("x", 1000)+"\n", 100),
	})
	for _, c := range []struct {
		in            readInput
		text, summary string
		failed        bool
	}{
		{readInput{Path: "a.txt"}, "1\tone\n2\ttwo\n3\tthree\n", "a.txt 1-3", false},
		{readInput{Path: "./a.txt", From: 2, Lines: 1}, "2\ttwo\n[1 of 3 lines left; go on with from=3]\n", "./a.txt 2-2", false},
		{readInput{Path: "empty"}, "empty is empty.", "empty (empty)", false},
	} {
		r := call(t, Read, env, c.in)
		if r.Text != c.text || r.Summary != c.summary || r.Failed != c.failed {
			t.Errorf("%+v: %+v", c.in, r)
		}
	}
	r := call(t, Read, env, readInput{Path: "long.txt"})
	if r.Summary != "long.txt 1-300" || !strings.Contains(r.Text, "from=301") {
		t.Errorf("a long file: %s", r.Summary)
	}
	r = call(t, Read, env, readInput{Path: "wide.txt"})
	if len(r.Text) > 45_000 || !strings.Contains(r.Text, "go on with from=") {
		t.Errorf("a wide file takes %d bytes", len(r.Text))
	}
	for name, says := range map[string]string{"bin": "not text", ".env": "secret", "../x": "..", "nope": "nope", ".": "workspace itself", "/etc/passwd": "outside"} {
		if r := call(t, Read, env, readInput{Path: name}); !r.Failed || !strings.Contains(r.Text, says) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	shot := "GIF89aa\x00a\x00 a picture"
	if r := call(t, Read, open(t, map[string]string{"shot.gif": shot, "cut.gif": shot[:8] + "\x00"}), readInput{Path: "shot.gif"}); r.Failed || r.Text != "[image shot.gif 97x97 1 KB]" || len(r.Images) != 1 || string(r.Images[0].Data) != shot {
		t.Errorf("an image: %+v", r)
	}
	if r := call(t, Read, open(t, map[string]string{"cut.gif": shot[:8] + "\x00"}), readInput{Path: "cut.gif"}); !r.Failed || r.Images != nil {
		t.Errorf("what is none: %+v", r)
	}
	plain := *env
	plain.PlainText = true
	for _, c := range []struct {
		in   readInput
		text string
	}{
		{readInput{Path: "a.txt"}, "one\ntwo\nthree\n"},
		{readInput{Path: "a.txt", Lines: 2}, "one\ntwo\n[1 of 3 lines left; go on with from=3]\n"},
		{readInput{Path: "a.txt", From: 2, Lines: 1}, "[lines 2-2]\ntwo\n[1 of 3 lines left; go on with from=3]\n"},
		{readInput{Path: "a.txt", From: -7, Lines: -7}, "one\ntwo\nthree\n"},
	} {
		if r := call(t, Read, &plain, c.in); r.Failed || r.Text != c.text {
			t.Errorf("without numbers, %+v: %q", c.in, r.Text)
		}
	}
	if r := call(t, Read, &plain, readInput{Path: "long.txt", Lines: 1 << 40}); strings.Count(r.Text, "line ") != 1000 {
		t.Errorf("of a long file: %d lines", strings.Count(r.Text, "\n"))
	}
	if r := call(t, Read, env, readInput{Path: "a.txt", From: 9}); !r.Failed || !strings.Contains(r.Text, "3 lines") {
		t.Errorf("beyond the end: %+v", r)
	}
}

func TestWrite(t *testing.T) {
	env := open(t, map[string]string{"a.txt": "one\n", "a.bin": "a\x00b"})
	for _, c := range []struct {
		in   WriteInput
		text string
	}{
		{WriteInput{Path: "a.bin", Content: "x\n"}, "a.bin replaced, which was no text, 1 line"},
		{WriteInput{Path: "new/b.txt", Content: "x\ny"}, "new/b.txt created, 2 lines"},
		{WriteInput{Path: "a.txt", Content: "two\n"}, "a.txt replaced, 1 line, +1 -1"},
		{WriteInput{Path: "a.txt", Content: "two\n"}, "a.txt holds exactly this already; nothing was changed"},
	} {
		r := call(t, Write, env, c.in)
		got, err := os.ReadFile(filepath.Join(env.Files.Dir(), c.in.Path))
		switch {
		case r.Failed:
			t.Errorf("r.Failed is true: %+v: %+v, %q, %v", c.in, r, got, err)
		case r.Text != c.text:
			t.Errorf("r.Text is %v, want %v: %+v: %+v, %q, %v", r.Text, c.text, c.in, r, got, err)
		case err != nil:
			t.Errorf("unexpected error: %+v: %+v, %q, %v", c.in, r, got, err)
		case strings.Contains(r.Text, " -1") != strings.HasSuffix(r.Diff, "\n-one\n+two\n"):
			t.Errorf("the diff is %q: %+v", r.Diff, c.in)
		case string(got) != c.in.Content:
			t.Errorf("string(got) is %v, want %v: %+v: %+v, %q, %v", string(got), c.in.Content, c.in, r, got, err)
		}
	}
	for _, name := range []string{"../out", "/tmp/out", ".git/config", "", "a\x00b"} {
		if r := call(t, Write, env, WriteInput{Path: name, Content: "x"}); !r.Failed {
			t.Errorf("%q was written: %s", name, r.Text)
		}
	}
	if r := call(t, Write, env, WriteInput{Path: "n", Content: "a\x00"}); !r.Failed {
		t.Error("a NUL byte was written")
	}
	if err := os.WriteFile(filepath.Join(env.Files.Dir(), "a.txt"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := call(t, Write, env, WriteInput{Path: "a.txt", Content: "x"}); !r.Failed || !strings.Contains(r.Text, "someone else") {
		t.Errorf("a stale write went through: %+v", r)
	}
}

// A file keeps its spelling when all of it is written anew, and what models
// put around a file is not its content.
func TestWriteAsIs(t *testing.T) {
	for _, c := range []struct{ name, was, content, want string }{
		{"a.go", "", "```go\npackage a\n```\n", "package a\n"},
		{"b.go", "package b\n", "b.go\n```go\npackage b\n\nvar X int\n```", "package b\n\nvar X int\n"},
		{"c.md", "", "```go\npackage a\n```\n", "```go\npackage a\n```\n"},
		{"d.txt", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"e.txt", "\xef\xbb\xbfa\n", "b\n", "\xef\xbb\xbfb\n"},
		{"f.txt", "caf\xe9\n", "caf\u00e9 noir\n", "caf\xe9 noir\n"},
		{"g.txt", "\xff\xfea\x00\n\x00", "b\n", "\xff\xfeb\x00\n\x00"},
		{"h.txt", "a", "b", "b"},
	} {
		content := map[string]string{}
		if c.was != "" {
			content[c.name] = c.was
		}
		env := open(t, content)
		r := call(t, Write, env, WriteInput{Path: c.name, Content: c.content})
		got, err := os.ReadFile(filepath.Join(env.Files.Dir(), c.name))
		if r.Failed || err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, want %q: %s", c.name, got, c.want, r.Text)
		}
	}
	for _, content := range []string{"package a\n\n// ... rest of the code\n", "package a\n\n// ...\n", "package a\n...\n"} {
		env := open(t, map[string]string{"a.go": "package a\n\nvar X int\n"})
		if r := call(t, Write, env, WriteInput{Path: "a.go", Content: content}); !r.Failed || !strings.Contains(r.Text, "leaves code out") {
			t.Errorf("%q went through: %+v", content, r)
		}
	}
	const kept = "# ...\nx = 1\n"
	env := open(t, map[string]string{"a.rb": kept})
	if r := call(t, Write, env, WriteInput{Path: "a.rb", Content: kept + "y = 2\n"}); r.Failed {
		t.Errorf("a line the file has: %s", r.Text)
	}
}

func TestList(t *testing.T) {
	env := open(t, map[string]string{"a.go": "", "cmd/x/b.go": "", "c.md": "", ".env": "K=1", ".github/ci.yml": ""})
	for _, c := range []struct {
		in   listInput
		want string
	}{
		{listInput{}, ".github/ci.yml\na.go\nc.md\ncmd/x/b.go\n"},
		{listInput{Glob: "*.go"}, "a.go\ncmd/x/b.go\n"},
		{listInput{Glob: "cmd/**/*.go"}, "cmd/x/b.go\n"},
		{listInput{Dir: "cmd"}, "cmd/x/b.go\n"},
		{listInput{Glob: "*.rs"}, "no file matches\n"},
	} {
		if r := call(t, List, env, c.in); r.Failed || r.Text != c.want {
			t.Errorf("%+v: %q", c.in, r.Text)
		}
	}
	forging := open(t, map[string]string{"a\nsecret.go": "", "b.go": ""})
	if r := call(t, List, forging, listInput{}); r.Text != `"a\nsecret.go"`+"\nb.go\n" {
		t.Errorf("a name with a line end: %q", r.Text)
	}
	odd := open(t, map[string]string{"[id].tsx": "", "no file matches": "", "a\nb": ""})
	for glob, want := range map[string]string{"**": `{"files":["[id].tsx","a\nb","no file matches"]}`, "*.rs": `{"files":[]}`} {
		if r := call(t, List, odd, listInput{Glob: glob}); string(r.Value) != want {
			t.Errorf("%s: programs get %s, want %s", glob, r.Value, want)
		}
	}
	if r := call(t, List, env, listInput{Dir: ".."}); !r.Failed {
		t.Errorf("listed outside: %s", r.Text)
	}
}

func TestMoveAndDelete(t *testing.T) {
	env := open(t, map[string]string{"parse.go": "package a\n", "sub/b.go": "package b\n"})
	if r := call(t, Move, env, json.RawMessage(`{"from":"parse.go","to":"in/limit.go"}`)); r.Failed || r.Text != "parse.go is in/limit.go now" {
		t.Errorf("%+v", r)
	}
	if r := call(t, Move, env, json.RawMessage(`{"from":"in/limit.go","to":"sub/b.go"}`)); !r.Failed || !strings.Contains(r.Text, "exists already") {
		t.Errorf("%+v", r)
	}
	if r := call(t, Delete, env, json.RawMessage(`{"path":"limit.go"}`)); !r.Failed || !strings.Contains(r.Text, "does not exist; list the directory to see what does; there is in/limit.go") {
		t.Errorf("%+v", r)
	}
	if r := call(t, Read, env, json.RawMessage(`{"path":"sub/bb.go"}`)); !r.Failed || !strings.HasSuffix(r.Text, "; there is sub/b.go") {
		t.Errorf("%+v", r)
	}
	if r := call(t, Delete, env, json.RawMessage(`{"path":"sub"}`)); !r.Failed || !strings.Contains(r.Text, "not empty") {
		t.Errorf("%+v", r)
	}
	if r := call(t, Delete, env, json.RawMessage(`{"path":"sub/b.go"}`)); r.Failed {
		t.Errorf("%+v", r)
	}
	if _, err := env.Files.Stat("sub/b.go"); err == nil {
		t.Error("sub/b.go is still there")
	}
}
