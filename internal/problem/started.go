package problem

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// notStarted are the lines by which a program that runs others reports that it has nothing
// of the name to run, or was called wrongly. A file that a rule of make needs and nobody
// makes is a fault of the build, and not among them.
var notStarted = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^npm (?:ERR!|error) [Mm]issing script: .*$`),
	lazyregexp.New(`(?m)^error Command "[^"\n]+" not found\.$|^(?:➤ )?(?:YN0000: )?Usage Error: Couldn't find a script named .*$`), // yarn
	lazyregexp.New(`(?m)^\s*ERR_PNPM_NO_SCRIPT\s.*$`),
	lazyregexp.New(`(?m)^error: Script not found "[^"\n]+"$`), // bun
	lazyregexp.New(`(?m)^(?:error: )?Task not found: .*$`),    // deno
	lazyregexp.New(`(?m)^\s*(?:\[Symfony.*\]\s*)?Command "[^"\n]+" is not defined\.`),
	lazyregexp.New(`(?m)^g?make(?:\[\d+\])?: \*\*\* (?:No rule to make target [^,\n]*|No targets specified and no makefile found\.|No targets\.)\s+Stop\.$`),
	lazyregexp.New(`(?m)^error: [Jj]ustfile does not contain recipe .*$`),
	lazyregexp.New(`(?m)^task: Task "[^"\n]+" does not exist.*$`),
	lazyregexp.New(`(?m)^(?:rake aborted!\n)?Don't know how to build task .*$`),
	lazyregexp.New(`(?m)^Task '[^'\n]+' not found in (?:root )?project.*$`), // gradle
	lazyregexp.New(`(?m)^\[ERROR\] (?:Unknown lifecycle phase|The goal you specified requires a project to execute) .*$`),
	lazyregexp.New(`(?m)^error: no such (?:sub)?command: .*$`), // cargo
	lazyregexp.New(`(?m)^(?:pytest|__main__\.py|\S*pytest): error: .*$|^ERROR: file or directory not found: .*$`),
	lazyregexp.New(`(?m)^\S*python[\d.]*: can't open file .*$`),
}

// NotStarted is the line of an output by which a program reports that it could not start
// what it was called for, "" if there is none.
func NotStarted(output string) string {
	for _, re := range notStarted {
		if line := re.FindString(output); line != "" {
			line = line[strings.LastIndex(strings.TrimSpace(line), "\n")+1:]
			return strings.TrimSpace(line)
		}
	}
	return ""
}
