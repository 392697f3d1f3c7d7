package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
)

// A Phase is a command that has to work.
type Phase struct {
	Name string `json:"name"`
	Run  string `json:"run"`
	// Repeatable is set if running the command twice does no harm.
	Repeatable bool `json:"repeatable,omitempty"`
}

// An ecosystem is a language with the commands of its phases.
type ecosystem struct {
	name, marker string
	run          map[string]string
}

var ecosystems = []ecosystem{
	{"Go", "go.mod", map[string]string{"build": "go build ./...", "test": "go test ./...", "lint": "go vet ./..."}},
	{"Rust", "Cargo.toml", map[string]string{"build": "cargo build", "test": "cargo test", "lint": "cargo clippy -- -D warnings", "publish": "cargo publish"}},
	{"Node", "package.json", map[string]string{"build": "npm run build", "test": "npm test", "lint": "npm run lint", "publish": "npm publish"}},
	{"Python", "pyproject.toml", python},
	{"Python", "setup.py", python},
	{"Python", "requirements.txt", python},
}

var python = map[string]string{"build": "python3 -m compileall -q .", "test": "python3 -m unittest", "lint": "python3 -m ruff check .", "publish": "python3 -m twine upload dist/*"}

// Find gives the phases that list names, in its order. An entry is the name of a
// phase, or NAME=COMMAND; @FILE alone names a YAML file of such names and
// commands. What is named and not found is an error.
func Find(dir string, list []string) ([]Phase, error) {
	if len(list) == 1 && strings.HasPrefix(list[0], "@") {
		return read(list[0][1:])
	}
	var out []Phase
	seen := map[string]bool{}
	for _, entry := range list {
		name, run, given := strings.Cut(strings.TrimSpace(entry), "=")
		if name == "" || seen[name] {
			return nil, fmt.Errorf("the phase %q is empty or there twice", entry)
		}
		seen[name] = true
		if !given {
			var err error
			if run, err = command(dir, name); err != nil {
				return nil, err
			}
		}
		if strings.TrimSpace(run) == "" {
			return nil, fmt.Errorf("the phase %s has no command", name)
		}
		out = append(out, Phase{Name: name, Run: run})
	}
	return out, nil
}

// command returns the command that runs a phase of the package in dir.
func command(dir, phase string) (string, error) {
	for _, e := range ecosystems {
		if _, err := os.Stat(filepath.Join(dir, e.marker)); err != nil {
			continue
		}
		run := e.run[phase]
		switch {
		case run == "":
			return "", fmt.Errorf("%s has no usual command for the phase %s; write %s=COMMAND", e.name, phase, phase)
		case e.name == "Node" && phase != "publish":
			has, err := script(dir, phase)
			if err == nil && !has {
				err = fmt.Errorf("package.json has no script %s; write %s=COMMAND", phase, phase)
			}
			return run, err
		case e.name == "Python" && phase == "test" && pytest(dir):
			run = "python3 -m pytest"
		}
		return run, nil
	}
	return "", fmt.Errorf("here is no package of Go, Rust, Node or Python; write %s=COMMAND", phase)
}

func script(dir, name string) (bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return false, err
	}
	var p struct{ Scripts map[string]string }
	if err := json.Unmarshal(b, &p); err != nil {
		return false, fmt.Errorf("package.json: %w", err)
	}
	return p.Scripts[name] != "", nil
}

// pytest reports whether a project is set up for pytest, or has tests that unittest
// does not see: it would pass without having run any.
func pytest(dir string) bool {
	for _, name := range []string{"pytest.ini", "conftest.py", "tests/conftest.py"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "pyproject.toml"))
	if err == nil && strings.Contains(string(b), "[tool.pytest") {
		return true
	}
	plain := false
	for _, names := range []string{"test_*.py", "*_test.py", "tests/test_*.py", "tests/*_test.py"} {
		files, _ := filepath.Glob(filepath.Join(dir, names)) // the pattern is a good one
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil || strings.Contains(string(b), "unittest") {
				return false
			}
			plain = true
		}
	}
	return plain
}

// read reads a file of phases: names with commands, in order.
func read(file string) ([]Phase, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", file)
	}
	if err != nil {
		return nil, err
	}
	doc, syntax := plainyaml.Parse(string(b), 1)
	if syntax != nil {
		return nil, fmt.Errorf("%s: %w", file, syntax)
	}
	var bad []error
	root := doc.Read(func(p plainyaml.Place, _, words string) {
		bad = append(bad, fmt.Errorf("%s:%d: %s", file, p.Line, words))
	})
	if root == nil || len(root.Keys) == 0 {
		return nil, errors.Join(append(bad, fmt.Errorf("%s names no phases; write them as build: make", file))...)
	}
	var out []Phase
	for i, k := range root.Keys {
		p, v := Phase{Name: k.Text, Run: root.Kids[i].Text}, root.Kids[i]
		for n, key := range v.Keys {
			switch text := v.Kids[n].Text; {
			case key.Text == "run":
				p.Run = text
			case key.Text == "repeatable" && (text == "true" || text == "false"):
				p.Repeatable = text == "true"
			default:
				bad = append(bad, fmt.Errorf("%s:%d: %s of the phase %s is not read; a phase is a command, or {run: COMMAND, repeatable: true}", file, key.Line, key.Text, k.Text))
			}
		}
		if p.Run == "" {
			bad = append(bad, fmt.Errorf("%s:%d: the phase %s has no command", file, k.Line, k.Text))
		}
		out = append(out, p)
	}
	return out, errors.Join(bad...)
}
