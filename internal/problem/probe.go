package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"

	_ "github.com/adroit-run/adroit/internal/system/unixonly"
)

// NotFound is the fact about a program or file that is not there.
const ProgramNotFound = "not found"

// Program is the key of the fact about a program.
func Program(name string) string { return "program " + name }

// Directory is the key of the fact about a directory. The fact begins with [NotFound].
func Directory(name string) string { return directoryKey + name }

const directoryKey = "directory "

// Directories are those of facts that are not there, in order.
func AbsentDirectories(facts map[string]string) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(facts)) {
		if name, ok := strings.CutPrefix(k, directoryKey); ok && strings.HasPrefix(facts[k], ProgramNotFound) {
			out = append(out, name)
		}
	}
	return out
}

// Facts states what is so about an output of a command that ran in dir.
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

// Files are the files that an output of a command names which ran in dir, as far as
// they exist: first those below dir, by their names from there, then others, by their
// whole names. It is empty and not nil where there are none.
func Files(dir, output string) []string {
	own, others := []string{}, []string{}
	left := 2000 // names that are looked at
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

// Installs are the commands that may get packages which the output of a command in dir
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

// goneDirs are the directories that a command, and the files which it and its output name,
// give to processes that they start, and that are not there, each with the line that names
// it. What is computed otherwise is not found.
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

// expression is the one that a text begins with.
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

// cwdName is the directory that an expression names, "" if that cannot be seen.
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
		return "there"
	}
	at, err := hostexec.InSandbox(name)
	if err != nil {
		return ProgramNotFound
	}
	return "at " + at
}
