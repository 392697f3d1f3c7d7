package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// TestFollow: a program loads a file by a name in another file. If the real program prints the
// text in the file, a change of the file must be detected.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		files map[string]string
		evil  string // the file that is changed
	}{
		{"require", []string{"node", "srv.js"}, map[string]string{"srv.js": `require("./lib/x")`, "lib/x.js": "console.log('MARK')"}, "lib/x.js"},
		{"a directory", []string{"node", "srv.js"}, map[string]string{"srv.js": `require("./lib")`, "lib/package.json": `{"main": "./in/m.js"}`, "lib/in/m.js": "console.log('MARK')"}, "lib/in/m.js"},
		{"index.js", []string{"node", "srv.js"}, map[string]string{"srv.js": "require('./lib')", "lib/index.js": "require('../y.js')", "y.js": "console.log('MARK')"}, "y.js"},
		{"import", []string{"node", "srv.mjs"}, map[string]string{"srv.mjs": `import {x} from "./x.mjs"`, "x.mjs": "export const x = 1; console.log('MARK')"}, "x.mjs"},
		{"a dynamic import", []string{"node", "srv.mjs"}, map[string]string{"srv.mjs": "await import(`./x.mjs`)", "x.mjs": "console.log('MARK')"}, "x.mjs"},
		{"#", []string{"node", "a/srv.mjs"}, map[string]string{"a/srv.mjs": `import "#x"`, "package.json": `{"imports": {"#x": "./b/x.mjs"}}`, "b/x.mjs": "console.log('MARK')"}, "b/x.mjs"},
		{"what # stands for", []string{"node", "a/srv.mjs"}, map[string]string{"a/srv.mjs": `import "#x"`, "package.json": `{"imports": {"#x": "data:text/javascript,console.log('MARK')"}}`}, "package.json"},
		{"a package", []string{"node", "src/srv.js"}, map[string]string{"src/srv.js": `require("left")`, "node_modules/left/index.js": "console.log('MARK')"}, "node_modules/left/index.js"},
		{"what it needs", []string{"node", "srv.js"}, map[string]string{"srv.js": `require("@a/left/x")`, "node_modules/@a/left/x.js": "require('r' + 'ight')", "node_modules/@a/left/package.json": `{"dependencies": {"right": "1"}}`, "node_modules/right/index.js": "console.log('MARK')"}, "node_modules/right/index.js"},
		{"a sibling", []string{"python3", "srv.py"}, map[string]string{"srv.py": "import os, helper", "helper.py": "print('MARK')"}, "helper.py"},
		{"from a package", []string{"python3", "srv.py"}, map[string]string{"srv.py": "def f():\n    from pkg import (a, b)\nf()", "pkg/a.py": "", "pkg/b.py": "from . import c", "pkg/c.py": "from .d import x", "pkg/d.py": "x = 1\nprint('MARK')"}, "pkg/d.py"},
		{"__init__.py", []string{"python3", "srv.py"}, map[string]string{"srv.py": "import pkg.a as y", "pkg/__init__.py": "print('MARK')", "pkg/a.py": ""}, "pkg/__init__.py"},
		{"source", []string{"sh", "srv.sh"}, map[string]string{"srv.sh": `. "$(dirname "$0")/lib/env"` + "\n", "lib/env": "#!/bin/sh\necho MARK"}, "lib/env"},
		{"source by a variable", []string{"bash", "srv.sh"}, map[string]string{"srv.sh": "D=$(dirname \"$0\")\nsource \"${D}/lib.sh\"", "lib.sh": "echo MARK"}, "lib.sh"},
		{"a script that starts one", []string{"sh", "bin/srv.sh"}, map[string]string{"bin/srv.sh": `exec node "$(dirname "$0")/../srv.js"`, "srv.js": "require('./x')", "x.js": "console.log('MARK')"}, "x.js"},
		{"make", []string{"make", "-s", "server"}, map[string]string{"Makefile": "server:\n\tsh run/srv.sh\n", "run/srv.sh": "echo MARK"}, "run/srv.sh"},
		{"npm", []string{"npm", "run", "-s", "server"}, map[string]string{"package.json": `{"scripts": {"server": "node run/srv.js"}}`, "run/srv.js": "console.log('MARK')"}, "run/srv.js"},
		{"go run", []string{"go", "run", "./cmd/srv"}, map[string]string{"go.mod": "module x\n", "cmd/srv/main.go": "package main\nimport \"x/own\"\nfunc main() { own.F() }", "own/f.go": "package own\nfunc F() { println(`MARK`) }"}, "own/f.go"},
		{"cargo run", []string{"cargo", "run", "--offline", "-q"}, map[string]string{"Cargo.toml": "[package]\nname='x'\nversion='0.1.0'\n", "src/main.rs": "mod y;\nfn main() { y::f() }", "src/y.rs": `pub fn f() { println!("MARK") }`}, "src/y.rs"},
		{"gradle", []string{"gradle", "run"}, map[string]string{"build.gradle": "", "src/main/java/A.java": "MARK"}, "src/main/java/A.java"},
		{"docker compose", []string{"docker", "compose", "up"}, map[string]string{"compose.yaml": "services: {a: {build: .}}", "Dockerfile": "FROM x\nCOPY app app", "app/srv": "MARK"}, "app/srv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range c.files {
				write(name, text)
			}
			s := Server{Command: c.args, Grants: Grants{Workspace: "write"}}
			before, err := s.pins(dir)
			if err != nil {
				t.Fatal(err)
			}
			write(c.evil, strings.ReplaceAll(c.files[c.evil], "MARK", "OTHER"))
			now, err := s.pins(dir)
			if err != nil || now.Digest == before.Digest || now.describeChanges(before) == "" {
				t.Errorf("a change of %s is not seen (%v); compared are %v", c.evil, err, now.Files)
			}
			if _, err := exec.LookPath(c.args[0]); err != nil || c.args[0] == "docker" || c.args[0] == "gradle" {
				return
			}
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "CARGO_TARGET_DIR="+t.TempDir(), "GOFLAGS=-mod=mod")
			if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "OTHER") {
				t.Errorf("it does not run the file: %v %s", err, out)
			}
		})
	}
}

