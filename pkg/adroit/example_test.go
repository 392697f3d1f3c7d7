package adroit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// wordCount is a tool as a package of one's own would export it.
var wordCount = tools.New(tools.Metadata{
	Name: "word_count", Description: "Count the words of a text.", Category: "utility", Effect: tools.Pure, Produces: []string{"words"},
}, func(_ context.Context, _ *tools.Env, in struct {
	Text string `json:"text" jsonschema:"description=Text to count"`
}) (int, error) {
	return len(strings.Fields(in.Text)), nil
})

// The smallest program asks a model of a server.
func ExampleAsk_ollama() {
	server := must(ollama.New(ollama.Config{}))
	answer := must(adroit.Ask(context.Background(), llm.Named(server, "qwen3:8b"), "Why is the sky blue?"))
	fmt.Println(answer)
}

// A model may call tools before it answers.
func ExampleAsk() {
	model, err := script.Parse("turns", []byte(`turns:
  - calls: [{name: word_count, args: {text: the quick brown fox}}]
  - text: There are four words.`))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := adroit.Ask(context.Background(), model, "How many words has: the quick brown fox?", wordCount)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output:
	// There are four words.
}

// A program with its own tool and its own agent. With Data set to a directory
// and Store to sqlite.Store of it, the job would outlive the program.
func Example() {
	ctx := context.Background()
	model, err := script.Parse("turns", []byte(`turns:
  - calls: [{name: word_count, args: {text: the quick brown fox}}]
  - text: There are four words.`))
	if err != nil {
		log.Fatal(err)
	}
	rt, err := adroit.Open(ctx, adroit.Options{
		Tools:  []tools.Tool{wordCount},
		Models: map[string]llm.Model{"script": model},
		Model:  "script/turns",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	counter := rt.Agent(agents.DynamicAgent{
		Name: "counter", Description: "Count words.", Prompt: "You count words.",
		Tools: []string{"word_count"}, Done: executor.Criterion{Artifact: "words"},
	})
	job, err := counter.Execute(ctx, agents.Input{Prompt: "How many words has: the quick brown fox?"})
	if err != nil {
		log.Fatal(err)
	}
	state, err := job.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state.Outcome.Summary)
	fmt.Printf("%s words in %d turns: %s\n", state.Value("words"), state.Turns, state.Outcome.Reason)
	// Output:
	// There are four words.
	// 4 words in 2 turns: words produced
}

// A check of the program's own, over the state of the run: the model's claim
// to be done does not hold before the check does.
func Example_check() {
	ctx := context.Background()
	model, err := script.Parse("turns", []byte(`turns:
  - text: Halves are rounded away from zero.
  - {expect: {last: name the source}, text: "Halves are rounded away from zero, says https://pkg.go.dev/math."}`))
	if err != nil {
		log.Fatal(err)
	}
	cited := executor.NewCheck("cited", "Check that the answer names a source.", "the answer names a source",
		func(_ context.Context, s executor.RunSnapshot) error {
			if !strings.Contains(s.Last, "https://") {
				return errors.New("name the source of what you say")
			}
			return nil
		})
	rt, err := adroit.Open(ctx, adroit.Options{
		Tools:  []tools.Tool{cited},
		Models: map[string]llm.Model{"script": model},
		Model:  "script/turns",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	answerer := rt.Agent(agents.DynamicAgent{
		Name: "answerer", Description: "Answer a question.", Prompt: "You answer with a source.",
		Done: executor.Criterion{Check: "cited"},
	})
	job, err := answerer.Execute(ctx, agents.Input{Prompt: "How does math.Round round halves?"})
	if err != nil {
		log.Fatal(err)
	}
	state, err := job.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d turns: %s\n", state.Turns, state.Outcome.Reason)
	// Output:
	// 2 turns: cited passed
}

// A store of the program's own keeps the jobs; here it is that of memory, which
// outlives the first runtime.
func ExampleOptions_store() {
	ctx := context.Background()
	store := new(jobs.Memory)
	options := adroit.Options{
		Models:  map[string]llm.Model{"script": must(script.Parse("turns", []byte("turns: [{text: Hello.}]")))},
		Model:   "script/turns",
		Storage: adroit.Storage{Store: func(context.Context) (jobs.Store, error) { return store, nil }},
	}
	first := must(adroit.Open(ctx, options))
	greeter := agents.DynamicAgent{Name: "greeter", Description: "Greet.", Prompt: "You greet."}
	must(adroit.Run(ctx, first, adroit.Request{Input: agents.Input{Spec: &greeter, Prompt: "Hello?"}}))
	must(store, first.Close())

	second := must(adroit.Open(ctx, options))
	defer second.Close()
	for _, j := range must(second.Jobs(ctx, adroit.ListOptions{})) {
		fmt.Println(j.Agent, j.Status)
	}
	// Output: greeter done
}
