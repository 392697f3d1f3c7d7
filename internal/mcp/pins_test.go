package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPins lists the files that entries start: a change of each named file must be detected, and a
// change of data must not.
func TestPins(t *testing.T) {
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
	files := []string{"srv.js", "tools/srv.py", "mod/__main__.py", "mod/deep/x.txt", "pkg/package.json", "pkg/lib/a.js", "hook.cjs", "data.json", "docs/a.md", "bare", "src/index.js", "src/lib/b.js", "near/c.js", ".git/d.js", "pk/package.json", "pk/.git/e.js", "pk/own/f.js", "Makefile", "mk/other", "package.json", "node_modules/pre/index.js", "lib/dep.js", "lib/pack/main.js", "wants.js", "hooks/index.js"}
	for _, f := range files {
		write(f, "#\n")
	}
	write("wants.js", "require('dep'); require('pack')\n")
	write("lib/pack/package.json", `{"main": "main.js"}`)
	write("bang", "#!/bin/sh\n")
	files = append(files, "bang")
	for link, to := range map[string]string{"pk/index.js": "../src/index.js", "pk/lib": "../src/lib", "pk/again": "../src", "pk/up": ".", "pk/in": "own", "pk/head.js": ".git/e.js", "pk/nowhere": "x", "src/near": "../near", "near/back": "../src", "pl": "pk"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	linked := []string{"pk/package.json", "pk/own/f.js", "pk/.git/e.js", "src/index.js", "src/lib/b.js", "near/c.js"}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name string
		s    Server
		want []string
	}{
		{"a script", Server{Command: commandLine{"node", at("srv.js"), at("data.json")}}, []string{"srv.js", "package.json"}},
		{"a relative one", Server{Command: commandLine{"python3"}, Args: []string{"tools/srv.py"}, Grants: Grants{Workspace: "write"}}, []string{"tools/srv.py"}},
		{"not found by the program", Server{Command: commandLine{"python3", "tools/srv.py"}}, nil},
		{"a module", Server{Command: commandLine{"python3", "-m", "mod"}, Grants: Grants{Workspace: "write"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a module by PYTHONPATH", Server{Command: commandLine{"python3", "-m", "mod.sub"}, Env: map[string]string{"PYTHONPATH": "/x:" + dir}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a module behind -E", Server{Command: commandLine{"python3", "-E", "-X", "dev", "-m", "mod"}, Grants: Grants{Workspace: "write"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a module of -Im", Server{Command: commandLine{"python3", "-Im", "mod"}, Grants: Grants{Workspace: "write"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a module of -mNAME in a shell", Server{Command: commandLine{"sh", "-c", "exec python3.12 -I -mmod"}, Grants: Grants{Workspace: "write"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"code of -c", Server{Command: commandLine{"python3", "-Ic", "import os; import tools.srv as s; s.main()"}, Grants: Grants{Workspace: "write"}}, []string{"tools/srv.py"}},
		{"a module that is required", Server{Command: commandLine{"node", "--require", "pre", "-e", "1"}, Grants: Grants{Workspace: "write"}}, []string{"node_modules/pre/index.js"}},
		{"a directory that is required", Server{Command: commandLine{"node", "--require=./hooks", "-e", "1"}, Grants: Grants{Workspace: "write"}}, []string{"hooks/index.js", "package.json"}},
		{"one by NODE_OPTIONS", Server{Command: commandLine{"npx", "other"}, Env: map[string]string{"NODE_OPTIONS": "--import pre"}, Grants: Grants{Workspace: "write"}}, []string{"node_modules/pre/index.js"}},
		{"code of -e", Server{Command: commandLine{"node", "-e", "require('pre')"}, Grants: Grants{Workspace: "write"}}, []string{"node_modules/pre/index.js"}},
		{"modules of NODE_PATH", Server{Command: commandLine{"node", at("wants.js")}, Env: map[string]string{"NODE_PATH": "/x:" + at("lib")}}, []string{"wants.js", "package.json", "lib/dep.js", "lib/pack/main.js"}},
		{"a package", Server{Command: commandLine{"npx", "-y", "./pkg", "docs"}, Grants: Grants{Workspace: "write"}}, []string{"pkg/package.json", "pkg/lib/a.js"}},
		{"by a flag", Server{Command: commandLine{"uv", "run", "--directory=" + at("mod"), "srv"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a shell's text", Server{Command: commandLine{"sh", "-c", "cd / && exec node '" + at("srv.js") + "' --x"}}, []string{"srv.js", "package.json"}},
		{"a program", Server{Command: commandLine{at("bare"), at("docs")}}, []string{"bare"}},
		{"by its first line", Server{Command: commandLine{"env", at("bang")}}, []string{"bang"}},
		{"a variable", Server{Command: commandLine{"node", "-e", "1"}, Env: map[string]string{"NODE_OPTIONS": "--require " + at("hook.cjs")}}, []string{"hook.cjs", "package.json"}},
		{"a package of links", Server{Command: commandLine{"node", at("pk")}}, linked},
		{"by a link", Server{Command: commandLine{"npx", at("pl")}}, linked},
		{"without its end", Server{Command: commandLine{"node", at("tools/../srv")}}, []string{"srv.js", "package.json"}},
		{"behind a short flag", Server{Command: commandLine{"node", "-r" + at("hook"), "-e", "1"}}, []string{"hook.cjs", "package.json"}},
		{"a Makefile", Server{Command: commandLine{"make", "-C", at("docs"), "serve"}}, []string{"Makefile"}},
		{"one by its name", Server{Command: commandLine{"env", "make", "--file=other", "-C" + at("mk")}}, []string{"Makefile", "mk/other"}},
		{"a task", Server{Command: commandLine{"npm", "run", "serve"}, Grants: Grants{Workspace: "write"}}, []string{"package.json"}},
		{"after cd", Server{Command: commandLine{"sh", "-c", "cd " + at("tools") + " && python3 srv.py"}}, []string{"tools/srv.py"}},
		{"a package in a shell", Server{Command: commandLine{"sh", "-c", "exec npx " + at("pkg") + "; exit"}}, []string{"pkg/package.json", "pkg/lib/a.js"}},
		{"data of another program", Server{Command: commandLine{"cat", at("docs")}, Grants: Grants{Workspace: "write"}}, nil},
		{"an address", Server{URL: "https://example.org/srv.js"}, nil},
	} {
		before, err := c.s.pins(dir)
		if err != nil {
			t.Fatal(c.name, err)
		}
		for _, f := range files {
			was, err := os.ReadFile(at(f))
			if err != nil {
				t.Fatal(err)
			}
			write(f, string(was)+"evil\n")
			now, err := c.s.pins(dir)
			if err != nil {
				t.Fatal(c.name, err)
			}
			if seen := now.Digest != before.Digest; seen != slices.Contains(c.want, f) {
				t.Errorf("%s: a change of %s is seen: %v, among %v", c.name, f, seen, before.Files)
			} else if diff := now.describeChanges(before); seen && !strings.Contains(diff, "${workspace}/") {
				t.Errorf("%s: the difference is %q", c.name, diff)
			}
			write(f, string(was))
		}
	}
	if _, err := (Server{Command: commandLine{"npx", "/proc/self"}}).pins(dir); err != nil {
		t.Errorf("a directory of the system: %v", err)
	}
}

// TestPinsOfSystem has programs of the system, which are not compared unless a job works there.
func TestPinsOfSystem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dir, write string
		want             bool
	}{
		{"elsewhere", t.TempDir(), "", false},
		{"nowhere", "", "", false},
		{"in the workspace", "/usr/bin", "", true},
		{"in a directory that is written", "", "/usr/bin", true},
	} {
		p, err := (Server{Command: commandLine{"sh", "/usr/bin/env"}}).pins(c.dir, c.write)
		has := slices.ContainsFunc(p.Files, func(f pinFile) bool { return strings.HasSuffix(f.Name, "/env") })
		if err != nil || has != c.want {
			t.Errorf("%s: /usr/bin/env is compared: %v, %v", c.name, has, err)
		}
	}
	var c pinning
	for path, want := range map[string]bool{"/usr/bin/node": true, "/usr/lib": true, "/usr": true, "/opt/homebrew/bin/node": true, "/usr/src/p/srv.js": false, "/usr/local/src/p/srv.js": false, "/opt/p/srv.js": false, "/library/srv.js": false, "/libs/srv.js": false} {
		if c.fixed(path) != want {
			t.Errorf("%s is where no job writes: %v", path, !want)
		}
	}
	link := filepath.Join(t.TempDir(), "run")
	before := pin{}
	for _, to := range []string{"/usr/bin/env", "/bin/sh"} {
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		p, err := (Server{Command: commandLine{link}}).pins(filepath.Dir(link))
		if err != nil || len(p.Files) != 1 || p.Digest == before.Digest {
			t.Errorf("a link to %s: %v, %v", to, p, err)
		}
		before = p
	}
}
