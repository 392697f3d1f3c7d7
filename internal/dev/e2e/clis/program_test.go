package clis_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/clis"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/cliagent"
	"github.com/adroit-run/adroit/pkg/parts"
)

// A Go program has them as the provider cli, with the same effect.
func TestGoProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "codex", "{signal: DONE}", clis.Turn{Run: "echo beta > b.txt"}, clis.Turn{Say: "There.\nDONE"})
	vars := map[string]string{}
	for _, kv := range w.env {
		key, value, _ := strings.Cut(kv, "=")
		vars[key] = value
	}
	programs, err := cliagent.Open(cliagent.Config{Name: "codex", Env: []string{"HOME", "LOOP_KEY"}, Getenv: func(key string) string { return vars[key] }})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := adroit.Open(t.Context(), adroit.Options{Tools: parts.Tools(), Models: map[string]llm.Model{"cli": programs}, Model: "cli/codex"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	helper := rt.Agent(agents.DynamicAgent{Name: "helper", Description: "Helps.", Prompt: "You help.", Tools: []string{"write_file"},
		Done: executor.Criterion{All: []executor.Criterion{{Signal: "DONE"}, {Artifact: "diff", Where: []byte(`{"minLength":1}`)}}}})
	job, err := helper.Execute(t.Context(), agents.Input{Prompt: "Make b.txt.", Dir: w.dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := job.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.read("b.txt") != "beta\n" || s.Outcome.Status != executor.Done || !strings.Contains(string(s.Value("diff")), "+beta") {
		t.Errorf("b.txt %q, %+v, diff %s", w.read("b.txt"), s.Outcome, s.Value("diff"))
	}
}
