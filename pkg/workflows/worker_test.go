package workflows_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
)

var fix = agents.Input{Agent: "worker", Prompt: "Round totals per cart."}

const (
	diffA = "diff --git a/cart.go b/cart.go\nindex 1..2 100644\n--- a/cart.go\n+++ b/cart.go\n@@ -1 +1,2 @@\n-a\n+b\n++++ b/evil.go\n"
	diffB = diffA + "diff --git a/tax.go b/tax.go\nnew file mode 100644\n--- /dev/null\n+++ b/tax.go\n@@ -0,0 +1 @@\n+x\n"
)

var (
	small     = answers(m{"approach": "Round once in Total.", "large": false}).asked("First understand this task", "Round totals", "cart_test.go")
	complete  = answers(m{"status": "complete", "note": "Rounds once."})
	looked    = answers(m{"changed": false, "verdict": "Nothing to put right."})
	attemptOf = tests(3) // by the executor, at the end
	noChecks  = gives("run_check", "nothing", "checks", []m{})
	goChecks  = gives("run_check", "two", "checks", []m{{"check": "lint", "tool": "run_check", "command": "go vet"}, {"check": "build", "tool": "run_check", "command": "go build ./..."}, {"check": "tests", "tool": "run_tests", "command": "go test"}})
)

func edits(diff string) []line {
	return []line{does("edit_file", `{"path":"cart.go"}`), gives("edit_file", "edited", "diff", diff)}
}

// The worker of document 000, at its shortest: understand, implement, tests and
// types, look at one's own changes.
func TestWorker(t *testing.T) {
	s, err := play(t, fix, slices.Concat(around(small), edits(diffA), []line{complete,
		tests(3), goChecks, gives("run_check", "built").asked(`{"check":"build"}`), looked.asked("Review your changes", "+b"), attemptOf})...)
	if err != nil {
		t.Fatal(err)
	}
	res := artifact[workflows.Worked](t, s, "report")
	switch {
	case res.Note != "Rounds once.":
		t.Errorf(`res.Note is %v, want "Rounds once.": %+v`, res.Note, res)
	case res.Attempts != 1:
		t.Errorf("res.Attempts is %v, want 1: %+v", res.Attempts, res)
	case res.Planned:
		t.Errorf("res.Planned is true: %+v", res)
	case res.Repaired:
		t.Errorf("res.Repaired is true: %+v", res)
	case !res.Tests.OK:
		t.Errorf("res.Tests.OK is false: %+v", res)
	case res.Commit != "":
		t.Errorf(`res.Commit is %v, want "": %+v`, res.Commit, res)
	case res.Review != "Nothing to put right.":
		t.Errorf(`res.Review is %v, want "Nothing to put right.": %+v`, res.Review, res)
	}
	if s.Outcome.Status != executor.Done || s.Outcome.Summary != "Rounds once." {
		t.Errorf("%+v", s.Outcome)
	}
}

// The report may stand beside the changes; beside a change that failed, or a call that
// reads, it is asked for again.
func TestWorkerReportsBesideChanges(t *testing.T) {
	report := `{"status": "complete", "note": "Rounds once."}`
	beside := func(tool string) line {
		l := does(tool, `{"path":"cart.go"}`)
		out := l.out.(turn.ModelResponse)
		out.Message.Text = report
		l.out = out
		return l
	}
	rest := []line{tests(3), noChecks, looked, attemptOf}
	for name, script := range map[string][]line{
		"beside":       {beside("edit_file"), gives("edit_file", "edited", "diff", diffA)},
		"after a fail": {beside("edit_file"), fails("edit_file", "no such text"), does("edit_file", `{"path":"cart.go"}`), gives("edit_file", "edited", "diff", diffA), complete},
		"with a read":  {does("edit_file", `{"path":"cart.go"}`), gives("edit_file", "edited", "diff", diffA), beside("read_file"), gives("read_file", "a"), complete},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := play(t, fix, slices.Concat(around(small), script, rest)...)
			if err != nil {
				t.Fatal(err)
			}
			if res := artifact[workflows.Worked](t, s, "report"); res.Note != "Rounds once." || res.Attempts != 1 {
				t.Errorf("%+v", res)
			}
		})
	}
}

