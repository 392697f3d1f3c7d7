package pipeline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

const full = `name: feature
description: Build a feature.
inputs:
  issue: {description: Its number., optional: true}
variables: {style: terse, notes: ""}
defaults: {model: cheap, limits: {turns: 20}, context: {each: 1000, all: 5000}}
onFailure: recovery
recovery: {agent: medic, attempts: 2}
max_steps: 30
steps:
  - id: scout
    name: Look around
    agent:
      model: cheap
      tools: [read_file]
      effort: low
      limits: {turns: 5}
      output: {type: object}
      prompt: |
        You look.
        You report.
    input: "Look at {{input}} for {{issue}}"
    output: findings
    timeout: 5m
    retries: {attempts: 2, backoff: 1s}
    onSuccess: build
    onFailure: simple
  - {id: simple, run: ls -R, output: findings}
  - id: build
    agent: builder
    input: "{{findings.files.0}} {{style}}"
    when: {all: [{step: scout, not: skipped}, {var: findings, where: {minLength: 1}}]}
    until: {var: verdict, is: good}
    max: 3
    output: verdict
  - {id: ask, await: {signal: answer, question: "Is {{verdict}} right?"}, timeout: 1h}
  - id: checks
    parallel:
      - {id: vet, tool: run_tests, args: {path: "{{findings}}"}, retries: 1, onFailure: continue}
      - {id: sub, pipeline: review, input: "{{input}}", needs: [build]}
    onSuccess: end
`

