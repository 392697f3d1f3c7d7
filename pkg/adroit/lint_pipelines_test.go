package adroit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
)

// faultyPipelines have one fault each.
var faultyPipelines = []string{
	"", "steps: 1\n", "steps: []\n", "nobody: 1\nsteps:\n  - {id: a, run: x}\n", "name: A B\nsteps:\n  - {id: a, run: x}\n", "steps:\n  - {id: a}\n", "steps:\n  - {id: A B, run: x}\n",
	"steps:\n  - {id: a, run: x}\n  - {id: a, run: x}\n", "steps:\n  - {id: a, run: x, tool: read_file}\n", "steps:\n  - {id: a, agent: no_such, input: go}\n", "steps:\n  - {id: a, tool: no_such}\n",
	"steps:\n  - {id: a, tool: read_file, args: {pth: x}}\n", "steps:\n  - {id: a, pipeline: no_such}\n", "steps:\n  - {id: a, pipeline: faulty}\n", "steps:\n  - {id: a, run: \"{{nobody}}\"}\n",
	"steps:\n  - {id: a, run: \"{{\"}\n", "steps:\n  - {id: a, run: x, needs: [b]}\n", "steps:\n  - {id: a, run: x, needs: [b]}\n  - {id: b, run: x, needs: [a]}\n", "steps:\n  - {id: a, run: x, timeout: soon}\n",
	"steps:\n  - {id: a, run: x, timeout: -1s}\n", "steps:\n  - {id: a, run: x, onFailure: z}\n", "onFailure: perhaps\nsteps:\n  - {id: a, run: x}\n", "steps:\n  - {id: a, check: list_files}\n",
	"steps:\n  - {id: a, check: no_such}\n", "steps:\n  - {id: a, run: x, retry: {max: -1}}\n", "inputs: 1\nsteps:\n  - {id: a, run: x}\n", "limits: {turns: 2}\nsteps:\n  - {id: a, run: x}\n", "limits: {tokens: -2}\nsteps:\n  - {id: a, run: x}\n", "steps:\n  - {id: a, await: \"A\\nB\"}\n",
	"steps:\n  - {id: a, parallel: []}\n", "steps:\n  - {id: a, run: x, when: \"{{\"}\n", "steps:\n  - {id: a, agent: counter, input: go, model: Non Sense}\n",
}

// What lint refuses of a pipeline, nothing runs: not in Go and not over HTTP, by itself or as
// a step of another.
func TestWhatLintRefusesOfPipelines(t *testing.T) {
	agent := map[string]string{"counter": front("tools: [read_file]")}
	for i, text := range faultyPipelines {
		what := fmt.Sprintf("%d %q", i, text)
		report, err := open(t, lintOptions(t, agent, nil)).LintPipelines(t.Context(), adroit.LintRequest{Files: []adroit.LintFile{{Name: "faulty.yaml", Text: []byte(text)}}})
		if err != nil {
			t.Fatal(err)
		}
		words := first(report.Problems)
		if words == "" {
			t.Errorf("%s: lint finds nothing", what)
			continue
		}
		rt, err := adroit.Open(t.Context(), lintOptions(t, agent, map[string]string{"faulty": text, "outer": "steps:\n  - {id: a, pipeline: faulty}\n"}))
		if err != nil {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: Open says %v, lint %q", what, err, words)
			}
			continue
		}
		runs(t, rt, what, words, map[string]adroit.Request{"run": {Input: agents.Input{Pipeline: "faulty", Prompt: "go"}}})
		for _, way := range []string{"outer"} {
			if _, err := rt.Submit(t.Context(), adroit.Request{Input: agents.Input{Pipeline: way, Prompt: "go"}}); err == nil {
				t.Errorf("%s: a pipeline with it as a step is taken", what)
			}
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}