// The turns of the model are one conversation; it may not edit before it is to, and never commit.
func TestWorkerTools(t *testing.T) {
	asks := 0
	script := slices.Concat(around(small), edits(diffA), []line{complete, tests(3), noChecks, looked, attemptOf})
	for i, l := range script {
		if l.step != "model" {
			continue
		}
		if asks++; asks == 1 {
			script[i] = l.asked(`"role":"system"`, `"name":"read_file"`, `"name":"edit_file"`)
		} else {
			script[i] = l.asked(`"head":"`)
		}
	}
	if _, err := play(t, fix, script...); err != nil {
		t.Fatal(err)
	}
	_, err := play(t, fix, slices.Concat(around(does("edit_file", `{"path":"x"}`), answers(m{"approach": "a", "large": false}).asked(`edit_file was not run: it may not be called in this step`)), edits(diffA), []line{does("git_commit", `{"message":"x"}`), complete, tests(3), noChecks, looked, attemptOf})...)
	if err != nil {
		t.Fatalf("a call that has to wait is refused without a step: %v", err)
	}
}

// A part that a supervisor hands on, with its few files, is done at once: it
// was understood when it was planned, and the whole is reviewed.
func TestWorkerPart(t *testing.T) {
	in := fix
	in.Prompt = "Round totals per cart.\n\nFiles: cart.go, cart_test.go\n\nThis is one part of a larger task. Others do the rest."
	in.Inputs = map[string]json.RawMessage{"part": json.RawMessage(`["cart.go","cart_test.go"]`)}
	script := around(edits(diffA)...)
	script[2] = script[2].asked("Do this task, with its tests", "This is one part", "cart_test.go")
	s, err := play(t, in, append(script, complete, tests(3), noChecks, attemptOf)...)
	if err != nil {
		t.Fatal(err)
	}
	if res := artifact[workflows.Worked](t, s, "report"); res.Note != "Rounds once." || res.Review != "left to the review of the whole task" {
		t.Errorf("%+v", res)
	}
	in.Mode = executor.ModePlan
	if _, err := play(t, in, around(small)...); err != nil {
		t.Errorf("a plan is asked for: %v", err)
	}
	in.Mode, in.Inputs = "", map[string]json.RawMessage{"part": json.RawMessage(`["a.go","b.go","c.go","d.go","cart.go","cart_test.go"]`)}
	if _, err := play(t, in, slices.Concat(around(small), edits(diffA), []line{complete, tests(3), noChecks, looked, attemptOf})...); err != nil {
		t.Errorf("many files: %v", err)
	}
	in.Inputs = nil
	if _, err := play(t, in, slices.Concat(around(small), edits(diffA), []line{complete, tests(3), noChecks, looked, attemptOf})...); err != nil {
		t.Errorf("a prompt that only sounds like a part: %v", err)
	}
}

// A large task is planned, and a plan that cannot be had is done without.
func TestWorkerPlans(t *testing.T) {
	large := answers(m{"approach": "Everywhere.", "large": true})
	rest := []line{tests(3), noChecks, looked, attemptOf}
	for _, c := range []struct {
		name    string
		in      agents.Input
		grasp   line
		planner line
		asked   string
		planned bool
	}{
		{"the model says so", fix, large, works("planner", subtasks("a.go", "b.go")), "2. Change b.go", true},
		{"it is long", agents.Input{Agent: "worker", Prompt: strings.Repeat("Round. ", 300)}, answers(m{"approach": "a", "large": false}), works("planner", subtasks("a.go")), "1. Change a.go", true},
		{"no plan", fix, large, breaks("planner", "lost"), "Now implement it", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := does("edit_file", `{"path":"cart.go"}`).asked(c.asked)
			s, err := play(t, c.in, slices.Concat(around(c.grasp, c.planner, first, gives("edit_file", "edited", "diff", diffA), complete), rest)...)
			if err != nil {
				t.Fatal(err)
			}
			if res := artifact[workflows.Worked](t, s, "report"); res.Planned != c.planned {
				t.Errorf("%+v", res)
			}
		})
	}
}

// What the model has to know is looked up for it, and what cannot be found is
// said.
func TestWorkerAsks(t *testing.T) {
	ask := answers(m{"status": "needs_research", "note": "x", "question": "How does math.Round round halves?"})
	found := works("researcher", m{"answer": "Away from zero.", "sources": []string{"math/floor.go:66"}, "confidence": "high"}).asked("How does math.Round")
	s, err := play(t, fix, slices.Concat(around(small, ask, found), []line{edits(diffA)[0].asked("Away from zero.", "math/floor.go:66"), edits(diffA)[1],
		ask, breaks("researcher", "no network"), complete.asked("could not be answered: stuck: no network"), tests(3), noChecks, looked, attemptOf})...)
	if err != nil {
		t.Fatal(err)
	}
	if res := artifact[workflows.Worked](t, s, "report"); res.Attempts != 3 || len(res.Asked) != 2 {
		t.Errorf("%+v", res)
	}
}

