package executor_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// The loop on an engine of one's own, with a journal in memory. pkg/adroit does
// this for a program that wants durable jobs.
func ExampleLoop() {
	model := llm.Func(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.Assistant, Text: "Four."}}, nil
	})
	set, err := tools.NewSet()
	if err != nil {
		log.Fatal(err)
	}
	journal := new(flow.Memory)
	steps := host.Serve(host.Host{
		Models: func(context.Context, string) (llm.Model, string, error) { return model, "any", nil },
		Tools:  set, Blobs: journal,
	})
	run := flow.NewRun("J1", flow.NewLocal(context.Background(), journal, steps, nil))
	state, err := executor.Loop(run, executor.Task{Instructions: executor.Instructions{Model: "lab/any", System: "You count.", Prompt: "Two and two?"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state.Outcome.Status+":", state.Outcome.Summary)
	// Output:
	// done: Four.
}

// A criterion reports to the model, and to people, why it does not hold.
func ExampleCriterion_Unmet() {
	done := executor.Criterion{All: []executor.Criterion{{Artifact: "diff"}, {Tool: "run_tests"}}}
	state := &executor.State{Produced: executor.Produced{Called: map[string]int{"run_tests": 1}}}
	fmt.Println(done.Unmet(state, nil))
	// Output:
	// artifact "diff" has not been produced
}
