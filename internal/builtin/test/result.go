package test

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/process"
)

// A testResult is the result of test runs by any program. It is the artifact test_result.
// It does not depend on how long anything took or in which order the packages finished.
type testResult struct {
	Command string     `json:"command"` // as one would type it
	Passed  int        `json:"passed"`
	Failed  int        `json:"failed"` // tests that failed and packages that broke
	Skipped int        `json:"skipped"`
	Tests   []testCase `json:"tests,omitempty"` // failed ones first if there are too many to keep all
	Dropped int        `json:"dropped,omitempty"`
	Log     string     `json:"log,omitempty"`     // the command's id, if it printed more than is shown
	Problem string     `json:"problem,omitempty"` // why the run as a whole does not count: no test ran, it did not build
	None    bool       `json:"none,omitempty"`    // there are no tests: nothing was broken, and nothing proved
	// Uncounted is set if the exit code alone shows that the tests pass: the output
	// has no counts in a known form.
	Uncounted bool `json:"uncounted,omitempty"`
	// Unknown is set if no format that is known reads the output.
	Unknown bool `json:"unknown_format,omitempty"`
	// Unavailable is set if the tests cannot be run on this machine.
	Unavailable bool `json:"unavailable,omitempty"`

	// Note states a fact of the output that does not follow from the exit code.
	Note string `json:"note,omitempty"`

	exact bool // failures are those of a report for programs, not words of an output
	none  bool // a runner found no test, and nothing else ran
	code  int  // of the command, the first that is not 0
	timed bool // it did not end in its time
}

const noTest = "no test ran"

// A testStatus is the fate of one test.
type testStatus string

const (
	statusPass   testStatus = "pass"
	statusFail   testStatus = "fail"
	statusSkip   testStatus = "skip"
	statusBroken testStatus = "error" // it could not be built, collected or finished
)

// A testCase is one test or, with an empty Name, a package or file that broke
// before its tests ran.
type testCase struct {
	Name    string     `json:"name,omitempty"`
	Package string     `json:"package,omitempty"`
	Status  testStatus `json:"status"`
	Output  string     `json:"output,omitempty"` // of failed tests only, head and tail
	File    string     `json:"file,omitempty"`   // relative to the workspace where that is known
	Line    int        `json:"line,omitempty"`
}

const (
	mostOutput = 3000 // bytes of one test
	mostTests  = 2000
	mostShown  = 10 // failing tests shown with their output
)

// OK reports whether the run counts as a pass: something ran, and nothing of
// it failed.
func (r testResult) OK() bool {
	return r.Failed == 0 && (r.Passed > 0 || r.Uncounted) && r.Problem == ""
}

func (r *testResult) add(t testCase) {
	switch t.Status {
	case statusPass:
		r.Passed++
	case statusSkip:
		r.Skipped++
	default:
		r.Failed++
		t.Output = clip(strings.TrimRight(t.Output, "\n "))
	}
	if t.Status == statusPass || t.Status == statusSkip {
		t.Output = ""
	}
	r.Tests = append(r.Tests, t)
}

// seal puts the tests in an order that is the same each time and bounds them.
func (r *testResult) seal() {
	sort.SliceStable(r.Tests, func(i, j int) bool { return r.Tests[i].Package < r.Tests[j].Package })
	if len(r.Tests) <= mostTests {
		return
	}
	sort.SliceStable(r.Tests, func(i, j int) bool { return r.Tests[i].bad() && !r.Tests[j].bad() })
	r.Dropped = len(r.Tests) - mostTests
	r.Tests = r.Tests[:mostTests]
}

