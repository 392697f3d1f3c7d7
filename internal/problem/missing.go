package problem

import (
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

var missing = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)(?:^|[: ])([\w.+/@-]+): (?:command )?not found$`),
	lazyregexp.New(`(?m)command not found: ([\w.+/@-]+)$`),
	lazyregexp.New(`exec: "([\w.+/@-]+)": (?:executable file not found|stat .*no such file)`),
	lazyregexp.New(`\bspawn ([\w.+/@-]+) ENOENT`),
	lazyregexp.New(`(?m)^make(?:\[\d+\])?: ([\w.+/@-]+): No such file or directory$`),
	lazyregexp.New(`FileNotFoundError: \[Errno 2\] No such file or directory: '([\w.+/@-]+)'`),
	lazyregexp.New("linker `([\\w.+/@-]+)` not found"),
	lazyregexp.New(`(?m)env: ['‘]?([\w.+/@-]+)['’]?: No such file or directory$`),
}

// Programs are the programs that an output says are missing, at most five.
func Programs(output string) (out []string) {
	output = Plain(output)
	for _, re := range missing {
		for _, m := range re.Regexp().FindAllStringSubmatch(output, 20) {
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
