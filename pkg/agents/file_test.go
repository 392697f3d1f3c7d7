package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

type none struct{}

func nop(context.Context, *tools.Env, none) (string, error) { return "ok", nil }

// judge is a tool that can be a check if it gets what to check.
var judge = tools.New(tools.Metadata{Name: "judge", Description: "Judge.", UsageHint: "Last.", Proves: "it is right", ProvesWith: []string{"of"}},
	func(_ context.Context, _ *tools.Env, in struct {
		Of   string `json:"of,omitempty" jsonschema:"enum=tests,enum=lint"`
		More bool   `json:"more,omitempty"`
	}) (string, error) {
		return in.Of, nil
	}).Lacks(func(_ *tools.Env, args json.RawMessage) string {
	if strings.Contains(string(args), "tests") {
		return "not tested: no tests found"
	}
	return ""
})

func testSet(t testing.TB) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(control.Finish,
		tools.New(tools.Metadata{Name: "word_count", Description: "Count words.", UsageHint: "For one file.", Needs: tools.Read, Produces: []string{"words"}}, nop),
		tools.New(tools.Metadata{Name: "git_status", Description: "See changes.", Needs: tools.Exec}, nop),
		tools.New(tools.Metadata{Name: "git_log", Description: "See history.", Needs: tools.Exec, Proves: "it is there", Optionality: tools.Optional}, nop),
		tools.New(tools.Metadata{Name: "grep", Description: "Find.", Needs: tools.Read},
			func(_ context.Context, _ *tools.Env, in struct {
				Pattern string `json:"pattern"`
			}) (string, error) {
				return in.Pattern, nil
			}),
		judge,
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func parse(t testing.TB, src string) *agents.DynamicAgent {
	t.Helper()
	a, ps := agents.Parse("x.md", []byte(src))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestLint(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"clean", "---\ndescription: d\ntools: [word_count, finish]\ndone: {all: [{signal: DONE}, {artifact: words, where: {type: string}}]}\n---\nCount.", ""},
		{"no description, no prompt", "---\nname: x\n---\n",
			"x.md:2:1: warning: the description is missing; say in a sentence when to use it\n" +
				"x.md:4:1: error: the prompt is empty; say what the agent is to do and how; in a file, below the front matter"},
		{"tools", "---\ndescription: d\ntools:\n  - word_cont\n  - got_*\n  - git_*\ngrant: [read]\n---\nCount.",
			"x.md:4:5: error: there is no tool word_cont; did you mean word_count?\n" +
				"x.md:5:5: error: there is no tool got_*; see adroit tools\n" +
				"x.md:4:3: error: git_log needs exec, which the agent does not grant; grant it, or take the tool out\n" +
				"x.md:4:3: error: git_status needs exec, which the agent does not grant; grant it, or take the tool out"},
		{"criteria", "---\ndescription: d\ntools: [finish]\ndone:\n  all:\n    - {signal: DONE, tool: git_log}\n    - {}\n    - {artifact: a, where: {type: strin}}\n    - check: grep\n    - check: run_test\n    - tool: word_count\n---\nCount.",
			"x.md:6:8: error: one condition holds signal and tool; put them into all: [{…}, {…}]\n" +
				"x.md:6:28: error: the agent does not have git_log and can never have called it; add it to tools\n" +
				"x.md:7:7: error: the condition is empty and always holds; give it signal, artifact, tool, check, all or any\n" +
				"x.md:8:21: error: where: the schema is not valid: type is the string \"strin\", want one of\n" +
				"x.md:9:14: error: grep cannot be a check: nothing says what its success proves; name one of git_log, judge, or {run: COMMAND}"},
		{"templates", "---\ndescription: d\ninputs: {file: f}\n---\nYou are {{.Agnt}}.\n{{if .Inputs.fiel}}{{range .Tools}}{{.Nam}}{{end}}{{end}}",
			"x.md:5:11: error: the template names .Agnt, which is not there; did you mean .Agent?\n" +
				"x.md:6:13: error: the template names .Inputs.fiel, which is not there; did you mean .Inputs.file?\n" +
				"x.md:6:38: error: the template names .Nam, which is not there; did you mean .Name?"},
		{"a broken template", "---\ndescription: d\n---\none\n{{if}}", "x.md:5:1: error: the template cannot be used: missing value for if"},
		{"limits", "---\ndescription: d\nlimits: {turns: -2, tokens: -1}\n---\nx", "x.md:3:17: error: limits.turns is negative; -1 means no limit"},
		{"what would never hold anything", "---\ndescription: d\ntools: [grep]\nlimits: {calls: {grap: 3, grep: 2, mcp__x__y: 1}}\noutput: {propertys: {}, type: object}\ndone: {artifact: diff, where: {minLenght: 1}}\n---\nx",
			"x.md:4:24: error: there is no tool grap; did you mean grep?\n" +
				"x.md:5:1: error: output: propertys is no keyword of JSON Schema; did you mean properties?\n" +
				"x.md:6:24: error: where: minLenght is no keyword of JSON Schema; did you mean minLength?; it is a JSON Schema, as in {minLength: 1}"},
		{"an unknown signal", "---\ndescription: d\ntools: [grep]\ndone: {signal: DONE}\n---\nx",
			"x.md:4:1: warning: the signal DONE is demanded, but the prompt does not say when to give it; add finish to its tools, or say in the prompt when to write DONE"},
		{"too long", "---\ndescription: d\n---\n" + strings.Repeat("word ", 4000), "x.md:4:1: warning: prompt and tools take about 60"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := lines(agents.Lint(parse(t, tt.src), testSet(t)))
			if tt.want == "" && got != "" {
				t.Errorf("problems are\n%s", got)
			}
			for want := range strings.SplitSeq(tt.want, "\n") {
				if !strings.Contains(got, want) {
					t.Errorf("no problem is %q in\n%s", want, got)
				}
			}
		})
	}
}

