package test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A check that ends with exit code 0 has passed whatever it printed; one whose program could
// not do its work has found nothing.
func TestCheckExitCodes(t *testing.T) {
	testenv.NeedsProgram(t, "npm")
	type files = map[string]string
	lint := func(script string) files {
		return files{"package.json": fmt.Sprintf(`{"scripts": {"lint": %q, "typecheck": %q}}`, script, script)}
	}
	for name, c := range map[string]struct {
		files   files
		check   string
		program string // the one that prints out
		out     string
		code    int
		failed  bool
		is      tools.Inconclusive
		says    string
	}{
		"eslint, warnings":          {lint("eslint ."), "lint", "eslint", "a.js\n  1:7  warning  'x' is unused  no-unused-vars\n\n✖ 1 problem (0 errors, 1 warning)", 0, false, "", "passed"},
		"eslint, problems":          {lint("eslint ."), "lint", "eslint", "a.js\n  1:7  error  'x' is unused  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)", 1, true, "", "exit code 1"},
		"eslint, configuration":     {lint("eslint ."), "lint", "eslint", "Oops! Something went wrong! :(\n\nESLint: 9.0.0\n\nESLint couldn't find an eslint.config.(js|mjs|cjs) file.", 2, true, tools.CannotCheck, "could not run, exit code 2: a fault of its configuration, or of eslint"},
		"eslint, crash":             {lint("eslint ."), "lint", "eslint", "TypeError: Cannot read properties of undefined (reading 'x')", 2, true, tools.CannotCheck, "could not run, exit code 2"},
		"eslint, missing":           {lint("nolint ."), "lint", "", "", 0, true, tools.CannotCheck, "nolint is not installed here"},
		"several":                   {lint("eslint . && tsc"), "lint", "eslint", "oh", 2, true, "", "exit code 2"},
		"tsc, errors":               {lint("tsc --noEmit"), "types", "tsc", "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.", 2, true, "", "exit code 2"},
		"ruff, problems":            {files{"ruff.toml": ""}, "lint", "ruff", "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.", 1, true, "", "exit code 1"},
		"ruff, configuration":       {files{"ruff.toml": ""}, "lint", "ruff", "ruff failed\n  Cause: Failed to parse ruff.toml", 2, true, tools.CannotCheck, "could not run, exit code 2"},
		"golangci-lint, problems":   {files{"go.mod": "module a\n", ".golangci.yml": ""}, "lint", "golangci-lint", "a.go:5:2: ineffectual assignment to x (ineffassign)", 1, true, "", "golangci-lint run: exit code 1"},
		"golangci-lint, no start":   {files{"go.mod": "module a\n", ".golangci.yml": ""}, "lint", "golangci-lint", "Error: can't load config: unsupported version of the configuration", 3, true, tools.CannotCheck, "golangci-lint run: could not run, exit code 3"},
		"mypy, blocked by the code": {files{"mypy.ini": ""}, "types", "mypy", "a.py:1: error: Invalid syntax  [syntax]\nFound 1 error in 1 file (errors prevented further checking)", 2, true, "", "exit code 2"},
		"mypy, usage":               {files{"mypy.ini": ""}, "types", "mypy", "usage: mypy [-h]\nmypy: error: unrecognized arguments: --x", 2, true, tools.CannotCheck, "could not run, exit code 2"},
		"clippy, warnings":          {files{"Cargo.toml": "", "clippy.toml": ""}, "lint", "cargo", "warning: this could be rewritten\n  = help: for more, visit #clippy::needless_return", 0, false, "", "passed"},
		"clippy, missing":           {files{"Cargo.toml": "", "clippy.toml": ""}, "lint", "cargo", "error: no such command: `clippy`", 101, true, tools.CannotCheck, "error: no such command: `clippy`"},
		"rustc, error":              {files{"Cargo.toml": ""}, "build", "cargo", "error[E0425]: cannot find value `y` in this scope\n --> src/lib.rs:1:10", 101, true, "", "exit code 101"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.program != "" {
				programs(t, map[string]string{c.program: fmt.Sprintf("/bin/cat <<'END'\n%s\nEND\nexit %d\n", c.out, c.code)})
			}
			if strings.HasPrefix(name, "golangci") { // go vet is asked too
				programs(t, map[string]string{"go": ""})
			}
			_, env := siteOf(t, c.files)
			args, err := json.Marshal(map[string]string{"check": c.check})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Check.Run(context.Background(), env, args)
			if err != nil || r.Failed != c.failed || r.Inconclusive != c.is || !strings.Contains(r.Summary, c.says) {
				t.Errorf("failed is %v, want %v, inconclusive %q, want %q, %q does not say %q, %v", r.Failed, c.failed, r.Inconclusive, c.is, r.Summary, c.says, err)
			}
		})
	}
}