// Attempts are bounded, and one who is blocked says so.
func TestWorkerGivesUp(t *testing.T) {
	ask := answers(m{"status": "needs_research", "note": "x", "question": "Why?"})
	answer := works("researcher", m{"answer": "So.", "sources": []string{}, "confidence": "low"})
	script := around(small)
	for range 10 {
		script = append(script, ask, answer)
	}
	s, err := play(t, fix, script...)
	wantErr(t, err, "the task is not complete after 10 attempts")
	if res := artifact[workflows.Worked](t, s, "report"); res.Attempts != 10 || s.Outcome.Status != executor.Failed {
		t.Errorf("%+v", res)
	}
	_, err = play(t, fix, around(small, answers(m{"status": "blocked", "note": "Which currency?"}))...)
	wantErr(t, err, "blocked: Which currency?")

	// Nor does it end the work if the model reads for long before it begins.
	script = around()
	for i := range 12 {
		script = append(script, does("read_file", `{"path":"f`+strings.Repeat("x", i)+`"}`), gives("read_file", "text "+strings.Repeat("y", i)))
	}
	script = append(script, answers("I have read."), edits(diffA)[0].asked("Now implement it"), edits(diffA)[1], complete, tests(1), noChecks, looked, attemptOf)
	if _, err := play(t, fix, script...); err != nil {
		t.Fatal(err)
	}

	// One attempt may take no more than its turns; the next goes on.
	script = around(small)
	for i := range 40 {
		script = append(script, does("read_file", `{"path":"f`+strings.Repeat("x", i)+`"}`), gives("read_file", "text "+strings.Repeat("y", i)))
	}
	script = append(script, answers("I have to stop."), edits(diffA)[0].asked("Go on with what is left"), edits(diffA)[1], complete, tests(1), noChecks, looked, attemptOf)
	if s, err = play(t, fix, script...); err != nil {
		t.Fatal(err)
	}
	if res := artifact[workflows.Worked](t, s, "report"); res.Attempts != 2 {
		t.Errorf("%+v", res)
	}
}

// The limit of the task itself ends the work, as a limit.
func TestWorkerLimit(t *testing.T) {
	in := fix
	in.Limits.Turns = 3
	s, err := play(t, in, around(small, does("read_file", `{"path":"a"}`), gives("read_file", "a"), does("read_file", `{"path":"b"}`), gives("read_file", "b"), answers("I stop."))...)
	wantErr(t, err, "reached the limit of 3 turns")
	if s.Outcome.Status != executor.Limit {
		t.Errorf("%+v", s.Outcome)
	}
}

// There is one round to mend what fails, and no claim of the model stands
// against a check.
func TestWorkerMends(t *testing.T) {
	broken := fails("run_tests", "1 of 3 failed\nFAIL TestTotal", "test_result", m{"failed": 1, "passed": 2})
	begin := slices.Concat(around(small), edits(diffA), []line{complete, broken, noChecks})
	s, err := play(t, fix, slices.Concat(begin, []line{complete.asked("FAIL TestTotal"), tests(3), noChecks, looked, attemptOf})...)
	if err != nil {
		t.Fatal(err)
	}
	if res := artifact[workflows.Worked](t, s, "report"); !res.Repaired || !res.Tests.OK {
		t.Errorf("%+v", res)
	}
	s, err = play(t, fix, slices.Concat(begin, []line{complete, broken, noChecks})...)
	wantErr(t, err, "checks still fail after a round to mend them: 1 of 3 failed")
	if res := artifact[workflows.Worked](t, s, "report"); res.Tests.OK || s.Outcome.Status != executor.Failed {
		t.Errorf("%+v", res)
	}
	badTypes := fails("run_check", "cart.go:3: undefined: x")
	_, err = play(t, fix, slices.Concat(around(small), edits(diffA), []line{complete, noTests, goChecks, badTypes, complete.asked("build: go build ./...", "undefined: x"), noTests, goChecks, gives("run_check", "built"), looked, attemptOf})...)
	if err != nil {
		t.Fatal(err)
	}
	// What the model changes when it looks at its changes is checked again.
	_, err = play(t, fix, slices.Concat(around(small), edits(diffA), []line{complete, tests(3), noChecks}, edits(diffB),
		[]line{answers(m{"changed": true, "verdict": "A case was missing."}), broken, noChecks})...)
	wantErr(t, err, "checks fail after the review of its own changes")
}

