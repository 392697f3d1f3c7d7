package turn

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Mode is a way to have a model call tools. Above all of them is the same
// loop.
type Mode string

const (
	// Auto takes the first way that works; the default.
	Auto Mode = "auto"
	// Native leaves it to the server: it describes the tools to the model
	// in the form it was trained for, and reads its calls.
	Native Mode = "native"
	// Constrained describes the tools in the prompt and has the server hold
	// each answer to a schema that allows one call or the final answer.
	Constrained Mode = "constrained"
	// Text describes the tools in the prompt and reads calls from what the
	// model writes.
	Text Mode = "text"
)

// Modes lists the valid values of Mode.
var Modes = []Mode{Auto, Native, Constrained, Text}

// Known reports whether m is one of [Modes].
func (m Mode) Known() bool { return slices.Contains(Modes, m) }

// Preference are tried in this order.
var Preference = []Mode{Native, Constrained, Text}

// A ModeFailure is a way that did not work out.
type ModeFailure struct {
	Mode Mode   `json:"way"`
	Why  string `json:"why"`
}

// Form describes to a model, in a few words, how it calls a tool.
func (m Mode) Form() string {
	switch m {
	case Text:
		return `as <tool_call>{"name": "tool_name", "arguments": {"key": "value"}}</tool_call> on a line of its own, with nothing behind it`
	case Constrained:
		return `as {"next": [{"tool": "tool_name", "arguments": {"key": "value"}}]} and nothing else`
	}
	return "through the interface for tools and not in the text of your answer"
}

// Meant is the offered tool that a name stands for which no tool has.
func Meant(name string, offered []llm.ToolSpec) (string, bool) { return textcall.Meant(name, offered) }

// BareName is a tool's name without what models leave around it.
func BareName(name string) string { return textcall.BareName(name) }

// RepairArguments reads arguments that are not quite JSON, in place, where they have one
// meaning, and says what it did. cut says that the answer ran out of room: what
// its last call lacks is not made up.
func RepairArguments(calls []llm.Call, cut bool) (notes []string) {
	for i := range calls {
		c := &calls[i]
		if c.Malformed == "" || c.Name == "" || c.Raw == "" || cut && i == len(calls)-1 {
			continue
		}
		if args, note, ok := textcall.Arguments(c.Raw); ok {
			c.Args, c.Malformed, c.Raw = args, "", ""
			notes = append(notes, note)
		}
	}
	return notes
}

// Synonyms are the names that other programs have for tools.
func Synonyms() map[string]string { return textcall.Synonyms }

// MaxMalformed is how many answers in a row may be malformed tool calls before
// their mode counts as failed.
const MaxMalformed = 2

// FlatSchema is an output schema as servers take it: without references.
func FlatSchema(output json.RawMessage) (json.RawMessage, error) {
	if len(output) == 0 {
		return nil, nil
	}
	s, err := schema.Compile(output)
	if err != nil {
		return nil, fmt.Errorf("the output schema cannot be used: %w", err)
	}
	return s.JSON(), nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}
