package workflows_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows"
)

var task = agents.Input{Agent: "supervisor", Prompt: "Round totals per cart."}

func tests(passed int) line {
	return gives("run_tests", "passed", "test_result", m{"passed": passed})
}

var (
	noTests = fails("run_tests", "no test ran", "test_result", m{"none": true})
	valid   = m{"valid": true, "problems": []string{}}
)

func finding(severity, category, file string, at int, title string) m {
	return m{"severity": severity, "category": category, "file": file, "line": at, "title": title, "detail": "It shows."}
}

// A planner of the user's that has the name of the shipped one, and no output, answers with
// a plan; the shipped one is spawned as it was pinned.
func TestPlannerOfTheUser(t *testing.T) {
	pin := pinned(t, task)
	who := pin.Spawn.Agents["planner"]
	shipped := string(who.Spec)
	who.Spec = json.RawMessage(`{"name":"planner","description":"Plans.","prompt":"You plan as I like it.","done":{"signal":"PLANNED"}}`)
	pin.Spawn.Agents["planner"] = who
	for _, c := range []struct {
		task executor.Task
		asks []string
	}{{pin, []string{"as I like it", `"subtasks"`, `"required"`}}, {pinned(t, task), []string{shipped}}} {
		if _, err := pullTask(t, workflowOf(t, task.Agent), c.task, task, nil, around(
			works("planner", subtasks("cart.go")).asked(c.asks...), works("validator", valid),
			works("worker", nil, "diff", diffA), works("reviewer", nil, "findings", []m{}), tests(3), answers("All done."))...); err != nil {
			t.Fatal(err)
		}
	}
	pin.Revision = 7 // its journal replays
	if _, err := pullTask(t, workflowOf(t, task.Agent), pin, task, nil, around(
		works("planner", subtasks("cart.go")).asked(`"prompt":"You plan as I like it.","done":{"signal":"PLANNED"}}`), works("validator", valid),
		works("worker", nil, "diff", diffA), works("reviewer", nil, "findings", []m{}), tests(3), answers("All done."))...); err != nil {
		t.Fatal(err)
	}
}

// The whole example of document 000: look around, plan, validate, work at once
// in worktrees, review, fix, test, sum up.
func TestSupervisor(t *testing.T) {
	s, err := play(t, task, around(
		works("planner", subtasks("cart.go", "tax.go")).asked("Plan this task", "Round totals", "cart_test.go"),
		works("validator", valid).asked("Change tax.go"),
		tree("w1-4-0-0"),
		works("worker", nil).asked("Change what is in cart.go", `"at":"w1-4-0-0"`, "/trees/w1-4-0-0"),
		tree("w1-4-1-0"),
		works("worker", nil).asked("Change what is in tax.go", "one part of a larger task"),
		joined(executor.Joined{Name: "a", Paths: []string{"cart.go"}}),
		joined(executor.Joined{Name: "b", Paths: []string{"tax.go"}}),
		works("reviewer", nil, "findings", []m{finding("major", "correctness", "tax.go", 3, "Rounds twice"), finding("nit", "style", "cart.go", 1, "Odd name")}).asked("Changed: cart.go, tax.go"),
		tests(3),
		works("fixer", nil).asked("tax.go:3: major: Rounds twice", "run_tests"),
		tests(3),
		answers("All done.").asked("Change cart.go: done", "1 major, 1 nit"),
	)...)
	if err != nil {
		t.Fatal(err)
	}
	res := artifact[workflows.Supervised](t, s, "result")
	switch {
	case res.Summary != "All done.":
		t.Errorf(`res.Summary is %v, want "All done.": %+v`, res.Summary, res)
	case s.Outcome.Summary != "All done.":
		t.Errorf(`s.Outcome.Summary is %v, want "All done.": %+v`, s.Outcome.Summary, res)
	case !res.Reviewed:
		t.Errorf("res.Reviewed is false: %+v", res)
	case !res.Fixed:
		t.Errorf("res.Fixed is false: %+v", res)
	case !res.Tests.OK:
		t.Errorf("res.Tests.OK is false: %+v", res)
	case len(res.Open) > 0:
		t.Errorf("len(res.Open) > 0: %+v", res)
	}
	if len(res.Subtasks) != 2 || !slices.Equal(res.Subtasks[1].Paths, []string{"tax.go"}) {
		t.Errorf("%+v", res.Subtasks)
	}
	if s.SubAgents.Agents != 6 || s.SubAgents.Usage.In != 600 {
		t.Errorf("below: %+v", s.SubAgents)
	}
}