// Nothing changed is nothing done.
func TestWorkerChangesNothing(t *testing.T) {
	_, err := play(t, fix, around(small, complete, tests(3), noChecks, looked)...)
	wantErr(t, err, "no file has been changed")
}

// Only who asks for it gets a commit: of the files of the diff and no others,
// under a message that an agent writes.
func TestWorkerCommits(t *testing.T) {
	begin := slices.Concat(around(small), edits(diffB), []line{complete, tests(3), noChecks, looked})
	in := fix
	in.Inputs = map[string]json.RawMessage{"commit": json.RawMessage(`"true"`)}
	message := works("commit_message", m{"subject": "Round totals once", "body": "Lines were rounded."}).asked("tax.go")
	commit := gives("git_commit", "Committed").asked(`"message":"Round totals once\n\nLines were rounded."`, `"paths":["cart.go","tax.go"]`)
	logOf := func(hash, subject string) line {
		l := gives("git_log", "the log in words").asked(`"max":1`, `"whole":true`)
		reply := l.out.(executor.ToolResult)
		reply.Value, _ = json.Marshal([]m{{"hash": hash, "subject": subject}})
		l.out = reply
		return l
	}
	log := logOf("1111", "Begin")
	if _, err := play(t, in, slices.Concat(begin, []line{message, log, commit, attemptOf})...); err != nil {
		t.Fatal(err)
	}
	// A commit that was cut short is not made twice.
	cut := line{step: "tool git_commit", err: &flow.Failure{Code: flow.Interrupted, Message: "interrupted"}}
	s, err := play(t, in, slices.Concat(begin, []line{message, log, cut, logOf("2222", "Round totals once"), attemptOf})...)
	if err != nil {
		t.Fatal(err)
	}
	if res := artifact[workflows.Worked](t, s, "report"); res.Commit != "2222 Round totals once" {
		t.Errorf("%+v", res)
	}
	if _, err := play(t, in, slices.Concat(begin, []line{message, log, cut, log, commit, attemptOf})...); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		then []line
	}{
		{"it was not committed, there is no message: stuck: lost", []line{breaks("commit_message", "lost")}},
		{"git_commit: nothing differs", []line{message, log, fails("git_commit", "nothing differs")}},
	} {
		_, err := play(t, in, slices.Concat(begin, c.then)...)
		wantErr(t, err, c.want)
	}
	in.Inputs["commit"] = json.RawMessage(`"perhaps"`)
	_, err = play(t, in)
	wantErr(t, err, `input commit is "perhaps", which is no bool; write -i commit=true or commit=false`)
	in.Inputs["commit"] = json.RawMessage(`false`)
	if _, err := play(t, in, append(begin, attemptOf)...); err != nil {
		t.Error(err)
	}
}

// Tests that are not there or cannot be run are nothing that a model can mend,
// and a worker is not done by them.
func TestWorkerUntested(t *testing.T) {
	for name, c := range map[string]struct {
		why  tools.Inconclusive
		text string
		want string
	}{
		"not installed": {tools.CannotCheck, "make is not installed here", "check run_tests: make is not installed here"},
		"not permitted": {tools.CannotCheck, "not run: nobody is there to approve it", "check run_tests: not run: nobody is there to approve it"},
		"gone":          {tools.NothingToCheck, "no tests found here", "check run_tests: no tests found here"},
	} {
		t.Run(name, func(t *testing.T) {
			reply := line{step: "tool run_tests", out: executor.ToolResult{Result: tools.Result{Failed: true, Text: c.text, Inconclusive: c.why}}}
			s, err := play(t, fix, slices.Concat(around(small), edits(diffA), []line{complete, reply, noChecks, looked, reply})...)
			wantErr(t, err, c.want)
			if res := artifact[workflows.Worked](t, s, "report"); res.Repaired || res.Tests.Some {
				t.Errorf("%+v", res)
			}
		})
	}
}