func file(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }

// A file of Claude Code without front matter is no agent, there as here, and hides none.
func TestClaudeLayer(t *testing.T) {
	cat := agents.Load(
		agents.Layer{Name: "user", Dir: "home", FS: fstest.MapFS{"notes.md": file("---\ndescription: d\n---\nDo.")}},
		agents.Layer{Name: "project", Dir: ".claude/agents", Claude: true, FS: fstest.MapFS{
			"notes.md":      file("# Notes\n\nOn the agents here.\n"),
			"team/plan.md":  file("\ufeffPlan."),
			"team/lead.md":  file("\ufeff---\r\nname: lead\r\ndescription: d\r\n---\r\nLead."),
			"team/empty.md": file(""),
			"broken.md":     file("---\nname: x\n"),
		}})
	if got := strings.Join(cat.Names(), " "); got != "broken lead notes" {
		t.Errorf("the agents are %s", got)
	}
	if a, ps := cat.Lookup("notes"); a == nil || a.Source.Layer != "user" {
		t.Errorf("%+v %v", a, ps)
	}
	all := lines(cat.Problems())
	for _, name := range []string{"notes.md", "team/plan.md", "team/empty.md"} {
		if !strings.Contains(all, ".claude/agents/"+name+":1:1: note: it is passed over, as Claude Code does") {
			t.Errorf("%s is not named in\n%s", name, all)
		}
	}
	if strings.Count(all, "error:") != 1 {
		t.Errorf("errors are\n%s", all)
	}
}

