package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A project is a directory that has tests of one kind, and how to run them.
type project struct {
	root   string // of the workspace, absolute; to shorten what runners print
	dir    string // the project's, relative to root
	module string // Go: the module's path
	args   []string
	shell  string // a command line, in place of args
	env    []string
	from   string // the file that configures it, for people
	read   func(p project, out string) testResult
	// some reports whether there are tests to run, as far as files show. Nil: yes.
	some func() bool
}

func (p project) command() string {
	args := slices.Clone(p.args)
	if len(args) > 0 {
		if own, ok := strings.CutPrefix(args[0], path.Join(p.root, p.dir)+"/"); ok {
			args[0] = "./" + own
		}
	}
	s := strings.Join(args, " ")
	if p.shell != "" {
		s = p.shell
	}
	if p.dir != "" && p.dir != "." {
		s = "cd " + p.dir + " && " + s
	}
	return s
}

// noTests reports in a line that a project has no tests.
const noTests = "not tested: no tests found"

// errNone reports that no tests were found in a project.
var errNone = noTestsError{}

type noTestsError struct{}

func (noTestsError) Error() string {
	return "no tests found here or one directory below: no go.mod, Cargo.toml, package.json with a test script, Python tests, Makefile, justfile or Taskfile with a test target, Gradle, Maven, .NET, Mix, Rake, RSpec, Composer, Deno, CMake, tox or Bazel. " +
		"If there are tests, the user has to name the command that runs them: " + hint.Name("run --test COMMAND") + ", or test: COMMAND in .adroit/validation.yaml"
}

