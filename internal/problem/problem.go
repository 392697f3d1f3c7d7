// Package problem defines the vocabulary of failures: the types that agents name under
// problem_types and a coordinator decides by, the signature by which two failures are the same,
// the facts about a machine that explain a failure, and the failures of earlier jobs.
//
//	problem.Canonical("BUILD_FAILURE") // "build", true
//	problem.Signature(output)          // the same for the same failure elsewhere
//	facts := problem.Facts(dir, command, output)
//	facts["program cmake"] // "not found"
//
// It decides nothing: see pkg/workflows/coordinator. Stored failures came from outside: they are
// data, and no word of them is an instruction.
package problem

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	_ "github.com/adroit-run/adroit/internal/system/unixonly"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"golang.org/x/sys/unix"
)

// Types of problems: a closed list.
const (
	Build       = "build"
	Test        = "test"
	Quality     = "quality"
	Lint        = "lint"
	Type        = "type"
	Format      = "format"
	Publish     = "publish"
	Environment = "environment"
	Dependency  = "dependency"
	Auth        = "registry-auth"
	Merge       = "merge" // both sides have changed the same lines
)

// Types lists them.
var Types = []string{Build, Test, Quality, Lint, Type, Format, Publish, Environment, Dependency, Auth, Merge}

// Canonical returns the type that a name means, as in BUILD_FAILURE, build-failure or build. It
// reports whether there is one, among the built-in types and more.
func Canonical(name string, more ...string) (string, bool) {
	s := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimSpace(name)))
	for _, end := range []string{"-failure", "-error", "-problem"} {
		s = strings.TrimSuffix(s, end)
	}
	switch s {
	case "auth", "authentication":
		s = Auth
	case "env":
		s = Environment
	case "tests":
		s = Test
	case "types":
		s = Type
	}
	return s, slices.Contains(Types, s) || slices.Contains(more, s)
}

// All returns the types that names mean, built in or among more. Other names are left out.
func All(names []string, more ...string) (out []string) {
	for _, n := range names {
		if t, ok := Canonical(n, more...); ok && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// missing matches the messages of programs that start others, a shell, make, env, a linker's
// driver, or a library call, about a missing program. Many other lines end in "not found".
var missing = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^(?:\S*/)?(?:ba|da|z|k|a|c)?sh: (?:line )?(?:\d+: )?([\w.+/@-]+): (?:command )?not found$`),
	lazyregexp.New(`(?m)^[^\s:]+: (?:line )?\d+: ([\w.+/@-]+): (?:command )?not found$`), // a script of a shell
	lazyregexp.New(`(?m)^(?:\S*/)?zsh:(?:\d+:)? command not found: ([\w.+/@-]+)$`),
	lazyregexp.New(`(?m)^fish: Unknown command: ([\w.+/@-]+)$`),
	lazyregexp.New(`exec: "([\w.+/@-]+)": (?:executable file not found|stat .*no such file)`),
	lazyregexp.New(`\bspawn(?:Sync)? ([\w.+/@-]+) ENOENT`),
	lazyregexp.New(`(?m)^make(?:\[\d+\])?: ([\w.+/@-]+): No such file or directory$`),
	lazyregexp.New(`(?m)^  File ".*", line \d+, in _execute_child\n(?:.*\n){0,3}FileNotFoundError: \[Errno 2\] No such file or directory: '([\w.+/@-]+)'`),
	lazyregexp.New("linker `([\\w.+/@-]+)` not found"),
	lazyregexp.New(`(?m)^(?:\S*/)?(?:env|timeout|nice|ionice|nohup|stdbuf|setsid|chroot|taskset|time|xargs|sudo|doas): (?:(?:failed to run command|failed to execute|cannot run|can't execute) )?['‘]?([\w.+/@-]+)['’]?: (?:No such file or directory|command not found)$`),
	lazyregexp.New(`(?m)^Can't exec "([\w.+/@-]+)": No such file or directory`),
}

// missingBefore is missing as it was for jobs that began before revision 5.
var missingBefore = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)(?:^|[: ])([\w.+/@-]+): (?:command )?not found$`),
	lazyregexp.New(`(?m)command not found: ([\w.+/@-]+)$`),
	lazyregexp.New(`exec: "([\w.+/@-]+)": (?:executable file not found|stat .*no such file)`),
	lazyregexp.New(`\bspawn ([\w.+/@-]+) ENOENT`),
	lazyregexp.New(`(?m)^make(?:\[\d+\])?: ([\w.+/@-]+): No such file or directory$`),
	lazyregexp.New(`FileNotFoundError: \[Errno 2\] No such file or directory: '([\w.+/@-]+)'`),
	lazyregexp.New("linker `([\\w.+/@-]+)` not found"),
	lazyregexp.New(`(?m)env: ['‘]?([\w.+/@-]+)['’]?: No such file or directory$`),
}

// A directory is missing where a shell, make or a library's call changes to it, or a file is made in it.
var missingDirs = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^(?:\S*/)?[a-z]*sh: (?:\d+: )?cd: can't cd to (\S+)$`),
	lazyregexp.New(`(?m)^\S+: (?:line )?(?:\d+: )?cd: (\S+): No such file or directory$`),
	lazyregexp.New(`(?m)^make(?:\[\d+\])?: \*\*\* (\S+): No such file or directory\.  Stop\.$`),
	lazyregexp.New(`\bchdir (\S+): no such file or directory`),
	lazyregexp.New(`(?m)^\S+: (?:(?:line )?\d+: )?cannot (?:create|touch)(?: regular file| directory)? ['‘]?([^\s'‘’]+)/[^\s/'‘’]+['’]?: (?:Directory nonexistent|No such file or directory)$`),
}

