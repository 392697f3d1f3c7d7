package workflows_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// validating is a task that may run commands and spawn the fixer.
func validating() executor.Task {
	t := executor.Task{Instructions: executor.Instructions{Agent: "validate"}, Spawn: &executor.SpawnLimits{
		Allowed: []string{workflows.FixAgent, "handy"}, Depth: 1, Total: 10, FanOut: 1,
		Agents: map[string]executor.Spawnable{
			workflows.FixAgent: {Workflow: "agent", Spec: json.RawMessage(`{"name":"validation_fixer","grant":["read","write"],"prompt":"fix"}`)},
			"handy":            {Workflow: "agent", Spec: json.RawMessage(`{"name":"handy","tools":["shell"],"prompt":"fix"}`)},
		},
	}}
	for _, name := range []string{"shell", "run_tests"} {
		t.Tools = append(t.Tools, executor.Tool{ToolSpec: llm.ToolSpec{Name: name}})
	}
	return t
}

// validated runs stages as a workflow does, and returns the artifact too.
func validated(t *testing.T, stages workflows.Stages, script ...flowtest.Line) (workflows.Validation, error) {
	t.Helper()
	type result struct {
		V     workflows.Validation
		Bound json.RawMessage
	}
	got, err := flowtest.Play(t, func(r *flow.Run, task executor.Task) (result, error) {
		sc := executor.NewScope(r, task)
		v, err := workflows.Validate(sc, stages)
		return result{v, sc.State.Value("validation")}, err
	}, validating(), script...)
	if want, merr := json.Marshal(got.V); merr != nil || len(got.V.Stages) > 0 && string(got.Bound) != string(want) {
		t.Errorf("the artifact is\n%s\nwant\n%s", got.Bound, want)
	}
	return got.V, err
}

func says(summary string, failed bool) executor.ToolResult {
	end := turn.ParseEnding(summary)
	res := tools.Result{Text: summary + "\n", Failed: failed, Summary: summary}
	res.Value, _ = json.Marshal(turn.CommandResult{ID: "c1", Code: end.Code, TimedOut: end.TimedOut})
	if turn.NotRun(res.Text) {
		res.Inconclusive = tools.CannotCheck
	}
	return executor.ToolResult{Result: res}
}

var (
	noSignal = flowtest.Line{Step: "await " + workflows.CancelStages, Err: &flow.Failure{Code: flow.TimedOut}}
	ok       = flowtest.Line{Step: "tool shell", Out: says("exit code 0", false)}
	bad      = flowtest.Line{Step: "tool shell", Out: says("exit code 1", true)}
)

func fixer(status string, changed bool) flowtest.Line {
	s := executor.State{Totals: executor.Totals{Turns: 3, Usage: llm.Usage{In: 100, Out: 10}}, Outcome: &executor.Outcome{Status: status, Reason: "because", Summary: "I did"}}
	if changed {
		s.Artifacts = map[string]executor.Artifact{"diff": {Value: json.RawMessage(`"+x"`), Version: 1}}
	}
	return flowtest.Line{Step: "spawn validation_fixer", Out: s}
}

func status(v workflows.Validation) string {
	var out []string
	for _, s := range v.Stages {
		out = append(out, s.Status)
	}
	return strings.Join(out, " ")
}

func two(fix workflows.Fixer) workflows.Stages {
	return workflows.Stages{List: []workflows.Stage{{Name: "a", Run: "make a", Fix: fix}, {Name: "b", Run: "make b"}}}
}