func TestParse(t *testing.T) {
	p, ps := pipeline.Parse("feature.yaml", []byte(full))
	if len(ps) > 0 {
		t.Fatalf("problems:\n%s", lines(ps))
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back pipeline.Pipeline
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(b) {
		t.Errorf("a pipeline does not survive JSON:\n%s\n%s", b, again)
	}
	s := back.Steps[0]
	switch {
	case s.Agent.Spec.Prompt != "You look.\nYou report.":
		t.Errorf(`s.Agent.Spec.Prompt is %v, want "You look.\nYou report.": the first step is %+v`, s.Agent.Spec.Prompt, s)
	case s.Agent.Name != "scout":
		t.Errorf(`s.Agent.Name is %v, want "scout": the first step is %+v`, s.Agent.Name, s)
	case s.Timeout != 5*time.Minute:
		t.Errorf("s.Timeout is %v, want %v: the first step is %+v", s.Timeout, 5*time.Minute, s)
	case s.Retries.Backoff != time.Second:
		t.Errorf("s.Retries.Backoff is %v, want %v: the first step is %+v", s.Retries.Backoff, time.Second, s)
	}
	var kinds []string
	for _, s := range back.Steps {
		kinds = append(kinds, s.Kind())
	}
	if got := strings.Join(kinds, " "); got != "agent run agent await parallel" {
		t.Errorf("the kinds are %s", got)
	}
}

// TestParseProblems wants every problem, each at its place.
func TestParseProblems(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"empty", "", `p.yaml:1:1: error: the pipeline has no steps; list at least one under steps:`},
		{"no steps", "name: x\nsteps: []\n", `p.yaml:2:8: error: the pipeline has no steps; list at least one under steps:`},
		{"keys", "stps: []\nsteps:\n  - {id: a, run: ls, on_success: end, intput: x}\n",
			`p.yaml:1:1: error: unknown key "stps"; did you mean steps?
p.yaml:3:22: error: unknown key "on_success": it is spelled onSuccess here; write onSuccess
p.yaml:3:39: error: unknown key "intput" in the step a; did you mean input?`},
		{"kinds", "steps:\n  - {id: a}\n  - {id: b, run: ls, tool: shell}\n  - {run: ls, prompt: x, zzz: 1}\n  - x\n",
			`p.yaml:2:6: error: the step a does nothing; give it agent, run, tool, check, await, pipeline or parallel
p.yaml:3:6: error: the step b is run and tool at once; make them steps of their own
p.yaml:4:6: error: a step has no id; give it one, as in id: scout
p.yaml:4:15: error: unknown key "prompt": it is spelled input here; write input
p.yaml:4:26: error: unknown key "zzz" in this step; known are agent, args, await, check, id, input, inputs, limits, max, mcp_servers, model, name, needs, onFailure, onSuccess, output, parallel, pipeline, repeatable, retries, run, timeout, tool, until, when, worktree
p.yaml:5:5: error: a step is text, not keys with values; write it like - {id: test, run: go test ./...}`},
		{"checks", "steps:\n  - {id: a, check: run_tests, args: {}}\n  - {id: b, check: {tool: x, run: y}}\n",
			`p.yaml:2:31: error: a step with check has no args; write it into check
p.yaml:3:21: error: check has either tool or run; write check: TOOL, check: {tool: TOOL, with: {…}} or check: {run: "COMMAND"}`},
		{"names", "name: Big One\nsteps:\n  - {id: end, run: ls, output: input}\n  - {id: a b, run: ls, output: x-y}\n",
			`p.yaml:1:7: error: the name "Big One" cannot be used; use lower case letters, digits, - and _, as in fix-bug
p.yaml:3:10: error: a step cannot be called "end": the word says what comes next; choose another
p.yaml:3:32: error: {{input}} is there already; choose another name
p.yaml:4:10: error: the id "a b" cannot be used; begin it with a letter, and use at most 64 letters, digits, - and _, as in scout
p.yaml:4:32: error: the variable "x-y" cannot be named so; use letters, digits and _, as in plan`},
		{"misplaced", "steps:\n  - {id: a, run: ls, input: x, model: cheap}\n  - {id: b, run: ls, until: {step: b, is: done}}\n",
			`p.yaml:2:22: error: input means nothing for a step with run; it belongs to steps with agent or pipeline
p.yaml:2:32: error: model means nothing for a step with run; it belongs to steps with agent
p.yaml:3:6: error: the step b is repeated until something holds, without a cap; add max: 3`},
		{"values", "onFailure: contiue\nsteps:\n  - {id: a, run: ls, timeout: soon, retries: 99, max: 0, when: {var: x}}\n",
			`p.yaml:1:12: error: onFailure of the pipeline is "contiue"; did you mean continue?
p.yaml:3:31: error: timeout is not a duration; write it like 30m or 1h30m
p.yaml:3:46: error: retries is 99; it is from 0 to 20
p.yaml:3:55: error: max is 0; it is from 1 to 10000
p.yaml:3:65: error: when says nothing about the value; add one of is, not and where`},
		{"one fault, one line", "max_steps: 0\nlimits: {tokens: -4}\nsteps:\n  -\n  - {id: a, runn: ls}\n  - {id: b, run: [ls]}\n  - {id: c, await: [x]}\n  - {id: d, run: ls, when: x}\n  - {id: 1, check: run_tests}\n",
			`p.yaml:1:12: error: max_steps is 0; it is from 1 to 10000
p.yaml:2:10: error: limits.tokens is negative; -1 means no limit
p.yaml:4:4: error: a step is nothing, not keys with values; write it like - {id: test, run: go test ./...}
p.yaml:5:13: error: unknown key "runn" in the step a; did you mean run?
p.yaml:6:18: error: run is a list, not text
p.yaml:7:20: error: await is a list, not text
p.yaml:8:28: error: when is text, not keys with values
p.yaml:9:10: error: the id "1" cannot be used; begin it with a letter, and use at most 64 letters, digits, - and _, as in scout`},
		{"steps of another program", "steps:\n  a: {run: ls}\n", `p.yaml:2:3: error: steps is a mapping, not a list of steps; write each as - id: …`},
		{"tabs", "steps:\n\t- id: a\n", "p.yaml:2:1: error: the file is not valid YAML: found character '\t' that cannot start any token; the line is indented with a tab; YAML takes blanks"},
		{"an inline agent", "steps:\n  - id: a\n    input: x\n    agent: {promt: Do it., mcp_servers: [x]}\n",
			`p.yaml:4:13: error: unknown key "promt"; did you mean prompt?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := pipeline.Parse("p.yaml", []byte(tt.src))
			if got := lines(ps); got != tt.want {
				t.Errorf("problems are\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestHostile wants what is no pipeline but a burden refused at once.
func TestHostile(t *testing.T) {
	bomb := "variables:\n  a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'z'; i++ {
		bomb += "  " + string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+string(i-1)+",", 9) + "]\n"
	}
	deep := ""
	for i := range 1000 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	var manyValues strings.Builder
	manyValues.WriteString("steps:\n  - id: a\n    agent: x\n    input: |\n")
	for i := range 60_000 {
		fmt.Fprintf(&manyValues, "      {{x%d}}\n", i)
	}
	for _, tt := range []struct{ name, src, want string }{
		{"10 MB", strings.Repeat("# filler\n", 10<<20/9), "a pipeline has at most 1048576"},
		{"anchors in anchors", bomb + "steps:\n  - {id: a, run: ls}\n", "anchors, references, tags and special numbers are not used here"},
		{"brackets", "steps: " + strings.Repeat("[", 500_000), "nests more than 100 deep"},
		{"lists on a line", "steps:\n" + strings.Repeat("- ", 400_000), "nests more than 100 deep"},
		{"indentation", deep, "nests more than 100 deep"},
		{"steps", "steps:\n" + strings.Repeat("  - {id: a, run: ls}\n", 20_000), "the pipeline has more than 200 steps"},
		{"groups", "steps:\n  - {id: a, parallel: [" + strings.Repeat("{id: a, parallel: [", 20) + strings.Repeat("]}", 21), "groups nest more than 5 deep"},
		{"values", manyValues.String(), "reads values in more than 2000 places"},
		{"bytes", "steps: \xff", "not text in UTF-8"},
		{"documents", "steps:\n  - {id: a, run: ls}\n---\nsteps: []\n", "more than one YAML document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			p, ps := pipeline.Parse("p.yaml", []byte(tt.src))
			if p != nil {
				ps = append(ps, pipeline.Lint(p, pipeline.Known{})...)
			}
			if ps.Err() == nil || !strings.Contains(lines(ps), tt.want) {
				t.Errorf("problems are\n%.500s\nwant %s", lines(ps), tt.want)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			t.Log(time.Since(begin), len(ps))
		})
	}
}

func lines(ps agents.Problems) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}