func TestLoad(t *testing.T) {
	cat := agents.Load(
		agents.Layer{Name: "built in", FS: fstest.MapFS{
			"builder.md":  file("---\ndescription: one\naliases: [coder, maker]\n---\nBuild."),
			"debugger.md": file("---\ndescription: two\n---\nDebug."),
			"README.md":   file("no agent"),
		}},
		agents.Layer{Name: "user", Dir: "home", FS: fstest.MapFS{
			"builder.md": file("---\ndescription: mine\naliases: [coder]\n---\nBuild mine."),
			"broken.md":  file("---\nfoo: 1\n---\nx"),
			"worse.md":   file("x"),
			"maker.md":   file("---\ndescription: three\n---\nMake."),
		}},
		agents.Layer{Name: "project"},
	)
	ps := cat.Problems()
	if got := lines(ps); got != "home/broken.md:2:1: error: unknown key \"foo\"; known are aliases, auto, calling, capabilities, default_prompt, deny, description, done, effort, expose, grant, hidden, inputs, limits, mcp_servers, memory, mode, model, name, options, output, permissions, priority, problem_types, skills, spawn, think_model, tools, workflow\n"+
		"home/worse.md:1:1: error: there is no front matter; begin with a line ---, then name: and description:, then another ---" {
		t.Errorf("problems are\n%s", got)
	}
	var names []string
	for _, a := range cat.List() {
		names = append(names, a.Name+" "+a.Source.Layer)
	}
	if want := []string{"builder user", "debugger built in", "maker user"}; !slices.Equal(names, want) {
		t.Errorf("agents are %v, want %v", names, want)
	}
	a, err := cat.Lookup("coder")
	if err != nil || a.Description != "mine" {
		t.Errorf("coder is %+v, %v", a, err)
	}
	if now, ok := cat.Renamed("coder"); !ok || now != "builder" {
		t.Errorf("coder was renamed %s", now)
	}
	if _, ok := cat.Renamed("maker"); ok {
		t.Error("a former name hides an agent")
	}
	_, err = cat.Lookup("biulder")
	if unknown := new(agents.UnknownError); !errors.As(err, &unknown) || unknown.Near != "builder" {
		t.Errorf("biulder gives %v", err)
	}
	_, err = cat.Lookup("broken")
	if bad := (agents.Problems)(nil); !errors.As(err, &bad) {
		t.Errorf("broken gives %v", err)
	}
}

// A file is parsed for its name only if that can be another one than the file's.
func TestLoadNames(t *testing.T) {
	cat := agents.Load(
		agents.Layer{Name: "built in", FS: configs.Agents()},
		agents.Layer{Name: "mine", FS: fstest.MapFS{
			"a.md": file("---\ndescription: one\n---\nx"), "b.md": file("---\nname: bee\n---\nx"), "c.md": file("---\r\nname: sea\r\n---\r\nx"),
			"d.md": file("---\n\"name\": dee\n---\nx"), "e.md": file("---\nname: [\n---\nx"), "f.md": file("no agent"),
			"g.md": file("---\nname: a\n---\nx"),
		}},
	)
	for _, name := range cat.Names() {
		if a, err := cat.Lookup(name); err == nil && a.Name != name {
			t.Errorf("%s is called %s", name, a.Name)
		}
	}
	for name, file := range map[string]string{"a": "g.md", "bee": "b.md", "sea": "c.md", "dee": "d.md", "e": "e.md", "f": "f.md"} {
		var bad agents.Problems
		if a, err := cat.Lookup(name); errors.As(err, &bad) {
			if got := path.Base(bad[0].File); got != file {
				t.Errorf("%s is what %s has, want %s", name, got, file)
			}
		} else if err != nil || path.Base(a.Source.File) != file {
			t.Errorf("%s is %+v, %v; want that of %s", name, a, err, file)
		}
	}
	if got := cat.Problems().Err(); got == nil || !strings.Contains(got.Error(), "the agent a is also in a.md") {
		t.Errorf("problems: %v", got)
	}
}

// TestBrokenOverride does not fall back to the agent that was to be replaced.
func TestBrokenOverride(t *testing.T) {
	cat := agents.Load(
		agents.Layer{FS: fstest.MapFS{"a.md": file("---\ndescription: one\n---\nx")}},
		agents.Layer{FS: fstest.MapFS{"a.md": file("---\ndescription: [\n---\nx")}},
	)
	if a, err := cat.Lookup("a"); err == nil {
		t.Errorf("found %+v", a)
	}
}

