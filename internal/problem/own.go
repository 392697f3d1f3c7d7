package problem

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	// A line about a place in a file is about the code there, whatever it quotes.
	aboutCode = lazyregexp.New(`^\s*(?:vet: |error: |warning: |\[\w+\] |e: |w: )?(?:file://)?[^\s:()]+\.[A-Za-z]\w{0,4}(?::\d+|\(\d+,\d+\)|:\[\d+,)|^\s+\d+:\d+\s|^\s*(?:-->|❯|›|at) |^error\[\w+\]: |^\s*\d* ?[|│>] |^>?\s+\d+ [|│] `)
	// Words by which a test, or a script that tests, reports what it compares.
	compares = lazyregexp.New(`(?i)\b(?:want|wants|wanted|expect|expects|expected|got|received|actual|assert\w*|should|raised|thrown)\b|^\s*(?:FAIL|not ok|✗|✘|✖|×|●|[+-] )`)
	manager  = lazyregexp.New(`^(?:npm (?:ERR!|error)|error \S+@)`) // of packages, which uses these words, too
	caret    = lazyregexp.New(`^[\s|]*[\^~]+[\s~^]*$`)
	inPython = lazyregexp.New(`^\s+File ".*", line \d+`)
)

// Own are the lines of an output that the programs that ran write about themselves
// and the machine: nothing of what a failing test printed, no diagnosis about a
// place in a file, no source that is quoted.
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
