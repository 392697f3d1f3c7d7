package llm_test

import (
	"context"
	"fmt"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A function is a model: for a test, or for a provider with a protocol of its
// own. An answer with calls sets Stop to StopCalls and gives each call an ID.
func ExampleFunc() {
	var m llm.Model = llm.Func(func(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		answer := llm.Message{Role: llm.Assistant, Text: "You wrote: " + req.Messages[len(req.Messages)-1].Text}
		if emit != nil {
			emit(llm.Delta{Text: answer.Text})
		}
		return &llm.Response{Message: answer, Stop: llm.StopEnd, Usage: llm.Usage{In: 3, Out: 5}}, nil
	})
	r, err := m.Generate(context.Background(), &llm.Request{Model: "echo", Messages: []llm.Message{{Role: llm.User, Text: "hello"}}}, nil)
	fmt.Println(r.Message.Text, r.Stop, err)
	// Output: You wrote: hello end <nil>
}