// MissingDirectories lists the directories that an output reports as missing, at most five.
func MissingDirectories(output string) []string {
	return programs(missingDirs, Own(output))
}

// Programs returns the programs that an output reports as missing, at most five. The output of
// tests is ignored.
func Programs(output string) []string {
	return programs(missing, Own(output))
}

// ProgramsBefore finds missing programs as jobs do that began before revision 5.
func ProgramsBefore(output string) []string {
	return programs(missingBefore, Plain(output))
}

func programs(patterns []*lazyregexp.Regexp, output string) (out []string) {
	for _, re := range patterns {
		for _, m := range re.FindAllStringSubmatch(output, 20) {
			name := m[1]
			if name == "sh" || strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".py") || path.Base(name) == "." {
				continue
			}
			if !slices.Contains(out, name) && len(out) < 5 {
				out = append(out, name)
			}
		}
	}
	return out
}

// ProgramNotFound and ProgramThere are facts about a program or file that is given by a path.
const (
	ProgramNotFound = "not found"
	ProgramThere    = "there"
)

// Program returns the key of the fact about a program.
func Program(name string) string { return "program " + name }

// Directory returns the key of the fact about a directory. The fact begins with [NotFound].
func Directory(name string) string { return directoryKey + name }

const directoryKey = "directory "

// AbsentDirectories lists the directories of facts that do not exist, in order.
func AbsentDirectories(facts map[string]string) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(facts)) {
		if name, ok := strings.CutPrefix(k, directoryKey); ok && strings.HasPrefix(facts[k], ProgramNotFound) {
			out = append(out, name)
		}
	}
	return out
}

