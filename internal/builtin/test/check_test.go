package test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// checked is a way to call run_check in a project made of files.
func checked(t *testing.T, files map[string]string) func(check string) tools.Result {
	t.Helper()
	_, env := siteOf(t, files)
	return func(check string) tools.Result {
		t.Helper()
		args, err := json.Marshal(map[string]string{"check": check})
		if check == "" {
			args = []byte("{}")
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := Check.Run(context.Background(), env, args)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

func siteOf(t *testing.T, files map[string]string) (dir string, env *tools.Env) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(dir, t.TempDir(), nil)
	t.Cleanup(func() { ex.Close(); fs.Close() })
	return dir, &tools.Env{Files: fs, Exec: ex}
}

func found(t *testing.T, res tools.Result) string {
	t.Helper()
	var list []projectCheck
	if err := json.Unmarshal(res.Artifacts["checks"], &list); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range list {
		lines = append(lines, f.Check+" "+f.Tool+" "+f.Command)
	}
	return strings.Join(lines, "\n")
}

func TestCheckConforms(t *testing.T) { toolstest.Check(t, Check, Format) }

// What the check format complains about, format_code makes right.
func TestFormat(t *testing.T) {
	files := map[string]string{
		"go.mod": "module m\n\ngo 1.22\n", "a.go": "package m\nfunc  A( ) {}\n", "b.go": "package m\n",
		"vendor/v/v.go": "package v\nfunc  V( ) {}\n",
	}
	dir, env := siteOf(t, files)
	call := func(tool tools.Tool, args string) tools.Result {
		t.Helper()
		res, err := tool.Run(context.Background(), env, json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := call(Check, `{"check":"format"}`); !res.Failed {
		t.Fatalf("%+v", res)
	}
	if res := call(Format, `{}`); res.Failed || !strings.Contains(res.Text, "gofmt -w: done") {
		t.Errorf("%+v", res)
	}
	if res := call(Check, `{"check":"format"}`); res.Failed {
		t.Errorf("%+v", res)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "vendor/v/v.go")); err != nil || string(b) != files["vendor/v/v.go"] {
		t.Errorf("it changed what others wrote: %q, %v", b, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := call(Format, `{}`); !res.Failed || !strings.Contains(res.Summary, "exit code 2") {
		t.Errorf("%+v", res)
	}
}

func TestCheckGo(t *testing.T) {
	run := checked(t, map[string]string{
		"go.mod":          "module m\n\ngo 1.22\n",
		"a.go":            "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Printf(\"%d\", \"x\")  }\n",
		"a_test.go":       "package main\n",
		"vendor/v/v.go":   "package v\nfunc  V( ) {}\n",
		"testdata/bad.go": "not go",
	})
	if got := found(t, run("")); got != "format run_check gofmt -l\nlint run_check go vet ./...\nbuild run_check go build -o /dev/null ./...\ntests run_tests go test -json ./..." {
		t.Errorf("found\n%s", got)
	}
	res := run("format")
	switch {
	case !res.Failed:
		t.Errorf("res.Failed is false: format: %+v", res)
	case res.Summary != "gofmt -l: files would change":
		t.Errorf(`res.Summary is %v, want "gofmt -l: files would change": format: %+v`, res.Summary, res)
	case !strings.Contains(res.Text, "+func main() { fmt.Printf(\"%d\", \"x\") }"):
		t.Errorf(`res.Text lacks "+func main() { fmt.Printf(\"%%d\", \"x\") }": format: %+v`, res)
	case strings.Contains(res.Text, "vendor"):
		t.Errorf(`res.Text contains "vendor": format: %+v`, res)
	}
	if res := run("lint"); !res.Failed || res.Summary != "go vet ./...: exit code 1" || !strings.Contains(res.Text, "a.go:5:") {
		t.Errorf("lint: %+v", res)
	}
	if res := run("build"); res.Failed || res.Summary != "passed" {
		t.Errorf("build: %+v", res)
	}
	if res := run("types"); !res.Failed || !strings.Contains(res.Text, "no types check") {
		t.Errorf("types: %+v", res)
	}
}

// What has settings is a check; what is not installed says so.
func TestCheckPython(t *testing.T) {
	run := checked(t, map[string]string{
		"pyproject.toml":   "[tool.ruff.format]\nquote-style = \"double\"\n[tool.mypy]\nstrict = true\n",
		"setup.cfg":        "[flake8]\nmax-line-length = 100\n",
		"a.py":             "x = 1\n",
		".venv/bin/mypy":   "#!/bin/sh\necho 'a.py:1: error: no'; exit 1\n",
		".venv/bin/flake8": "#!/bin/sh\nexit 0\n",
		".venv/bin/ruff":   "#!/bin/sh\nexit 127\n",
	})
	got := found(t, run(""))
	for _, want := range []string{"format run_check ", "ruff format --diff", "lint run_check ", "ruff check", "flake8", "types run_check ", "mypy ."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, got)
		}
	}
	if strings.Contains(got, "tests") {
		t.Errorf("there are no tests:\n%s", got)
	}
	if res := run("types"); !res.Failed || !strings.Contains(res.Text, "a.py:1: error: no") || !strings.Contains(res.Summary, "exit code 1") {
		t.Errorf("types: %+v", res)
	}
	if res := run("lint"); !res.Failed || !strings.Contains(res.Summary, "is not installed here") || !strings.Contains(res.Text, "flake8: passed") {
		t.Errorf("lint: %+v", res)
	}
}

func TestCheckNode(t *testing.T) {
	run := checked(t, map[string]string{
		"web/package.json": `{"scripts": {"lint": "echo no-unused-vars; exit 2", "format:check": "exit 0", "type-check": "exit 0", "build": " "}}`,
	})
	got := found(t, run(""))
	if got != "format run_check cd web && npm run --silent format:check\nlint run_check cd web && npm run --silent lint\ntypes run_check cd web && npm run --silent type-check" {
		t.Errorf("found\n%s", got)
	}
	testenv.NeedsProgram(t, "npm")
	if res := run("lint"); !res.Failed || !strings.Contains(res.Text, "no-unused-vars") || !strings.Contains(res.Summary, "exit code 2") {
		t.Errorf("lint: %+v", res)
	}
}

func TestCheckNothing(t *testing.T) {
	run := checked(t, map[string]string{"README": "x"})
	if res := run(""); res.Failed || string(res.Artifacts["checks"]) != "[]" || !strings.Contains(res.Text, "Neither here") {
		t.Errorf("%+v", res)
	}
	run = checked(t, map[string]string{"package.json": "{"})
	if res := run(""); !res.Failed || !strings.Contains(res.Text, "package.json is not valid JSON") {
		t.Errorf("%+v", res)
	}
}

// An exhaustedExec cannot start anything.
type exhaustedExec struct{ process.Exec }

func (exhaustedExec) Run(context.Context, process.Cmd) (*process.Output, error) {
	return nil, &os.PathError{Op: "open", Path: "/dev/null", Err: syscall.EMFILE}
}

// TestExhaustedHostIsNoVerdict checks that what cannot be started because the host has run
// out of something is an error, for which the step waits, and no failed or missing check.
func TestExhaustedHostIsNoVerdict(t *testing.T) {
	_, env := siteOf(t, map[string]string{"go.mod": "module x\n", "x.go": "package x\n", "x_test.go": "package x\n"})
	env.Exec = exhaustedExec{env.Exec}
	for tool, args := range map[*tools.Tool]string{&Run: "{}", &Check: `{"check":"format"}`, &Format: "{}"} {
		if res, err := tool.Run(t.Context(), env, []byte(args)); exhaustion.Of(err) != exhaustion.OpenFiles {
			t.Errorf("%s: %+v, %v", tool.Name, res, err)
		}
	}
}