func TestValidate(t *testing.T) {
	changed, idle := fixer(executor.Done, true), fixer(executor.Done, false)
	for name, c := range map[string]struct {
		fix    workflows.Fixer
		goOn   bool
		script []flowtest.Line
		want   string
		why    string // of the first stage
		fixes  int
	}{
		"passes":             {"", false, []flowtest.Line{noSignal, ok, noSignal, ok}, "passed passed", "", 0},
		"stops":              {"", false, []flowtest.Line{noSignal, bad}, "failed skipped", "exit code 1", 0},
		"goes on":            {"", true, []flowtest.Line{noSignal, bad, noSignal, ok}, "failed passed", "exit code 1", 0},
		"fixed at once":      {"validation_fixer", false, []flowtest.Line{noSignal, bad, changed, ok, noSignal, ok}, "fixed passed", "", 1},
		"fixed second":       {"validation_fixer", false, []flowtest.Line{noSignal, bad, changed, bad, changed, ok, noSignal, ok}, "fixed passed", "", 2},
		"never":              {"validation_fixer", false, []flowtest.Line{noSignal, bad, changed, bad, changed, bad, changed, bad}, "failed skipped", "exit code 1, also after 3 attempts to fix it", 3},
		"no progress":        {"validation_fixer", false, []flowtest.Line{noSignal, bad, idle, bad}, "failed skipped", "exit code 1; the agent validation_fixer has changed nothing, and it fails as before", 1},
		"another failure":    {"validation_fixer", false, []flowtest.Line{noSignal, bad, idle, {Step: "tool shell", Out: says("exit code 2", true)}, changed, ok, noSignal, ok}, "fixed passed", "", 2},
		"by itself":          {"validation_fixer", false, []flowtest.Line{noSignal, bad, idle, ok, noSignal, ok}, "fixed passed", "", 1},
		"fixer stuck":        {"validation_fixer", true, []flowtest.Line{noSignal, bad, fixer(executor.Stuck, false), noSignal, ok}, "failed passed", "exit code 1; the agent validation_fixer: stuck: because", 1},
		"fixer out of turns": {"validation_fixer", false, []flowtest.Line{noSignal, bad, fixer(executor.Limit, true), ok, noSignal, ok}, "fixed passed", "", 1},
		"fixer half way":     {"validation_fixer", false, []flowtest.Line{noSignal, bad, fixer(executor.Limit, true), bad}, "failed skipped", "exit code 1; the agent validation_fixer: limit: because", 1},
		"fixer breaks":       {"validation_fixer", true, []flowtest.Line{noSignal, bad, {Step: "spawn validation_fixer", Err: errors.New("no model")}, noSignal, ok}, "failed passed", "exit code 1; the agent validation_fixer: failed: no model", 1},
		"timeout":            {"validation_fixer", true, []flowtest.Line{noSignal, {Step: "tool shell", Out: says("stopped after 1s, which was its time limit; raise", true)}, noSignal, ok}, "failed passed", "stopped after 1s, which was its time limit; raise", 0},
		"not found":          {"validation_fixer", true, []flowtest.Line{noSignal, {Step: "tool shell", Out: says("exit code 127", true)}, noSignal, ok}, "failed passed", "a command was not found (exit code 127)", 0},
		"denied":             {"validation_fixer", true, []flowtest.Line{noSignal, {Step: "tool shell", Out: says("not run: no", true)}, noSignal, ok}, "failed passed", "not run: no", 0},
		"interrupted":        {"validation_fixer", false, []flowtest.Line{noSignal, {Step: "tool shell", Err: &flow.Failure{Code: flow.Interrupted}}, ok, noSignal, ok}, "passed passed", "", 0},
		"cancelled before":   {"", false, []flowtest.Line{{Step: "await cancel_stages", Out: "x"}}, "cancelled cancelled", "", 0},
		"cancelled between":  {"", false, []flowtest.Line{noSignal, ok, {Step: "await cancel_stages", Out: "x"}}, "passed cancelled", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			stages := two(c.fix)
			stages.GoOn = c.goOn
			v, err := validated(t, stages, c.script...)
			if err != nil {
				t.Fatal(err)
			}
			if got := status(v); got != c.want || v.Stages[0].Error != c.why || len(v.Stages[0].Fixes) != c.fixes {
				t.Errorf("%s, %q, %d fixes\nwant %s, %q, %d", got, v.Stages[0].Error, len(v.Stages[0].Fixes), c.want, c.why, c.fixes)
			}
			if v.OK != !strings.ContainsAny(strings.NewReplacer("passed", "", "fixed", "", " ", "").Replace(c.want), "abcdefghijklmnopqrstuvwxyz") {
				t.Errorf("OK is %v of %s", v.OK, c.want)
			}
			if c.fixes > 0 && name != "fixer breaks" {
				if u := v.Stages[0].Usage; u.Turns != 3*c.fixes || u.In != 100*c.fixes || u.Out != 10*c.fixes {
					t.Errorf("the stage took %+v", u)
				}
			}
		})
	}
}

// The engine's end is none of a stage's failures: the rest is marked, and the
// error comes out.
func TestValidateEnded(t *testing.T) {
	broke := errors.New("lease lost")
	run := flow.Define("x", func(r *flow.Run, task executor.Task) (workflows.Validation, error) {
		return workflows.Validate(executor.NewScope(r, task), two(""))
	})
	in, err := json.Marshal(validating())
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Run(flow.NewRun("j", ending{broke}), in)
	if !errors.Is(err, broke) || !strings.Contains(string(out), `"cancelled"`) || strings.Contains(string(out), `"failed"`) {
		t.Errorf("%s, %v", out, err)
	}
}

type ending struct{ err error }

func (e ending) Do(flow.Step) (json.RawMessage, error)         { return nil, e.err }
func (e ending) Fork(n int, branch func(i int, e flow.Engine)) {}

