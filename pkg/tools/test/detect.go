package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// A project is a directory that has tests of one kind, and how to run them.
type project struct {
	root   string // of the workspace, absolute; to shorten what runners print
	dir    string // the project's, relative to root
	module string // Go: the module's path
	args   []string
	env    []string
	read   func(p project, out string) Result
}

func (p project) command() string {
	s := strings.Join(p.args, " ")
	if p.dir != "" && p.dir != "." {
		s = "cd " + p.dir + " && " + s
	}
	return s
}

var errNone = errors.New("no go.mod, Cargo.toml, package.json or Python tests here or one directory below: give target, or use shell")

// detect finds the projects to test: those of the nearest directory at or
// above target that has any, or without a target those of the root, or else of
// the directories just below it.
func detect(files *workspace.Files, target, filter string) ([]project, error) {
	if strings.HasPrefix(target, "-") || strings.HasPrefix(filter, "-") {
		return nil, errors.New("target and filter must not begin with a dash: name a path and part of a test's name")
	}
	all := strings.HasSuffix(target, "/...")
	where := path.Clean(strings.TrimSuffix(strings.TrimSuffix(target, "..."), "/"))
	if target == "" || target == "..." {
		where = "."
	}
	if target != "" && where != "." {
		info, err := files.Stat(where)
		if err != nil {
			return nil, err
		}
		for dir := where; ; dir = path.Dir(dir) {
			if dir == where && !info.IsDir() {
				continue
			}
			ps, err := at(files, dir, where, info.IsDir(), all, filter)
			if err != nil || len(ps) > 0 {
				return ps, err
			}
			if dir == "." {
				return nil, fmt.Errorf("no go.mod, Cargo.toml, package.json or Python tests for %s at or above it: use shell to run its tests", where)
			}
		}
	}
	ps, err := at(files, ".", "", true, false, filter)
	if err != nil || len(ps) > 0 {
		return ps, err
	}
	entries, err := fs.ReadDir(files.FS(), ".")
	if err != nil {
		return nil, err
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" {
			continue
		}
		more, err := at(files, e.Name(), "", true, false, filter)
		if err != nil {
			return nil, err
		}
		ps = append(ps, more...)
	}
	if len(ps) == 0 {
		return nil, errNone
	}
	return ps, nil
}

// at lists the projects rooted in dir, to be run on target if it is not empty.
func at(files *workspace.Files, dir, target string, isDir, all bool, filter string) ([]project, error) {
	var ps []project
	rel := ""
	if target != "" && target != dir {
		rel = strings.TrimPrefix(target, dir+"/")
	}
	base := project{root: files.Dir(), dir: dir}
	read := func(name string) ([]byte, bool) {
		b, err := fs.ReadFile(files.FS(), path.Join(dir, name)) // not a read the model saw
		return b, err == nil
	}
	// Where kinds share a directory, only those the target is of are meant.
	meant := func(exts ...string) bool {
		has := func(name string) bool { return slices.Contains(exts, path.Ext(name)) }
		return rel == "" || !isDir && has(target) || isDir && hasFile(files, target, has)
	}
	if mod, ok := read("go.mod"); ok && meant(".go") {
		ps = append(ps, goProject(base, mod, rel, isDir, all, filter))
	}
	if _, ok := read("Cargo.toml"); ok && meant(".rs") {
		p := base
		p.args, p.env, p.read = []string{"cargo", "test", "--no-fail-fast", "--color", "never"}, []string{"RUST_BACKTRACE=0"}, readCargo
		if rel != "" {
			name, ok := strings.CutSuffix(strings.TrimPrefix(rel, "tests/"), ".rs")
			if !ok || path.Dir(rel) != "tests" {
				return nil, fmt.Errorf("cargo cannot test %s by itself: leave target out and give part of the test's name as filter", target)
			}
			p.args = append(p.args, "--test", name)
		}
		if filter != "" {
			p.args = append(p.args, "--", filter)
		}
		ps = append(ps, p)
	}
	if meant(".py") && hasPython(files, dir) {
		p := base
		p.args = append(python(files, dir), "-rfEsxXp", "--tb=short", "--color=no", "-p", "no:cacheprovider")
		if filter != "" {
			p.args = append(p.args, "-k", filter)
		}
		if rel != "" {
			p.args = append(p.args, rel)
		}
		p.env, p.read = []string{"PYTHONDONTWRITEBYTECODE=1", "COLUMNS=200"}, readPytest
		ps = append(ps, p)
	}
	if pkg, ok := read("package.json"); ok && meant(".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx") {
		p, ok, err := nodeProject(files, base, pkg, rel, filter)
		if err != nil {
			return nil, err
		}
		if ok {
			ps = append(ps, p)
		}
	}
	return ps, nil
}