// Facts returns facts about the machine that explain the output of a command that ran in dir.
func Facts(dir, command, output string) map[string]string {
	facts := map[string]string{}
	for _, name := range Programs(output) {
		facts[Program(name)] = where(dir, name)
		if facts[Program(name)] != ProgramNotFound && strings.Contains(output, name+" ENOENT") {
			// Node reports the program where it is the directory that is missing.
			for gone, at := range goneDirs(dir, command, output) {
				facts[Directory(gone)] = ProgramNotFound + ", the cwd of " + at
			}
		}
	}
	for _, name := range MissingDirectories(output) {
		if isGone(dir, name) {
			facts[Directory(name)] = ProgramNotFound
		}
	}
	if lower := strings.ToLower(output); strings.Contains(lower, "no space left") || strings.Contains(lower, "enospc") || strings.Contains(lower, "quota exceeded") {
		for _, d := range []string{dir, os.TempDir()} {
			var st unix.Statfs_t
			if unix.Statfs(d, &st) == nil {
				facts["free in "+d] = fmt.Sprintf("%d MB", uint64(st.Bavail)*uint64(st.Bsize)>>20)
			}
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return facts
}

// mostFiles bounds the files that Files returns.
const mostFiles = 20

// Files lists the existing files that the output of a command which ran in dir names: first those
// below dir, relative to it, then others, as absolute paths. It is empty and not nil if there are
// none.
func Files(dir, output string) []string {
	own, others := []string{}, []string{}
	left := 4000 // names that are looked at
	dir, err := filepath.Abs(dir)
	if err != nil {
		return own
	}
	for _, spellings := range Names(output) {
		for _, name := range spellings {
			if left--; left < 0 {
				break
			}
			at := name
			if !filepath.IsAbs(at) {
				at = filepath.Join(dir, at)
			}
			info, err := os.Stat(at)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			rel, err := filepath.Rel(dir, at)
			switch below := err == nil && filepath.IsLocal(rel); {
			case below && !slices.Contains(own, rel):
				own = append(own, rel)
			case !below && !slices.Contains(others, at):
				others = append(others, at)
			}
			break
		}
	}
	all := append(own, others...)
	return all[:min(len(all), mostFiles)]
}

// InstallsIn lists the commands that may get packages which the output of a command in dir
// reports as missing.
func InstallsIn(dir, output string) []string {
	return Installs(output, func(name string) bool { return !isGone(dir, name) })
}

func isGone(dir, name string) bool {
	_, err := os.Stat(inDir(dir, name))
	return errors.Is(err, fs.ErrNotExist)
}

func inDir(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// A directory that JavaScript names for a process that it starts: a text, or a join of
// texts with the directory of the file, or of the process, before them; and a constant.
var (
	cwdOf   = lazyregexp.New(`\bcwd\s*:\s*`)
	texts   = lazyregexp.New("['\"`]([^'\"`$\\n]*)['\"`]")
	base    = lazyregexp.New(`^(?:(?:path\.)?(?:join|resolve)\(\s*)?(__dirname|import\.meta\.dirname|process\.cwd\(\))?\s*[,+]?\s*(?:['"` + "`" + `]|$)`)
	defined = lazyregexp.New(`^[A-Za-z_$][\w$]*$`)
)

const mostSource = 256 << 10 // bytes of a file that is searched

// goneDirs finds the missing directories that a command, and the files which it and its output
// name, pass to processes that they start, each with the line that names it. Directories that are
// computed in other ways are not found.
func goneDirs(dir, command, output string) map[string]string {
	out := map[string]string{}
	search := func(source, fileDir string, at func(line int) string) {
		for _, m := range cwdOf.Regexp().FindAllStringIndex(source, 100) {
			name := cwdName(source, expression(source[m[1]:]), fileDir)
			if name == "" || !isGone(dir, name) {
				continue
			}
			if rel, err := filepath.Rel(dir, inDir(dir, name)); err == nil && filepath.IsLocal(rel) {
				name = rel
			}
			out[name] = at(1 + strings.Count(source[:m[0]], "\n"))
		}
	}
	search(strings.ReplaceAll(command, `\"`, `"`), dir, func(int) string { return "a process that the command line starts" })
	for _, file := range Files(dir, output+"\n"+strings.ReplaceAll(command, " ", "\n")) {
		at := inDir(dir, file)
		if info, err := os.Stat(at); err != nil || info.Size() > mostSource {
			continue
		}
		b, err := os.ReadFile(at)
		if err != nil {
			continue
		}
		search(string(b), filepath.Dir(at), func(line int) string { return fmt.Sprintf("%s:%d", file, line) })
	}
	return out
}

// expression returns the expression at the beginning of a text.
func expression(s string) string {
	depth, quote := 0, rune(0)
	for i, r := range s {
		switch {
		case r == '\n':
			return strings.TrimSpace(s[:i])
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case strings.ContainsRune("'\"`", r):
			quote = r
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]},;", r):
			if depth == 0 {
				return strings.TrimSpace(s[:i])
			}
			if r != ',' && r != ';' {
				depth--
			}
		}
	}
	return strings.TrimSpace(s)
}

// cwdName returns the directory that an expression names, or "" if that cannot be determined.
func cwdName(source, expr, fileDir string) string {
	if defined.MatchString(expr) {
		re, err := regexp.Compile(`(?m)\b(?:const|let|var)\s+` + regexp.QuoteMeta(expr) + `\s*=\s*(.+?);?$`)
		if err != nil {
			return ""
		}
		m := re.FindStringSubmatch(source)
		if m == nil || defined.MatchString(m[1]) {
			return ""
		}
		expr = strings.TrimSpace(m[1])
	}
	m := base.FindStringSubmatch(expr)
	if m == nil {
		return ""
	}
	var parts []string
	if m[1] != "" && m[1] != "process.cwd()" {
		parts = append(parts, fileDir)
	}
	for _, t := range texts.FindAllStringSubmatch(expr, 10) {
		parts = append(parts, t[1])
	}
	return filepath.Join(parts...)
}

func where(dir, name string) string {
	if strings.Contains(name, "/") {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if _, err := os.Stat(at); err != nil {
			return ProgramNotFound
		}
		return ProgramThere
	}
	at, err := hostexec.InSandbox(name)
	if err != nil {
		return ProgramNotFound
	}
	return "at " + at
}

var registered struct {
	sync.Mutex
	types []string
}

// Register makes types known that users have added, so that files may name them. What
// a job decides by does not depend on it: a job has its types by value.
func Register(types ...string) {
	registered.Lock()
	defer registered.Unlock()
	for _, t := range types {
		if !slices.Contains(registered.types, t) {
			registered.types = append(registered.types, t)
		}
	}
}

// Known lists the types that files may name: the built-in ones, and registered ones.
func Known() []string {
	registered.Lock()
	defer registered.Unlock()
	return slices.Concat(Types, registered.types)
}

var (
	escapes     = lazyregexp.New(`\x1b(?:\[[0-9;?]*[A-Za-z]|[()][0-9A-Z]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))`) // colours, character sets, links
	ids         = lazyregexp.New(`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)
	addresses   = lazyregexp.New(`\b0x[0-9a-fA-F]+\b|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b`) // of memory and of networks
	hashes      = lazyregexp.New(`\b[0-9a-fA-F]{7,128}\b`)
	clock       = lazyregexp.New(`\b\d{1,4}[-/:]\d{1,2}[-/:]\d{1,4}([T ]\d{2}:\d{2}(:\d{2})?([.,]\d+)?)?(?:\s?(?:Z|[+-]\d{2}:?\d{2}|UTC|[AP]M)\b)?`)
	dates       = lazyregexp.New(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,4}\b`)
	durations   = lazyregexp.New(`\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|sec|min|[hms]))+\b`)
	folders     = lazyregexp.New(`(?:[A-Za-z]:)?(?:\.{0,2}[/\\])?(?:[\w.@+~-]+[/\\])+`)
	figures     = lazyregexp.New(`\d+(?:[.,]\d+)*`)
	blanks      = lazyregexp.New(`\s+`)
	significant = lazyregexp.New(`(?i)error|fail|panic|fatal|undefined|cannot|can't|could not|unable|not found|no such|denied|refused|missing|unexpected|expected|invalid|exception|traceback|ENO|EACC|unresolved|mismatch|not ok|want|got`)
)

// Plain removes the escape sequences of a terminal from text.
func Plain(text string) string { return escapes.ReplaceAllString(text, "") }

// Normal removes from a line what differs between two runs of the same failure: directories,
// figures, times, addresses and hashes.
func Normal(line string) string {
	s := ids.ReplaceAllString(Plain(line), "#")
	for _, re := range []*lazyregexp.Regexp{addresses, dates, clock, folders, durations} {
		with := "#"
		if re == folders {
			with = ""
		}
		s = re.ReplaceAllString(s, with)
	}
	s = hashes.ReplaceAllStringFunc(s, func(h string) string {
		if strings.ContainsAny(h, "0123456789") {
			return "#"
		}
		return h // a word
	})
	s = figures.ReplaceAllString(s, "#")
	return strings.TrimSpace(blanks.ReplaceAllString(s, " "))
}

// mostLines bounds the lines of an output that count.
const mostLines = 60

// Essence returns the lines that distinguish a failure from another, normalised, each once and in
// alphabetical order: builds that run concurrently print in any order.
func Essence(output string) string {
	var lines, last []string
	for line := range strings.Lines(Plain(output)) {
		n := Normal(line)
		if n == "" || n == "#" {
			continue
		}
		if significant.MatchString(line) && len(lines) < mostLines {
			lines = append(lines, n)
		}
		if last = append(last, n); len(last) > 5 {
			last = last[1:]
		}
	}
	if len(lines) == 0 {
		lines = last
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// Signature identifies a failure of a type by its essence.
func Signature(typ, output string) string {
	sum := sha256.Sum256([]byte(typ + "\x00" + Essence(output)))
	return hex.EncodeToString(sum[:8])
}
