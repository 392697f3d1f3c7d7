package test

import (
	"encoding/json"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// Makefiles and the like name what the project itself calls its tests.
var (
	makeTest  = lazyregexp.New(`(?m)^(?:[\w./%-]+[ \t]+)*test(?:[ \t]+[\w./%-]+)*[ \t]*::?(?:[^=:]|$)`)
	makeCheck = lazyregexp.New(`(?m)^(?:[\w./%-]+[ \t]+)*check(?:[ \t]+[\w./%-]+)*[ \t]*::?(?:[^=:]|$)`)
	justTest  = lazyregexp.New(`(?m)^@?test[ \t]*(?:\*\w+[ \t]*)?:(?:[^=]|$)`)
	taskTest  = lazyregexp.New(`(?m)^[ \t]+["']?test["']?:`)
	rakeTest  = lazyregexp.New(`Rake::TestTask|RSpec::Core::RakeTask|(?m)^\s*task[ (]+["':]?(test|spec)\b`)
	rakeSpec  = lazyregexp.New(`RSpec::Core::RakeTask|(?m)^\s*task[ (]+["':]?spec\b`)

	makeIdle = lazyregexp.New(`(?m)^make(\[\d+\])?: (Nothing to be done for |'?[\w./-]+'? is up to date)`)
)

// first is the text of the first of the files that is there.
func (s *site) first(names ...string) (name string, text []byte) {
	for _, name := range names {
		if s.has(name) {
			if text := s.read(name); text != nil {
				return name, text
			}
		}
	}
	return "", nil
}

// glob reports whether a file in the directory matches one of the patterns.
func (s *site) glob(patterns ...string) bool {
	entries, err := fs.ReadDir(s.tree.FS(), s.dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		for _, p := range patterns {
			if ok, _ := path.Match(p, e.Name()); ok && !e.IsDir() {
				return true
			}
		}
	}
	return false
}

// whole is a project whose tests are run as a whole, by a program that is known
// by the file name.
func (s *site) whole(name string, read func(project, string) testResult, args ...string) *project {
	return &project{root: s.tree.Dir(), dir: s.dir, args: args, from: name, read: read}
}

// script is the command for a program that the project brings.
func (s *site) script(name string, args ...string) []string {
	info, err := s.tree.Stat(path.Join(s.dir, name))
	if err == nil && info.Mode()&0o111 == 0 {
		return append([]string{"sh", name}, args...)
	}
	return append([]string{path.Join(s.tree.Dir(), s.dir, name)}, args...)
}

// task is the project's own entry for its tests in a Makefile, a justfile or a
// Taskfile, nil if there is none.
func (s *site) task() *project {
	if name, text := s.first("GNUmakefile", "makefile", "Makefile"); text != nil {
		for _, t := range []struct {
			rule   *lazyregexp.Regexp
			target string
		}{{makeTest, "test"}, {makeCheck, "check"}} {
			if t.rule.Match(text) {
				return s.whole(name, readMake, "make", t.target)
			}
		}
	}
	if name, text := s.first("justfile", "Justfile", ".justfile"); justTest.Match(text) {
		return s.whole(name, readOutput, "just", "test")
	}
	if name, text := s.first("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"); taskTest.Match(text) {
		return s.whole(name, readOutput, "task", "test")
	}
	return nil
}

// build returns the test command of a build tool that is known by its files, nil if there
// is none.
func (s *site) build() *project {
	ruby := func(args ...string) []string {
		if s.has("Gemfile") {
			return append([]string{"bundle", "exec"}, args...)
		}
		return args
	}
	switch {
	case s.has("gradlew"):
		return s.whole("gradlew", readOutput, s.script("gradlew", "test", "--console=plain")...)
	case s.has("build.gradle"), s.has("build.gradle.kts"), s.has("settings.gradle"), s.has("settings.gradle.kts"):
		return s.whole("build.gradle", readOutput, "gradle", "test", "--console=plain")
	case s.has("pom.xml") && s.has("mvnw"):
		return s.whole("mvnw", readOutput, s.script("mvnw", "-B", "test")...)
	case s.has("pom.xml"):
		return s.whole("pom.xml", readOutput, "mvn", "-B", "test")
	case s.glob("*.sln", "*.slnx", "*.csproj", "*.fsproj"):
		return s.whole("*.sln or *.csproj", readDotnet, "dotnet", "test", "--nologo")
	case s.has("mix.exs"):
		return s.whole("mix.exs", readOutput, "mix", "test")
	case rakeSpec.Match(s.read("Rakefile")) && !strings.Contains(string(s.read("Rakefile")), "Rake::TestTask"):
		return s.whole("Rakefile", readOutput, ruby("rake", "spec")...)
	case rakeTest.Match(s.read("Rakefile")):
		return s.whole("Rakefile", readOutput, ruby("rake", "test")...)
	case s.has(".rspec"), s.has("spec/spec_helper.rb"):
		return s.whole("spec", readOutput, ruby("rspec")...)
	case composerTest(s.read("composer.json")):
		return s.whole("composer.json", readOutput, "composer", "--no-interaction", "run-script", "test")
	case (s.has("phpunit.xml") || s.has("phpunit.xml.dist")) && s.has("vendor/bin/phpunit"):
		return s.whole("phpunit.xml", readOutput, s.script("vendor/bin/phpunit", "--colors=never")...)
	case s.has("deno.json"), s.has("deno.jsonc"):
		return s.whole("deno.json", readOutput, "deno", "test", "--no-prompt")
	case s.has("CMakeLists.txt") && s.has("build/CTestTestfile.cmake"):
		p := s.whole("CMakeLists.txt", readOutput)
		p.shell = "cmake --build build && ctest --test-dir build --output-on-failure" // tests what is there, not what was built
		return p
	}
	return nil
}

// last are runners that other build tools are often beside: they are taken
// where nothing else is found.
func (s *site) last() *project {
	switch {
	case s.has("tox.ini"):
		return s.whole("tox.ini", readOutput, "tox")
	case s.has("MODULE.bazel"), s.has("WORKSPACE.bazel"), s.has("WORKSPACE"):
		return s.whole("MODULE.bazel", readOutput, installed("bazel", "bazelisk"), "test", "//...")
	}
	return nil
}

// installed is the first of the programs that is there, else the first.
func installed(names ...string) string {
	for _, name := range names {
		if onPath(name) {
			return name
		}
	}
	return names[0]
}

func composerTest(text []byte) bool {
	var j struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	return json.Unmarshal(text, &j) == nil && len(j.Scripts["test"]) > 0
}

// readMake reads what a target of a Makefile printed. Make succeeds without
// running anything where a file has the target's name.
func readMake(p project, out string) testResult {
	r := readOutput(p, out)
	if m := makeIdle.FindString(out); m != "" && len(strings.Split(strings.TrimSpace(out), "\n")) == 1 {
		r.Problem = "make ran nothing: " + strings.TrimSpace(out) + " (is .PHONY missing for the target?)"
	}
	return r
}

var (
	tapPoint = lazyregexp.New(`(?m)^(not )?ok \d+\b(.*)$`)
	goEvents = lazyregexp.New(`(?m)^\{(?:"Time":"[^"]*",)?"Action":"start","Package":"`)
	failName = lazyregexp.New(`(?m)^\s*(?:●|FAIL|✖|×|✘)\s+(\S.*)$`)
)

// readOutput reads what a command printed that is the project's own entry for its
// tests: counts and names where a format is known that has them. Where none has, the
// exit code decides, unless a runner reports that it found no test.
func readOutput(p project, out string) testResult {
	if strings.Contains(out, "TAP version 1") {
		if r := readTAP(p, out); r.Passed+r.Failed+r.Skipped > 0 {
			return r
		}
	}
	if goEvents.MatchString(out) {
		if r := readGo(p, out); r.Passed+r.Failed+r.Skipped > 0 {
			r.exact = false // the command may have run a test again
			return r
		}
	}
	n := problem.Read(out)
	r := testResult{Passed: n.Passed, Failed: n.Failed, Skipped: n.Skipped}
	r.Uncounted = n.Passed+n.Failed == 0 && !n.None
	r.Unknown = r.Uncounted && !n.Known() && strings.TrimSpace(out) != ""
	if r.Failed > 0 {
		r.Tests = failures(out)
		r.Problem = tail(out, mostOutput)
	}
	return r
}

// failures are the names of what failed, as far as they are known.
func failures(out string) (tests []testCase) {
	seen := map[string]bool{}
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" && !seen[name] && len(seen) < mostShown {
			seen[name] = true
			tests = append(tests, testCase{Name: name, Status: statusFail})
		}
	}
	for _, m := range tapPoint.FindAllStringSubmatch(out, -1) {
		if m[1] != "" && !tapDir.MatchString(" "+m[2]) {
			add(strings.TrimPrefix(strings.TrimSpace(m[2]), "- "))
		}
	}
	for _, m := range failName.FindAllStringSubmatch(out, -1) {
		add(m[1])
	}
	return tests
}

// readDotnet is readOutput of dotnet test, which ends with exit code 0 and prints nothing
// where a solution has no tests.
func readDotnet(p project, out string) testResult {
	r := readOutput(p, out)
	r.Uncounted = r.Uncounted && strings.TrimSpace(out) != ""
	return r
}

// tail keeps the end of s, from a line's beginning.
func tail(s string, most int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := s[len(s)-most:]
	if i := strings.IndexByte(cut, '\n'); i >= 0 && i < most/2 {
		cut = cut[i+1:]
	}
	return strings.ToValidUTF8("[the end of "+strconv.Itoa(len(s))+" bytes]\n"+cut, "\uFFFD")
}
