package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/tools/schema"
)

type countInput struct {
	Text string `json:"text" jsonschema:"description=What to count."`
}

func ExampleInfer() {
	s, err := schema.Infer[countInput]()
	fmt.Println(s, err)
	// Output: {"properties":{"text":{"type":"string","description":"What to count."}},"additionalProperties":false,"type":"object","required":["text"]} <nil>
}

func ExampleCompile() {
	s, err := schema.Compile(json.RawMessage(`{"type":"string","minLength":5}`))
	fmt.Println(s.Validate(json.RawMessage(`"abc"`)), err)
	// Output: [the value has 3 characters, want at least 5] <nil>
}
