package permit

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// Repeatable reports whether shell text is known to do nothing but build, test, lint or
// format, so that running it twice does no harm. It goes by the names of programs and
// scripts, as people do, and knows few: what it does not know is not repeatable, and what
// publishes never is.
func Repeatable(text string) bool {
	if Publishes(text) {
		return false
	}
	s := read(text)
	if len(s.opaque) > 0 || len(s.writes) > 0 {
		return false
	}
	known := false
	for _, c := range s.commands {
		switch made := func(w word) bool { return !w.static }; {
		case c.free || only.has(path.Base(c.words[0].text)):
		case slices.ContainsFunc(c.words, made) || !repeatable(texts(c.words)):
			return false
		default:
			known = true
		}
	}
	return known
}

// Publishes reports whether text, a command or the name of one, has a word for making
// something visible to others.
func Publishes(text string) bool {
	for field := range strings.FieldsSeq(text) {
		if !strings.HasPrefix(field, "-") && slices.ContainsFunc(wordsOf(field), func(w string) bool {
			return publishing.has(w) || slices.ContainsFunc(publishingStems, func(stem string) bool { return strings.HasPrefix(w, stem) })
		}) {
			return true
		}
	}
	return false
}

// Checks reports whether a name, such as a phase's or a script's, is the name of a build,
// a test, a linter or a formatter.
func Checks(name string) bool {
	parts := wordsOf(name)
	other := func(w string) bool { return !checking.has(w) && !neutral.has(w) }
	return !Publishes(name) && !slices.ContainsFunc(parts, other) && slices.ContainsFunc(parts, checking.has)
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && r < 0x80 })
}

// words is a list that costs nothing before it is asked.
type words string

func (l words) has(word string) bool {
	for w := range strings.FieldsSeq(string(l)) {
		if w == word {
			return true
		}
	}
	return false
}

var (
	publishing      = words(`push announce tweet`)
	publishingStems = []string{"publish", "upload", "release", "deploy"}
	neutral         = words(`sh bash zsh py js mjs cjs ts rb pl mk run all ci unit integration e2e fast short quick full race coverage cov go docs code src`)
	checking        = words(`build builds test tests check checks lint fmt format vet compile typecheck types unit verify`)

	// only are programs that change nothing.
	only = words(`echo printf cat head tail wc ls grep egrep fgrep rg sort uniq cut tr test [ diff cmp stat true false pwd which type cd pushd popd sleep`)

	// checkers build, test, lint or format with whatever arguments.
	checkers = words(`gofmt goimports gofumpt staticcheck golangci-lint govulncheck gotestsum pytest py.test mypy pyright pylint flake8 black isort ruff
		tsc eslint prettier stylelint jest vitest mocha ava rustfmt rubocop rspec phpunit ctest ninja shellcheck shfmt clang-format clang-tidy cppcheck
		gcc cc g++ c++ clang clang++ rustc javac kotlinc yamllint markdownlint hadolint actionlint ktlint swiftlint`)

	// subcommands are the checks among the subcommands of programs that do other things,
	// too.
	subcommands = map[string]words{
		"go": "build test vet fmt", "cargo": "build b test t check c clippy fmt nextest", "deno": "test lint fmt check",
		"dotnet": "build test format", "swift": "build test", "zig": "build test fmt", "mix": "compile test format",
		"stack": "build test", "cabal": "build test", "bazel": "build test", "buf": "build lint format", "meson": "compile test",
		"npm": "test t", "pnpm": "test t", "yarn": "test", "bun": "test", "biome": "check ci format lint",
	}
	// targeted run what their arguments name, each of which must be a check.
	targeted = words(`make gmake just task mvn mvnw gradle gradlew rake tox nox`)
	modules  = words(`pytest unittest compileall py_compile mypy ruff black flake8 pylint isort tox`)
	scripts  = words(`sh bash dash zsh python python3 node ruby perl`)
	runs     = words(`run run-script exec`) // of npm and its like, poetry, uv
	packaged = words(`npm pnpm yarn bun poetry uv pipenv hatch bundle`)
	starters = words(`npx bunx pnpx`)
)

// plainOption reports whether an option of make and its like does not say what is run.
func plainOption(option string) bool {
	return words(`-s -k -B -i --silent --quiet -q --keep-going --always-make`).has(option) || strings.Trim(strings.TrimPrefix(option, "-j"), "0123456789") == ""
}

