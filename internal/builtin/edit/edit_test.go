package edit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) { toolstest.Check(t, edit.File) }

func open(t *testing.T, content string) (*tools.Env, string) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o755); err != nil { // whatever the umask
		t.Fatal(err)
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return &tools.Env{Files: files}, name
}

func call(t *testing.T, env *tools.Env, in edit.Input) tools.Result {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := edit.File.Run(context.Background(), env, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What an edit does not touch keeps its bytes, whatever the file's spelling.
func TestBytes(t *testing.T) {
	for _, c := range []struct{ name, text, old, new, want string }{
		{"lf", "a\nb\nc\n", "b", "B", "a\nB\nc\n"},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb\n", "A\nx\nB\n", "A\r\nx\r\nB\r\nc\r\n"},
		{"crlf quoted as such", "a\r\nb\r\n", "a\r\nb\r\n", "A\r\n", "A\r\n"},
		{"mixed ends", "a\r\nb\nc\r\n", "c", "C", "a\r\nb\nC\r\n"},
		{"bom", "\xef\xbb\xbfa\nb\n", "a", "A", "\xef\xbb\xbfA\nb\n"},
		{"latin-1", "caf\xe9\na\n", "a\n", "b\n", "caf\xe9\nb\n"},
		{"utf-16", "\xff\xfea\x00\n\x00b\x00\n\x00", "b", "B", "\xff\xfea\x00\n\x00B\x00\n\x00"},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
		{"tolerant, crlf", "if x {\r\n\ty()\r\n}\r\n", "if x {\n    y()\n}\n", "if x {\n    z()\n}\n", "if x {\r\n\tz()\r\n}\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, name := open(t, c.text)
			r := call(t, env, edit.Input{Path: "a.txt", Old: c.old, New: c.new})
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if r.Failed || string(got) != c.want {
				t.Errorf("got %q, want %q: %s", got, c.want, r.Text)
			}
			if info, _ := os.Stat(name); info.Mode().Perm() != 0o755 {
				t.Errorf("mode is %v", info.Mode())
			}
		})
	}
}

func TestReport(t *testing.T) {
	env, _ := open(t, "package a\n\nfunc f() {\n\tone()\n\ttwo()\n}\n")
	r := call(t, env, edit.Input{Path: "a.txt", Old: "    one()\n    two()\n", New: "    one()\n    three()\n    four()\n"})
	if r.Summary != "a.txt +2 -1" {
		t.Errorf("summary %q", r.Summary)
	}
	want := "a.txt +2 -1\nold was found with another indentation; look at the lines below.\n@@ line 5: -1 +2 @@\n-\ttwo()\n+\tthree()\n+\tfour()\n"
	if r.Text != want {
		t.Errorf("got %q\nwant %q", r.Text, want)
	}
}

// Conformance 17: absent, repeated, empty and equal text leave the file alone.
func TestUntouched(t *testing.T) {
	const text = "x = 1\ny = 2\nx = 1\n"
	for _, c := range []struct {
		in   edit.Input
		says string
	}{
		{edit.Input{Old: "zzz", New: "a"}, "0 matches"},
		{edit.Input{Old: "x = 1", New: "a"}, "2 times"},
		{edit.Input{Old: "", New: "a"}, "empty"},
		{edit.Input{Old: "y = 2", New: "y = 2"}, "same"},
	} {
		env, name := open(t, text)
		c.in.Path = "a.txt"
		r := call(t, env, c.in)
		got, _ := os.ReadFile(name)
		if !r.Failed || !strings.Contains(r.Text, c.says) || string(got) != text {
			t.Errorf("%+v: %+v, file %q", c.in, r, got)
		}
	}
}

// Conformance 11: what somebody else changed since it was read is not edited.
func TestStale(t *testing.T) {
	env, name := open(t, "one\ntwo\n")
	if _, err := env.Files.ReadLines("a.txt", 1, 10); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in := edit.Input{Path: "a.txt", Old: "two\n", New: "2\n"}
	if r := call(t, env, in); !r.Failed || !strings.Contains(r.Text, "someone else") {
		t.Errorf("a stale edit went through: %+v", r)
	}
	if r := call(t, env, in); !r.Failed {
		t.Error("trying again must not be enough: nothing was read in between")
	}
	if _, err := env.Files.ReadLines("a.txt", 1, 10); err != nil {
		t.Fatal(err)
	}
	if r := call(t, env, in); r.Failed {
		t.Errorf("after reading again: %s", r.Text)
	}
}

// An edit whose place is gone does not land in a place like it, and one that
// was made is not made again.
func TestSiblings(t *testing.T) {
	rule := func(name, priority string) string {
		return "      expect.objectContaining({\n        toolName: '" + name + "',\n        decision: PolicyDecision.ALLOW,\n        priority: " + priority + ",\n      }),\n"
	}
	quote := strings.TrimSuffix(rule("PolicyTestAgent", "1.05"), "      }),\n")
	env, _ := open(t, "[\n"+rule("RemotePolicyAgent", "1.05")+"]\n")
	if r := call(t, env, edit.Input{Path: "a.txt", Old: quote, New: strings.Replace(quote, "1.05", "1.03", 1)}); !r.Failed {
		t.Errorf("landed in a sibling: %s", r.Text)
	}
	fields := "\treturn Completion{\n\t\tContent: c.Content,\n\t\tDone: c.Done,\n\t\tReason: c.Reason,\n\t}\n}\n"
	long := strings.Repeat("\t\"a line that is inserted\",\n", 40)
	for name, c := range map[string]struct{ text, old, new string }{
		"amid":                                {fields, "\t\tDone: c.Done,\n\t\tReason: c.Reason,\n", "\t\tDone: c.Done,\n\t\tLogprobs: c.Logprobs,\n\t\tReason: c.Reason,\n"},
		"below":                               {fields, "\t\tDone: c.Done,\n", "\t\tDone: c.Done,\n\t\tLogprobs: c.Logprobs,\n"},
		"above":                               {fields, "\t\tDone: c.Done,\n", "\t\tLogprobs: c.Logprobs,\n\t\tDone: c.Done,\n"},
		"around":                              {fields, "\t\tDone: c.Done,\n", "\t\tA: 1,\n\t\tDone: c.Done,\n\t\tB: 2,\n"},
		"long, at the end":                    {fields, "\t}\n}\n", "\t}\n}\n\nvar x = []string{\n" + long + "}\n"},
		"little, at the end":                  {"a = 1\nb = 2\n", "b = 2\n", "b = 2\nc\n"},
		"in the line":                         {"f(a, b)\n", "f(a", "f(a, c"},
		"quoted without newlines":             {fields, "Done: c.Done,", "Done: c.Done,\n\t\tLogprobs: c.Logprobs,"},
		"indentation alone":                   {"- a:\n  - b: 1\n  - c: 2\n", "  - b: 1\n  - c: 2\n", "    - b: 1\n    - c: 2\n"},
		"its end is like old":                 {"a:\n    if x:\n        f()\n\n    return y\n", "        f()\n\n    return y\n", "        f()\n\n    more:\n            f()\n\n        return y\n"},
		"a sibling but for blanks":            {"f(a)\n  \n  end\nf(b)\n\n\tend\nf(b)\n\n  end\n", "f(b)\n\n  end\n", "f(b)\n\n  added()\n\n  end\n"},
		"a sibling but for blanks, less text": {"f(b)\n\n  removed()\n  end of it\n\nf(b)\n\n  removed()\n  end of it\n}\n", "f(b)\n\n  removed()\n  end of it\n\n", "f(b)\n\n  end of it\n\n"},
		"with other indentation":              {fields, "  Done: c.Done,\n  Reason: c.Reason,\n", "  Done: c.Done,\n  Reason: c.Reason,\n  Logprobs: c.Logprobs,\n"},
	} {
		for _, all := range []bool{false, true} {
			env, file := open(t, c.text)
			in := edit.Input{Path: "a.txt", Old: c.old, New: c.new}
			if r := call(t, env, in); r.Failed {
				t.Errorf("%s: %s", name, r.Text)
				continue
			}
			in.All = all
			if r := call(t, env, in); !r.Failed {
				twice, _ := os.ReadFile(file)
				t.Errorf("%s: made twice: %s", name, twice)
			}
		}
	}
}

// Edits whose new text is in the file a thousand times are not undone in every
// combination of places.
func TestManyPlacesUndone(t *testing.T) {
	text, in := "first\n"+strings.Repeat("one more of the lines\n", 1000), edit.Input{Path: "a.txt", Edits: []edit.Piece{{Old: "first\n", New: "second\n"}}}
	for i := range 8 {
		in.Edits = append(in.Edits, edit.Piece{Old: fmt.Sprintf("place %d\n", i), New: "one more of the lines\n"})
		text += "--\n" + in.Edits[i+1].Old
	}
	env, _ := open(t, text)
	if r := call(t, env, in); r.Failed {
		t.Error(r.Text)
	}
}
