package problem

import (
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A number behind the name of a file, as compilers, linters, interpreters and test
// runners write it.
var behindName = lazyregexp.New(`:\d+|:\[\d+,|\(\d+(?:, ?\d+)?\)|["']?,? (?:at |on )?line \d+|: ?line \d+|,line=\d+|#L\d+|\[\d+(?::\d+)*\]`)

// What else may stand behind a name: the name of a test, a reason, a duration, a leader of dots.
var besideName = lazyregexp.New(`::\w| > | [-|]|:? \(|: | \.{2,}|"`)

const (
	mostLength = 2000 // of a line that is looked at
	mostNames  = 400  // of one output
	// mostPackage bounds the name of a package, each end of which may be a directory's.
	mostPackage = 300
)

// Names lists the texts of an output that may be names of files: in order, text before a line
// number, from each place where a name may begin, the longest first, and lines, or ends of lines,
// that may be names; behind them, text before other signs. Only the disk shows which of them are
// files. Each list has the spellings of one name.
func Names(output string) (out [][]string) {
	var beside [][]string
	text := goText(Plain(output))
	for line, pkg := range withPackages(text) {
		if len(line) > mostLength || len(out) >= mostNames {
			continue
		}
		found := false
		for _, at := range behindName.Regexp().FindAllStringIndex(line, 8) {
			s := spellings(line[:at[0]])
			if base := strings.TrimSpace(line[:at[0]]); strings.HasSuffix(base, ".go") && !strings.ContainsAny(base, "/ \\") {
				s = append(below(pkg, base), s...)
			}
			if s != nil {
				out, found = append(out, s), true
			}
		}
		if !strings.ContainsAny(line, "./\\") {
			continue
		}
		if s := spellings(strings.TrimRight(line, " :,;")); !found && s != nil {
			out = append(out, s)
		}
		for _, at := range besideName.Regexp().FindAllStringIndex(line, 6) {
			s := slices.DeleteFunc(spellings(line[:at[0]]), func(s string) bool { return !strings.ContainsAny(s, "./") })
			if len(s) > 0 && len(beside) < mostNames {
				beside = append(beside, s)
			}
		}
	}
	return append(out, beside...)
}

var goPackage = lazyregexp.New(`^(?:FAIL|ok  )\t(\S+)\t`)

// withPackages yields the lines of an output, each with the package of Go whose tests printed it, if
// any: the go command names the package behind their output.
func withPackages(text string) iter.Seq2[string, string] {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > mostLength && (line[0] == '{' || line[0] == '[') {
			line = strings.ReplaceAll(line, `\n`, "\n") // a report in JSON, whose texts have lines
		}
		lines = append(lines, strings.Split(line, "\n")...)
	}
	pkgs, pkg := make([]string, len(lines)), ""
	for i, line := range slices.Backward(lines) {
		if m := goPackage.FindStringSubmatch(line); m != nil && len(m[1]) <= mostPackage {
			pkg = m[1]
		}
		pkgs[i] = pkg
	}
	return func(yield func(string, string) bool) {
		for i, line := range lines {
			if !yield(strings.TrimRight(line, "\r"), pkgs[i]) {
				return
			}
		}
	}
}

// below lists the names that a file may have which tests of Go call by its base name: in the
// directory of the package, whatever of its path belongs to the module.
func below(pkg, base string) (out []string) {
	for pkg != "" {
		out = append(out, pkg+"/"+base)
		_, pkg, _ = strings.Cut(pkg, "/")
	}
	return out
}

