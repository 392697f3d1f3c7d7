package test

import (
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

// A summary is how a runner sums up. Groups are named passed, failed, errors,
// skipped and total; what is passed follows from the total where it has no
// group. A runner prints one such line, or one for each part.
var summaries = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^=* ?(?:(?P<failed>\d+) failed,? ?)?(?:(?P<passed>\d+) passed,? ?)?(?:(?P<skipped>\d+) skipped,? ?)?(?:\d+ (?:deselected|xfailed|xpassed|warnings?),? ?)*(?:(?P<errors>\d+) errors?,? ?)?in [\d.]+s(?: \([\d:]+\))? ?=*$`), // pytest
	lazyregexp.New(`(?m)^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored;`),                                                                                                                            // cargo
	lazyregexp.New(`(?m)^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)\s*$`),                                                                                               // Maven, without the line of each class
	lazyregexp.New(`(?m)^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$`),                                                                                                                                 // Gradle
	lazyregexp.New(`(?m)^\w+!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), Skipped:\s+(?P<skipped>\d+), Total:`),                                                                                                                      // dotnet
	lazyregexp.New(`(?m)^(?:\d+ doctests?, )?(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) (?:skipped|excluded))*$`),                                                                                                       // mix, CppUTest, bats
	lazyregexp.New(`(?m)^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?$`),                                                                                                                                     // RSpec
	lazyregexp.New(`(?m)^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors, (?P<skipped>\d+) skips`),                                                                                                 // minitest
	lazyregexp.New(`(?m)^OK \((?P<passed>\d+) tests?, \d+ assertions?\)$`),                                                                                                                                                                         // PHPUnit
	lazyregexp.New(`(?m)^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failed>\d+))?(?:, Skipped: (?P<skipped>\d+))?`),                                                                                    // PHPUnit
	lazyregexp.New(`(?m)^\d+% tests passed, (?P<failed>\d+) tests failed out of (?P<total>\d+)$`),                                                                                                                                                  // CTest
	lazyregexp.New(`(?m)^(?:ok|FAILED) \| (?P<passed>\d+) passed(?: \(\d+ steps?\))? \| (?P<failed>\d+) failed`),                                                                                                                                   // Deno
	lazyregexp.New(`(?m)^Executed \d+ out of (?P<total>\d+) tests?: (?:\d+ tests? pass\w*(?: and (?P<failed>\d+) fails?)?)?`),                                                                                                                      // Bazel
	lazyregexp.New(`(?m)^Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?(?P<failed>\d+) failures?`),                                                                                                                 // Swift
	lazyregexp.New(`(?m)^Ran (?P<total>\d+) tests? in [\d.]+s\n\n(?:OK|FAILED)(?: \((?:failures=(?P<failed>\d+))?(?:, )?(?:errors=(?P<errors>\d+))?(?:, )?(?:skipped=(?P<skipped>\d+))?)?`),                                                        // unittest
}

var (
	tapPoint = lazyregexp.New(`(?m)^(not )?ok \d+\b(.*)$`)
	tapPlan  = lazyregexp.New(`(?m)^1\.\.\d+`)
)

// readCounts reads the closing lines of any runner whose form is known. Without
// one of them no test is known to have run.
func readCounts(p project, out string) testResult {
	r := readNPM(p, out)
	for _, re := range summaries {
		for _, m := range re.FindAllStringSubmatch(out, -1) {
			n := map[string]int{}
			for i, name := range re.SubexpNames() {
				if i > 0 && m[i] != "" {
					n[name], _ = strconv.Atoi(m[i])
				}
			}
			bad := n["failed"] + n["errors"]
			if re.SubexpIndex("passed") < 0 {
				n["passed"] = max(0, n["total"]-bad-n["skipped"])
			}
			r.Passed, r.Failed, r.Skipped = r.Passed+n["passed"], r.Failed+bad, r.Skipped+n["skipped"]
		}
	}
	if r.Passed+r.Failed+r.Skipped == 0 && tapPlan.MatchString(out) {
		for _, m := range tapPoint.FindAllStringSubmatch(out, -1) {
			t := testCase{Name: strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(m[2]), "- ")), Status: statusPass}
			switch {
			case tapDir.MatchString(" " + m[2]):
				t.Status = statusSkip
			case m[1] != "":
				t.Status = statusFail
			}
			r.add(t)
		}
	}
	if r.Failed > 0 && r.Problem == "" {
		r.Problem = tail(out, mostOutput)
	}
	return r
}

// readExit is readCounts of a command whose exit code decides: that of the
// project's own entry for its tests.
func readExit(p project, out string) testResult {
	r := readCounts(p, out)
	r.Uncounted = r.Passed+r.Failed == 0
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
