package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A check that always passes or never does is a fault, in each form that a check has.
func TestLintChecks(t *testing.T) {
	set, err := testSet(t).With(partstest.Tool("shell"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ done, want string }{
		{`{check: {tool: judge, with: {of: lint}}}`, ""},
		{`{check: {run: "make lint"}}`, ""},
		{`{check: {tool: judge, with: {of: tests}}, if_missing: {artifact: words}}`, ""},
		{`{check: judge}`, "judge proves nothing without of; write it like check: {tool: judge, with: {of: …}}"},
		{`{check: {tool: judge, with: {more: true}}}`, "judge proves nothing without of"},
		{`{check: {tool: judge, with: {of: ""}}}`, "judge cannot be a check: of"},
		{`{check: {tool: judge, with: {of: grammar}}}`, "judge cannot be a check: of"},
		{`{check: {tool: judge, with: {off: lint}}}`, "judge cannot be a check"},
		{`{check: word_count}`, "word_count cannot be a check: nothing says what its success proves; name one of git_log, judge, or {run: COMMAND}"},
		{`{check: {tool: grep, with: {pattern: x}}}`, "grep cannot be a check: nothing says"},
		{`{check: {tool: shell, with: {command: x, background: true}}}`, "shell cannot be a check: nothing says"},
		{`{check: "make lint"}`, `there is no tool make lint; a command is written check: {run: "make lint"}`},
		{`{check: jugde}`, "there is no tool jugde; did you mean judge?"},
		{`{check: {tool: judge, run: x}}`, "check has either tool or run; write check: TOOL"},
		{`{check: {tool: judge, args: {of: lint}}}`, `unknown field "args"`},
		{`{check: {run: x, with: {a: 1}}}`, "with has the arguments of a tool"},
		{`{check: [judge]}`, "check cannot be array; write check: TOOL"},
		{`{check: {tool: 5}}`, "check.tool cannot be number; write check: TOOL"},
		{`{when: {artifact: diff}, check: {tool: judge, with: {of: tests}}}`, ""},
		{`{when: {check: judge}, artifact: words}`, "when takes an artifact or a tool"},
		{`{when: {}, artifact: words}`, "when takes an artifact or a tool"},
		{`{when: {artifact: diff}}`, "the condition is empty and always holds"},
		{`{unless: {artifact: diff}, check: {run: x}}`, "unless"},
		{`{artifact: words, if_missing: {artifact: diff}}`, "if_missing stands without check"},
		{`{check: {run: x}, if_missing: {}}`, "if_missing is empty and always holds"},
		{`{check: {run: x}, if_missing: {check: word_count}}`, "word_count cannot be a check"},
	} {
		a, ps := agents.Parse("x.md", []byte("---\ndescription: d\ntools: [word_count, finish]\ndone: "+c.done+"\n---\nCount."))
		ps = append(ps, agents.Lint(a, set)...)
		if got := ps.Err(); c.want == "" && got != nil || c.want != "" && (got == nil || !strings.Contains(got.Error(), c.want)) {
			t.Errorf("%s: %v\nwant %q", c.done, got, c.want)
		}
	}
}

// No tool that ships can be a check without an argument that it needs for it,
// and each says itself what it proves.
func TestChecksThatShip(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"run_tests": "", "check_docs": "", "check_episode": "", "check_post": "",
		"run_check": "run_check proves nothing without check", "link_check": "link_check proves nothing without artifact or file or urls"}
	for tool := range set.All() {
		a := &agents.DynamicAgent{Name: "x", Description: "d", Prompt: "p", Done: executor.Criterion{Check: tool.Name}}
		err := agents.Lint(a, set).Err()
		fault, known := want[tool.Name]
		switch {
		case !known && err == nil:
			t.Errorf("%s is taken as a check", tool.Name)
		case known && (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault):
			t.Errorf("%s: %v, want %q", tool.Name, err, fault)
		}
	}
}

// What a request lacks is settled before its first turn, and said to the model.
func TestResolveChecks(t *testing.T) {
	set := testSet(t)
	tests := executor.Criterion{Check: "judge", With: json.RawMessage(`{"of":"tests"}`)}
	accepted := tests
	accepted.IfMissing = &executor.Criterion{Artifact: "words"}
	def := agents.Env{Defaults: agents.Defaults{Model: "m/a"}, Test: "make check",
		Missing: func(_ string, t tools.Tool, args json.RawMessage, test string) string { return t.Missing(nil, args) }}
	resolve := func(done executor.Criterion, edit func(*agents.Input)) (executor.Task, error) {
		in := agents.Input{Prompt: "p", Dir: "/w", Spec: &agents.DynamicAgent{Name: "x", Description: "d", Prompt: "p", Tools: []string{"word_count"}, Done: done,
			Inputs: []agents.Field{{Name: "t", Optional: true, Artifact: tools.TestCommand}}}}
		if edit != nil {
			edit(&in)
		}
		return agents.Resolve(in, nil, set, def)
	}
	for _, c := range []struct {
		done executor.Criterion
		says string
	}{{tests, "nothing else counts instead"}, {accepted, `this counts instead: artifact "words" exists`}, {executor.Criterion{All: []executor.Criterion{accepted}}, "this counts instead"}} {
		task, err := resolve(c.done, nil)
		switch {
		case err != nil:
			t.Errorf("unexpected error: %v\n%v\n%s", err, task.NothingToCheck, task.System)
		case task.NothingToCheck[`judge {"of":"tests"}`] != "not tested: no tests found":
			t.Errorf("task.NothingToCheck[`judge {\"of\":\"tests\"}`] is %v, want \"not tested: no tests found\": %v\n%v\n%s", task.NothingToCheck[`judge {"of":"tests"}`], err, task.NothingToCheck, task.System)
		case !strings.Contains(task.System, c.says):
			t.Errorf("task.System lacks c.says: %v\n%v\n%s", err, task.NothingToCheck, task.System)
		case !strings.Contains(task.System, "no tests found"):
			t.Errorf("task.System lacks \"no tests found\": %v\n%v\n%s", err, task.NothingToCheck, task.System)
		}
	}
	lint := executor.Criterion{Check: "judge", With: json.RawMessage(`{"of":"lint"}`)}
	if task, err := resolve(lint, nil); err != nil || task.NothingToCheck != nil || task.Test != "make check" {
		t.Errorf("%+v, %v", task, err)
	}
	if _, err := resolve(executor.Criterion{Check: "judge"}, nil); err == nil || !strings.Contains(err.Error(), "judge proves nothing without of; write it like") {
		t.Error(err)
	}
	// The command is that of the request, and of the parent alone for a sub-agent.
	if task, err := resolve(lint, func(in *agents.Input) { in.Test = "make t" }); err != nil || task.Test != "make t" {
		t.Errorf("%q, %v", task.Test, err)
	}
	for _, command := range []string{"", "make p"} {
		task, err := resolve(lint, func(in *agents.Input) {
			in.Parent = &executor.Parent{Agent: "up", Test: command}
			in.Inputs = map[string]json.RawMessage{"t": json.RawMessage(`"curl evil"`)}
		})
		if err != nil || task.Test != command || task.Artifacts[tools.TestCommand] != nil {
			t.Errorf("%q, %v, %v", task.Test, task.Artifacts, err)
		}
	}
}
