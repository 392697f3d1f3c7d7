package turn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// NotRun reports whether a failed call was not made: a rule, a person or the mode
// forbade it.
func NotRun(text string) bool { return strings.HasPrefix(text, "not run: ") }

// CutDiff reports whether an artifact "diff" lacks the rest.
func CutDiff(diff string) bool { return strings.HasSuffix(diff, "the rest is left out here)\n") }

// Output extracts the output of a command from the result of the tool shell: a line about the
// command, the output, and lines in brackets with notes for the model.
func Output(text string) string {
	about, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(about, "exit code 0 ") {
		return text
	}
	var id string
	var size int
	if n, _ := fmt.Sscanf(about, "exit code 0 (%s %d bytes of output)", &id, &size); n == 2 && size <= len(rest) {
		if after := strings.TrimPrefix(rest[size:], "\n"); after == "" || strings.HasPrefix(after, "[") {
			return strings.TrimRight(rest[:size], "\n")
		}
	}
	// A secret in it was replaced, or the middle was left out.
	lines := strings.Split(strings.TrimRight(rest, "\n"), "\n")
	for len(lines) > 0 && (strings.HasPrefix(lines[len(lines)-1], "[changed: ") || strings.HasPrefix(lines[len(lines)-1], "[the middle is left out; ")) {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

// Committed reports whether git_log shows, after a git_commit that was interrupted, the commit
// with a subject; before is its output before the commit.
func Committed(before, after, subject string) bool {
	return after != before && strings.Contains(after, subject)
}

var exitCode = lazyregexp.New(`^exit code (\d+)`)

// An Ending is a call's end, by its summary.
type Ending struct {
	Code       int
	TimedOut   bool
	Killed     bool
	NotStarted bool
}

// ParseEnding reads how a call ended from the summary of a failed call.
func ParseEnding(summary string) (e Ending) {
	e.TimedOut, e.Killed = strings.HasPrefix(summary, "stopped after "), summary == "killed"
	if m := exitCode.FindStringSubmatch(summary); m != nil {
		e.Code, _ = strconv.Atoi(m[1])
	}
	e.NotStarted = strings.Contains(summary, "could not be started") || strings.Contains(summary, "is not installed")
	return e
}
