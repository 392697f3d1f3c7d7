package realrepo

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

type call struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

type args map[string]any

func edits(path string, old, new string) call {
	return call{"edit_file", args{"path": path, "old": old, "new": new}}
}

// fixer works as the builder does, for projects all of whose tests take too
// long or do not all pass on every machine as published.
const fixer = `---
name: fixer
description: Edits and tests a part.
tools: [read_file, list_files, search, edit_file, write_file, git_diff, run_tests, finish]
done: {all: [{signal: TASK_COMPLETE}, {artifact: diff, where: {minLength: 1}}, {tool: run_tests}]}
---
You edit.
`

// A job is a scripted model's work on a project: a change, and a test that only passes with it.
type job struct {
	p     project
	agent string
	calls []call
	tests args // of run_tests
	says  string
}

var jobs = []job{
	{small, "builder", []call{
		{"read_file", args{"path": "uuid.go"}},
		{"search", args{"pattern": "func \\(uuid UUID\\)", "glob": "*.go"}},
		// quoted with blanks for tabs, as models do
		edits("uuid.go", "// String returns the string form of uuid,", "// Empty reports whether uuid is the zero UUID.\nfunc (uuid UUID) Empty() bool { return uuid == Nil }\n\n// String returns the string form of uuid,"),
		{"write_file", args{"path": "empty_test.go", "content": "package uuid\n\nimport \"testing\"\n\nfunc TestEmpty(t *testing.T) {\n\tif !Nil.Empty() || New().Empty() {\n\t\tt.Error(\"Empty is wrong\")\n\t}\n}\n"}},
	}, args{}, "passed"},
	{middle, "fixer", []call{
		{"read_file", args{"path": "cobra.go"}},
		edits("cobra.go", "func appendIfNotPresent(s, stringToAppend string) string {\n    if strings.Contains(s, stringToAppend) {\n        return s\n    }\n",
			"func appendIfNotPresent(s, stringToAppend string) string {\n    if stringToAppend == \"\" || strings.Contains(s, stringToAppend) {\n        return s\n    }\n"),
		{"write_file", args{"path": "append_test.go", "content": "package cobra\n\nimport \"testing\"\n\nfunc TestAppendNothing(t *testing.T) {\n\tif got := appendIfNotPresent(\"a\", \"\"); got != \"a\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n}\n"}},
	}, args{"filter": "Append|Args|Group"}, "passed"},
	{large, "fixer", []call{
		{"search", args{"pattern": "func Parse(", "literal": true, "glob": "*.go"}},
		{"read_file", args{"path": "txtar/archive.go"}},
		edits("txtar/archive.go", "// Format returns the serialized form of an Archive.", "// Names returns the names of the files of a, in order.\nfunc (a *Archive) Names() []string {\n\tvar names []string\n\tfor _, f := range a.Files {\n\t\tnames = append(names, f.Name)\n\t}\n\treturn names\n}\n\n// Format returns the serialized form of an Archive."),
		{"write_file", args{"path": "txtar/names_test.go", "content": "package txtar\n\nimport \"testing\"\n\nfunc TestNames(t *testing.T) {\n\ta := Parse([]byte(\"-- x --\\n-- y --\\n\"))\n\tif n := a.Names(); len(n) != 2 || n[1] != \"y\" {\n\t\tt.Error(n)\n\t}\n}\n"}},
	}, args{"target": "txtar"}, "passed"},
	{script, "builder", []call{
		{"search", args{"pattern": "must not be empty"}},
		{"read_file", args{"path": "index.js"}},
		edits("package.json", `"test": "npm run test:unit && npm run test:typescript",`, `"test": "node --test",`),
		{"edit_file", args{"path": "index.js", "edits": []args{
			{"old": "  code = code.toUpperCase()\n", "new": "  if (typeof code !== 'string') throw new TypeError('Fastify error code must be a string')\n\n  code = code.toUpperCase()\n"},
			{"old": "!statusCode && (statusCode = undefined)", "new": "statusCode ||= undefined"},
		}}},
		{"write_file", args{"path": "test/code.test.js", "content": "'use strict'\n\nconst test = require('node:test')\nconst assert = require('node:assert')\nconst createError = require('..')\n\ntest('a code is a string', () => {\n  assert.throws(() => createError(1, 'x'), TypeError)\n})\n"}},
	}, args{}, "passed"},
	{python, "fixer", []call{
		{"read_file", args{"path": "gyp/easy_xml.py"}},
		edits("gyp/easy_xml.py", "def _XmlEscape(value, attr=False):", "def EscapeText(value):\n    \"\"\"Escapes a text that is no attribute.\"\"\"\n    return _XmlEscape(value)\n\n\ndef _XmlEscape(value, attr=False):"),
		{"write_file", args{"path": "gyp/escape_test.py", "content": "import unittest\n\nimport gyp.easy_xml as easy_xml\n\n\nclass TestEscape(unittest.TestCase):\n    def test_text(self):\n        self.assertEqual(easy_xml.EscapeText('a<b'), 'a&lt;b')\n\n\nif __name__ == '__main__':\n    unittest.main()\n"}},
	}, args{"target": "gyp/escape_test.py"}, "passed"},
}

