package test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/tools"
)

// suites lists the test commands of a project and the evidence for each.
func suites(t *testing.T, env *tools.Env, command string) string {
	t.Helper()
	list, err := Find(env.Files, command)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, s := range list {
		out = append(out, s.Command+" <"+s.From+">")
	}
	return strings.Join(out, "; ")
}

// programs puts programs on PATH that print what real ones printed.
func programs(t *testing.T, list map[string]string) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range list {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

func TestFind(t *testing.T) {
	programs(t, map[string]string{"pnpm": "", "yarn": "", "bun": "", "bazel": ""})
	type files = map[string]string
	script := `{"scripts": {"test": "jest"}}`
	for name, c := range map[string]struct {
		files   files
		command string
		want    string
	}{
		"nothing":              {files{"README.md": ""}, "", ""},
		"configured":           {files{"go.mod": "module a\n"}, "make check", "make check <configured>"},
		"go":                   {files{"go.mod": "module a\n", "x/a_test.go": ""}, "", "go test -json ./... <go.mod>"},
		"go without tests":     {files{"go.mod": "module a\n", "a.go": ""}, "", ""},
		"cargo":                {files{"Cargo.toml": "", "src/lib.rs": "#[test]\nfn a() {}\n"}, "", "cargo test --no-fail-fast --color never <Cargo.toml>"},
		"cargo without tests":  {files{"Cargo.toml": "", "src/lib.rs": "fn a() {}\n"}, "", ""},
		"npm":                  {files{"package.json": script}, "", "npm test --silent <package.json>"},
		"npm without tests":    {files{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, "", ""},
		"pnpm":                 {files{"package.json": script, "pnpm-lock.yaml": ""}, "", "pnpm run test <package.json>"},
		"yarn":                 {files{"package.json": script, "yarn.lock": ""}, "", "yarn run test <package.json>"},
		"package manager":      {files{"package.json": `{"packageManager": "yarn@4.1.0", "scripts": {"test": "jest"}}`, "pnpm-lock.yaml": ""}, "", "yarn run test <package.json>"},
		"bun":                  {files{"package.json": "{}", "bun.lock": "", "a.test.ts": ""}, "", "bun test <package.json>"},
		"make":                 {files{"Makefile": ".PHONY: test\nall:\n\ntest: all\n\tsh test.sh\n"}, "", "make test <Makefile>"},
		"make, several":        {files{"GNUmakefile": "lint test:: all\n\ttrue\n"}, "", "make test <GNUmakefile>"},
		"make, check":          {files{"Makefile": "check:\n\ttrue\ntest-data:\n\ttrue\n"}, "", "make check <Makefile>"},
		"make, a variable":     {files{"Makefile": "test := a\ncheck ::= b\n.PHONY: test\n\ttest: x\n"}, "", ""},
		"just":                 {files{"justfile": "build:\n  true\n\n@test *args: build\n  true\n"}, "", "just test <justfile>"},
		"just, a parameter":    {files{"justfile": "test name:\n  true\ntest := 'x'\n"}, "", ""},
		"task":                 {files{"Taskfile.yml": "version: '3'\ntasks:\n  test:\n    cmds: [true]\n"}, "", "task test <Taskfile.yml>"},
		"gradle":               {files{"build.gradle.kts": ""}, "", "gradle test --console=plain <build.gradle>"},
		"gradle wrapper":       {files{"gradlew": "#!/bin/sh\n", "build.gradle": ""}, "", "./gradlew test --console=plain <gradlew>"},
		"gradle, no mode":      {files{"gradlew": "exit 0\n"}, "", "sh gradlew test --console=plain <gradlew>"},
		"maven":                {files{"pom.xml": ""}, "", "mvn -B test <pom.xml>"},
		"maven wrapper":        {files{"pom.xml": "", "mvnw": "#!/bin/sh\n"}, "", "./mvnw -B test <mvnw>"},
		"dotnet":               {files{"shop.sln": ""}, "", "dotnet test --nologo <*.sln or *.csproj>"},
		"mix":                  {files{"mix.exs": ""}, "", "mix test <mix.exs>"},
		"rake":                 {files{"Rakefile": "require 'rake/testtask'\nRake::TestTask.new\n", "Gemfile": ""}, "", "bundle exec rake test <Rakefile>"},
		"rake, spec":           {files{"Rakefile": "RSpec::Core::RakeTask.new(:spec)\n"}, "", "rake spec <Rakefile>"},
		"rspec":                {files{".rspec": "", "Gemfile": ""}, "", "bundle exec rspec <spec>"},
		"composer":             {files{"composer.json": script}, "", "composer --no-interaction run-script test <composer.json>"},
		"phpunit":              {files{"phpunit.xml.dist": "", "vendor/bin/phpunit": "#!/bin/sh\n"}, "", "./vendor/bin/phpunit --colors=never <phpunit.xml>"},
		"deno":                 {files{"deno.json": "{}"}, "", "deno test --no-prompt <deno.json>"},
		"cmake":                {files{"CMakeLists.txt": "", "build/CTestTestfile.cmake": ""}, "", "cmake --build build && ctest --test-dir build --output-on-failure <CMakeLists.txt>"},
		"tox":                  {files{"tox.ini": ""}, "", "tox <tox.ini>"},
		"bazel":                {files{"MODULE.bazel": ""}, "", "bazel test //... <MODULE.bazel>"},
		"bazel beside go":      {files{"MODULE.bazel": "", "go.mod": "module a\n", "a_test.go": ""}, "", "go test -json ./... <go.mod>"},
		"make beside go":       {files{"Makefile": "test:\n\tgo test\n", "go.mod": "module a\n", "a_test.go": ""}, "", "go test -json ./... <go.mod>"},
		"make beside a script": {files{"Makefile": "test:\n\ttrue\n", "tools/test_a.py": ""}, "", "make test <Makefile>"},
		"make beside maven":    {files{"Makefile": "test:\n\tmvn test\n", "pom.xml": ""}, "", "make test <Makefile>"},
		"rails":                {files{"package.json": script, "Rakefile": "Rake::TestTask.new\n"}, "", "npm test --silent <package.json>; rake test <Rakefile>"},
		"one below":            {files{"README.md": "", "core/Makefile": "test:\n\ttrue\n", "web/package.json": script}, "", "cd core && make test <Makefile>; cd web && npm test --silent <package.json>"},
		"a broken file":        {files{"package.json": "{"}, "", "package.json is not valid JSON: unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			_, env := siteOf(t, c.files)
			if got := suites(t, env, c.command); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// Outputs of real programs, shortened, and what they show.
func TestCounts(t *testing.T) {
	pass := func(n int) want { return want{passed: n, ok: true, says: []string{fmt.Sprintf("%d passed", n)}} }
	for name, c := range map[string]struct {
		out  string
		code int
		want want
	}{
		"nothing":         {"all is well", 0, want{ok: true, says: []string{"passed, exit code 0"}}},
		"nothing, failed": {"oh\nthe third case is wrong", 2, want{says: []string{"exit code 2", "the third case is wrong"}}},
		"pytest":          {"====== 2 failed, 12 passed, 1 skipped in 0.34s ======", 1, want{passed: 12, failed: 2, skipped: 1, says: []string{"2 of 14 failed"}}},
		"pytest quiet":    {"3 passed in 0.01s", 0, pass(3)},
		"cargo":           {"test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured", 0, want{passed: 3, skipped: 1, ok: true}},
		"maven":           {"[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s - in AppTest\n[INFO] \n[INFO] Results:\n[INFO] \n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1", 1, want{passed: 2, failed: 2, skipped: 1}},
		"gradle":          {"5 tests completed, 1 failed", 1, want{passed: 4, failed: 1}},
		"dotnet":          {"Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms - shop.dll (net8.0)", 0, want{passed: 3, skipped: 1, ok: true}},
		"mix":             {"Finished in 0.02 seconds\n1 doctest, 5 tests, 1 failure", 1, want{passed: 5, failed: 1}},
		"rspec":           {"5 examples, 1 failure, 1 pending", 1, want{passed: 3, failed: 1, skipped: 1}},
		"minitest":        {"5 runs, 7 assertions, 0 failures, 0 errors, 0 skips", 0, pass(5)},
		"phpunit":         {"OK (5 tests, 7 assertions)", 0, pass(5)},
		"phpunit, failed": {"FAILURES!\nTests: 5, Assertions: 7, Failures: 1.", 1, want{passed: 4, failed: 1}},
		"ctest":           {"67% tests passed, 1 tests failed out of 3", 8, want{passed: 2, failed: 1}},
		"deno":            {"ok | 3 passed | 0 failed (12ms)", 0, pass(3)},
		"bazel":           {"Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.", 3, want{passed: 2, failed: 1}},
		"swift":           {"Executed 5 tests, with 0 failures (0 unexpected) in 0.1 seconds", 0, pass(5)},
		"unittest":        {"----\nRan 4 tests in 0.001s\n\nFAILED (failures=1, errors=1)", 1, want{passed: 2, failed: 2}},
		"bats":            {"1..3\nok 1 greets\nnot ok 2 waves\nok 3 leaves # skip later", 1, want{passed: 1, failed: 1, skipped: 1, says: []string{"FAIL waves"}}},
		"jest":            {"Tests:       1 failed, 2 passed, 3 total", 1, want{passed: 2, failed: 1}},
		"masked":          {"1 failed, 2 passed in 0.03s", 0, want{passed: 2, ok: true, says: []string{"2 passed; the output also has 1 failed, which the exit code 0 says do not count"}}},
		"passed, exit 1":  {"3 passed in 0.01s\nlint: 2 problems", 1, want{passed: 3, says: []string{"exit code 1, and no test that failed is counted", "lint: 2 problems"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, env := siteOf(t, map[string]string{"run.sh": fmt.Sprintf("cat <<'END'\n%s\nEND\nexit %d\n", c.out, c.code)})
			env.Artifacts = artifacts{tools.TestCommand: json.RawMessage(`"sh run.sh"`)}
			r, tr := call(t, env, `{}`)
			c.want.check(t, r, tr)
			if r.Inconclusive != "" {
				t.Errorf("inconclusive: %q", r.Inconclusive)
			}
		})
	}
}

type artifacts map[string]json.RawMessage

func (a artifacts) Value(name string) json.RawMessage { return a[name] }
func (a artifacts) Names() []string                   { return nil }

// A runner whose form is known and that shows no test has run none.
func TestNothingRan(t *testing.T) {
	programs(t, map[string]string{
		"mvn":    "echo '[INFO] No tests to run.'\n",
		"gradle": "echo '> Task :compileTestJava NO-SOURCE'; echo '> Task :test NO-SOURCE'; echo 'BUILD SUCCESSFUL in 1s'\n",
		"dotnet": "exit 0\n",
		"just":   "exit 0\n",
		"pytest": "echo 'python3: No module named pytest' >&2; exit 1\n",
	})
	for name, c := range map[string]struct {
		files        map[string]string
		inconclusive tools.Inconclusive
		failed       bool
		says         string
	}{
		"none":          {map[string]string{"a.txt": ""}, tools.NothingToCheck, true, "no tests found here"},
		"maven":         {map[string]string{"pom.xml": ""}, tools.NothingToCheck, true, "no test ran"},
		"gradle":        {map[string]string{"build.gradle": ""}, tools.NothingToCheck, true, "no test ran"},
		"dotnet":        {map[string]string{"a.csproj": ""}, tools.NothingToCheck, true, "no test ran"},
		"just":          {map[string]string{"justfile": "test:\n"}, "", false, "passed, exit code 0"},
		"make, idle":    {map[string]string{"Makefile": "all:\n\ntest:\n", "test": "a file"}, "", true, "make ran nothing"},
		"not installed": {map[string]string{"mix.exs": ""}, tools.CannotCheck, true, "mix is not installed here"},
		"no pytest":     {map[string]string{"test_a.py": ""}, tools.CannotCheck, true, "pytest is not installed for this Python"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "make") {
				testenv.NeedsProgram(t, "make")
			}
			_, env := siteOf(t, c.files)
			r, _ := call(t, env, `{}`)
			if r.Inconclusive != c.inconclusive || r.Failed != c.failed || !strings.Contains(r.Text, c.says) {
				t.Errorf("%+v", r)
			}
			if c.inconclusive == tools.NothingToCheck && r.Summary != "not tested: no tests found" {
				t.Errorf("summary %q", r.Summary)
			}
		})
	}
}

// The projects of the audit and their kind, with the programs that CI installs.
func TestWholeProjects(t *testing.T) {
	sh := "#!/bin/sh\n[ \"$(sh greet.sh)\" = Hello ]\n"
	for name, c := range map[string]struct {
		needs string
		files map[string]string
		args  string
		want  want
	}{
		"make":         {"make", map[string]string{"Makefile": ".PHONY: test\ntest:\n\t@sh test.sh\n", "greet.sh": "echo Hello\n", "test.sh": sh}, `{}`, want{ok: true, says: []string{"(make test)"}}},
		"make, failed": {"make", map[string]string{"Makefile": "test:\n\t@sh test.sh\n", "greet.sh": "echo hello\n", "test.sh": sh + "echo the greeting is wrong\nexit 1\n"}, `{}`, want{says: []string{"exit code 2", "the greeting is wrong"}}},
		"make, a part": {"make", map[string]string{"Makefile": "test:\n\ttrue\n"}, `{"filter": "a"}`, want{says: []string{"run by make test as a whole"}}},
		"npm":          {"npm", map[string]string{"package.json": `{"scripts": {"test": "sh test.sh"}}`, "greet.sh": "echo Hello\n", "test.sh": sh + "echo '  3 passing (4ms)'\n"}, `{}`, want{passed: 3, ok: true, says: []string{"npm test"}}},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.NeedsProgram(t, c.needs)
			_, env := siteOf(t, c.files)
			r, tr := call(t, env, c.args)
			c.want.check(t, r, tr)
		})
	}
}

// run_check and run_tests say themselves what a call proves.
func TestChecksThatProve(t *testing.T) {
	_, env := siteOf(t, map[string]string{"a.txt": ""})
	for args, fault := range map[string]string{`{}`: "run_check proves nothing without check", `{"check": "lint"}`: "", `{"check": ""}`: "run_check", `{"chek": "lint"}`: "run_check cannot be a check", ``: "run_check proves nothing"} {
		if got, _ := Check.CheckFault(json.RawMessage(args)); !strings.HasPrefix(got, fault) || (fault == "") != (got == "") {
			t.Errorf("%s: %q, want %q", args, got, fault)
		}
	}
	if got, _ := Run.CheckFault(nil); got != "" {
		t.Error(got)
	}
	r, err := Check.Run(context.Background(), env, json.RawMessage(`{"check":"lint"}`))
	if err != nil || r.Inconclusive != tools.NothingToCheck || r.Summary != "not checked: no lint check found" {
		t.Errorf("%+v, %v", r, err)
	}
	env.Artifacts = artifacts{}
	if got := Check.Missing(env, json.RawMessage(`{"check":"lint"}`)); got != "not checked: no lint check found" {
		t.Error(got)
	}
	if got := Run.Missing(env, nil); got != "not tested: no tests found" {
		t.Error(got)
	}
}
