package adroit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Notes are what the model writes; its schema is derived from the type.
type Notes struct {
	Headline string   `json:"headline"`
	Changes  []string `json:"changes"`
}

// release is a workflow: the model writes, a person gives the version, code does the rest.
// It may not read clocks or files itself, since it is replayed after a crash; tools do.
var release = agents.Define("release", func(sc *executor.Scope) error {
	notes, err := executor.AITurn[Notes](sc, executor.Turn{Prompt: "Write release notes for: " + sc.Task.Prompt})
	if err != nil {
		return err
	}
	version, err := flow.Await[string](sc.Run, "version", 0, notes)
	if err != nil {
		return err
	}
	page := fmt.Sprintf("%s: %s", version, notes.Headline)
	for _, c := range notes.Changes {
		page += "\n* " + c
	}
	size, err := sc.Tool("word_count", map[string]string{"text": page})
	if err != nil {
		return err
	}
	if err := sc.Note("%s words", size.Text); err != nil {
		return err
	}
	return sc.Bind("notes", page)
})

// A job that a workflow leads stops for its question; the answer may come from another
// process and much later.
func Example_workflow() {
	ctx := context.Background()
	model := must(script.Parse("turns", []byte(`turns: [{text: '{"headline": "Faster", "changes": ["Start in 20 ms", "Read less"]}'}]`)))
	rt := must(adroit.Open(ctx, adroit.Options{
		Tools: []tools.Tool{wordCount}, Models: map[string]llm.Model{"script": model}, Model: "script/turns",
		Definitions: adroit.Definitions{
			Workflows: []flow.Workflow{release},
			Literals: []agents.DynamicAgent{{Name: "releaser", Description: "Release.", Prompt: "You write release notes.",
				Workflow: "release", Tools: []string{"word_count"}, Done: executor.Criterion{Artifact: "notes"}}},
		},
	}))
	defer rt.Close()
	job := must(adroit.Start(ctx, rt, adroit.Request{Target: "releaser", Input: agents.Input{Prompt: "the start is faster"}}))
	_, err := job.Wait(ctx)
	if waits := new(adroit.StatusError); errors.As(err, &waits) {
		fmt.Println("job:", waits.Job.Status)
	}
	for _, q := range must(job.Questions(ctx)) {
		fmt.Printf("%s? %s\n", q.Signals[0], q.About)
		must(q, job.Answer(ctx, q, "v1.4.0"))
	}
	must(job.Start(ctx, adroit.StartOptions{}))
	var page string
	must(page, json.Unmarshal(must(job.Wait(ctx)).Value("notes"), &page))
	fmt.Println(page)
	// Output:
	// job: waiting
	// version? {"headline":"Faster","changes":["Start in 20 ms","Read less"]}
	// v1.4.0: Faster
	// * Start in 20 ms
	// * Read less
}
