package adroit_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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

// countTwice is a workflow: code decides what is called, and no model is asked.
var countTwice = agents.Define("count_twice", func(sc *executor.Scope) error {
	for _, text := range []string{sc.Task.Prompt, sc.Task.Prompt + " " + sc.Task.Prompt} {
		if _, err := sc.Tool("word_count", map[string]string{"text": text}); err != nil {
			return err
		}
	}
	return nil
})

const twice = "---\ndescription: Count words twice.\nworkflow: count_twice\ntools: [word_count]\ndone: {artifact: words}\n---\nNo model reads this.\n"

func silent() map[string]llm.Model {
	model, err := script.Parse("turns", []byte("turns: [{text: nobody asks me}]"))
	if err != nil {
		log.Fatal(err)
	}
	return map[string]llm.Model{"script": model}
}

// An agent whose file names a workflow of the program is run by it.
func ExampleOptions_workflows() {
	ctx := context.Background()
	rt, err := adroit.Open(ctx, adroit.Options{
		Tools:  []tools.Tool{wordCount},
		Models: silent(),
		Model:  "script/turns",
		Definitions: adroit.Definitions{
			Agents:    []agents.Layer{{Name: "mine", FS: fstest.MapFS{"twice.md": {Data: []byte(twice)}}}},
			Workflows: []flow.Workflow{countTwice},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	state, err := adroit.Run(ctx, rt, adroit.Request{Target: "twice", Input: agents.Input{Prompt: "the quick brown fox"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s words in %d turns: %s\n", state.Value("words"), state.Turns, state.Outcome.Reason)
	// Output:
	// 8 words in 0 turns: words produced
}

// A workflow that the program does not have is reported before there is a job; one
// that it has is found again by a later process.
func TestWorkflows(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	o := adroit.Options{
		Tools: []tools.Tool{wordCount}, Models: silent(), Model: "script/turns", Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}, Workspace: adroit.Workspace{Dir: t.TempDir()},
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "mine", FS: fstest.MapFS{"twice.md": {Data: []byte(twice)}}}}},
	}
	open := func() *adroit.Runtime {
		rt, err := adroit.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return rt
	}
	rt := open()
	if _, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "twice", Prompt: "a b"}}); err == nil || !strings.Contains(err.Error(), "is led by the workflow \"count_twice\", which this program does not have") {
		t.Errorf("without the workflow: %v", err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	o.Workflows = []flow.Workflow{countTwice}
	rt = open()
	job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "twice", Prompt: "a b"}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := job.Wait(t.Context()); err != nil || string(s.Value("words")) != "4" {
		t.Errorf("%v, %v", s, err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = open()
	defer rt.Close()
	kept, err := jobs.Find(t.Context(), manager(t, rt).Store, job.ID())
	if err != nil || kept.Workflow != "count_twice" || kept.Status != "done" {
		t.Errorf("%+v, %v", kept, err)
	}
}
