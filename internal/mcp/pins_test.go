package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPins has what entries start: a change of each file that is named must be seen, and a
// change of data must not be.
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
	files := []string{"srv.js", "tools/srv.py", "mod/__main__.py", "mod/deep/x.txt", "pkg/package.json", "pkg/lib/a.js", "hook.cjs", "data.json", "docs/a.md", "bare"}
	for _, f := range files {
		write(f, "#\n")
	}
	write("bang", "#!/bin/sh\n")
	files = append(files, "bang")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name string
		s    Server
		want []string
	}{
		{"a script", Server{Command: commandLine{"node", at("srv.js"), at("data.json")}}, []string{"srv.js"}},
		{"a relative one", Server{Command: commandLine{"python3"}, Args: []string{"tools/srv.py"}, Grants: Grants{Workspace: "write"}}, []string{"tools/srv.py"}},
		{"not found by the program", Server{Command: commandLine{"python3", "tools/srv.py"}}, nil},
		{"a module", Server{Command: commandLine{"python3", "-m", "mod"}, Grants: Grants{Workspace: "write"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a module by PYTHONPATH", Server{Command: commandLine{"python3", "-m", "mod.sub"}, Env: map[string]string{"PYTHONPATH": "/x:" + dir}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a package", Server{Command: commandLine{"npx", "-y", "./pkg", "docs"}, Grants: Grants{Workspace: "write"}}, []string{"pkg/package.json", "pkg/lib/a.js"}},
		{"by a flag", Server{Command: commandLine{"uv", "run", "--directory=" + at("mod"), "srv"}}, []string{"mod/__main__.py", "mod/deep/x.txt"}},
		{"a shell's text", Server{Command: commandLine{"sh", "-c", "cd / && exec node '" + at("srv.js") + "' --x"}}, []string{"srv.js"}},
		{"a program", Server{Command: commandLine{at("bare"), at("docs")}}, []string{"bare"}},
		{"by its first line", Server{Command: commandLine{"env", at("bang")}}, []string{"bang"}},
		{"a variable", Server{Command: commandLine{"node", "-e", "1"}, Env: map[string]string{"NODE_OPTIONS": "--require " + at("hook.cjs")}}, []string{"hook.cjs"}},
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
			} else if diff := now.since(before); seen && !strings.Contains(diff, "${workspace}/") {
				t.Errorf("%s: the difference is %q", c.name, diff)
			}
			write(f, string(was))
		}
	}
	if _, err := (Server{Command: commandLine{"npx", "/proc/self"}}).pins(dir); err != nil {
		t.Errorf("a directory of the system: %v", err)
	}
}