// join is the result of several runs, one per kind of project.
func join(rs []testResult) testResult {
	if len(rs) == 1 {
		return rs[0]
	}
	var all testResult
	var cmds, problems, notes []string
	// A project without tests beside one that has some takes nothing away.
	some := slices.ContainsFunc(rs, func(r testResult) bool { return r.Passed+r.Failed > 0 || r.Uncounted })
	for _, r := range rs {
		cmds = append(cmds, r.Command)
		if r.Problem != "" && (!r.none || !some) {
			problems = append(problems, r.Command+": "+r.Problem)
		}
		if r.Note != "" {
			notes = append(notes, r.Command+": "+r.Note)
		}
		all.Passed += r.Passed
		all.Failed += r.Failed
		all.Skipped += r.Skipped
		all.Dropped += r.Dropped
		all.Uncounted = all.Uncounted || r.Uncounted
		all.Unknown = all.Unknown || r.Unknown
		all.Unavailable = all.Unavailable || r.Unavailable
		if !r.none || !some { // the code of a runner that found no test is no failure beside others
			all.code = cmp.Or(all.code, r.code)
		}
		all.timed = all.timed || r.timed
		all.Tests = append(all.Tests, r.Tests...)
	}
	all.Command, all.Problem = strings.Join(cmds, " ; "), strings.Join(problems, "\n")
	all.Note = strings.Join(notes, "; ")
	return all
}

// Headline is the first line: what a person wants to know.
func (r testResult) Headline() string {
	n := r.Passed + r.Failed
	skipped := ""
	if r.Skipped > 0 {
		skipped = fmt.Sprintf(", %d skipped", r.Skipped)
	}
	switch {
	case r.Failed > 0:
		return fmt.Sprintf("%d of %d failed%s", r.Failed, n, skipped)
	case r.Problem != "":
		first, _, _ := strings.Cut(r.Problem, "\n")
		return first
	}
	if r.Passed == 0 && r.Uncounted {
		return "passed, exit code 0" + r.unknown() + skipped + r.note()
	}
	return fmt.Sprintf("%d passed%s%s", r.Passed, skipped, r.note())
}

func (r testResult) note() string {
	if r.Note == "" {
		return ""
	}
	return "; " + r.Note
}

func (r testResult) unknown() string {
	if r.Unknown {
		return ", unknown format: not counted"
	}
	return ""
}

// Text renders the result for the model: the headline, then only the failures.
func (r testResult) Text() string {
	text := r.text()
	if r.Log != "" && !r.OK() {
		text += fmt.Sprintf("\n[all of the output: shell_output with id %s]\n", r.Log)
	}
	return text
}

func (r testResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", r.Headline(), r.Command)
	if r.Failed > 0 && r.Problem != "" || strings.Contains(r.Problem, "\n") {
		b.WriteString(r.Problem + "\n")
	}
	shown := 0
	for _, t := range r.Tests {
		if !t.bad() {
			continue
		}
		if shown++; shown > mostShown+50 {
			fmt.Fprintf(&b, "[%d more]\n", r.Failed-shown+1)
			break
		}
		b.WriteString("\n" + t.title() + "\n")
		if shown <= mostShown && t.Output != "" {
			b.WriteString(t.Output + "\n")
		}
	}
	return b.String()
}

func (t testCase) bad() bool { return t.Status == statusFail || t.Status == statusBroken }

func (t testCase) title() string {
	s := "FAIL"
	if t.Status == statusBroken {
		s = "BROKEN"
	}
	for _, part := range []string{t.Package, t.Name} {
		if part != "" {
			s += " " + part
		}
	}
	if t.File != "" {
		s += fmt.Sprintf(" (%s:%d)", t.File, t.Line)
	}
	return s
}

// clip keeps the head and the tail of s, at line ends where it can.
func clip(s string) string {
	const most = mostOutput
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	head, tail := s[:most*2/3], s[len(s)-most/3:]
	if i := strings.LastIndexByte(head, '\n'); i > most/3 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < most/6 {
		tail = tail[i+1:]
	}
	cut := len(s) - len(head) - len(tail)
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[%d bytes cut]\n%s", head, cut, tail), "\uFFFD")
}

// under makes name, as a runner in dir printed it, relative to the workspace
// at root. What lies elsewhere stays as it is.
func under(root, dir, name string) string {
	if root != "" && strings.HasPrefix(name, strings.TrimSuffix(root, "/")+"/") {
		return name[len(strings.TrimSuffix(root, "/"))+1:]
	}
	if path.IsAbs(name) {
		return name
	}
	return path.Join(dir, name)
}