// mostBelow bounds the directories below the root that are searched.
const mostBelow = 500

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
				return nil, fmt.Errorf("no tests are known for %s at or above it: leave target out to run all tests", where)
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
	left := mostBelow
	for _, e := range entries {
		if left == 0 {
			break
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" {
			continue
		}
		left--
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
	here := &site{tree: files, dir: dir}
	task := here.task()
	if mod, ok := read("go.mod"); ok && meant(".go") {
		p := goProject(base, mod, rel, isDir, all, filter)
		p.some = func() bool {
			return hasFile(files, dir, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		}
		ps = append(ps, p)
	}
	if _, ok := read("Cargo.toml"); ok && meant(".rs") {
		p := base
		p.some, p.from = func() bool { return hasRust(files, dir) }, "Cargo.toml"
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
	// Where a project has an entry of its own for tests, a Python file somewhere
	// does not make them Python's.
	if meant(".py") && hasPython(files, dir) && (task == nil || rel != "" || here.has("pytest.ini", "conftest.py", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt")) {
		p := base
		p.some, p.from = func() bool { return here.has("pytest.ini") || hasFile(files, dir, pythonTest) }, "Python tests"
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
	return here.others(ps, task, rel, filter)
}

// others adds to the projects of a directory those that are known by the files
// of a build tool. Their tests can only be run as a whole.
func (s *site) others(ps []project, task *project, rel, filter string) ([]project, error) {
	more := s.build()
	if len(ps) == 0 && task != nil {
		more = task
	}
	if len(ps) == 0 && more == nil {
		more = s.last()
	}
	switch {
	case more == nil:
		return ps, nil
	case (rel != "" || filter != "") && len(ps) > 0:
		return ps, nil // those that can run a part are meant
	case rel != "" || filter != "":
		return nil, fmt.Errorf("the tests here are run by %s as a whole: leave target and filter out", more.command())
	}
	return append(ps, *more), nil
}

// hasRust reports whether a crate has tests or examples in its documentation.
func hasRust(files *workspace.Files, dir string) bool {
	left := 2000
	return hasFile(files, dir, func(name string) bool {
		if path.Ext(name) != ".rs" {
			return false
		}
		if left--; left < 0 {
			return true // so many files are not looked into
		}
		b, err := fs.ReadFile(files.FS(), name)
		return err == nil && (bytes.Contains(b, []byte("test]")) || bytes.Contains(b, []byte("```")) || bytes.Contains(b, []byte("test(")))
	})
}

var goModule = lazyregexp.New(`(?m)^module\s+"?([^\s"]+)`)

func goProject(p project, mod []byte, rel string, isDir, all bool, filter string) project {
	if m := goModule.FindSubmatch(mod); m != nil {
		p.module = string(m[1])
	}
	p.from = "go.mod"
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
	return hasFile(files, dir, pythonTest)
}

func pythonTest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "_test.py") || strings.HasPrefix(base, "test_") && strings.HasSuffix(base, ".py")
}

// python returns the command of pytest, in the project's own environment if it has one.
func python(files *workspace.Files, dir string) []string {
	for _, venv := range []string{".venv", "venv"} {
		name := path.Join(dir, venv, "bin", "python")
		if _, err := files.Stat(name); err == nil {
			return []string{path.Join(files.Dir(), name), "-m", "pytest"}
		}
	}
	if _, err := hostexec.InSandbox("pytest"); err == nil {
		return []string{"pytest"}
	}
	return []string{"python3", "-m", "pytest"}
}

// nodeProject runs the project's own test script if it has a real one, else
// Node's runner if there are files for it.
func nodeProject(files *workspace.Files, p project, pkg []byte, rel, filter string) (project, bool, error) {
	var j struct {
		Scripts map[string]string `json:"scripts"`
		Manager string            `json:"packageManager"`
	}
	if err := json.Unmarshal(pkg, &j); err != nil {
		return p, false, fmt.Errorf("%s is not valid JSON: %w", path.Join(p.dir, "package.json"), err)
	}
	p.env, p.from = []string{"FORCE_COLOR=0"}, "package.json"
	script := strings.TrimSpace(j.Scripts["test"])
	plain := strings.HasPrefix(script, "node --test") && !strings.ContainsAny(script, "|&;<>`$")
	if script != "" && !strings.Contains(script, "no test specified") && !plain {
		p.args, p.read = packageManager(files, p.dir, j.Manager), readOutput
		if rel != "" || filter != "" {
			return p, true, fmt.Errorf("%s has its own test script (%s): run_tests can only run all of it; leave target and filter out", path.Join(p.dir, "package.json"), script)
		}
		return p, true, nil
	}
	if bun := (&site{tree: files, dir: p.dir}); rel == "" && filter == "" && bun.has("bun.lock", "bun.lockb") && script == "" && !hasNodeTests(files, p.dir) {
		p.args, p.read = []string{"bun", "test"}, readOutput
		return p, hasFile(files, p.dir, func(name string) bool { return bunTest.MatchString(path.Base(name)) }), nil
	}
	if plain {
		p.some = func() bool { return hasNodeTests(files, p.dir) }
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

// packageManager runs the script test by the program that the project is
// managed with, if it is installed; npm runs the same script.
func packageManager(files *workspace.Files, dir, declared string) []string {
	here := &site{tree: files, dir: dir}
	name, _, _ := strings.Cut(declared, "@")
	switch {
	case name != "":
	case here.has("pnpm-lock.yaml"):
		name = "pnpm"
	case here.has("yarn.lock"):
		name = "yarn"
	case here.has("bun.lock", "bun.lockb"):
		name = "bun"
	}
	if slices.Contains([]string{"pnpm", "yarn", "bun"}, name) && onPath(name) {
		return []string{name, "run", "test"}
	}
	return []string{"npm", "test", "--silent"}
}

func onPath(name string) bool {
	_, err := hostexec.InSandbox(name)
	return err == nil
}

var bunTest = lazyregexp.New(`[._](test|spec)\.[cm]?[jt]sx?$`)

var nodeTest = lazyregexp.New(`([._-]test|^test(-.*)?)\.[cm]?js$`)

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

// Command returns the commands that run_tests would run for all of a workspace, "" if it
// finds none.
func Command(files *workspace.Files) string {
	projects, err := detect(files, "", "")
	if err != nil {
		return ""
	}
	var lines []string
	for _, p := range projects {
		if p.some == nil || p.some() {
			lines = append(lines, p.command())
		}
	}
	return strings.Join(lines, "; ")
}