// A fixer has no shell, whatever its file says.
func TestValidateBoundsFixers(t *testing.T) {
	for _, agent := range []string{workflows.FixAgent, "handy"} {
		var grant string
		next, stop, _ := flow.Pull(flow.Define("x", func(r *flow.Run, task executor.Task) (workflows.Validation, error) {
			return workflows.Validate(executor.NewScope(r, task), two(workflows.Fixer(agent)))
		}), must(t, validating()))
		for range 5 {
			s, reply, ok := next()
			if !ok {
				break
			}
			switch s.Kind {
			case flow.KindAwait:
				reply(nil, &flow.Failure{Code: flow.TimedOut})
				continue
			case flow.KindSpawn:
				var spawn struct {
					Input struct {
						Spec struct{ Grant json.RawMessage }
					}
				}
				if err := json.Unmarshal(s.Input, &spawn); err != nil {
					t.Fatal(err)
				}
				grant = string(spawn.Input.Spec.Grant)
			}
			reply(says("exit code 1", true), nil)
		}
		stop()
		want := map[string]string{workflows.FixAgent: `["read","write"]`, "handy": `["read","write","exec","think"]`}[agent]
		if grant != want {
			t.Errorf("%s is granted %s, want %s", agent, grant, want)
		}
	}
}

func must(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a program can mend, no agent is asked about; and once.
func TestValidateRepairs(t *testing.T) {
	stages := workflows.Stages{List: []workflows.Stage{{Name: "a", Run: "make a", Repair: "make fix", Fix: workflows.FixAgent}}}
	repaired := flowtest.Line{Step: "tool shell", In: nil, Out: says("exit code 0", false)}
	v, err := validated(t, stages, noSignal, bad, repaired, ok)
	switch {
	case err != nil:
		t.Errorf("unexpected error: %+v, %v", v, err)
	case status(v) != "fixed":
		t.Errorf(`status(v) is not "fixed": %+v, %v`, v, err)
	case v.Stages[0].Repair != "make fix":
		t.Errorf(`v.Stages[0].Repair is %v, want "make fix": %+v, %v`, v.Stages[0].Repair, v, err)
	case v.Stages[0].Fixes != nil:
		t.Errorf("v.Stages[0].Fixes is %v: %+v, %v", v.Stages[0].Fixes, v, err)
	}
	v, err = validated(t, stages, noSignal, bad, repaired, bad, fixer(executor.Done, true), ok)
	if err != nil || status(v) != "fixed" || len(v.Stages[0].Fixes) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = validated(t, stages, noSignal, ok)
	if err != nil || status(v) != "passed" || v.Stages[0].Repair != "" {
		t.Errorf("%+v, %v", v, err)
	}
	stages.List[0] = workflows.Stage{Name: "a", Check: "run_tests", Repair: "format_code"}
	if _, err := validated(t, stages); err == nil || !strings.Contains(err.Error(), "stage a: repair: agent validate has no tool format_code") {
		t.Errorf("%v", err)
	}
}

func TestStagesJSON(t *testing.T) {
	for in, want := range map[string]string{
		`[{"name":"a","run":"x","fix":true,"timeout":"90s"}]`:                                 "",
		`{"stages":[{"name":"a","check":"run_tests","fix":"fixer"}],"stop_on_failure":false}`: "",
		`{"stages":[{"name":"a","run":"x"}],"stop":true}`:                                     `unknown field "stop"`,
		`[{"name":"a","run":"x","timeout":"soon"}]`:                                           `timeout is "soon"`,
		`[{"name":"a","run":"x","timeout":60}]`:                                               "write it like 90s",
		`[{"name":"a","run":"x","timeout":"2h"}]`:                                             "timeout is more than 1h0m0s",
		`[{"name":"a","run":"x","fix":3}]`:                                                    "fix is 3; it is true, false or the name of an agent",
		`[{"name":"a","run":"x","fix":true,"attempts":21}]`:                                   "attempts is 21",
		`[{"name":"a","run":"x","attempts":2}]`:                                               "fix is not set",
		`[{"name":"","run":"x"}]`:                                                             "a name has letters",
		`[{"name":"a","run":" "}]`:                                                            "either run, a command, or check, a tool",
		`[{"name":"a","check":"run_tests","timeout":"1m"}]`:                                   "has the time limit of its tool",
		`[]`: "there are no stages",
		`{"stages":[` + strings.Repeat(`{"name":"a","run":"x"},`, 100) + `{"name":"a","run":"x"}]}`: "there are 101 stages; 100 are the most",
	} {
		var s workflows.Stages
		err := json.Unmarshal([]byte(in), &s)
		if err == nil {
			err = s.Check()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", in, err, want)
		}
		if want == "" {
			var again workflows.Stages
			if err := json.Unmarshal(must(t, s), &again); err != nil || string(must(t, again)) != string(must(t, s)) || again.GoOn != s.GoOn {
				t.Errorf("%s comes back as %s, %v", in, must(t, again), err)
			}
		}
	}
}
