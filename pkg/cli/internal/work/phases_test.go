package work

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		list  string
		want  string // commands, or what the error has
	}{
		{"go", map[string]string{"go.mod": ""}, "build,test,lint", "go build ./...; go test ./...; go vet ./..."},
		{"go cannot publish", map[string]string{"go.mod": ""}, "publish", "Go has no usual command for the phase publish"},
		{"rust", map[string]string{"Cargo.toml": ""}, "build,publish", "cargo build; cargo publish"},
		{"node", map[string]string{"package.json": `{"scripts": {"build": "tsc"}}`}, "build,publish", "npm run build; npm publish"},
		{"node without a script", map[string]string{"package.json": `{}`}, "lint", "no script lint"},
		{"node, broken", map[string]string{"package.json": `{`}, "lint", "package.json: "},
		{"python", map[string]string{"pyproject.toml": ""}, "build,test", "python3 -m compileall -q .; python3 -m unittest"},
		{"plain tests", map[string]string{"setup.py": "", "tests/test_a.py": "def test_a():\n    assert True\n"}, "test", "python3 -m pytest"},
		{"unittest", map[string]string{"setup.py": "", "test_a.py": "import unittest\n"}, "test", "python3 -m unittest"},
		{"pytest", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, "test", "python3 -m pytest"},
		{"own command", nil, "build=make all,deploy=./d.sh", "make all; ./d.sh"},
		{"nothing here", nil, "build", "no package of Go"},
		{"twice", nil, "a=x,a=y", "there twice"},
		{"empty", nil, "a=", "has no command"},
		{"file", map[string]string{"p.yaml": "build: make\ntest: make test\n"}, "@p.yaml", "make; make test"},
		{"empty file", map[string]string{"p.yaml": "\n"}, "@p.yaml", "names no phases"},
		{"no file", nil, "@p.yaml", "there is no file"},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list := strings.Split(strings.Replace(c.list, "@", "@"+dir+"/", 1), ",")
		got, err := Find(dir, list)
		var runs []string
		for _, p := range got {
			runs = append(runs, p.Run)
		}
		text := strings.Join(runs, "; ")
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != c.want || err != nil && !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}
