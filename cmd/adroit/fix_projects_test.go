package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// A brokenProject is a project of files that does not work, with real tools.
type brokenProject struct {
	name, tool, command string
	files               map[string]string
	by                  string // who decides first
	decision, typ       string // of the first attempt
	agent               string // that repairs, by the edit; empty: a person has to
	edit                [3]string
	on                  string // what the disk in the directory small is mounted with
	off                 bool   // the network is
	stays               bool   // as it is, also after a retry
}

const goMod = "module cart\n\ngo 1.26\n"

var brokenProjects = []brokenProject{
	// Decided by code alone.
	{name: "missing program", command: "no-such-program-x --version", by: "rule missing-program", decision: "ESCALATE", typ: "environment"},
	{name: "missing program in a Makefile-like script", command: "sh build.sh", files: map[string]string{"build.sh": "set -e\nno-such-program-x build\n"}, by: "rule missing-program", decision: "ESCALATE", typ: "environment"},
	{name: "missing program behind another", command: "timeout 9 no-such-program-x", by: "rule missing-program", decision: "ESCALATE", typ: "environment"},
	{name: "disk full in go", tool: "go", on: "size=64k", command: "go build -o small/app .", files: map[string]string{"go.mod": goMod, "a.go": "package main\n\nfunc main() {}\n"}, by: "rule disk-full", decision: "ESCALATE", typ: "environment"},
	{name: "disk full in python", tool: "python3", on: "size=64k", command: "python3 w.py", files: map[string]string{"w.py": "f = open('small/out', 'w')\nf.write('x' * 999999)\nf.close()\n"}, by: "rule disk-full", decision: "ESCALATE", typ: "environment"},
	{name: "script without the right to run", command: "./run.sh", files: map[string]string{"run.sh": "#!/bin/sh\ntrue\n"}, by: "rule permission", decision: "ESCALATE", typ: "environment"},
	{name: "read-only disk", on: "ro", command: "cp run.sh small/", files: map[string]string{"run.sh": "true\n"}, by: "rule permission", decision: "ESCALATE", typ: "environment"},
	{name: "network off in node", tool: "npm", off: true, command: "npm view left-pad --registry https://registry.npmjs.org/ --fetch-retries 0", by: "rule no-network", decision: "RETRY", typ: "environment", stays: true},
	{name: "network off in go", tool: "go", off: true, command: "GOPROXY=https://proxy.golang.org go mod download", files: map[string]string{"go.mod": goMod + "\nrequire example.org/x v1.0.0\n", "go.sum": ""}, by: "rule no-network", decision: "RETRY", typ: "environment", stays: true},
	{name: "go too old", tool: "go", command: "go build ./...", files: map[string]string{"go.mod": "module cart\n\ngo 1.99\n", "a.go": "package cart\n"}, by: "rule wrong-version", decision: "ESCALATE", typ: "environment"},
	{name: "rust too old", tool: "cargo", command: "cargo build --offline", files: map[string]string{"Cargo.toml": "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\nrust-version = \"1.999.0\"\n", "src/lib.rs": ""}, by: "rule wrong-version", decision: "ESCALATE", typ: "environment"},
	{name: "npm publish without login", tool: "npm", command: "npm publish --offline --registry http://127.0.0.1:9/", files: map[string]string{"package.json": `{"name": "cart-x", "version": "1.0.0"}`}, by: "rule auth", decision: "ESCALATE", typ: "registry-auth"},
	{name: "flaky test in go", tool: "go", command: "go test ./...", files: map[string]string{"go.mod": goMod, "a_test.go": "package cart\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSometimes(t *testing.T) {\n\tif _, err := os.Stat(\"once\"); err != nil {\n\t\tos.WriteFile(\"once\", nil, 0o600)\n\t\tt.Fatal(err)\n\t}\n}\n"}, by: "rule flaky", decision: "RETRY", typ: "test"},
	{name: "flaky test in node", tool: "node", command: "node --test", files: map[string]string{"a.test.js": "const test = require('node:test'), fs = require('fs'), assert = require('assert');\ntest('sometimes', () => { const was = fs.existsSync('once'); fs.writeFileSync('once', ''); assert.ok(was); });\n"}, by: "rule flaky", decision: "RETRY", typ: "test"},

	// Repaired by an agent whom code picks.
	{name: "spawn ENOENT", tool: "node", command: "node b.js", files: map[string]string{"b.js": "require('child_process').exec('true', {cwd: 'bulid'}, e => { if (e) throw e });\n", "build/.gitkeep": ""},
		by: "rule missing-directory", decision: "DELEGATE", typ: "environment", agent: "environment-setup", edit: [3]string{"b.js", "bulid", "build"}},
	{name: "directory of a redirection", command: "sh b.sh", files: map[string]string{"b.sh": "echo x >bulid/out\n", "build/.gitkeep": ""},
		by: "rule missing-directory", decision: "DELEGATE", typ: "environment", agent: "environment-setup", edit: [3]string{"b.sh", "bulid", "build"}},
	{name: "go build", tool: "go", command: "go build ./...", files: map[string]string{"go.mod": goMod, "a.go": "package cart\n\nfunc Total(a, b int) int { return a + c }\n"},
		by: "rule build", decision: "DELEGATE", typ: "build", agent: "code-fix", edit: [3]string{"a.go", "a + c", "a + b"}},
	{name: "go dependency", tool: "go", command: "go build ./...", files: map[string]string{"go.mod": goMod, "a.go": "package cart\n\nimport _ \"strinsg\"\n"},
		by: "rule dependency", decision: "DELEGATE", typ: "dependency", agent: "dependency-resolution", edit: [3]string{"a.go", "strinsg", "strings"}},
	{name: "go vet", tool: "go", command: "go vet ./...", files: map[string]string{"go.mod": goMod, "a.go": "package cart\n\nimport \"fmt\"\n\nfunc Show(n int) { fmt.Printf(\"%s\", n) }\n"},
		by: "rule", decision: "DELEGATE", typ: "lint", agent: "linting-fix", edit: [3]string{"a.go", "%s", "%d"}},
	{name: "node syntax", tool: "node", command: "node a.js", files: map[string]string{"a.js": "console.log('x'\n"},
		by: "rule build", decision: "DELEGATE", typ: "build", agent: "code-fix", edit: [3]string{"a.js", "'x'", "'x')"}},
	{name: "node module", tool: "node", command: "node a.js", files: map[string]string{"a.js": "require('pahts')\n"},
		by: "rule dependency", decision: "DELEGATE", typ: "dependency", agent: "dependency-resolution", edit: [3]string{"a.js", "pahts", "path"}},
	{name: "node own file", tool: "node", command: "node a.js", files: map[string]string{"a.js": "require('./libb')\n", "lib.js": ""},
		by: "rule build", decision: "DELEGATE", typ: "build", agent: "code-fix", edit: [3]string{"a.js", "libb", "lib"}},
	{name: "python syntax", tool: "python3", command: "python3 a.py", files: map[string]string{"a.py": "def f(:\n    pass\n"},
		by: "rule build", decision: "DELEGATE", typ: "build", agent: "code-fix", edit: [3]string{"a.py", "f(:", "f():"}},
	{name: "python module", tool: "python3", command: "python3 a.py", files: map[string]string{"a.py": "import jsonn\n"},
		by: "rule dependency", decision: "DELEGATE", typ: "dependency", agent: "dependency-resolution", edit: [3]string{"a.py", "jsonn", "json"}},
	{name: "python test", tool: "python3", command: "python3 -m unittest", files: map[string]string{"cart.py": "def total(a, b):\n    return a - b\n", "test_cart.py": "import unittest, cart\nclass T(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(cart.total(1, 2), 3)\n"},
		by: "rule flaky", decision: "RETRY", typ: "test", agent: "code-fix", edit: [3]string{"cart.py", "a - b", "a + b"}},
	{name: "node test", tool: "node", command: "node --test", files: map[string]string{"cart.js": "exports.total = (a, b) => a - b;\n", "cart.test.js": "const test = require('node:test'), assert = require('assert');\ntest('total', () => assert.strictEqual(require('./cart').total(1, 2), 3));\n"},
		by: "rule flaky", decision: "RETRY", typ: "test", agent: "code-fix", edit: [3]string{"cart.js", "a - b", "a + b"}},
	{name: "rust build", tool: "cargo", command: "cargo build --offline -q", files: map[string]string{"Cargo.toml": cargoToml, "src/lib.rs": "pub fn total(a: i32, b: i32) -> i32 { a + c }\n"},
		by: "rule build", decision: "DELEGATE", typ: "build", agent: "code-fix", edit: [3]string{"src/lib.rs", "a + c", "a + b"}},
	{name: "rust types", tool: "cargo", command: "cargo build --offline -q", files: map[string]string{"Cargo.toml": cargoToml, "src/lib.rs": "pub fn total(a: i32) -> i32 { let s: i32 = \"x\"; a + s }\n"},
		by: "rule type", decision: "DELEGATE", typ: "type", agent: "type-fix", edit: [3]string{"src/lib.rs", `"x"`, "1"}},
	{name: "rust crate", tool: "cargo", command: "cargo build --offline -q", files: map[string]string{"Cargo.toml": cargoToml, "src/lib.rs": "use stdd::fmt;\npub fn show(a: i32) -> String { let _ = fmt::Error; a.to_string() }\n"},
		by: "rule dependency", decision: "DELEGATE", typ: "dependency", agent: "dependency-resolution", edit: [3]string{"src/lib.rs", "stdd", "std"}},
}