// TestAppears: a new file appears that the program finds before the accepted one, or besides it.
// If the real program prints the text in the new file, it must be detected.
func TestAppears(t *testing.T) {
	node := func(more map[string]string) map[string]string {
		more["srv.js"] = `try { require("left") } catch {}; try { require("./lib") } catch {}`
		return more
	}
	for _, c := range []struct {
		name  string
		args  []string
		files map[string]string
		evil  string // the file that comes
		text  string
	}{
		{"a package that was missing", []string{"node", "srv.js"}, node(map[string]string{}), "node_modules/left/index.js", "console.log('OTHER')"},
		{"a nearer package", []string{"node", "a/srv.js"}, map[string]string{"a/srv.js": `require("left")`, "node_modules/left/index.js": ""}, "a/node_modules/left/index.js", "console.log('OTHER')"},
		{"a file before a package", []string{"node", "srv.js"}, node(map[string]string{"node_modules/left/index.js": ""}), "node_modules/left.js", "console.log('OTHER')"},
		{"a file before a directory", []string{"node", "srv.js"}, node(map[string]string{"lib/index.js": ""}), "lib.js", "console.log('OTHER')"},
		{"main before the index", []string{"node", "srv.js"}, node(map[string]string{"lib/index.js": "", "lib/in/x.js": "console.log('OTHER')"}), "lib/package.json", `{"main": "in/x"}`},
		{"a main without its end", []string{"node", "srv.js"}, node(map[string]string{"lib/package.json": `{"main": "in"}`, "lib/index.js": ""}), "lib/in/index.js", "console.log('OTHER')"},
		{"the kind of module", []string{"node", "a/srv.js"}, map[string]string{"a/srv.js": "console.log(typeof require == 'function' ? '' : 'OTHER')"}, "package.json", `{"type": "module"}`},
		{"a module of the library", []string{"python3", "srv.py"}, map[string]string{"srv.py": "import statistics"}, "fractions.py", "print('OTHER')"},
		{"a package of the library", []string{"python3", "srv.py"}, map[string]string{"srv.py": "import statistics"}, "fractions/__init__.py", "print('OTHER')"},
		{"a package before a module", []string{"python3", "srv.py"}, map[string]string{"srv.py": "import helper", "helper.py": ""}, "helper/__init__.py", "print('OTHER')"},
		{"what Python runs first", []string{"env", "PYTHONPATH=lib", "python3", "srv.py"}, map[string]string{"srv.py": "", "lib/x.py": ""}, "lib/sitecustomize.py", "print('OTHER')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range c.files {
				dirtest.Write(t, filepath.Join(dir, name), text)
			}
			s := Server{Command: c.args, Grants: Grants{Workspace: "write"}}
			if c.args[0] == "env" {
				s.Command, s.Env = c.args[2:], map[string]string{"PYTHONPATH": "lib"}
			}
			before, err := s.pins(dir)
			if err != nil {
				t.Fatal(err)
			}
			dirtest.Write(t, filepath.Join(dir, c.evil), c.text)
			now, err := s.pins(dir)
			if err != nil || now.Digest == before.Digest || now.describeChanges(before) == "" {
				t.Errorf("%s, which is new, is not seen (%v); compared are %v", c.evil, err, now.Files)
			}
			if _, err := exec.LookPath(s.Command[0]); err != nil {
				return
			}
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "OTHER") {
				t.Errorf("it does not run the file: %v %s", err, out)
			}
		})
	}
}
