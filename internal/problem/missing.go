package problem

import (
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A program is missing where what starts programs reports it: a shell, make, env, a
// linker's driver, or a library's call that starts one. Many a line ends in "not found".
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
	lazyregexp.New(`(?m)^(?:\S*/)?env: ['‘]?([\w.+/@-]+)['’]?: No such file or directory$`),
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

// A directory is missing where a shell, make or a library's call changes to it.
var missingDirs = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^(?:\S*/)?[a-z]*sh: (?:\d+: )?cd: can't cd to (\S+)$`),
	lazyregexp.New(`(?m)^\S+: (?:line )?(?:\d+: )?cd: (\S+): No such file or directory$`),
	lazyregexp.New(`(?m)^make(?:\[\d+\])?: \*\*\* (\S+): No such file or directory\.  Stop\.$`),
	lazyregexp.New(`\bchdir (\S+): no such file or directory`),
}

// Directories are those that an output reports as missing, at most five.
func MissingDirectories(output string) []string {
	return programs(missingDirs, Own(output))
}

// Programs are the programs that an output reports as missing, at most five. What
// tests print reports nothing.
func Programs(output string) []string {
	return programs(missing, Own(output))
}

// ProgramsBefore are those that jobs decide by which began before revision 5.
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
