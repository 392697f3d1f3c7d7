package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// quickTests stands for run_tests: the tests of its project pass if the file
// word says right. The real one takes a second.
var quickTests = tools.New(tools.Metadata{
	Name: "run_tests", Description: "Run the tests.", Category: "build", Needs: tools.Read, Proves: "the word is right", Produces: []string{"test_result"},
}, func(_ context.Context, env *tools.Env, _ struct{}) (tools.Result, error) {
	b, err := env.Files.ReadFile("word")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return tools.Result{}, err
	}
	ok := strings.Contains(string(b), "right")
	res, err := json.Marshal(m{"failed": map[bool]int{true: 0, false: 1}[ok], "passed": 1})
	return tools.Result{Failed: !ok, Text: fmt.Sprintf("the word is %q", b), Artifacts: map[string]json.RawMessage{"test_result": res}}, err
})

// TestKilled stops jobs of the workflows at their points and resumes them in
// another runtime: they end as those that were not stopped, with the same
// accounts and the same file. It takes one point of six, by ADROIT_SEED,
// and each in make kill.
func TestKilled(t *testing.T) {
	testenv.Long(t, "runs some hundred jobs")
	every, first := 6, 1
	if testenv.Night() {
		every = 1
	} else {
		first += int(testenv.Seed(t) % uint64(every))
	}
	report := `{calls: [{name: report_findings, args: {summary: s, findings: [{severity: minor, category: docs, file: word, line: 1, title: A word, detail: d}]}}], usage: {in: 10, out: 1}}`
	for _, c := range []struct {
		agent, artifact, word string
		inputs                map[string]json.RawMessage
		turns                 string
	}{
		{"until_tests_pass", "rounds", "right", nil, `
scenes:
  - when: A check of the project
    turns:
      - {calls: [{name: write_file, args: {path: word, content: "right\n"}}], usage: {in: 10, out: 1}}
      - {calls: [{name: finish, args: {summary: Fixed.}}], usage: {in: 10, out: 1}}
turns:
  - {calls: [{name: write_file, args: {path: word, content: "wrong\n"}}], usage: {in: 10, out: 1}}
  - {text: '{"status": "complete", "note": "Written."}', usage: {in: 10, out: 1}}
`},
		{"retry_analysis", "attempts_made", "right", map[string]json.RawMessage{"pause": json.RawMessage(`"1ms"`)}, `
scenes:
  - when: This was tried before
    turns:
      - {text: '{"approach": "a", "large": false}', usage: {in: 10, out: 1}}
      - {calls: [{name: write_file, args: {path: word, content: "right\n"}}], usage: {in: 10, out: 1}}
      - {text: '{"status": "complete", "note": "Written."}', usage: {in: 10, out: 1}}
      - {text: '{"changed": false, "verdict": "v"}', usage: {in: 10, out: 1}}
  - when: Each message says what to do now
    turns:
      - {text: '{"approach": "a", "large": false}', usage: {in: 10, out: 1}}
      - {text: '{"status": "blocked", "note": "Which word?"}', usage: {in: 10, out: 1}}
turns:
  - {text: '{"cause": "c", "advice": "Write right.", "hopeless": false}', usage: {in: 10, out: 1}}
`},
		{"fanout_review", "review", "here", map[string]json.RawMessage{"focus": json.RawMessage(`["correctness", "tests"]`)}, `
turns:
  - ` + report + `
  - {calls: [{name: finish, args: {summary: Reviewed.}}], usage: {in: 10, out: 1}}
`},
	} {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			var want string
			points := 0
			for n := first - every; ; n += every {
				n := max(n, 0)
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "word"), []byte("here\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				got, ended := stopped(t, c.turns, dir, agents.Input{Agent: c.agent, Prompt: "Write the word.", Inputs: c.inputs, Dir: dir}, c.artifact, n)
				word, err := os.ReadFile(filepath.Join(dir, "word"))
				if err != nil || strings.TrimSpace(string(word)) != c.word {
					t.Errorf("point %d: the word is %q, %v", n, word, err)
				}
				if n == 0 {
					want = got
				}
				if got != want {
					t.Errorf("point %d: got\n%s\nwant\n%s", n, got, want)
				}
				if n > 0 && ended {
					break
				}
				points = n
			}
			if points < 25 {
				t.Errorf("only %d points; it cannot have been stopped everywhere", points)
			}
			t.Logf("%d points", points)
		})
	}
}

// stopped runs a job that is stopped at point n, from 1, and resumed in another
// runtime, and gives what counts of its end. ended is true if it got to the end
// before.
func stopped(t *testing.T, turns, dir string, in agents.Input, artifact string, n int) (got string, ended bool) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	open := func() *adroit.Runtime {
		model, err := script.Parse("turns", []byte(turns))
		if err != nil {
			t.Fatal(err)
		}
		kit := slices.DeleteFunc(parts.Tools(), func(t tools.Tool) bool { return t.Name == "run_tests" || t.Name == "run_check" })
		rt, err := adroit.Open(t.Context(), adroit.Options{
			Tools: append(kit, quickTests, noCheck), Models: map[string]llm.Model{"script": model}, Model: "script/turns", Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}, Workspace: adroit.Workspace{Dir: dir},
			Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}, Workflows: workflows.All()},
		})
		if err != nil {
			t.Fatal(err)
		}
		return rt
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	rt := open()
	job, err := manager(t, rt).Submit(t.Context(), &jobs.Job{Workflow: in.Agent, Dir: dir, Model: "script/turns", Input: raw})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var count atomic.Int64
	last, err := manager(t, rt).Run(ctx, job.ID, jobs.RunOptions{Hook: func(string, flow.Step) {
		if count.Add(1) == int64(n) {
			cancel(jobs.ErrStopped)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ended = count.Load() < int64(n)
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
	if last.Status != jobs.Done {
		rt = open()
		if last, err = manager(t, rt).Resume(t.Context(), job.ID, jobs.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
	var s executor.State
	if err := json.Unmarshal(last.Output, &s); err != nil {
		t.Fatalf("point %d: %v: %s", n, err, last.Reason)
	}
	return fmt.Sprintf("%s %s: %s; %d turns, %d in; below %d agents, %d turns, %d calls, %d in", last.Status, last.Reason, s.Value(artifact),
		s.Turns, s.Usage.In, s.SubAgents.Agents, s.SubAgents.Turns, s.SubAgents.Calls, s.SubAgents.Usage.In), ended
}

// noCheck stands for run_check in a project that has nothing to check.
var noCheck = tools.New(tools.Metadata{
	Name: "run_check", Description: "Run a check.", Category: "build", Needs: tools.Read, Produces: []string{"checks"},
}, func(context.Context, *tools.Env, struct {
	Check string `json:"check,omitempty" jsonschema:"description=Which"`
}) (tools.Result, error) {
	return tools.Result{Text: "none", Artifacts: map[string]json.RawMessage{"checks": json.RawMessage("[]")}}, nil
})

func manager(t testing.TB, rt *adroit.Runtime) *jobs.Manager {
	t.Helper()
	m, err := rt.Manager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}