// TestJobs edits and tests each project in a job, and undoes it: the tree is restored, modes
// included, and the repository's index and refs too.
func TestJobs(t *testing.T) {
	testenv.Long(t, "builds the program and runs the tests of five projects")
	bin, err := testenv.Adroit(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		t.Run(j.p.name, func(t *testing.T) {
			if j.p.name == python.name {
				testenv.NeedsProgram(t, "pytest")
			}
			dir := j.p.repository(t)
			before := tree(t, dir)
			place := t.TempDir()
			turns := []any{}
			for _, c := range append(append([]call{}, j.calls...), call{"run_tests", j.tests}, call{"finish", args{"summary": "Changed and tested."}}) {
				turns = append(turns, map[string]any{"calls": []call{c}})
			}
			b, err := json.Marshal(map[string]any{"turns": turns})
			if err != nil {
				t.Fatal(err)
			}
			agents := filepath.Join(place, "home/.config/adroit/agents")
			if err := os.MkdirAll(agents, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{filepath.Join(agents, "fixer.md"): fixer, filepath.Join(place, "turns.yaml"): string(b)} {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			env := append(caches(t), "PATH="+os.Getenv("PATH"), "HOME="+filepath.Join(place, "home"), "ADROIT_HOME="+filepath.Join(place, "data"),
				"OLLAMA_HOST=127.0.0.1:9", "TMPDIR="+os.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
			run := func(args ...string) (int, string) {
				var out bytes.Buffer
				cmd := &exec.Cmd{Path: bin, Args: append([]string{"adroit"}, args...), Dir: dir, Env: env, Stdout: &out, Stderr: &out}
				err := cmd.Run()
				if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), out.String()
			}
			code, out := run("run", j.agent, "change it", "-m", "script:"+filepath.Join(place, "turns.yaml"), "--approve", "all")
			switch {
			case code != 0:
				t.Fatalf("code is %v, want 0: exit code %d\n%s", code, code, out)
			case !strings.Contains(out, j.says):
				t.Fatalf("out lacks j.says: exit code %d\n%s", code, out)
			case strings.Contains(out, "failed"):
				t.Fatalf("out contains \"failed\": exit code %d\n%s", code, out)
			case strings.Contains(out, "nothing was changed"):
				t.Fatalf("out contains \"nothing was changed\": exit code %d\n%s", code, out)
			}
			after := tree(t, dir)
			changed := 0
			for name, text := range after {
				if before[name] != text {
					changed++
				}
			}
			if changed < 2 {
				t.Errorf("%d files changed: was anything edited?\n%s", changed, out)
			}
			for _, c := range j.calls {
				if a, ok := c.Args.(args); ok && c.Name == "write_file" && !strings.HasSuffix(after[a["path"].(string)], a["content"].(string)) {
					t.Errorf("%s does not hold what was written", a["path"])
				}
			}
			if code, out := run("jobs", "undo", "last"); code != 0 {
				t.Fatalf("undo: exit code %d\n%s", code, out)
			}
			same(t, tree(t, dir), before)
			git(t, dir, "diff", "--exit-code", "HEAD")
		})
	}
}

// caches returns the variables that locate Go's caches, for commands that have another home.
func caches(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return append(env, "GOFLAGS=", "GOTOOLCHAIN=local")
}
