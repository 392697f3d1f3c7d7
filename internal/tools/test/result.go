package test

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// A testResult is what test runs showed, whatever ran them. It is the artifact
// test_result and does not depend on how long anything took or which package
// happened to finish first.
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

	// Note is what the output says beside the exit code, which does not follow from it.
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

// Text is what the model reads: the headline, then only what failed.
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