const counter = "---\nname: counter\ndescription: d\nmodel: m/agent\ntools: [word_count, \"git_*\", finish]\ndeny: [git_log]\n" +
	"done: {all: [{signal: DONE}, {artifact: words}, {check: git_log}]}\nlimits: {turns: 7}\ninputs: {file: Which., depth: {default: 3}}\n---\n" +
	"You are {{.Agent}} in {{.Dir}} and count {{.Inputs.file}}; say {{.Signal}}.\n{{range .Tools}}- {{.Name}}{{if .UsageHint}}: {{.UsageHint}}{{end}}\n{{end}}{{if has \"git_log\"}}NO{{end}}"

func TestResolve(t *testing.T) {
	in := agents.Input{
		Spec: parse(t, counter), Prompt: "Go.\n", Dir: "/w", Inputs: map[string]json.RawMessage{"file": json.RawMessage(`"a.txt"`)},
		Limits: executor.Limits{Tokens: 5},
	}
	task, err := agents.Resolve(in, nil, testSet(t), agents.Env{Defaults: agents.Defaults{Model: "m/default", Limits: executor.Limits{Turns: 1, Rejects: 2}, Options: llm.Options{Window: 9}}})
	if err != nil {
		t.Fatal(err)
	}
	wantSystem := `You are counter in /w and count a.txt; say DONE.
- finish: ` + control.Finish.UsageHint + `
- git_status
- word_count: For one file.

Calls of one answer run in order, those that only read at once.
When the task is done, call finish. Then this is checked:
- word_count has produced "words"
- git_log passes; it is run for you when all else holds`
	if task.System != wantSystem {
		t.Errorf("system prompt is\n%s\nwant\n%s", task.System, wantSystem)
	}
	if want := "Go.\n\n<input name=\"depth\">\n3\n</input>"; task.Prompt != want {
		t.Errorf("prompt is\n%s\nwant\n%s", task.Prompt, want)
	}
	if task.Taint != tools.Untrusted {
		t.Errorf("what came with the request is taken for %v", task.Taint)
	}
	var names []string
	for _, tool := range task.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"finish", "git_status", "word_count"}) || len(task.Checks) != 1 || task.Checks[0].Name != "git_log" {
		t.Errorf("tools are %v, checks %v", names, task.Checks)
	}
	if want := (executor.Limits{Turns: 7, Tokens: 5, Rejects: 2}); !reflect.DeepEqual(task.Limits, want) {
		t.Errorf("limits are %+v, want %+v", task.Limits, want)
	}
	switch {
	case task.Model != "m/agent":
		t.Errorf(`task.Model is %v, want "m/agent": task is %+v`, task.Model, task)
	case task.Agent != "counter":
		t.Errorf(`task.Agent is %v, want "counter": task is %+v`, task.Agent, task)
	case task.Approve != executor.ApproveEdits:
		t.Errorf("task.Approve is %v, want %v: task is %+v", task.Approve, executor.ApproveEdits, task)
	case task.Options.Window != 9:
		t.Errorf("task.Options.Window is %v, want 9: task is %+v", task.Options.Window, task)
	}
}