var goModule = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

func goProject(p project, mod []byte, rel string, isDir, all bool, filter string) project {
	if m := goModule.FindSubmatch(mod); m != nil {
		p.module = string(m[1])
	}
	p.args, p.env, p.read = []string{"go", "test", "-json"}, []string{"GOTRACEBACK=single", "GOTOOLCHAIN=local"}, readGo
	if filter != "" {
		p.args = append(p.args, "-run="+filter)
	}
	switch {
	case rel == "":
		p.args = append(p.args, "./...")
	case !isDir:
		p.args = append(p.args, "./"+path.Dir(rel))
	case all:
		p.args = append(p.args, "./"+rel+"/...")
	default:
		p.args = append(p.args, "./"+rel)
	}
	return p
}

func hasPython(files *workspace.Files, dir string) bool {
	for _, name := range []string{"pytest.ini", "conftest.py"} {
		if info, err := files.Stat(path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	// A pyproject.toml alone says nothing: many a repository has one for its linters.
	return hasFile(files, dir, func(name string) bool {
		base := path.Base(name)
		return strings.HasSuffix(base, "_test.py") || strings.HasPrefix(base, "test_") && strings.HasSuffix(base, ".py")
	})
}

// python is how pytest is called: that of the project's own environment first.
func python(files *workspace.Files, dir string) []string {
	for _, venv := range []string{".venv", "venv"} {
		name := path.Join(dir, venv, "bin", "python")
		if _, err := files.Stat(name); err == nil {
			return []string{path.Join(files.Dir(), name), "-m", "pytest"}
		}
	}
	if _, err := exec.LookPath("pytest"); err == nil {
		return []string{"pytest"}
	}
	return []string{"python3", "-m", "pytest"}
}

// nodeProject runs the project's own test script if it has a real one, else
// Node's runner if there are files for it.
func nodeProject(files *workspace.Files, p project, pkg []byte, rel, filter string) (project, bool, error) {
	var j struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(pkg, &j); err != nil {
		return p, false, fmt.Errorf("%s is not valid JSON: %w", path.Join(p.dir, "package.json"), err)
	}
	p.env = []string{"FORCE_COLOR=0"}
	script := strings.TrimSpace(j.Scripts["test"])
	plain := strings.HasPrefix(script, "node --test") && !strings.ContainsAny(script, "|&;<>`$")
	if script != "" && !strings.Contains(script, "no test specified") && !plain {
		p.args, p.read = []string{"npm", "test", "--silent"}, readNPM
		if rel != "" || filter != "" {
			return p, true, fmt.Errorf("%s has its own test script (%s): run_tests can only run all of it; use shell for a part", path.Join(p.dir, "package.json"), script)
		}
		return p, true, nil
	}
	if !plain && rel == "" && !hasNodeTests(files, p.dir) {
		return p, false, nil
	}
	p.args, p.read = []string{"node", "--test", "--test-reporter=tap"}, readTAP
	if filter != "" {
		p.args = append(p.args, "--test-name-pattern="+filter)
	}
	switch {
	case rel != "":
		p.args = append(p.args, rel)
	case plain:
		p.args = append(p.args, strings.Fields(strings.TrimPrefix(script, "node --test"))...)
	}
	return p, true, nil
}

var nodeTest = regexp.MustCompile(`([._-]test|^test(-.*)?)\.[cm]?js$`)

func hasNodeTests(files *workspace.Files, dir string) bool {
	return hasFile(files, dir, func(name string) bool {
		return nodeTest.MatchString(path.Base(name)) || strings.Contains("/"+name, "/test/") && strings.HasSuffix(name, "js")
	})
}

// hasFile looks for a file below dir, outside dependencies and hidden
// directories, and gives up after a bounded number of entries.
func hasFile(files *workspace.Files, dir string, match func(name string) bool) bool {
	found, left := false, 20_000
	fs.WalkDir(files.FS(), path.Clean(dir), func(name string, d fs.DirEntry, err error) error {
		left--
		switch base := path.Base(name); {
		case left == 0:
			return fs.SkipAll
		case err != nil:
			return nil
		case d.IsDir():
			if name != dir && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "vendor" || base == "venv" || base == "testdata" || base == "target") {
				return fs.SkipDir
			}
		case match(name):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