// A plan that code can tell is bad, or that the validator refuses, or that
// there is none of, is repaired once by the supervisor's own model.
func TestRecovery(t *testing.T) {
	rest := []line{tree("w"), works("worker", nil), tree("w"), works("worker", nil), joined(executor.Joined{}), joined(executor.Joined{}),
		works("reviewer", nil, "findings", []m{}), noTests, answers("Done.")}
	for _, c := range []struct {
		name   string
		before []line
		fault  string
	}{
		{"empty", []line{works("planner", m{"subtasks": []m{}})}, "the plan has no subtasks"},
		{"one file twice", []line{works("planner", subtasks("a.go", "./a.go"))}, "subtasks 1 and 2 both change a.go"},
		{"outside", []line{works("planner", subtasks("../a.go"))}, `names \"../a.go\"`},
		{"too many", []line{works("planner", subtasks(strings.Split("abcdefghijklm", "")...))}, "has 13 subtasks"},
		{"refused", []line{works("planner", subtasks("a.go")), works("validator", m{"valid": false, "problems": []string{"there is no a.go"}})}, "there is no a.go"},
		{"refused without a reason", []line{works("planner", subtasks("a.go")), works("validator", m{"valid": false, "problems": []string{}})}, "does not say why"},
		{"no plan", []line{breaks("planner", "went in circles")}, "there is no plan: the planner ended as stuck: went in circles"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repaired := answers(subtasks("a.go", "b.go"))
			repaired.has = []string{"cannot be used"}
			quoted := strings.ReplaceAll(c.fault, `\"`, `"`)
			s, err := play(t, task, around(slices.Concat(c.before, []line{repaired.asked(quoted)}, rest)...)...)
			if err != nil {
				t.Fatal(err)
			}
			if res := artifact[workflows.Supervised](t, s, "result"); len(res.Subtasks) != 2 || res.Tests.Some {
				t.Errorf("%+v", res)
			}
		})
	}
	s, err := play(t, task, around(works("planner", m{"subtasks": []m{}}), answers(subtasks("a.go", "./a.go")))...)
	wantErr(t, err, "the task could not be planned: subtasks 1 and 2 both change a.go")
	if s.Outcome.Status != executor.Failed {
		t.Errorf("%+v", s.Outcome)
	}
}

// A validator that cannot say anything does not keep a good plan from being
// worked by.
func TestNoVerdict(t *testing.T) {
	_, err := play(t, task, around(works("planner", subtasks("a.go")), breaks("validator", "lost"), works("worker", nil).asked("Change a.go"),
		works("reviewer", nil, "findings", []m{}), tests(1), answers("Done."))...)
	if err != nil {
		t.Fatal(err)
	}
}