func TestResolveRefuses(t *testing.T) {
	read := tools.Read
	ok := agents.Input{Prompt: "p", Model: "m/x", Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "x"}}
	with := func(change func(*agents.Input)) agents.Input {
		in, spec := ok, *ok.Spec
		in.Spec = &spec
		change(&in)
		return in
	}
	for _, tt := range []struct {
		name string
		in   agents.Input
		want string
	}{
		{"nothing", ok, ""},
		{"no agent", agents.Input{Prompt: "p"}, "no agent is named"},
		{"no model", with(func(in *agents.Input) { in.Model = "" }), "no model is named"},
		{"no prompt", with(func(in *agents.Input) { in.Prompt = " " }), "there is no prompt"},
		{"no such tool", with(func(in *agents.Input) { in.Spec.Tools = []string{"word_cuont"} }), "word_count"},
		{"no such check", with(func(in *agents.Input) { in.Spec.Done.Check = "tests" }), "tests"},
		{"grant", with(func(in *agents.Input) { in.Spec.Tools, in.Spec.Grant = []string{"git_log"}, &read }), "git_log needs exec"},
		{"check beyond grant", with(func(in *agents.Input) { in.Spec.Done.Check, in.Spec.Grant = "git_log", &read }), "git_log needs exec"},
		{"inputs", with(func(in *agents.Input) {
			in.Spec.Inputs = []agents.Field{{Name: "file", Description: "Which."}}
			in.Inputs = map[string]json.RawMessage{"fiel": json.RawMessage("1")}
		}), "input file is missing: Which.\nthere is no input fiel; did you mean file?"},
		{"template", with(func(in *agents.Input) { in.Spec.Prompt = "{{.Inputs.x}}" }), "x"},
		{"endless template", with(func(in *agents.Input) { in.Spec.Prompt = `{{range 2000000}}{{"word"}}{{end}}` }), "grows past 1 MiB"},
		{"approve", with(func(in *agents.Input) { in.Approve = "yes" }), "approve is"},
		{"cost without price", with(func(in *agents.Input) { in.Limits.CostUSD = 1 }), "needs the price"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agents.Resolve(tt.in, nil, testSet(t), agents.Env{})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

// Where code leads, what is checked at the end contradicts no message before, and
// nothing that the code makes is asked of the model.
func TestLedByCode(t *testing.T) {
	spec := parse(t, "---\nname: led\ndescription: d\nworkflow: worker\ntools: [git_status]\n"+
		"done: {all: [{artifact: diff}, {artifact: report}, {check: git_log}]}\n---\nYou work.\n")
	task, err := agents.Resolve(agents.Input{Spec: spec, Prompt: "Go."}, nil, testSet(t), agents.Env{Defaults: agents.Defaults{Model: "m/default"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `When what a message asks for is done, answer without calling a tool. This is checked after the last message, not before:
- a file was changed
- git_log passes; it is run for you when all else holds`
	if !strings.HasSuffix(task.System, want) {
		t.Errorf("system prompt is\n%s\nwant at its end\n%s", task.System, want)
	}
}

// TestWorkflow drives the workflow by hand: it resolves first and then asks
// the model what the task says.
func TestWorkflow(t *testing.T) {
	input, err := json.Marshal(agents.Input{Agent: "counter", Prompt: "p"})
	if err != nil {
		t.Fatal(err)
	}
	next, stop, _ := flow.Pull(agents.Workflow, input)
	defer stop()
	s, reply, ok := next()
	switch {
	case !ok:
		t.Fatalf("ok is false: first step is %+v", s)
	case s.Kind != "resolve":
		t.Fatalf(`s.Kind is %v, want "resolve": first step is %+v`, s.Kind, s)
	case s.Name != "counter":
		t.Fatalf(`s.Name is %v, want "counter": first step is %+v`, s.Name, s)
	case !strings.Contains(string(s.Input), `"prompt":"p"`):
		t.Fatalf("string(s.Input) lacks `\"prompt\":\"p\"`: first step is %+v", s)
	}
	reply(executor.Task{Instructions: executor.Instructions{Agent: "counter", Model: "m/x", System: "sys", Prompt: "p"}}, nil)
	if s, reply, ok = next(); !ok || s.Kind != flow.KindAwait || s.Name != turn.MessageSignal {
		t.Fatalf("it does not look for messages: %+v", s)
	}
	reply(nil, &flow.Failure{Code: flow.TimedOut})
	switch s, _, ok = next(); {
	case !ok:
		t.Fatalf("ok is false: second step is %+v", s)
	case s.Kind != "model":
		t.Fatalf(`s.Kind is %v, want "model": second step is %+v`, s.Kind, s)
	case s.Name != "m/x":
		t.Fatalf(`s.Name is %v, want "m/x": second step is %+v`, s.Name, s)
	case !strings.HasPrefix(s.Path, "1."):
		t.Fatalf(`strings.HasPrefix(s.Path, "1.") is false: second step is %+v`, s)
	}
}

func TestRoutes(t *testing.T) {
	mux := agents.Routes(func(_ context.Context, in agents.Input) (executor.Task, error) {
		return agents.Resolve(in, nil, testSet(t), agents.Env{Defaults: agents.Defaults{Model: "m/x"}})
	})
	input, err := json.Marshal(agents.Input{Spec: parse(t, counter), Prompt: "p", Inputs: map[string]json.RawMessage{"file": json.RawMessage("1")}})
	if err != nil {
		t.Fatal(err)
	}
	step := flow.Step{Kind: "resolve", Name: "counter", Input: input}
	out, err := mux.Serve(t.Context(), step, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := mux.Serve(t.Context(), step, nil)
	if err != nil || string(out) != string(again) {
		t.Errorf("resolving twice differs: %s, %s, %v", out, again, err)
	}
	if text, _ := mux["resolve"].Describe(step, out); text != "m/agent with 3 tools" {
		t.Errorf("described as %q", text)
	}
}

func TestSkeleton(t *testing.T) {
	src, err := agents.Skeleton("code-reviewer")
	if err != nil {
		t.Fatal(err)
	}
	a, ps := agents.Parse("code-reviewer.md", []byte(src))
	if len(ps) > 0 || a.Name != "code-reviewer" {
		t.Errorf("the skeleton has problems: %v", ps)
	}
	if _, err := agents.Skeleton("../x"); err == nil {
		t.Error("../x is no name")
	}
}

// What lint refuses, no run accepts, whatever the agent was made of.
func TestRunRefusesWhatLintRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		done executor.Criterion
		want string
	}{
		"two keys":        {executor.Criterion{Signal: "OK", Artifact: "never"}, "one condition holds signal and artifact"},
		"check and all":   {executor.Criterion{Check: "git_log", All: []executor.Criterion{{Signal: "OK"}}}, "one condition holds check and all"},
		"two keys, below": {executor.Criterion{Any: []executor.Criterion{{Tool: "word_count", Artifact: "words"}}}, "one condition holds artifact and tool"},
		"never":           {executor.Criterion{Artifact: "contnt"}, "produces the artifact contnt"},
		"never, near":     {executor.Criterion{Artifact: "word"}, "did you mean words?"},
		"empty":           {executor.Criterion{All: []executor.Criterion{{}}}, "the condition is empty"},
		"nothing":         {executor.Criterion{All: []executor.Criterion{}}, "list conditions"},
		"where":           {executor.Criterion{Signal: "OK", Where: json.RawMessage(`{}`)}, "where stands without artifact"},
		"schema":          {executor.Criterion{Artifact: "words", Where: json.RawMessage(`{"type": "strin"}`)}, "the schema is not valid"},
		"tool":            {executor.Criterion{Tool: "git_status"}, "does not have git_status"},
		"proves nothing":  {executor.Criterion{Check: "word_count"}, "cannot be a check"},
		"when":            {executor.Criterion{Signal: "OK", When: &executor.Criterion{Signal: "X"}}, "when takes an artifact or a tool"},
	} {
		a := &agents.DynamicAgent{Name: "x", Description: "d", Prompt: "Say OK.", Model: "m/x", Tools: []string{"word_count", "finish"}, Done: c.done}
		_, err := agents.Resolve(agents.Input{Spec: a, Prompt: "Go.", Dir: "/w"}, nil, testSet(t), agents.Env{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if lint := agents.Lint(a, testSet(t)).Err(); lint == nil || !strings.Contains(lint.Error(), c.want) {
			t.Errorf("%s: lint has %v", name, lint)
		}
	}
	for _, limits := range []executor.Limits{{Turns: -7}, {CostUSD: -2}} {
		a := &agents.DynamicAgent{Name: "x", Description: "d", Prompt: "p", Model: "m/x", Limits: limits}
		if _, err := agents.Resolve(agents.Input{Spec: a, Prompt: "Go.", Dir: "/w"}, nil, testSet(t), agents.Env{}); err == nil {
			t.Errorf("limits %+v are accepted", limits)
		}
	}
}
