package permission

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
		case c.free || only[path.Base(c.words[0].text)]:
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
			return publishing[w] || slices.ContainsFunc(publishingStems, func(stem string) bool { return strings.HasPrefix(w, stem) })
		}) {
			return true
		}
	}
	return false
}

// Checks reports whether a name, such as that of a phase or a script, is that of a build, a
// test, a linter or a formatter.
func Checks(name string) bool {
	return !Publishes(name) && slices.ContainsFunc(wordsOf(name), func(w string) bool { return checking[w] })
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && r < 0x80 })
}

var (
	publishing      = set(`push announce tweet`)
	publishingStems = []string{"publish", "upload", "release", "deploy"}
	checking        = set(`build builds test tests check checks lint fmt format vet compile typecheck types unit verify`)

	// only are programs that change nothing.
	only = set(`echo printf cat head tail wc ls grep egrep fgrep rg sort uniq cut tr test [ diff cmp stat true false pwd which type cd pushd popd sleep`)

	// checkers build, test, lint or format with whatever arguments.
	checkers = set(`gofmt goimports gofumpt staticcheck golangci-lint govulncheck gotestsum pytest py.test mypy pyright pylint flake8 black isort ruff
		tsc eslint prettier stylelint jest vitest mocha ava rustfmt rubocop rspec phpunit ctest ninja shellcheck shfmt clang-format clang-tidy cppcheck
		gcc cc g++ c++ clang clang++ rustc javac kotlinc yamllint markdownlint hadolint actionlint ktlint swiftlint`)

	// subcommands are those of programs that do other things, too.
	subcommands = map[string]map[string]bool{
		"go": set("build test vet fmt"), "cargo": set("build b test t check c clippy fmt nextest"), "deno": set("test lint fmt check"),
		"dotnet": set("build test format"), "swift": set("build test"), "zig": set("build test fmt"), "mix": set("compile test format"),
		"stack": set("build test"), "cabal": set("build test"), "bazel": set("build test"), "buf": set("build lint format"), "meson": set("compile test"),
		"npm": set("test t"), "pnpm": set("test t"), "yarn": set("test"), "bun": set("test"), "biome": set("check ci format lint"),
	}
	// targeted run what their arguments name, each of which must be a check.
	targeted = set(`make gmake just task mvn mvnw gradle gradlew rake tox nox`)
	modules  = set(`pytest unittest compileall py_compile mypy ruff black flake8 pylint isort tox`)
	scripts  = set(`sh bash dash zsh python python3 node ruby perl`)
	runs     = set(`run run-script exec`) // of npm and its like, poetry, uv
	packaged = set(`npm pnpm yarn bun poetry uv pipenv hatch bundle`)
	starters = set(`npx bunx pnpx`)
)

func repeatable(words []string) bool {
	base := path.Base(words[0])
	args := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case checkers[base], subcommands[base][first]:
		return true
	case base == "cmake":
		return slices.Contains(words, "--build")
	case targeted[base]:
		for _, a := range args {
			if !strings.Contains(a, "=") && a != "all" && !Checks(a) {
				return false
			}
		}
		return !slices.Contains(words, "-C") && !slices.Contains(words, "-f") // whose arguments are no targets
	case packaged[base] && runs[first] && len(args) > 1:
		return Checks(args[1]) || repeatable(args[1:])
	case starters[base] && len(args) > 0:
		return repeatable(args)
	case strings.HasPrefix(base, "python") && len(words) > 2 && words[1] == "-m":
		return modules[words[2]]
	case scripts[base]:
		return len(words) > 1 && !strings.HasPrefix(words[1], "-") && Checks(path.Base(words[1]))
	}
	return strings.Contains(words[0], "/") && Checks(base)
}