func repeatable(argv []string) bool {
	base := path.Base(argv[0])
	args := slices.DeleteFunc(slices.Clone(argv[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case checkers.has(base), subcommands[base].has(first):
		return true
	case base == "cmake":
		return slices.Contains(argv, "--build")
	case targeted.has(base):
		for _, a := range args {
			if !strings.Contains(a, "=") && a != "all" && !Checks(a) {
				return false
			}
		}
		return !slices.ContainsFunc(argv[1:], func(a string) bool { return strings.HasPrefix(a, "-") && !plainOption(a) })
	case packaged.has(base) && runs.has(first) && len(args) > 1:
		return Checks(args[1]) || repeatable(args[1:])
	case starters.has(base) && len(args) > 0:
		return repeatable(args)
	case strings.HasPrefix(base, "python") && len(argv) > 2 && argv[1] == "-m":
		return modules.has(argv[2])
	case scripts.has(base):
		return len(argv) > 1 && !strings.HasPrefix(argv[1], "-") && Checks(path.Base(argv[1]))
	}
	return strings.Contains(argv[0], "/") && Checks(base)
}

// like matches a name with a pattern in which * stands for anything; an empty
// pattern holds for every name.
func like(pattern, name string) bool { return pattern == "" || wild(pattern, name) }

// wild matches all of s with a pattern in which * stands for any characters.
func wild(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, rest)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// strictly matches a command with the pattern of a rule that allows: every
// word that is not under the last * must be known and fit. unnamed is the
// first word that is not harmless and that the pattern does not spell out, -1
// if there is none.
func strictly(pattern []string, c command) (fits bool, unnamed int) {
	words := c.words
	open := len(pattern) > 1 && pattern[len(pattern)-1] == "*"
	if open {
		pattern = pattern[:len(pattern)-1]
	}
	if len(words) < len(pattern) || !open && len(words) != len(pattern) {
		return false, -1
	}
	for i, p := range pattern {
		if !words[i].known() || !wild(p, words[i].text) {
			return false, -1
		}
		// A wildcard for the program does not reach into other directories.
		if i == 0 && strings.Contains(words[0].text, "/") && !strings.Contains(p, "/") {
			return false, -1
		}
	}
	for _, r := range c.risks {
		if r.at < len(pattern) && pattern[r.at] != "*" || r.at == len(words) && !open {
			continue
		}
		return true, r.at
	}
	return true, -1
}

// A fit is the certainty with which a narrowing rule matches.
type fit int

const (
	none  fit = iota
	maybe     // it would, if a word that is known only at run time is what it names
	sure
)

// loosely matches a command with the pattern of a rule that narrows: wherever
// the program lies, whatever options stand between the words, and whatever
// follows.
func loosely(pattern []string, words []word) fit {
	if len(pattern) == 0 || len(words) == 0 || !words[0].known() {
		return none
	}
	name := path.Base(words[0].text)
	if !wild(pattern[0], words[0].text) && !wild(pattern[0], name) {
		return none
	}
	pattern = pattern[1:]
	if n := len(pattern); n > 0 && pattern[n-1] == "*" {
		pattern = pattern[:n-1]
	}
	// at is the certainty with which the pattern can continue at each word.
	at := make([]fit, len(words)+3)
	at[1] = sure
	for _, p := range pattern {
		next := make([]fit, len(at))
		for k := 1; k < len(words); k++ {
			w := words[k]
			if strings.HasPrefix(w.text, "-") { // an option, perhaps with a value
				at[k+1], at[k+2] = max(at[k+1], at[k]), max(at[k+2], at[k])
			}
			switch {
			case w.known() && (wild(p, w.text) || name == "git" && wild(p, plumbing[w.text])):
				next[k+1] = max(next[k+1], at[k])
			case !w.known():
				next[k+1] = max(next[k+1], min(at[k], maybe))
			}
		}
		at = next
	}
	best := none
	for _, f := range at {
		best = max(best, f)
	}
	return best
}

// plumbing are subcommands of git that do what another one is known for.
var plumbing = map[string]string{"send-pack": "push", "http-push": "push", "subtree": "push", "fetch-pack": "fetch", "http-fetch": "fetch", "commit-tree": "commit"}

// readers only read, whatever their options are.
var readers = words(`cat head tail wc ls dir nl tac rev cut tr paste comm fold column basename dirname realpath readlink stat cmp grep egrep fgrep echo printf true false test [ pwd
	which type seq expr sleep du df uname whoami id ps free nproc md5sum sha1sum sha256sum sha512sum b2sum cksum od hexdump strings`)

// wordFirst are programs whose first operand is a pattern or a script, which may begin with a
// slash, and textual those whose operands are no names of files.
var (
	wordFirst = words(`grep egrep fgrep rg sed gsed awk gawk mawk nawk jq yq`)
	textual   = words(`echo printf test [ which type seq expr sleep basename dirname tr`)
)

// reading are commands that only read, and checks the project's own builds, tests and linters, and
// what starts programs or hooks that its files name, as long as their options are known to be harmless.
var (
	reading = sync.OnceValue(func() Rules {
		return allowing(`rg *, fd *, fdfind *, find, find *, diff *, file *, tree, tree *, jq *, yq *, sort *, sort, uniq, uniq *, shuf *, sed *, gsed *, awk *, gawk *, mawk *, nawk *, xxd *,
			shellcheck *, gofmt *, goimports *, gofumpt *, date, date *, go mod graph, go mod why *, go mod verify, go version, go version *, go doc *, go env, go env *, go list *, pip list *, pip show *, pip3 list *, pip3 show *, npm ls *,
			npm list *, node --version, python --version, python3 --version, make --version, npm --version, git version, git --version, git branch, git branch -a, git branch -r, git branch -v, git branch -vv, git branch --list, git branch --show-current, git tag,
			git tag -l, git tag --list, git remote, git remote -v, git stash list, git worktree list, git config --get *, git config -l, git config --list,
			` + patterns("git --no-pager ", "diff log show") + patterns("git ", `status diff log show blame annotate grep ls-files ls-tree rev-parse rev-list merge-base name-rev show-ref
			for-each-ref cat-file describe shortlog count-objects check-ignore check-attr cherry whatchanged diff-tree diff-index diff-files range-diff`))
	})
	checks = sync.OnceValue(func() Rules {
		return allowing(`staticcheck *, golangci-lint run, golangci-lint run *, pytest, pytest *, py.test *, tsc, tsc *, eslint *, prettier -c *, prettier --check *, prettier -l *, ruff check,
			ruff check *, ruff format --check *, black --check *, black --diff *, isort --check *, isort --check-only *, mypy *, flake8, flake8 *,
			node --check *, php -l *, cmake --build *, cargo fmt --check, cargo fmt --check *, cargo fmt --all --check, cargo fmt -- --check, cargo fmt --all -- --check, pnpm ls *, pnpm list *, cargo tree *, cargo metadata *, cargo --version, rustc --version,
			` + patterns("go ", "build test vet") + patterns("cargo ", "build b test t check c clippy bench") +
			patterns("npm ", "test t") + patterns("pnpm ", "test t") + patterns("yarn ", "test") + patterns("bun ", "test") +
			patterns("pnpm ", scriptNames) + patterns("yarn ", scriptNames) + patterns("turbo run ", scriptNames) + patterns("lerna run ", scriptNames) +
			patterns("npm run ", scriptNames) + patterns("pnpm run ", scriptNames) + patterns("yarn run ", scriptNames) + patterns("bun run ", scriptNames))
	})
)

// scriptNames are names of a package's scripts that build or check it.
const scriptNames = "build test lint check typecheck types compile"

// patterns returns the patterns of a program's subcommands, alone and with more words.
func patterns(program, names string) string {
	var b strings.Builder
	for name := range strings.FieldsSeq(names) {
		b.WriteString(program + name + ", " + program + name + " *, ")
	}
	return b.String()
}

// allowing are rules that allow commands, which stand in a list.
func allowing(list string) (rules Rules) {
	for _, pattern := range phrases(list) {
		if len(pattern) > 0 {
			rules = append(rules, Rule{Command: strings.Join(pattern, " "), Do: Allow})
		}
	}
	return rules
}

// Harmless reports whether shell text that runs in dir is known to only read, or to run the
// project's own builds, tests and linters besides, which is own. It is for commands in a sandbox
// that has no network and can write nowhere but in the workspace: what the project's code does
// there, no parser knows. Options that start programs or write files, redirections to files,
// names outside of dir, and whatever is made up at run time are not harmless. out, unless it is
// nil, reports whether a name of dir leads out of it by a link; wild means that it has wildcards.
func Harmless(text, dir string, out func(name string, wild bool) bool) (harmless, own bool) {
	s := read(text)
	if len(s.opaque) > 0 || len(s.writes) > 0 || len(s.commands) == 0 {
		return false, false
	}
	at := place{dir: dir, out: out}
	if at.dirs, at.lost = s.dirs(); slices.ContainsFunc(s.reads, func(name string) bool { return at.left(word{text: name, static: true}) }) {
		return false, false
	}
	for _, c := range s.commands {
		whole := c
		switch c = unwrapped(c); {
		case !whole.stays(at), !c.stays(at):
			return false, false
		case c.free, c.reads():
			// Below the top git obeys what it finds there, as a bare repository that the project has brought.
			own = own || s.moves && path.Base(c.words[0].text) == "git"
		case c.builds():
			own = true
		default:
			return false, false
		}
	}
	return true, own
}

// unwrapped is the command that python -m, or a program such as npx or bundle exec, runs, if it is
// a known check: what the project has installed under another name may be anything. A check that
// lies in the project is known by its own name.
func unwrapped(c command) command {
	inner, wrapper := 0, ""
	if wrapper = c.words[0].text; len(c.words) > 1 && c.words[1].known() {
		switch next := c.words[1].text; {
		case (wrapper == "python" || wrapper == "python3") && next == "-m", packaged.has(wrapper) && words("run exec").has(next):
			inner = 2
		case starters.has(wrapper) && wrapper != "pnpx":
			inner = 1
		}
	}
	if inner >= len(c.words) || !c.words[inner].known() {
		return c
	}
	name := c.words[inner].text
	base := path.Base(name)
	if inner == 0 && !strings.Contains(name, "/") || inner > 0 && name != base || !words("pytest unittest mypy ruff black isort flake8 tsc eslint prettier").has(base) && suites()[base] == "" {
		return c
	}
	first := c.words[inner]
	first.text = base
	argv := append([]word{first}, c.words[inner+1:]...)
	return command{words: argv, risks: risks(base, argv)}
}

// suites run a project's own tests, or compile or check it: with any operands, or for the words
// that stand here.
var suites = sync.OnceValue(func() map[string]words {
	return map[string]words{
		"unittest": "*", "ctest": "*", "rspec": "*", "phpunit": "*", "jest": "*", "mocha": "*", "ava": "*", "pyright": "*", "pylint": "*", "stylelint": "*", "oxlint": "*", "ninja": "*",
		"vitest": "run", "dotnet": "build test", "swift": "build test", "zig": "build test", "mix": "test compile", "stack": "build test", "cabal": "build test", "dune": "build test runtest",
		"sbt": "test compile", "lein": "test", "flutter": "test analyze", "dart": "test analyze", "bazel": "build test", "meson": "test compile", "deno": "test lint check",
		"rails": "test", "composer": "test", "nx": "test build lint", "tox": "*", "nox": "*",
	}
})

// ofSuites are options that most of them have and that neither name a program or a file that is run
// nor one that is written.
var ofSuites = lazyregexp.New(`^(?:-[vqxVkjnlstde]+\d*|-R|--(?:verbose|quiet|silent|ci|run|colou?r(?:=\w+)?|no-colou?r|watch=false|watchAll=false|runInBand|passWithNoTests|bail|grep|filter|testNamePattern|test|` +
	`output-on-failure|parallel|release|configuration|no-build|no-restore|nologo|fail-?fast|trace|seed(?:=\d+)?|max-failures(?:=\d+)?|tests-regex|repeat(?:=\d+)?|testdox|outputjson|no-run-if-empty|check|warnings-as-errors))$`)

// tests reports whether a command is one of suites, with nothing but such options.
func (c command) tests() bool {
	subcommands := suites()[c.words[0].text]
	argv := texts(c.words[1:])
	if subcommands == "" || slices.ContainsFunc(c.words[1:], func(w word) bool { return !w.known() }) || len(c.risks) > 0 || Publishes(strings.Join(argv, " ")) {
		return false
	}
	if subcommands != "*" && (len(argv) == 0 || !subcommands.has(argv[0])) {
		return false
	}
	return !slices.ContainsFunc(argv, func(w string) bool {
		return strings.HasPrefix(w, "-") && !ofSuites.MatchString(w) || strings.HasPrefix(w, "@") || strings.HasPrefix(w, "+")
	})
}

// A place is the directory of a script's commands.
type place struct {
	dir  string
	dirs []string // of dir that they may have gone to
	lost bool     // there are others
	out  func(name string, wild bool) bool
}

// left reports whether a word may name what lies outside.
func (p place) left(w word) bool {
	upward := func(part string) bool { // .* and ..* may be the directory above
		return len(part) > 1 && part[0] == '.' && strings.IndexByte(".*?[", part[1]) >= 0
	}
	switch {
	case outside(w.text, p.dir), w.glob && slices.ContainsFunc(strings.Split(w.text, "/"), upward):
		return true
	case p.out == nil:
		return false
	case path.IsAbs(w.text):
		return w.text != "/dev/null" && p.out(w.text, w.glob)
	}
	return p.lost || slices.ContainsFunc(p.dirs, func(dir string) bool { return p.out(dir+"/"+w.text, w.glob) })
}

// What a program opens though no word of its command names it, by the program: its script does so, or it
// follows the links of a directory.
var (
	scriptOpens = lazyregexp.New(`ARGV|SYMTAB|import|include|load|modulemeta`)
	opens       = map[string]*lazyregexp.Regexp{
		"awk": scriptOpens, "gawk": scriptOpens, "mawk": scriptOpens, "nawk": scriptOpens, "jq": scriptOpens, "yq": scriptOpens,
		"grep": linksFollowed, "egrep": linksFollowed, "fgrep": linksFollowed, "diff": lazyregexp.New(`^-[A-Za-z]*r|^--rec`), "find": lazyregexp.New(`^-L|^--?follow$`),
		"rg": linksSearched, "fd": linksSearched, "fdfind": linksSearched, "du": linksSearched, "ls": linksSearched, "tree": lazyregexp.New(`^-[A-Za-z]*l`),
	}
	linksFollowed = lazyregexp.New(`^-[A-Za-z]*R|^--deref`)
	linksSearched = lazyregexp.New(`^-[A-Za-z]*L|^--follow|^--deref`)
	// patternGiven is an option that has what else the first operand is.
	patternGiven = lazyregexp.New(`^-[A-Za-z]*[ef]|^--(e|f|reg)`)
)

// stays reports whether nothing that the words of a command name lies outside.
func (c command) stays(at place) bool {
	in, base := path.Split(c.words[0].text)
	if in != "" && in != "/bin/" && in != "/usr/bin/" && outside(in, at.dir) {
		return false
	}
	first := wordFirst.has(base)
	for _, w := range c.words[1:] {
		option := strings.HasPrefix(w.text, "-")
		switch {
		case textual.has(base) && w.single():
		case w.number:
		case !w.static, opens[base] != nil && opens[base].MatchString(w.text), option && base != "git" && namesFrom(w.text):
			return false
		case option && (at.left(w) || slices.ContainsFunc(append(partsOf(w.text), clustered(w.text)), func(part string) bool { return outside(part, at.dir) })):
			return false
		case option:
			first = first && !patternGiven.MatchString(w.text)
		case first:
			first = false
		case at.left(w):
			return false
		}
	}
	return true
}

// clustered is the end of an option like -rf/etc/passwd from its first slash on, "" if it has none.
func clustered(option string) string {
	i := strings.IndexByte(option, '/')
	if i < 2 || option[1] == '-' || strings.Contains(option[:i], "=") {
		return ""
	}
	return option[i:]
}

// outside reports whether a name leads out of dir.
func outside(name, dir string) bool {
	if strings.HasPrefix(name, "~") || slices.Contains(strings.Split(name, "/"), "..") {
		return true
	}
	return path.IsAbs(name) && name != "/dev/null" && name != dir && !strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// reads reports whether a command only reads.
func (c command) reads() bool {
	name := c.words[0].text
	if dir := path.Dir(name); dir == "/bin" || dir == "/usr/bin" {
		name = path.Base(name)
	}
	return readers.has(name) && len(c.risks) == 0 || reading().command(c) == ""
}

// builds reports whether a command runs a build, a test or a linter of the project.
func (c command) builds() bool {
	if checks().command(c) == "" || c.tests() {
		return true
	}
	name := c.words[0].text
	base := path.Base(name)
	known := programs()[base] != nil || targeted.has(base) || strings.Contains(name, "/") && Checks(base)
	return known && (targeted.has(base) || scripts.has(base) || strings.Contains(name, "/")) && len(c.risks) == 0 && repeatable(texts(c.words))
}