var (
	rustRun    = lazyregexp.New(`^\s+(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))`)
	rustTarget = lazyregexp.New(`(?m)^\s+(?:Running (?:unittests )?\S+|Doc-tests \S+)`)
	rustCount  = lazyregexp.New(`(?m)^running \d+ tests?$`)
	rustTest   = lazyregexp.New(`^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b`)
	rustStart  = lazyregexp.New(`^test (.+?)(?: - should panic)? \.\.\. `)
	rustHead   = lazyregexp.New(`^---- (.+?) (?:stdout|stderr) ----$`)
	rustPlace  = lazyregexp.New(`panicked at (?:'(?s:.*?)', )?([^\s:]+\.rs):(\d+):\d+`)
	rustError  = lazyregexp.New(`^error(\[E\d+\])?: `)
	rustThere  = lazyregexp.New(`(?m)^\s+--> ([^\s:]+):(\d+):\d+`)
)

// readCargo reads the text of `cargo test`; its JSON is not stable yet.
func readCargo(p project, out string) testResult {
	var r testResult
	var tests []testCase
	details := map[string]*strings.Builder{}
	pkg, head := "", ""
	var compile strings.Builder
	compiling := false
	for l := range strings.SplitSeq(out, "\n") {
		l = strings.TrimRight(l, "\r")
		if m := rustRun.FindStringSubmatch(l); m != nil {
			pkg, head, compiling = m[1]+m[2], "", false
			continue
		}
		if m := rustTest.FindStringSubmatch(l); m != nil {
			status := map[string]testStatus{"ok": statusPass, "FAILED": statusFail, "ignored": statusSkip}[m[2]]
			tests = append(tests, testCase{Name: m[1], Package: pkg, Status: status})
			continue
		}
		if m := rustStart.FindStringSubmatch(l); m != nil && strings.HasSuffix(l, "... ") {
			tests = append(tests, testCase{Name: m[1], Package: pkg, Status: statusBroken, Output: "it never ended"})
			continue
		}
		switch m := rustHead.FindStringSubmatch(l); {
		case m != nil:
			head = pkg + " " + m[1]
			continue
		case l == "failures:" || strings.HasPrefix(l, "test result:"):
			head = ""
		case rustError.MatchString(l) && !strings.HasPrefix(l, "error: test failed") && !strings.HasSuffix(l, "target failed:") && !strings.HasSuffix(l, "targets failed:"):
			compiling = true
		}
		switch {
		case head != "":
			grow(details, head).WriteString(l + "\n")
		case compiling:
			compile.WriteString(l + "\n")
		}
	}
	for _, t := range tests {
		if t.Status == statusFail {
			t.Output = strings.TrimSpace(grow(details, t.Package+" "+t.Name).String())
			if m := rustPlace.FindStringSubmatch(t.Output); m != nil {
				t.File = under(p.root, p.dir, m[1])
				t.Line, _ = strconv.Atoi(m[2])
			}
		}
		r.add(t)
	}
	if text := strings.TrimSpace(compile.String()); text != "" && strings.Contains(text, "could not compile") {
		t := testCase{Package: pkg, Status: statusBroken, Output: text}
		if m := rustThere.FindStringSubmatch(text); m != nil {
			t.File = under(p.root, p.dir, m[1])
			t.Line, _ = strconv.Atoi(m[2])
		}
		r.add(t)
	} else if len(tests) == 0 && text != "" {
		r.Problem = clip(text)
	}
	if len(tests) == 0 && r.Failed == 0 { // quiet, or of a harness that is not Rust's own
		n := problem.Read(out)
		r.Passed, r.Failed, r.Skipped = n.Passed, n.Failed, n.Skipped
		r.Uncounted = n.Passed+n.Failed == 0 && len(rustTarget.FindAllString(out, -1)) > len(rustCount.FindAllString(out, -1))
		r.Unknown = r.Uncounted && !n.Known()
	}
	return r
}

// An exitStatus is the meaning of a program's exit codes, other than 0, that do not
// report faults in the checked files.
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
		r.Problem = fmt.Sprintf("exit code %d, and no test that failed is counted\n%s", out.Code, clip(strings.TrimSpace(out.Text)))
	case r.Passed == 0 && r.Skipped > 0:
		r.Problem = fmt.Sprintf("no test counts: all %d were skipped or are expected to fail", r.Skipped)
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

// makeMissing matches make's report that a shell found no program.
var makeMissing = lazyregexp.New(`(?m)^g?make(?:\[\d+\])?: \*\*\* \[[^\]\n]*\] Error 127$`)