// The siblings of a worker that fails finish, what they did is brought back,
// reviewed and tested, and the job says what is missing.
func TestSiblings(t *testing.T) {
	s, err := play(t, task, around(works("planner", subtasks("a.go", "b.go", "c.go")), works("validator", valid),
		tree("w"), breaks("worker", "cannot find it"), tree("w"), works("worker", nil), tree("w"), works("worker", nil),
		joined(executor.Joined{Paths: []string{"b.go"}}), joined(executor.Joined{Paths: []string{"c.go"}}),
		works("reviewer", nil, "findings", []m{}), tests(2), answers("Two of three.").asked("Not done:", "cannot find it"))...)
	wantErr(t, err, "Change a.go: stuck: cannot find it")
	res := artifact[workflows.Supervised](t, s, "result")
	switch {
	case res.Subtasks[0].Status != executor.Stuck:
		t.Errorf("res.Subtasks[0].Status is %v, want %v: %+v", res.Subtasks[0].Status, executor.Stuck, res)
	case res.Subtasks[1].Status != executor.Done:
		t.Errorf("res.Subtasks[1].Status is %v, want %v: %+v", res.Subtasks[1].Status, executor.Done, res)
	case res.Subtasks[2].Status != executor.Done:
		t.Errorf("res.Subtasks[2].Status is %v, want %v: %+v", res.Subtasks[2].Status, executor.Done, res)
	case !res.Tests.OK:
		t.Errorf("res.Tests.OK is false: %+v", res)
	}
	if s.Outcome.Status != executor.Failed || s.Outcome.Summary != "Two of three." {
		t.Errorf("%+v", s.Outcome)
	}
}

// Nothing is reviewed if nobody got anything done.
func TestAllFail(t *testing.T) {
	s, err := play(t, task, around(works("planner", subtasks("a.go")), works("validator", valid), breaks("worker", "no"), answers("Nothing."))...)
	wantErr(t, err, "Change a.go: stuck: no")
	if res := artifact[workflows.Supervised](t, s, "result"); res.Reviewed || len(res.Open) != 1 {
		t.Errorf("%+v", res)
	}
}

// What two workers have changed is never overwritten: the second part is done
// anew on the common tree by a fixer that sees what was done, once.
func TestConflict(t *testing.T) {
	clash := joined(executor.Joined{Name: "b", Conflicts: []string{"go.mod"}, Kept: "/trees/b"})
	before := around(works("planner", subtasks("a.go", "b.go")), works("validator", valid),
		tree("w"), works("worker", nil), tree("w"), works("worker", nil, "diff", "+require x"), joined(executor.Joined{Paths: []string{"a.go", "go.mod"}}), clash, tests(1))
	after := []line{works("reviewer", nil, "findings", []m{}), tests(1), answers("Done.").asked("In conflict with others: go.mod")}
	s, err := play(t, task, slices.Concat(before, []line{works("fixer", nil).asked("Change b.go", "+require x", "others changed go.mod too")}, after)...)
	if err != nil {
		t.Fatal(err)
	}
	part := artifact[workflows.Supervised](t, s, "result").Subtasks[1]
	switch {
	case !part.Redone:
		t.Errorf("part.Redone is false: %+v", part)
	case part.Status != executor.Done:
		t.Errorf("part.Status is %v, want %v: %+v", part.Status, executor.Done, part)
	case part.Kept != "/trees/b":
		t.Errorf(`part.Kept is %v, want "/trees/b": %+v`, part.Kept, part)
	case !slices.Equal(part.Conflicts, []string{"go.mod"}):
		t.Errorf(`slices.Equal(part.Conflicts, []string{"go.mod"}) is false: %+v`, part)
	}

	s, err = play(t, task, slices.Concat(before, []line{breaks("fixer", "lost")}, after)...)
	wantErr(t, err, "others had changed go.mod too, and doing it anew failed: lost")
	if part := artifact[workflows.Supervised](t, s, "result").Subtasks[1]; part.Redone || part.Status != executor.Stuck {
		t.Errorf("%+v", part)
	}
}

// Without git there is nothing to keep workers apart: they work one after the
// other, in the workspace.
func TestNoGit(t *testing.T) {
	_, err := play(t, task, gives("list_files", "a.go"), fails("git_status", "not a git repository"),
		works("planner", subtasks("a.go", "b.go")), works("validator", valid), works("worker", nil), works("worker", nil),
		works("reviewer", nil, "findings", []m{}), tests(1), answers("Done."))
	if err != nil {
		t.Fatal(err)
	}
}

