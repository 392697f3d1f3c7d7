package problem

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	// parallel is the heading of parallel_tests, whose last summary is the sum of those
	// of its processes.
	parallel = lazyregexp.New(`(?m)^\d+ process(?:es)? for \d+ \w+`)
	duration = lazyregexp.New(`\d(?:\.\d+)?\s?(?:ms|s|m|h|seconds?|minutes?)\b`)
	// starts is a line that a program prints before it runs another command.
	starts = lazyregexp.New(`(?m)^(?:> |\$ |make\[\d+\]: )|\b(?:mocha|rspec|jest|vitest|playwright|npm|npx|pnpm|yarn|bun|bundle|rake|ruby) `)
)

// once leaves summaries out that are of the same run: what parallel_tests adds up, and what
// two reporters print of one run, which took the same time then. Of two runs that only
// happen to be equal, something shows that the second was started.
func once(text string, at [][]int) [][]int {
	n := len(at)
	if n < 2 {
		return at
	}
	if parallel.MatchString(text) {
		return at[n-1:]
	}
	half := n / 2
	if n%2 != 0 || starts.MatchString(text[at[half-1][1]:at[half][0]]) {
		return at
	}
	for i := range half {
		if !around(text, at[i]).same(around(text, at[i+half])) {
			return at
		}
	}
	return at[:half]
}

// A surrounding is a line of a summary, and the lines with a duration that are nearest.
type surrounding struct{ line, before, after string }

// same reports whether two summaries are of one run: in each detail, and in how long it took.
func (s surrounding) same(o surrounding) bool {
	return s.line == o.line && (duration.MatchString(s.line) || s.before != "" && s.before == o.before || s.after != "" && s.after == o.after)
}

func around(text string, m []int) (s surrounding) {
	const near = 2000 // bytes
	before := strings.Split(text[max(0, m[0]-near):m[0]], "\n")
	after := strings.Split(strings.TrimLeft(text[m[0]:min(len(text), m[0]+near)], "\n"), "\n")
	s.line = strings.TrimSpace(after[0])
	for _, l := range before[max(0, len(before)-4):] {
		if duration.MatchString(l) {
			s.before = strings.TrimSpace(l)
		}
	}
	for _, l := range after[1:min(len(after), 5)] {
		if s.after == "" && duration.MatchString(l) {
			s.after = strings.TrimSpace(l)
		}
	}
	return s
}