const cargoToml = "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"

// TestFixProjects breaks projects with real tools: each has the decision that it
// should have, those about the machine without a model, and where an agent
// repairs, the command itself works afterwards.
func TestFixProjects(t *testing.T) {
	t.Parallel()
	if len(brokenProjects) < 24 {
		t.Fatalf("there are %d projects", len(brokenProjects))
	}
	for _, b := range brokenProjects {
		t.Run(b.name, func(t *testing.T) {
			if b.tool != "" {
				testenv.NeedsProgram(t, b.tool)
			}
			if testing.Short() && (b.tool == "cargo" || b.off) {
				t.Skip("compiles, or waits for a network; run it without -short")
			}
			t.Parallel()
			b.test(t)
		})
	}
}

// broken makes the machine of p as the project has it, for real: in a namespace of its
// own, with a disk that is full or cannot be written to, or without any network.
func (b brokenProject) broken(p *place) {
	if b.on == "" && !b.off {
		return
	}
	space, before := "-rm", "mkdir small && mount -t tmpfs -o "+b.on+" none small && "
	if b.off {
		space, before = "-rn", ""
	}
	if out, err := exec.Command("unshare", space, "sh", "-c", strings.ReplaceAll(before, "small", p.path("probe"))+"true").CombinedOutput(); err != nil {
		p.t.Skipf("this machine lets nobody have a namespace: %v\n%s", err, out)
	}
	if err := os.Symlink(p.bin, p.path("adroit")); err != nil {
		p.t.Fatal(err)
	}
	put(p.t, p.path("broken"), "#!/bin/sh\nexec unshare "+space+" sh -c '"+before+"exec \"$0\" \"$@\"' '"+p.path("adroit")+"' \"$@\"\n")
	if err := os.Chmod(p.path("broken"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.bin = p.path("broken")
}

func (b brokenProject) test(t *testing.T) {
	files := map[string]string{}
	for name, text := range b.files {
		files["repo/"+name] = text
	}
	args := []string{"fix", "--escalate", "report", "--", b.command}
	if b.agent != "" {
		edit, err := json.Marshal(map[string]string{"path": b.edit[0], "old": b.edit[1], "new": b.edit[2]})
		if err != nil {
			t.Fatal(err)
		}
		files["turns.yaml"] = fmt.Sprintf("turns:\n  - calls: [{name: edit_file, args: %s}]\n  - calls: [{name: finish, args: {summary: Repaired.}}]\n", edit)
		args = append([]string{"fix", "-m", "script:../turns.yaml"}, args[1:]...)
	}
	p := newPlace(t, files)
	p.env = append(p.env, "GOTOOLCHAIN=local", "GOFLAGS=", "GOPROXY=off", "npm_config_cache="+p.path("npm"), "CARGO_NET_OFFLINE=true")
	home, _ := os.UserHomeDir()
	for _, tool := range []string{"RUSTUP_HOME", "PYENV_ROOT"} {
		dir := os.Getenv(tool)
		if dir == "" {
			dir = filepath.Join(home, map[string]string{"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv"}[tool])
		}
		if _, err := os.Stat(dir); err == nil {
			p.env = append(p.env, tool+"="+dir)
		}
	}
	bin := p.bin
	b.broken(p)
	code, out := p.run(args...)
	p.bin = bin
	want := 1
	if b.agent != "" || b.decision == "RETRY" && !b.stays {
		want = 0
	}
	if code != want {
		t.Fatalf("exit code %d, want %d\n%s", code, want, out)
	}
	if b.agent == "" && !strings.Contains(out, "  none  ") {
		t.Errorf("a model was there to be asked\n%s", out)
	}
	_, text := p.run("jobs", "artifacts", "last", "fix")
	var fix struct {
		Attempts []struct {
			Type   string
			Action struct{ Decision, By, Agent string }
		}
	}
	if err := json.Unmarshal([]byte(text), &fix); err != nil || len(fix.Attempts) == 0 {
		t.Fatalf("the result cannot be read: %v\n%s", err, text)
	}
	a := fix.Attempts[0]
	if a.Type != b.typ || a.Action.Decision != b.decision || !strings.HasPrefix(a.Action.By, b.by) {
		t.Errorf("%s %s by %s, want %s %s by %s\n%s", a.Type, a.Action.Decision, a.Action.By, b.typ, b.decision, b.by, out)
	}
	if last := fix.Attempts[len(fix.Attempts)-1]; last.Action.Agent != b.agent {
		t.Errorf("repaired by %q, want %q\n%s", last.Action.Agent, b.agent, out)
	}
}
