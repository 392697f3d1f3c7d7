package pipeline_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// known are the shipped tools, three agents and two pipelines that could each
// contain the other.
func known(t *testing.T, more ...*pipeline.Pipeline) pipeline.Known {
	t.Helper()
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	var cat *agents.Catalog
	for _, name := range []string{"scout", "planner", "builder"} {
		cat = cat.With(agents.DynamicAgent{Name: name, Description: "It works.", Prompt: "You work.", Tools: []string{"read_file"}})
	}
	return pipeline.Known{Tools: set, Agents: cat, Pipelines: (*pipeline.Catalog)(nil).With(more...),
		Model: func(ref string) error {
			if ref != "cheap" {
				return errors.New("there is no model and no role " + ref)
			}
			return nil
		}}
}

func parsed(t *testing.T, name, src string) *pipeline.Pipeline {
	t.Helper()
	p, ps := pipeline.Parse(name, []byte(src))
	if ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	return p
}

// TestLint checks that mistakes are reported before anything runs.
func TestLint(t *testing.T) {
	other := parsed(t, "other.yaml", "inputs: {file: A file.}\nsteps:\n  - {id: a, pipeline: p, inputs: {x: 1}}\n")
	for _, tt := range []struct{ name, src, want string }{
		{"well", `
variables: {notes: ""}
steps:
  - {id: a, agent: scout, input: "{{input}}", output: found}
  - {id: b, agent: builder, input: "{{found}} {{notes}} {{steps.a.output}}"}
  - {id: c, run: go test ./..., output: notes, onFailure: b, max: 3}
`, ``},
		{"checks", `
steps:
  - {id: a, check: run_tests}
  - {id: b, check: {tool: run_check, with: {check: lint}}}
  - {id: c, check: {run: make lint}}
  - {id: d, tool: run_check}
`, ``},
		{"conditions and needs that never mean anything", `
steps:
  - {id: a, run: ls, needs: [b]}
  - {id: b, run: ls, when: {var: input, where: {minimun: 3}}}
  - {id: c, run: ls, when: {var: input, where: {title: long}}}
  - {id: d, run: ls, when: {var: input, where: {minLength: 3}}}
`, `p.yaml:3:30: error: a is always skipped: b comes after it; put it behind b
p.yaml:4:41: error: where cannot be used: minimun is no keyword of JSON Schema; did you mean minimum?; it is a JSON Schema, as in {minLength: 1}
p.yaml:5:41: error: where cannot be used: the schema demands nothing, so that every value satisfies it; it is a JSON Schema, as in {minLength: 1}`},
		{"checks that prove nothing", `
steps:
  - {id: a, check: run_check}
  - {id: b, check: list_files}
  - {id: c, check: {tool: run_check, with: {check: spelling}}}
  - {id: d, check: {run: "make {{input}}"}}
`, `p.yaml:3:20: error: run_check proves nothing without check; write it like check: {tool: run_check, with: {check: …}}
p.yaml:4:20: error: list_files cannot be a check: nothing says what its success proves; write tool: to call it as a step
p.yaml:5:13: error: run_check cannot be a check: check is the string "spelling", want one of "format", "lint", "types", "build"; write it like check: {tool: run_check, with: {check: …}}
p.yaml:6:6: error: no value is put into a command: what a model wrote would be run; hand the value to a tool: step, for example write_file, and have the command read the file; braces that the command is to have are written in quotes, as in {{"{{.State}}"}}`},
		{"names", `
steps:
  - {id: a, agent: scuot, input: x}
  - {id: b, tool: read_fle, args: {path: x}}
  - {id: c, run: ls, onSuccess: bb, onFailure: contine}
  - {id: d, agent: builder, input: x, model: chep}
  - {id: e, pipeline: nothing}
  - {id: f, run: ls, needs: [aa]}
`, `p.yaml:3:20: error: there is no agent scuot; did you mean scout?
p.yaml:4:19: error: there is no tool read_fle; did you mean read_file?
p.yaml:5:33: error: there is no step bb; there are a, b, c, d, e, f, end
p.yaml:5:48: error: there is no step contine; did you mean continue?
p.yaml:6:46: error: there is no model and no role chep
p.yaml:7:23: error: there is no pipeline nothing; adroit pipelines list lists the pipelines
p.yaml:8:30: error: there is no step aa; there are a, b, c, d, e, f`},
		{"twice", `
steps:
  - {id: a, run: ls}
  - {id: b, parallel: [{id: a, run: ls}]}
`, `p.yaml:4:29: error: two steps have the id a; the first is in line 3; choose another`},
		{"unreachable", `
steps:
  - {id: a, run: ls, onSuccess: c}
  - {id: b, run: ls}
  - {id: c, run: ls, onSuccess: end}
  - {id: d, run: ls}
`, `p.yaml:4:6: error: no step leads to b; jump to it, or take it out
p.yaml:6:6: error: no step leads to d; jump to it, or take it out`},
		{"cycles", `
steps:
  - {id: a, run: ls}
  - {id: b, run: ls, onFailure: a}
  - {id: c, run: ls, onSuccess: c}
`, `p.yaml:3:6: error: a, b may follow each other for ever; give one of them max: 3
p.yaml:5:6: error: c may follow itself for ever; give it max: 3`},
		{"a cycle with a cap", `
steps:
  - {id: a, run: ls, max: 2}
  - {id: b, run: ls, onSuccess: a}
`, ``},
		{"values", `
steps:
  - {id: a, agent: scout, input: "{{plan}}", output: found}
  - {id: b, agent: scout, input: "{{fond}} {{steps.c.output}} {{steps.a.outptu}} {{steps.z.output}}"}
  - {id: c, agent: scout, input: "{{found", output: plan}
  - {id: d, agent: scout, input: "{{a b}} {{found | upper}}", when: {var: nothing, is: 1}}
`, `p.yaml:3:34: error: {{plan}} is read in a before any step has written it; give it a value to begin with, as in variables: {plan: ""}
p.yaml:4:34: error: there is no variable fond; did you mean found?
p.yaml:4:34: error: {{steps.c.output}} is read in b before any step has written it; use a variable, and give it a value to begin with under variables:
p.yaml:4:34: error: a step has no outptu; did you mean output?
p.yaml:4:34: error: there is no step z; there are a, b, c, d
p.yaml:5:34: error: {{ is not closed by }}; write {{"{{"}} for the braces themselves
p.yaml:6:34: error: {{a b}} is not the name of a value; write it like {{plan}}, {{plan.files.0}} or {{steps.scout.output}}; there are no functions; {{"{{"}} is a pair of braces
p.yaml:6:75: error: there is no variable nothing; there are found, input, plan`},
		{"a value of a later round", `
steps:
  - {id: a, agent: scout, input: "{{faults}}"}
  - {id: b, run: ls, output: faults, onFailure: a, max: 3}
`, `p.yaml:3:34: error: {{faults}} is read in a before any step has written it; give it a value to begin with, as in variables: {faults: ""}`},
		{"a value that may be missing", `
variables: {go: 1}
steps:
  - {id: a, run: ls, output: x, when: {var: go, is: 1}}
  - {id: b, agent: scout, input: "{{x}}"}
`, `p.yaml:5:34: warning: {{x}} has no value in b if the steps that write it were skipped or failed; give it a value to begin with, as in variables: {x: ""}`},
		{"either of two writes", `
steps:
  - {id: a, agent: scout, input: x, output: x, onSuccess: c, onFailure: b}
  - {id: b, run: ls, output: x}
  - {id: c, agent: scout, input: "{{x}}"}
`, ``},
		{"siblings", `
steps:
  - id: g
    parallel:
      - {id: a, run: ls, output: x}
      - {id: b, agent: scout, input: "{{x}}", output: x, needs: [a]}
      - {id: c, run: ls, onSuccess: d, onFailure: stop}
      - {id: w, await: go}
  - {id: d, run: ls, onFailure: a, max: 1}
`, `p.yaml:6:38: error: {{x}} is read in b before any step has written it; give it a value to begin with, as in variables: {x: ""}
p.yaml:6:55: error: a and b write {{x}} at the same time; give each a variable of its own
p.yaml:6:66: error: a runs at the same time; put the step behind the group
p.yaml:7:37: error: a step of a group cannot jump; let the group jump; for a step of it, say stop, continue or recovery
p.yaml:8:24: error: a step of a group cannot wait for a person; put it before the group or behind it
p.yaml:9:33: error: a is a step of a group, which runs as a whole; jump to the group`},
		{"writers at once", `
steps:
  - id: g
    parallel:
      - {id: a, input: x, agent: {prompt: You write., tools: [write_file]}}
      - {id: b, input: x, agent: {prompt: You write., tools: [edit_file]}}
      - {id: c, input: x, agent: {prompt: You write., tools: [write_file]}, worktree: true}
      - {id: d, input: x, agent: scout}
`, `p.yaml:5:7: warning: a, b may change the same files at the same time; give each worktree: true`},
		{"recovery", `
onFailure: recovery
steps:
  - {id: a, run: ls}
`, `p.yaml:2:12: error: the policy is recovery, but no recovery agent is named; name one with recovery: NAME`},
		{"tools", `
steps:
  - {id: a, tool: read_file, args: {pth: x}}
  - {id: b, tool: read_file, args: {pth: "{{input}}"}}
  - {id: c, run: "echo {{input}}"}
  - {id: d, agent: scout}
`, `p.yaml:3:30: error: read_file: path is missing; it is required; adroit tools show read_file says what it takes
p.yaml:3:30: error: read_file: pth is not known (did you mean "path"?); adroit tools show read_file says what it takes
p.yaml:4:30: error: read_file needs path; adroit tools show read_file says what it takes
p.yaml:4:42: error: read_file takes no pth; did you mean path?
p.yaml:5:18: error: no value is put into a command: what a model wrote would be run; hand the value to a tool: step, for example write_file, and have the command read the file; braces that the command is to have are written in quotes, as in {{"{{.State}}"}}
p.yaml:6:6: error: the step d asks its agent nothing; say what it is asked, as in input: "Plan this: {{input}}"`},
		{"composition", `
steps:
  - {id: a, pipeline: other}
`, `p.yaml:3:6: error: the pipeline other needs the input file; add inputs: {file: …}
p.yaml:3:23: error: a pipeline cannot contain itself: p > other > p; repeat a step with until: and max:, or jump back to one`},
		{"conditions", `
steps:
  - {id: a, run: ls}
  - {id: b, run: ls, when: {step: z, is: done}}
  - {id: c, run: ls, when: {any: [{step: a, is: dnoe}, {step: a, where: {type: nothing}}]}}
  - {id: d, run: ls, when: {any: [{step: a, is: good}, {step: a, is: ""}]}}
`, `p.yaml:4:35: error: there is no step z; there are a, b, c, d
p.yaml:5:36: error: a step is never "dnoe"; did you mean done?
p.yaml:5:66: error: where cannot be used: the schema is not valid: type is the string "nothing", want one of "null", "boolean", "number", "integer", "string", "array", "object"; it is a JSON Schema, as in {minLength: 1}
p.yaml:6:36: error: a step is never "good"; there are done, failed, skipped`},
		{"an inline agent", `
steps:
  - id: a
    input: x
    agent:
      tools: [read_fle]
      model: nope
      prompt: |
        You look.
        {{.Nope}}
`, `p.yaml:6:15: error: there is no tool read_fle; did you mean read_file?
p.yaml:7:14: error: there is no model and no role nope
p.yaml:10:3: error: the template names .Nope, which is not there; there are .Agent, .Prompt, .Inputs, .Tools, .Signal, .Dir, .Name, .UsageHint, .Description, .Category, .Optional`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := parsed(t, "p.yaml", tt.src)
			if got := lines(pipeline.Lint(p, known(t, other))); got != tt.want {
				t.Errorf("problems are\n%s\nwant\n%s", got, tt.want)
			}
			bad := pipeline.Lint(p, known(t, other)).Err()
			if _, err := pipeline.Pin(p, known(t, other)); fmt.Sprint(err) != fmt.Sprint(bad) { // what is to be run
				t.Errorf("a run says %v, lint %v", err, bad)
			}
		})
	}
}
