package test

import (
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	tapPoint = lazyregexp.New(`(?m)^(not )?ok \d+\b(.*)$`)
	failName = lazyregexp.New(`(?m)^\s*(?:●|FAIL|✖|×|✘)\s+(\S.*)$`)
)

// readOutput reads what a command printed that is the project's own entry for its
// tests: counts and names where a format is known that has them. Where none has, the
// exit code decides, unless a runner reports that it found no test.
func readOutput(p project, out string) testResult {
	if strings.Contains(out, "TAP version 1") {
		if r := readTAP(p, out); r.Passed+r.Failed+r.Skipped > 0 {
			return r
		}
	}
	n := problem.Read(out)
	r := testResult{Passed: n.Passed, Failed: n.Failed, Skipped: n.Skipped}
	r.Uncounted = n.Passed+n.Failed == 0 && !n.None
	r.Unknown = r.Uncounted && !n.Known() && strings.TrimSpace(out) != ""
	if r.Failed > 0 {
		r.Tests = failures(out)
		r.Problem = tail(out, mostOutput)
	}
	return r
}

// failures are the names of what failed, as far as they are known.
func failures(out string) (tests []testCase) {
	seen := map[string]bool{}
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" && !seen[name] && len(seen) < mostShown {
			seen[name] = true
			tests = append(tests, testCase{Name: name, Status: statusFail})
		}
	}
	for _, m := range tapPoint.FindAllStringSubmatch(out, -1) {
		if m[1] != "" && !tapDir.MatchString(" "+m[2]) {
			add(strings.TrimPrefix(strings.TrimSpace(m[2]), "- "))
		}
	}
	for _, m := range failName.FindAllStringSubmatch(out, -1) {
		add(m[1])
	}
	return tests
}

// readDotnet is readOutput of dotnet test, which ends with exit code 0 and prints nothing
// where a solution has no tests.
func readDotnet(p project, out string) testResult {
	r := readOutput(p, out)
	r.Uncounted = r.Uncounted && strings.TrimSpace(out) != ""
	return r
}

// tail keeps the end of s, from a line's beginning.
func tail(s string, most int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := s[len(s)-most:]
	if i := strings.IndexByte(cut, '\n'); i >= 0 && i < most/2 {
		cut = cut[i+1:]
	}
	return strings.ToValidUTF8("[the end of "+strconv.Itoa(len(s))+" bytes]\n"+cut, "\uFFFD")
}
