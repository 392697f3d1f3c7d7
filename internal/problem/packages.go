package problem

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A packageManager is how an ecosystem reports that a package is missing, has another
// version, or is not locked, and the commands that get what the project declares.
type packageManager struct {
	// missing is where such a line begins: what a test prints does not begin so.
	missing *lazyregexp.Regexp
	// undeclared is where the code names a package that the project does not declare, or
	// that is none: no command gets it.
	undeclared *lazyregexp.Regexp
	// ran is what its scripts print before they run: a program that they miss comes with
	// a package.
	ran *lazyregexp.Regexp
	// installs are tried from the first whose file the project has.
	installs []install
}

// An install is a command that gets packages where the project has files.
type install struct{ files, run string }

// packageManagers has no command that takes a word of an output.
var packageManagers = []packageManager{
	{missing: lazyregexp.New(`(?m)^(?:go: )?(?:\S+\.go:\d+:\d+: )?(?:no required module provides package|cannot find module providing package|package \S+ is not in (?:std|GOROOT)|cannot find package "?[\w.-]+\.)|^go: (?:\S+ )?(?:updates to go\.mod needed|inconsistent vendoring|.*missing go\.sum entry|.*unknown revision)|missing go\.sum entry for`),
		undeclared: lazyregexp.New(`(?m)^(?:\S+\.go:\d+:\d+: )?package \S+ is not in (?:std|GOROOT)`),
		installs:   []install{{"vendor/modules.txt", "go mod tidy && go mod vendor"}, {"go.mod", "go mod tidy"}}},
	{missing: lazyregexp.New(`(?m)^(?:Uncaught )?(?:Error(?: \[\w+\])?: |\s+|# Error: )?Cannot find (?:module|package) ['"](?:@|[^'"./])|npm (?:ERR!|error) (?:code )?(?:E404|ETARGET|ENOENT|ENOLOCK|EUSAGE|ERESOLVE)|ERR_PNPM_(?:OUTDATED_LOCKFILE|NO_MATCHING_VERSION|FETCH_404)|^error .*Your lockfile needs to be updated|Failed to resolve import "[^./]|^Module not found: Error: Can't resolve '[^./]`),
		ran: lazyregexp.New(`(?m)^> (?:\S+@\S+ )?[\w:.-]+$|^npm (?:ERR!|error) Lifecycle script|^ ?ELIFECYCLE|^yarn run v|^\$ \S+`),
		installs: []install{{"pnpm-lock.yaml", "pnpm install"}, {"yarn.lock", "yarn install"}, {"bun.lock", "bun install"}, {"bun.lockb", "bun install"},
			{"package-lock.json", "npm ci"}, {"npm-shrinkwrap.json", "npm ci"}, {"package.json", "npm install"}}},
	{missing: lazyregexp.New(`(?m)^(?:E\s+)?(?:ModuleNotFoundError: No module named |ImportError: No module named )|^\S*python[\d.]*: No module named |^ERROR: (?:No matching distribution|Could not find a version|ResolutionImpossible|Cannot install )|ResolutionImpossible`),
		installs: []install{{"uv.lock", "uv sync"}, {"poetry.lock", "poetry install"}, {"Pipfile.lock", "pipenv install --dev"}, {"requirements.txt .venv/bin/python", ".venv/bin/python -m pip install -r requirements.txt"},
			{"requirements.txt", "python3 -m pip install -r requirements.txt"}, {"pyproject.toml", "python3 -m pip install -e ."}, {"setup.py", "python3 -m pip install -e ."}}},
	{missing: lazyregexp.New(`(?m)^error: no matching package named|^error(?:\[E0463\])?: can't find crate for|^error\[E0432\]: unresolved import .\w+.(?:\s|$)|missing crate|unlinked crate|use of undeclared crate|^error: failed to select a version|^error\[E0433\]: failed to resolve`),
		undeclared: lazyregexp.New(`(?m)^error\[E043[23]\]: |unlinked crate|use of undeclared crate`),
		installs:   []install{{"Cargo.toml", "cargo fetch"}}},
	{missing: lazyregexp.New(`(?m)LoadError\)$|cannot load such file -- [a-z]\w*|Could not find gem`),
		installs: []install{{"Gemfile", "bundle install"}}},
	{missing: lazyregexp.New(`(?m)^\S+\.java:\d+: error: package \S+ does not exist|Could not (?:resolve|find) (?:dependencies for project|artifact|all files for configuration)`),
		installs: []install{{"pom.xml", "mvn -B dependency:resolve"}, {"gradlew", "./gradlew --refresh-dependencies dependencies"}}},
	{missing: lazyregexp.New(`(?m)^\S+: fatal error: [\w/]+\.h(?:pp)?: No such file`)}, // nobody manages those
}

// MissesPackage reports whether a package manager, a compiler or an interpreter reports in
// a text that a package is missing.
func MissesPackage(text string) bool {
	return slices.ContainsFunc(packageManagers, func(m packageManager) bool { return m.missing.MatchString(text) })
}

// Installs are the commands that may get the packages which an output reports as missing,
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

// AllInstalls are all commands that [Installs] may return, each once.
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
