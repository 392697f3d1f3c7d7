package adroit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

type planned struct {
	Parts []string `json:"parts"`
}

// boss plans with the model, has its plan worked off at once, and sums up.
var boss = agents.Define("boss", func(sc *executor.Scope) error {
	plan, err := executor.AITurn[planned](sc, executor.Turn{Prompt: "Plan: " + sc.Task.Prompt})
	if err != nil {
		return err
	}
	var orders []executor.SubAgentRequest
	for _, p := range plan.Parts {
		orders = append(orders, executor.SubAgentRequest{Agent: "counter", Prompt: p})
	}
	reps, err := sc.SpawnAll(orders...)
	if err != nil && !errors.As(err, new(*executor.SpawnError)) {
		return err
	}
	var words []string
	for _, rep := range reps {
		words = append(words, fmt.Sprintf("%s %s %s", rep.Status, rep.Artifacts["words"], rep.Summary))
	}
	if err := sc.Bind("counts", words); err != nil {
		return err
	}
	_, err = executor.AITurn[string](sc, executor.Turn{Prompt: "Sum up: " + strings.Join(words, "; ")})
	return err
})

const (
	bossFile    = "---\ndescription: Leads.\nworkflow: boss\nspawn: {agents: [counter], fan_out: 2, total: 3}\nlimits: {tokens: 4000}\n---\nYou lead.\n"
	counterFile = "---\ndescription: Counts.\ntools: [word_count]\ndone: {artifact: words}\n---\nYou count words.\n"
)

const bossScript = `
scenes:
  - when: You lead.
    turns:
      - {text: 'no JSON', usage: {in: 10, out: 1}}
      - {text: '{"parts": ["count: one two", "count: three"]}', usage: {in: 20, out: 2}}
      - {text: 'All counted.', usage: {in: 30, out: 3}}
  - when: "count: one two"
    turns:
      - {calls: [{name: word_count, args: {text: one two}}], usage: {in: 100, out: 10}}
      - {text: two words, usage: {in: 110, out: 11}}
  - when: "count: three"
    turns:
      - {calls: [{name: word_count, args: {text: three}}], usage: {in: 200, out: 20}}
      - {text: one word, usage: {in: 210, out: 21}}
`

func bossed(t *testing.T, turns string, files map[string]string) adroit.Options {
	t.Helper()
	model, err := script.Parse("boss", []byte(turns))
	if err != nil {
		t.Fatal(err)
	}
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name+".md"] = &fstest.MapFile{Data: []byte(text)}
	}
	data := filepath.Join(t.TempDir(), "data")
	return adroit.Options{
		Tools: []tools.Tool{wordCount}, Models: map[string]llm.Model{"script": model}, Model: "script/boss",
		Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}, Workspace: adroit.Workspace{Dir: t.TempDir()},
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "mine", FS: fs}}, Workflows: []flow.Workflow{boss}},
	}
}

func runBoss(t *testing.T, o adroit.Options, in agents.Input) (*executor.State, *jobs.Job, error) {
	t.Helper()
	rt, err := adroit.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if in.Agent == "" {
		in.Agent = "boss"
	}
	job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: in})
	if err != nil {
		return nil, nil, err
	}
	s, err := job.Wait(t.Context())
	j, jerr := jobs.Find(t.Context(), manager(t, rt).Store, job.ID())
	if jerr != nil {
		t.Fatal(jerr)
	}
	return s, j, err
}

