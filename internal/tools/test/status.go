package test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/process"
)

// An exitStatus is what a program means by an exit code other than 0, where it means
// anything but that what it looked at is wrong.
type exitStatus struct {
	program *lazyregexp.Regexp // in the command
	from    int                // the exit codes
	to      int
	none    bool   // it found no test
	words   string // else: what it could not do
}

func word(name string) *lazyregexp.Regexp {
	return lazyregexp.New(`(?:^|[\s/;&|])(?:` + name + `)(?:\s|$)`)
}

// statuses of test runners.
var statuses = []exitStatus{
	{program: word("pytest|py.test"), from: 5, to: 5, none: true},
	{program: word("pytest|py.test"), from: 4, to: 4, words: "pytest was called wrongly"},
	{program: word("pytest|py.test"), from: 3, to: 3, words: "pytest itself failed"},
	{program: word("nextest"), from: 4, to: 4, none: true},
	{program: word("dart|flutter"), from: 79, to: 79, none: true},
}

// find returns the first that a command means by its exit code, nil if there is none.
func find(list []exitStatus, command string, code int) *exitStatus {
	i := slices.IndexFunc(list, func(s exitStatus) bool { return s.from <= code && code <= s.to && s.program.MatchString(command) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// judge explains a run that does not count, if the tests themselves do not. The exit code
// decides: what an output says adds to it.
func (r *testResult) judge(command string, out *process.Output, text string) {
	ran := r.Passed+r.Failed > 0
	switch {
	case out.TimedOut:
		r.Problem = fmt.Sprintf("the tests were stopped after %s: run fewer with target or filter", out.Took.Round(time.Second))
	case r.Failed > 0 && out.Code == 0 && !r.exact:
		// Tests that failed and passed when they were run again, or what a test printed.
		r.Note = fmt.Sprintf("the output also has %d failed, which the exit code 0 says do not count", r.Failed)
		r.Failed, r.Problem, r.Uncounted = 0, "", true
		r.Tests = slices.DeleteFunc(r.Tests, testCase.bad)
	case r.Failed > 0 && out.Code == 0:
		r.Problem = "the output reports failures although the exit code is 0\n" + r.Problem
	case r.Failed > 0 || r.Problem != "":
	case out.Code != 0 && !ran && r.notStarted(command, out.Code, text):
	case out.Code != 0 && r.Uncounted:
		r.Problem = fmt.Sprintf("the tests failed, exit code %d%s\n%s", out.Code, r.unknown(), tail(text, mostOutput))
	case out.Code != 0 && r.Passed+r.Skipped == 0:
		r.Problem = fmt.Sprintf("no test ran, exit code %d\n%s", out.Code, clip(strings.TrimSpace(text)))
	case out.Code != 0:
		r.Problem = fmt.Sprintf("exit code %d although no test failed\n%s", out.Code, clip(strings.TrimSpace(out.Text)))
	case r.Passed == 0 && r.Skipped > 0:
		r.Problem = fmt.Sprintf("no test ran: all %d were skipped", r.Skipped)
	case r.Passed == 0 && !r.Uncounted:
		r.Problem, r.none = noTest, true
	}
}

// notStarted explains a run in which no test was started, and reports whether it was one.
func (r *testResult) notStarted(command string, code int, text string) bool {
	status, read, why := find(statuses, command, code), problem.Read(text), ""
	switch line := problem.NotStarted(text); {
	case status != nil && status.none:
		r.none = true
	case read.Failing():
		return false
	case code == 126:
		why = "a program in it is there but cannot be executed"
	case code == 127 || makeMissing.MatchString(text):
		why = "a program in it is not installed here, or not on PATH"
		if names := problem.Programs(text); len(names) > 0 {
			why = names[0] + " is not installed here, or not on PATH"
		}
	case line != "":
		why = line
	case status != nil:
		why = status.words
	case read.None:
		r.none = true
	default:
		return false
	}
	r.Uncounted, r.Unknown = false, false
	if r.none {
		r.Problem = fmt.Sprintf("%s: the runner found none, exit code %d\n%s", noTest, code, tail(text, mostOutput))
		return true
	}
	r.Unavailable = true
	r.Problem = fmt.Sprintf("the tests could not be started, exit code %d: %s\n%s", code, why, tail(text, mostOutput))
	return true
}

// makeMissing is how make reports that a shell found no program.
var makeMissing = lazyregexp.New(`(?m)^g?make(?:\[\d+\])?: \*\*\* \[[^\]\n]*\] Error 127$`)