// What is not reviewed, not fixed or not tested with success is not done.
func TestSupervisorSays(t *testing.T) {
	begin := around(works("planner", subtasks("a.go")), works("validator", valid), works("worker", nil))
	grave := works("reviewer", nil, "findings", []m{finding("critical", "security", "a.go", 1, "Runs what it reads")})
	broken := fails("run_tests", "1 of 3 failed (go test ./...)\nFAIL TestX", "test_result", m{"failed": 1, "passed": 2})
	for _, c := range []struct {
		name, want string
		then       []line
	}{
		{"no review", "what was changed was not reviewed: stuck: lost", []line{breaks("reviewer", "lost"), tests(1)}},
		{"not fixed", "1 grave findings of the review are not fixed: stuck: cannot", []line{grave, tests(1), breaks("fixer", "cannot"), tests(1)}},
		{"tests", "tests fail: 1 of 3 failed", []line{works("reviewer", nil, "findings", []m{}), broken, broken, works("fixer", nil).asked("FAIL TestX"), broken}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := play(t, task, slices.Concat(begin, c.then, []line{answers("Not done.")})...)
			wantErr(t, err, c.want)
			if res := artifact[workflows.Supervised](t, s, "result"); len(res.Open) != 1 || res.Summary != "Not done." {
				t.Errorf("%+v", res)
			}
		})
	}
	// Where there are no tests the fixer need not make them pass.
	_, err := play(t, task, slices.Concat(begin, []line{grave, noTests, works("fixer", nil).asked(`"done":{"all":[{"signal":"FIXED"},{"artifact":"diff","where":{"minLength":1}}]}`), noTests, answers("Done.")})...)
	if err != nil {
		t.Error(err)
	}
	// Tests that fail after all parts are in are fixed once.
	if _, err := play(t, task, slices.Concat(begin, []line{works("reviewer", nil, "findings", []m{}), broken, broken, works("fixer", nil), tests(3), answers("Done.")})...); err != nil {
		t.Error(err)
	}
}

// Steps that fail are errors that the workflow handles: a worktree that cannot
// be made costs one part, a file list that cannot be had nothing; a model that
// does not answer in the end leaves the result.
func TestStepsFail(t *testing.T) {
	disk := errors.New("the disk is full")
	s, err := play(t, task, line{step: "tool list_files", err: disk}, gives("git_status", "branch main"),
		works("planner", subtasks("a.go", "b.go")), line{step: "spawn validator", err: disk},
		line{step: "worktree add", err: disk}, tree("w"), works("worker", nil), joined(executor.Joined{Paths: []string{"b.go"}}),
		works("reviewer", nil, "findings", []m{}), tests(1), line{step: "model", err: errors.New("overloaded")})
	wantErr(t, err, "overloaded")
	res := artifact[workflows.Supervised](t, s, "result")
	if got := res.Subtasks[0]; got.Status != executor.Failed || got.Reason != "a worktree for it: the disk is full" {
		t.Errorf("%+v", got)
	}
	if res.Subtasks[1].Status != executor.Done || !res.Reviewed || s.Outcome.Status != executor.Failed {
		t.Errorf("%+v", res)
	}
}

// A job that plans has no work done: it ends with the plan.
func TestPlanMode(t *testing.T) {
	in := task
	in.Mode = executor.ModePlan
	s, err := play(t, in, around(works("planner", subtasks("a.go", "b.go")).asked(`"mode":"plan"`), works("validator", valid))...)
	if err != nil {
		t.Fatal(err)
	}
	if p := artifact[workflows.Plan](t, s, "plan"); len(p.Subtasks) != 2 || !strings.Contains(s.Outcome.Summary, "2. Change b.go: ") {
		t.Errorf("%+v, %+v", p, s.Outcome)
	}
	in = fix
	in.Mode = executor.ModePlan
	if s, err = play(t, in, around(small)...); err != nil || s.Outcome.Summary != "Round once in Total." {
		t.Errorf("%v, %+v", err, s)
	}
}
