package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// checkers are the checks of the projects at the top, or else of those in the
// directories just below it: those that are set up.
func checkers(files *workspace.Files) ([]checker, error) {
	all, err := checkersIn(files, ".")
	if err != nil || len(all) > 0 {
		return all, err
	}
	entries, err := fs.ReadDir(files.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries { // sorted by name
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" {
			continue
		}
		more, err := checkersIn(files, e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// A site is a directory in which checkers are looked for.
type site struct {
	tree  *workspace.Files
	dir   string
	found []checker
}

func checkersIn(files *workspace.Files, dir string) ([]checker, error) {
	s := &site{tree: files, dir: dir}
	s.golang()
	s.rust()
	s.python()
	err := s.node()
	return s.found, err
}

func (s *site) read(name string) []byte {
	b, err := fs.ReadFile(s.tree.FS(), path.Join(s.dir, name)) // not a read the model saw
	if err != nil {
		return nil
	}
	return b
}

func (s *site) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := s.tree.Stat(path.Join(s.dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

// files returns the files with an ending, relative to the directory; see
// hasFile.
func (s *site) files(ext string) (names []string) {
	hasFile(s.tree, s.dir, func(name string) bool {
		if path.Ext(name) == ext && !strings.ContainsAny(name, " \n") && !strings.HasPrefix(path.Base(name), "-") {
			names = append(names, strings.TrimPrefix(name, s.dir+"/"))
		}
		return false
	})
	return names
}

func (s *site) add(kind string, env []string, args ...string) *checker {
	s.found = append(s.found, checker{kind: kind, project: project{root: s.tree.Dir(), dir: s.dir, args: args, env: env}})
	return &s.found[len(s.found)-1]
}

func (s *site) golang() {
	mod := s.read("go.mod")
	if mod == nil {
		return
	}
	env := []string{"GOTOOLCHAIN=local"}
	if names := s.files(".go"); names != nil { // gofmt itself would go into vendor and testdata
		c := s.add("format", env, "gofmt", "-l")
		c.each, c.show, c.fix = names, []string{"gofmt", "-d"}, []string{"gofmt", "-w"}
	}
	s.add("lint", env, "go", "vet", "./...")
	switch {
	case bytes.Contains(mod, []byte("honnef.co/go/tools/cmd/staticcheck")):
		s.add("lint", env, "go", "tool", "staticcheck", "./...")
	case s.has("staticcheck.conf"):
		s.add("lint", env, "staticcheck", "./...")
	}
	if s.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
		s.add("lint", env, "golangci-lint", "run")
	}
	s.add("build", env, "go", "build", "-o", "/dev/null", "./...") // a single program would be written to the directory
}

func (s *site) rust() {
	if !s.has("Cargo.toml") {
		return
	}
	s.add("format", nil, "cargo", "fmt", "--check").fix = []string{"cargo", "fmt"}
	if s.has("clippy.toml", ".clippy.toml") {
		s.add("lint", nil, "cargo", "clippy", "--all-targets", "--color", "never", "--", "-D", "warnings")
	}
	s.add("build", nil, "cargo", "check", "--all-targets", "--color", "never")
}

// python finds the tools that a project has settings for.
func (s *site) python() {
	toml, cfg := s.read("pyproject.toml"), s.read("setup.cfg")
	set := func(tool string, own ...string) bool {
		return bytes.Contains(toml, []byte("[tool."+tool+"]")) || bytes.Contains(toml, []byte("[tool."+tool+".")) ||
			bytes.Contains(cfg, []byte("["+tool+"]")) || s.has(own...)
	}
	env := []string{"PYTHONDONTWRITEBYTECODE=1", "COLUMNS=200"}
	run := func(program string, args ...string) []string {
		for _, venv := range []string{".venv", "venv"} {
			if name := path.Join(s.dir, venv, "bin", program); s.has(path.Join(venv, "bin", program)) {
				return append([]string{path.Join(s.tree.Dir(), name)}, args...)
			}
		}
		return append([]string{program}, args...)
	}
	ruff := set("ruff", "ruff.toml", ".ruff.toml")
	switch {
	case set("black"):
		s.add("format", env, run("black", "--check", "--quiet", "--diff", ".")...).fix = run("black", "--quiet", ".")
	case set("ruff.format"):
		s.add("format", env, run("ruff", "format", "--diff", "--no-cache", ".")...).fix = run("ruff", "format", "--no-cache", ".")
	}
	if ruff {
		s.add("lint", env, run("ruff", "check", "--no-cache", "--output-format", "concise", ".")...)
	}
	if set("flake8", ".flake8") {
		s.add("lint", env, run("flake8")...)
	}
	if set("mypy", "mypy.ini", ".mypy.ini") {
		s.add("types", env, run("mypy", ".")...)
	}
	if set("pyright", "pyrightconfig.json") {
		s.add("types", env, run("pyright")...)
	}
}

// node finds scripts by the names that they usually have.
func (s *site) node() error {
	raw := s.read("package.json")
	if raw == nil {
		return nil
	}
	var pkg struct{ Scripts map[string]string }
	if err := json.Unmarshal(raw, &pkg); err != nil {
		return fmt.Errorf("%s is not valid JSON: %w", path.Join(s.dir, "package.json"), err)
	}
	env := []string{"FORCE_COLOR=0"}
	for _, k := range []struct {
		kind  string
		names []string
	}{
		{"format", []string{"format:check", "check:format", "fmt:check", "format-check", "prettier:check"}},
		{"lint", []string{"lint", "lint:check", "eslint"}},
		{"types", []string{"typecheck", "type-check", "check-types", "types:check", "check:types", "tsc"}},
		{"build", []string{"build"}},
	} {
		for _, name := range k.names {
			if strings.TrimSpace(pkg.Scripts[name]) == "" {
				continue
			}
			c := s.add(k.kind, env, "npm", "run", "--silent", name)
			if script := pkg.Scripts[name]; !strings.ContainsAny(script, "|&;`$") {
				c.script = script
			}
			for _, fix := range []string{"format", "fmt", "format:write", "prettier:write"} {
				if k.kind == "format" && c.fix == nil && strings.TrimSpace(pkg.Scripts[fix]) != "" {
					c.fix = []string{"npm", "run", "--silent", fix}
				}
			}
			break
		}
	}
	tsc := "node_modules/.bin/tsc"
	typed := slices.ContainsFunc(s.found, func(c checker) bool { return c.kind == "types" })
	if !typed && s.has("tsconfig.json") && s.has(tsc) {
		s.add("types", env, path.Join(s.tree.Dir(), s.dir, tsc), "--noEmit")
	}
	return nil
}
