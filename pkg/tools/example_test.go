package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

type countInput struct {
	Text string `json:"text" jsonschema:"description=What to count."`
}

func count() tools.Tool {
	return tools.New(tools.Metadata{
		Name: "word_count", Description: "Count the words of a text.", Category: "utility",
		Produces: []string{"words"},
	}, func(_ context.Context, _ *tools.Env, in countInput) (int, error) {
		return len(strings.Fields(in.Text)), nil
	})
}

func ExampleNew() {
	r, err := count().Run(context.Background(), nil, json.RawMessage(`{"text":"to be or not"}`))
	fmt.Println(r.Text, string(r.Artifacts["words"]), err)
	r, err = count().Run(context.Background(), nil, json.RawMessage(`{"text":["to","be"],"size":2}`))
	fmt.Println(r.Text, err)
	// Output:
	// 4 4 <nil>
	// word_count was not called, its arguments do not fit:
	// - size is not known; there are text
	// - text is an array, want a string
	// It takes: an object with text (string) <nil>
}

func ExampleFunc() {
	t := tools.Func(tools.Metadata{Name: "echo", Description: "Return the arguments."},
		json.RawMessage(`{"type":"object","properties":{"say":{"type":"string"}}}`),
		func(_ context.Context, _ *tools.Env, args json.RawMessage) (tools.Result, error) {
			return tools.Result{Text: string(args)}, nil
		})
	r, err := t.Run(context.Background(), nil, json.RawMessage(`{"say":"hello"}`))
	fmt.Println(r.Text, err)
	// Output: {"say":"hello"} <nil>
}

func ExampleNewSet() {
	set, err := tools.NewSet(count())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = set.Only("wordcount")
	fmt.Println(set.Names(), err)
	// Output: [word_count] unknown tool "wordcount" (did you mean "word_count"?)
}

func ExampleRegistry() {
	var r tools.Registry
	defer r.Subscribe(func(c tools.Change) { fmt.Println("added", c.Added) })()
	fmt.Println(r.Register(count()))
	// Output:
	// added [word_count]
	// <nil>
}

func ExampleSet_Describe() {
	set, err := tools.NewSet(count())
	fmt.Print(set.Describe(func(string) bool { return true }), err)
	// Output:
	// ## utility
	//
	// Expected to be needed:
	//
	// - word_count(text): Count the words of a text.
	// <nil>
}