// spellings lists the names that may end where text ends.
func spellings(text string) (out []string) {
	var add func(s string)
	add = func(s string) {
		s, isURL := strings.CutPrefix(strings.TrimSpace(s), "file://")
		if plain, err := url.PathUnescape(s); isURL && err == nil && plain != s {
			add(plain)
		}
		if strings.Contains(s, `\`) {
			defer add(strings.ReplaceAll(s, `\`, "/")) // as programs of Windows write it
		}
		if s != "" && s != "." && s != ".." && s != "/" && len(s) < 1000 && !slices.Contains(out, s) && len(out) < 16 {
			out = append(out, s)
		}
	}
	text = strings.TrimRight(text, `"'`+"`")
	add(text)
	for i, r := range text {
		if strings.ContainsRune(" \t\"'`(<=|:[]", r) {
			add(text[i+len(string(r)):])
		}
	}
	return out
}

var named = lazyregexp.New(`(?m)((?:[\p{L}\p{M}\p{N}_.@+~/-]|\[[\p{L}\p{N}_.-]+\])+\.\w{1,5})(?::\d+|:\[\d+,|\(\d+,\d+\)|", line \d+)`)

// Named lists names of files in an output, at most twenty, without checking that they exist.
func Named(output string) (out []string) {
	for _, m := range named.FindAllStringSubmatch(Plain(output), 200) {
		if !slices.Contains(out, m[1]) && len(out) < 20 {
			out = append(out, m[1])
		}
	}
	return out
}

var (
	// A line about a place in a file is about the code there, even if it quotes something else.
	aboutCode = lazyregexp.New(`^\s*(?:vet: |error: |warning: |\[\w+\] |e: |w: )?(?:file://)?[^\s:()]+\.[A-Za-z]\w{0,4}(?::\d+|\(\d+,\d+\)|:\[\d+,)|^\s+\d+:\d+\s|^\s*(?:-->|❯|›|at) |^error\[\w+\]: |^\s*\d* ?[|│>] |^>?\s+\d+ [|│] `)
	// Words by which a test, or a script that tests, reports a comparison.
	compares = lazyregexp.New(`(?i)\b(?:want|wants|wanted|expect|expects|expected|got|received|actual|assert\w*|should|raised|thrown)\b|^\s*(?:FAIL|not ok|✗|✘|✖|×|●|[+-] )`)
	manager  = lazyregexp.New(`^(?:npm (?:ERR!|error)|error \S+@)`) // of packages, which uses these words, too
	caret    = lazyregexp.New(`^[\s|]*[\^~]+[\s~^]*$`)
	inPython = lazyregexp.New(`^\s+File ".*", line \d+`)
)

// Own returns the lines of an output that the programs wrote about themselves and the machine:
// nothing that a failing test printed, no diagnosis about a place in a file, no quoted source.
func Own(output string) string {
	text := strings.ReplaceAll(Plain(output), "\r\n", "\n")
	if r := Read(text); r.Failing() {
		return ""
	}
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	for i, line := range lines {
		plain := strings.TrimRight(line, "\n")
		switch {
		case aboutCode.MatchString(plain) || compares.MatchString(plain) && !manager.MatchString(plain):
		case i+1 < len(lines) && caret.MatchString(strings.TrimRight(lines[i+1], "\n")) && strings.TrimSpace(lines[i+1]) != "":
		case i > 0 && inPython.MatchString(lines[i-1]) && strings.HasPrefix(plain, "    "):
			// its source
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// A packageManager matches an ecosystem's reports that a package is missing, has another version,
// or is not locked, and lists the commands that install the project's declared packages.
type packageManager struct {
	// missing matches the beginning of such a line; output of tests does not begin so.
	missing *lazyregexp.Regexp
	// undeclared matches an import of a package that the project does not declare, or that does
	// not exist: no command can install it.
	undeclared *lazyregexp.Regexp
	// ran matches the lines that its scripts print before they run: a program missing there comes
	// with a package.
	ran *lazyregexp.Regexp
	// installs are tried in order; the first one whose file the project has is used.
	installs []install
}

// An install is a command that gets packages where the project has files.
type install struct{ files, run string }

// packageManagers has no command that takes a word of an output.
var packageManagers = []packageManager{
	{missing: lazyregexp.New(`(?m)^(?:go: )?(?:\S+\.go:\d+:\d+: )?(?:no required module provides package|cannot find module providing package|package \S+ is not in (?:std|GOROOT)|cannot find package "?[\w.-]+\.)|^go: (?:\S+ )?(?:updates to go\.mod needed|inconsistent vendoring|.*missing go\.sum entry|.*unknown revision)|missing go\.sum entry for`),
		undeclared: lazyregexp.New(`(?m)^(?:\S+\.go:\d+:\d+: )?package \S+ is not in (?:std|GOROOT)`),
		installs:   []install{{"vendor/modules.txt", "go mod tidy && go mod vendor"}, {"go.mod", "go mod tidy"}}},
	{missing: lazyregexp.New(`(?m)^(?:Uncaught )?(?:Error(?: \[\w+\])?: |\s+|# Error: )?Cannot find (?:module|package) ['"](?:@|[^'"./])|npm (?:ERR!|error) missing: \S+, required by |npm (?:ERR!|error) (?:code )?(?:E404|ETARGET|ENOENT|ENOLOCK|EUSAGE|ERESOLVE)|ERR_PNPM_(?:OUTDATED_LOCKFILE|NO_MATCHING_VERSION|FETCH_404)|^error .*Your lockfile needs to be updated|Failed to resolve import "[^./]|^Module not found: Error: Can't resolve '[^./]|` +
		`^error: Cannot find (?:module|package) "[^"./]|^error: Relative import path "[^"]+" not prefixed|failed to resolve import "[^"./]|^error Couldn't find package |error TS2307: Cannot find module '(?:@\w|[\w-])`),
		ran: lazyregexp.New(`(?m)^> (?:\S+@\S+ )?[\w:.-]+$|^npm (?:ERR!|error) Lifecycle script|^ ?ELIFECYCLE|^yarn run v|^\$ \S+`),
		installs: []install{{"pnpm-lock.yaml", "pnpm install"}, {"yarn.lock", "yarn install"}, {"bun.lock", "bun install"}, {"bun.lockb", "bun install"},
			{"package-lock.json", "npm ci"}, {"npm-shrinkwrap.json", "npm ci"}, {"package.json", "npm install"}}},
	{missing: lazyregexp.New(`(?m)^(?:E\s+)?(?:ModuleNotFoundError: No module named |ImportError: No module named )|^\S*python[\d.]*: No module named |^ERROR: (?:No matching distribution|Could not find a version|ResolutionImpossible|Cannot install )|ResolutionImpossible|No solution found when resolving |^pyproject\.toml changed significantly`),
		installs: []install{{"uv.lock", "uv sync"}, {"poetry.lock", "poetry install"}, {"Pipfile.lock", "pipenv install --dev"}, {"requirements.txt .venv/bin/python", ".venv/bin/python -m pip install -r requirements.txt"},
			{"requirements.txt", "python3 -m pip install -r requirements.txt"}, {"pyproject.toml", "python3 -m pip install -e ."}, {"setup.py", "python3 -m pip install -e ."}}},
	{missing: lazyregexp.New(`(?m)^error: no matching package named|^error(?:\[E0463\])?: can't find crate for|^error\[E0432\]: unresolved import .\w+.(?:\s|$)|missing crate|unlinked crate|use of undeclared crate|^error: failed to select a version|^error: the lock file \S+ needs to be updated|^error\[E0433\]: failed to resolve`),
		undeclared: lazyregexp.New(`(?m)^error\[E043[23]\]: |unlinked crate|use of undeclared crate`),
		installs:   []install{{"Cargo.toml", "cargo fetch"}}},
	{missing: lazyregexp.New(`(?m)LoadError\)$|cannot load such file -- [a-z]\w*|Could not find gem`),
		installs: []install{{"Gemfile", "bundle install"}}},
	{missing: lazyregexp.New(`(?m)^\S+\.java:\d+: error: package \S+ does not exist|Could not (?:resolve|find) (?:dependencies for project|artifact|all files for configuration)`),
		installs: []install{{"pom.xml", "mvn -B dependency:resolve"}, {"gradlew", "./gradlew --refresh-dependencies dependencies"}}},
	{missing: lazyregexp.New(`(?m)^Your requirements could not be resolved|\brequire(?:_once)?\(\S*vendor/autoload\.php\)`),
		installs: []install{{"composer.json", "composer install"}}},
	{missing: lazyregexp.New(`(?m)^Unchecked dependencies for environment |, run "mix deps\.get"`), installs: []install{{"mix.exs", "mix deps.get"}}},
	{missing: lazyregexp.New(`(?m)version solving failed\.?$|^Error: Couldn't resolve the package `), installs: []install{{"pubspec.yaml", "dart pub get"}}},
	{missing: lazyregexp.New(`(?m)^\S+: error: no such module '`), installs: []install{{"Package.swift", "swift package resolve"}}},
	{missing: lazyregexp.New(`(?m)^Can't locate \S+\.pm in @INC`), installs: []install{{"cpanfile", "cpanm --installdeps ."}}},
	{missing: lazyregexp.New(`\berror NU1\d{3}: `), installs: []install{{"global.json", "dotnet restore"}}},
	{missing: lazyregexp.New(`(?m)^(?:ERROR: LoadError: )?ArgumentError: Package \w+ not found in current path`)},
	{missing: lazyregexp.New(`there is no package called ['‘"]`), installs: []install{{"renv.lock", "Rscript -e 'renv::restore()'"}}},
	{missing: lazyregexp.New(`(?m)^Error: Library "\S+" not found|^\s+Could not find module [‘'\x60]|^lua\S*: \S+: module '[\w.-]+' not found:`)},
	// Nobody manages libraries of C.
	{missing: lazyregexp.New(`(?m)^\S+: fatal error: [\w/]+\.h(?:pp)?: No such file|\bcannot find -l\w|^\s+Could not find a package configuration file provided by |^Package \S+ was not found in the pkg-config search path`)},
}

// MissesPackage reports whether a package manager, a compiler or an interpreter reports in
// a text that a package is missing.
func MissesPackage(text string) bool {
	return slices.ContainsFunc(packageManagers, func(m packageManager) bool { return m.missing.MatchString(text) })
}

// Installs returns the commands that may install the packages which an output reports as missing,
// the likeliest first. exists reports whether the project has a file.
func Installs(output string, exists func(name string) bool) (out []string) {
	text := Plain(output)
	for _, m := range packageManagers {
		if !m.missing.MatchString(text) && (m.ran == nil || !m.ran.MatchString(text) || len(Programs(output)) == 0) {
			continue
		}
		if m.undeclared != nil && m.undeclared.MatchString(text) {
			continue
		}
		for _, i := range m.installs {
			has := true
			for f := range strings.FieldsSeq(i.files) {
				has = has && exists(f)
			}
			if has && !slices.Contains(out, i.run) {
				out = append(out, i.run)
			}
		}
	}
	return out
}

// IsInstall reports whether a command is one of those that [Installs] returns.
func IsInstall(command string) bool {
	return slices.Contains(AllInstalls(), command)
}

// AllInstalls lists all commands that [Installs] may return, each once.
func AllInstalls() (out []string) {
	for _, m := range packageManagers {
		for _, i := range m.installs {
			if !slices.Contains(out, i.run) {
				out = append(out, i.run)
			}
		}
	}
	return out
}

var (
	// parallel matches the heading of parallel_tests, whose last summary is the sum of its
	// processes' summaries.
	parallel = lazyregexp.New(`(?m)^\d+ process(?:es)? for \d+ \w+`)
	duration = lazyregexp.New(`\d(?:\.\d+)?\s?(?:ms|s|m|h|seconds?|minutes?)\b`)
	// starts is a line that a program prints before it runs another command.
	starts = lazyregexp.New(`(?m)^(?:> |\$ |make\[\d+\]: )|\b(?:mocha|rspec|jest|vitest|playwright|npm|npx|pnpm|yarn|bun|bundle|rake|ruby) `)
)

// withoutRepeats removes summaries of the same run: the sum that parallel_tests prints, and the
// summaries of two reporters for one run, which then took the same time. Of two separate runs with
// equal results, some line shows that the second was started.
func withoutRepeats(text string, at [][]int) [][]int {
	n := len(at)
	if n < 2 {
		return at
	}
	if parallel.MatchString(text) {
		return at[n-1:]
	}
	half := n / 2
	if n%2 != 0 || starts.MatchString(text[at[half-1][1]:at[half][0]]) {
		return at
	}
	for i := range half {
		if !around(text, at[i]).same(around(text, at[i+half])) {
			return at
		}
	}
	return at[:half]
}

// A surrounding is a line of a summary, and the lines with a duration that are nearest.
type surrounding struct{ line, before, after string }

// same reports whether two summaries are of one run: in each detail, and in how long it took.
func (s surrounding) same(o surrounding) bool {
	return s.line == o.line && (duration.MatchString(s.line) || s.before != "" && s.before == o.before || s.after != "" && s.after == o.after)
}

func around(text string, m []int) (s surrounding) {
	const near = 2000 // bytes
	before := strings.Split(text[max(0, m[0]-near):m[0]], "\n")
	after := strings.Split(strings.TrimLeft(text[m[0]:min(len(text), m[0]+near)], "\n"), "\n")
	s.line = strings.TrimSpace(after[0])
	for _, l := range before[max(0, len(before)-4):] {
		if duration.MatchString(l) {
			s.before = strings.TrimSpace(l)
		}
	}
	for _, l := range after[1:min(len(after), 5)] {
		if s.after == "" && duration.MatchString(l) {
			s.after = strings.TrimSpace(l)
		}
	}
	return s
}

var (
	// terminal are the control sequences of a terminal: colours, links, titles. The escape
	// character may be spelled out, as outputs of commands are shown.
	terminal = lazyregexp.New(`(?:\x1b|\\x1b)(?:\[[0-?]*[ -/]*[@-~]|\](?:[^\x07\x1b\\\n]|\\[^x\n])*(?:\x07|\\x07|(?:\x1b|\\x1b)\\)|[@-Z^_])`)
	// wrapping matches prefixes that other programs put before each line: the logs of GitHub
	// Actions, also as gh shows them, of Jenkins, GitLab and pods, and docker compose.
	wrapping = lazyregexp.New(`(?m)^(?:[^\t\n]+\t[^\t\n]+\t)?\x{FEFF}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z (?:##\[\w+\]|\d\d[OE][ +])?|^\[(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|pod/[^\]\s]+)\] |^##\[\w+\]|^[\w.-]+[-_]\d+ +\| ?`)
)

// Displayed removes the control sequences of a terminal from an output, also where they are
// spelled out.
func Displayed(output string) string { return terminal.ReplaceAllString(output, "") }

// Unwrap removes from an output what a terminal, a service or a container program has added around
// it: colours, times, container names and carriage returns. What remains is the programs' own
// output, one line each.
func Unwrap(output string) string {
	return unwrap(strings.NewReplacer("\r\n", "\n", "\r", "\n", `\x0d`, "\n").Replace(Displayed(output)))
}

// unwrap removes two prefixes of each line: containers show times behind their names.
func unwrap(text string) string {
	return wrapping.ReplaceAllString(wrapping.ReplaceAllString(text, ""), "")
}

// unprefixed returns a text without what all of its lines begin with, a name, a time or an indentation,
// and that; "" if its lines have nothing in common. One or two lines may begin alike by chance: theirs
// names a task.
func unprefixed(text string) (bare, prefix string) {
	lines, n := strings.Split(text, "\n"), 0
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		line += " " // behind a prefix with nothing behind it
		if n++; n == 1 {
			prefix = line
		}
		same := 0
		for same < min(len(line), len(prefix)) && line[same] == prefix[same] {
			same++
		}
		prefix = prefix[:same]
	}
	if prefix = prefix[:strings.LastIndexAny(prefix, " \t")+1]; n < 3 {
		prefix = taskPrefix.FindString(prefix)
	}
	if bare := strings.TrimSpace(prefix); prefix == "" || slices.Contains(levels, bare) || strings.HasSuffix(bare, ">") { // what is quoted is not what was run
		return text, ""
	}
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(line, prefix), strings.TrimRight(prefix, " \t"))
	}
	return strings.Join(lines, "\n"), prefix
}