func TestSpawn(t *testing.T) {
	s, _, err := runBoss(t, bossed(t, bossScript, map[string]string{"boss": bossFile, "counter": counterFile}), agents.Input{Prompt: "the words"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Value("counts")); got != `["done 2 two words","done 1 one word"]` {
		t.Errorf("counts: %s", got)
	}
	if s.Last != "All counted." || s.Turns != 3 || s.Usage != (llm.Usage{In: 60, Out: 6}) {
		t.Errorf("%q after %d turns, %+v", s.Last, s.Turns, s.Usage)
	}
	want := executor.SubAgentUsage{Agents: 2, Turns: 4, Calls: 2, Usage: llm.Usage{In: 620, Out: 62}, ByModel: map[string]llm.Usage{"script/boss": {In: 620, Out: 62}}}
	if fmt.Sprint(s.SubAgents) != fmt.Sprint(want) {
		t.Errorf("below: %+v", s.SubAgents)
	}
}

// What an agent may not spawn is refused in words that say what it may, and is
// an error that a workflow can handle.
func TestSpawnBounds(t *testing.T) {
	for _, c := range []struct{ name, boss, parts, want string }{
		{"nobody", strings.Replace(bossFile, "spawn: {agents: [counter], fan_out: 2, total: 3}\n", "", 1), `["count: three"]`,
			"agent boss may spawn nobody; name those it may under spawn: in its file"},
		{"another", strings.Replace(bossFile, "agents: [counter]", "agents: [counters]", 1), `["count: three"]`,
			"agent boss may not spawn counter (did you mean \"counters\"?); it may spawn counters"},
		{"total", bossFile, `["count: three", "count: three", "count: three", "count: three"]`,
			"the job has had 3 sub-agents, as many as spawn.total allows"},
		{"tokens", strings.Replace(bossFile, "4000", "800", 1), `["count: three", "count: three", "count: three"]`,
			"reached the limit of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			turns := strings.Replace(bossScript, `["count: one two", "count: three"]`, c.parts, 1)
			o := bossed(t, turns, map[string]string{"boss": c.boss, "counter": counterFile, "counters": counterFile})
			seen := new(strings.Builder)
			o.Workflows = []flow.Workflow{agents.Define("boss", func(sc *executor.Scope) error {
				var p planned
				if err := json.Unmarshal([]byte(`{"parts":`+c.parts+`}`), &p); err != nil {
					return err
				}
				var orders []executor.SubAgentRequest
				for _, p := range p.Parts {
					orders = append(orders, executor.SubAgentRequest{Agent: "counter", Prompt: p})
				}
				reps, err := sc.SpawnAll(orders...)
				for _, r := range reps {
					fmt.Fprintf(seen, "%s: %s\n", r.Status, r.Reason)
				}
				if !errors.As(err, new(*executor.SpawnError)) {
					return fmt.Errorf("the error is %v", err)
				}
				return nil
			})}
			_, _, err := runBoss(t, o, agents.Input{Prompt: "x"})
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(seen.String(), c.want) {
				t.Errorf("%s\nis not %s", seen, c.want)
			}
		})
	}
}

