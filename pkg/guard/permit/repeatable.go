package permit

import (
	"path"
	"slices"
	"strings"
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
