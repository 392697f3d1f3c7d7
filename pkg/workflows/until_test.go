package workflows_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows"
)

var pass = agents.Input{Agent: "until_tests_pass", Prompt: "Round totals per cart."}

func TestUntilTestsPass(t *testing.T) {
	broken := fails("run_tests", "FAIL TestTotal", "test_result", m{"failed": 1})
	fixer := works("fixer", nil).asked("Round totals", "FAIL TestTotal")
	for _, c := range []struct {
		name   string
		then   []line
		rounds int
		err    string
	}{
		{"at once", []line{complete, tests(3), tests(3)}, 1, ""},
		{"fixed", []line{complete, broken, fixer, tests(3), tests(3)}, 2, ""},
		{"a fixer that gives up is no end", []line{complete, broken, breaks("fixer", "lost"), broken, fixer, tests(3), tests(3)}, 3, ""},
		{"never", []line{complete, broken, fixer, broken, fixer, broken, fixer, broken, fixer, broken}, 5, "tests still fail after 5 rounds: FAIL TestTotal"},
		{"none", []line{complete, noTests}, 0, "there are no tests that could pass: no test ran"},
		{"blocked", []line{answers(m{"status": "blocked", "note": "No access."})}, 0, "blocked: No access."},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A job that began before code decided goes on as it began.
			before := pinned(t, pass)
			before.Revision = 1
			s, err := pullTask(t, workflowOf(t, pass.Agent), before, pass, nil, c.then...)
			if got, gotErr := play(t, pass, twice(c.then, broken)...); fmt.Sprint(gotErr) != fmt.Sprint(err) || !reflect.DeepEqual(got.Artifacts["rounds"].Value, s.Artifacts["rounds"].Value) {
				t.Errorf("with rules: %v, %v; without: %v, %v", got.Artifacts["rounds"], gotErr, s.Artifacts["rounds"], err)
			}
			if c.err != "" {
				wantErr(t, err, c.err)
			} else if err != nil {
				t.Fatal(err)
			}
			if c.rounds > 0 {
				if n := artifact[int](t, s, "rounds"); n != c.rounds {
					t.Errorf("%d rounds", n)
				}
			}
			if c.err == "" && s.Outcome.Summary != "Rounds once." {
				t.Errorf("%+v", s.Outcome)
			}
		})
	}
}

// twice is a script in which what fails first is run once more before anybody
// changes code.
func twice(script []line, failed line) []line {
	for i, l := range script {
		if l.step == failed.step && reflect.DeepEqual(l.out, failed.out) {
			return slices.Insert(slices.Clone(script), i, failed)
		}
	}
	return script
}

// Between attempts a model finds the cause, the next one gets it, and pauses grow.
func TestRetryAnalysis(t *testing.T) {
	in := agents.Input{Agent: "retry_analysis", Prompt: "Round totals per cart."}
	why := answers(m{"cause": "It edited a copy.", "advice": "Edit cart.go.", "hopeless": false}).asked("Attempt 1 of 3", "stuck: went in circles")
	second := ends("worker", executor.Outcome{Status: executor.Limit, Reason: "reached the limit of 120 turns"}, nil, "diff", "+half").asked("It edited a copy.", "Edit cart.go.")
	s, err := play(t, in, breaks("worker", "went in circles"), why, second, answers(m{"cause": "Too slow.", "advice": "Less.", "hopeless": false}).asked("+half"), works("worker", nil).asked("Too slow."))
	if err != nil {
		t.Fatal(err)
	}
	tries := artifact[[]workflows.Try](t, s, "attempts_made")
	switch {
	case len(tries) != 3:
		t.Errorf("len(tries) is %v, want 3: %+v", len(tries), tries)
	case tries[0].Analysis.Advice != "Edit cart.go.":
		t.Errorf(`tries[0].Analysis.Advice is %v, want "Edit cart.go.": %+v`, tries[0].Analysis.Advice, tries)
	case tries[2].Status != executor.Done:
		t.Errorf("tries[2].Status is %v, want %v: %+v", tries[2].Status, executor.Done, tries)
	case s.Outcome.Summary != "worker is done":
		t.Errorf(`s.Outcome.Summary is %v, want "worker is done": %+v`, s.Outcome.Summary, tries)
	}

	in.Inputs = map[string]json.RawMessage{"attempts": json.RawMessage(`"1"`)}
	s, err = play(t, in, breaks("worker", "no"))
	wantErr(t, err, "not done after 1 attempts; the last: stuck: no")
	if tries := artifact[[]workflows.Try](t, s, "attempts_made"); len(tries) != 1 {
		t.Errorf("%+v", tries)
	}
	in.Inputs = nil
	_, err = play(t, in, breaks("worker", "no"), answers(m{"cause": "The server is gone.", "advice": "", "hopeless": true}))
	wantErr(t, err, "attempt 1 failed, and another would too: The server is gone.")
	for name, bad := range map[string]string{"attempts": `"0"`, "pause": `"soon"`} {
		in.Inputs = map[string]json.RawMessage{name: json.RawMessage(bad)}
		_, err := play(t, in)
		wantErr(t, err, "input "+name+" is ")
	}
}

// The pauses of two failed attempts, as the engine is asked for them.
func TestPauses(t *testing.T) {
	in := agents.Input{Agent: "retry_analysis", Prompt: "x", Inputs: map[string]json.RawMessage{"pause": json.RawMessage(`"10s"`)}}
	slept := sleeps(t, in, breaks("worker", "a"), answers(m{"cause": "c", "advice": "d", "hopeless": false}), breaks("worker", "b"), answers(m{"cause": "c", "advice": "d", "hopeless": false}), works("worker", nil))
	if !slices.Equal(slept, []string{"10s", "20s"}) {
		t.Errorf("slept %v", slept)
	}
}