// A job stopped at any of its points goes on to the same end with the same
// accounts.
func TestSpawnKilled(t *testing.T) {
	o := bossed(t, bossScript, map[string]string{"boss": bossFile, "counter": counterFile})
	for n := 1; ; n++ {
		var count atomic.Int64
		o.Data = filepath.Join(t.TempDir(), "data")
		o.Store = sqlite.Store(o.Data)
		model, err := script.Parse("boss", []byte(bossScript))
		if err != nil {
			t.Fatal(err)
		}
		o.Models = map[string]llm.Model{"script": model}
		rt, err := adroit.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(agents.Input{Agent: "boss", Prompt: "the words", Dir: o.Dir})
		if err != nil {
			t.Fatal(err)
		}
		job, err := manager(t, rt).Submit(t.Context(), &jobs.Job{Workflow: "boss", Dir: o.Dir, Model: "script/boss", Input: raw})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		run := jobs.RunOptions{Hook: func(string, flow.Step) {
			if count.Add(1) == int64(n) {
				cancel(jobs.ErrStopped)
			}
		}}
		first, err := manager(t, rt).Run(ctx, job.ID, run)
		cancel(nil)
		if err != nil {
			t.Fatal(err)
		}
		if first.Status == jobs.Done && count.Load() < int64(n) {
			t.Logf("%d points", count.Load())
			if err := rt.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		last := first
		if first.Status != jobs.Done {
			if last, err = manager(t, rt).Resume(t.Context(), job.ID, jobs.RunOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		var s executor.State
		if err := json.Unmarshal(last.Output, &s); err != nil {
			t.Fatalf("point %d: %v: %s", n, err, last.Reason)
		}
		switch {
		case last.Status != jobs.Done:
			t.Errorf("last.Status is %v, want %v: point %d: %s %s, %s, %+v", last.Status, jobs.Done, n, last.Status, last.Reason, s.Value("counts"), s.SubAgents)
		case string(s.Value("counts")) != `["done 2 two words","done 1 one word"]`:
			t.Errorf("string(s.Value(\"counts\")) is not `[\"done 2 two words\",\"done 1 one word\"]`: point %d: %s %s, %s, %+v", n, last.Status, last.Reason, s.Value("counts"), s.SubAgents)
		case s.SubAgents.Usage.In != 620:
			t.Errorf("s.SubAgents.Usage.In is %v, want 620: point %d: %s %s, %s, %+v", s.SubAgents.Usage.In, n, last.Status, last.Reason, s.Value("counts"), s.SubAgents)
		case s.Usage.In != 60:
			t.Errorf("s.Usage.In is %v, want 60: point %d: %s %s, %s, %+v", s.Usage.In, n, last.Status, last.Reason, s.Value("counts"), s.SubAgents)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A model spawns agents itself: they work at once, what they say are its
// results, and what they took is in the accounts.
func TestSpawnAgent(t *testing.T) {
	o := bossed(t, strings.Replace(bossScript, `
  - when: You lead.
    turns:
      - {text: 'no JSON', usage: {in: 10, out: 1}}
      - {text: '{"parts": ["count: one two", "count: three"]}', usage: {in: 20, out: 2}}
      - {text: 'All counted.', usage: {in: 30, out: 3}}`, `
  - when: "- counter: Counts."
    turns:
      - calls:
          - {name: spawn_agent, args: {agent: counter, task: "count: one two"}}
          - {name: spawn_agent, args: {agent: counter, task: "count: three"}}
          - {name: spawn_agent, args: {agent: writer, task: "count: three"}}
        usage: {in: 10, out: 1}
      - expect: {contains: "two words"}
        calls: [{name: spawn_agent, args: {agent: counter, task: "count: three"}}]
      - expect: {contains: "one word"}
        calls: [{name: spawn_agent, args: {agent: counter, task: "count: three"}}]
      - expect: {last: "as many as spawn.total allows"}
        text: All counted.`, 1), map[string]string{"boss": strings.Replace(bossFile, "workflow: boss\n", "", 1), "counter": counterFile})
	o.Tools = append(o.Tools, control.Spawn)
	s, _, err := runBoss(t, o, agents.Input{Prompt: "the words"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Last != "All counted." || s.SubAgents.Agents != 3 || s.SubAgents.Usage.In != 210+2*410 {
		t.Errorf("%q, %+v", s.Last, s.SubAgents)
	}
}

// An agent made on the fly gets no tool that needs more than the agent in whose
// place it works.
func TestSpawnMade(t *testing.T) {
	for _, c := range []struct{ prompt, tool, want string }{
		{"You count words, made on the fly.", "word_count", "done: "},
		{"You count words.", "put", "failed: agent counter: error: put needs write, which the agent does not grant; grant it, or take the tool out"},
	} {
		var seen string
		o := bossed(t, strings.ReplaceAll(bossScript, "count: three", "made on the fly"), map[string]string{"boss": bossFile, "counter": counterFile})
		o.Tools = append(o.Tools, tools.New(tools.Metadata{Name: "put", Description: "Writes.", Category: "utility", Needs: tools.Write},
			func(context.Context, *tools.Env, struct{}) (string, error) { return "", nil }))
		o.Workflows = []flow.Workflow{agents.Define("boss", func(sc *executor.Scope) error {
			spec, err := json.Marshal(agents.DynamicAgent{Name: "counter", Description: "Counts.", Tools: []string{c.tool}, Prompt: c.prompt})
			if err != nil {
				return err
			}
			rep, _ := sc.Spawn(executor.SubAgentRequest{Agent: "counter", Prompt: "three", Spec: spec})
			seen = rep.Status + ": " + rep.Reason
			return nil
		})}
		if _, _, err := runBoss(t, o, agents.Input{Prompt: "x"}); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(seen, c.want) {
			t.Errorf("%s instead of %s", seen, c.want)
		}
	}
}
