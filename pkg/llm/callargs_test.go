package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// TestCallArguments checks that arguments come out of a journal with the blanks that the
// model wrote, as often as they go in, and that journals without such blanks are
// unchanged.
func TestCallArguments(t *testing.T) {
	for args, stored := range map[string]string{
		`{"a":1,"b":[2,3]}`:                     `{"id":"c","name":"f","args":{"a":1,"b":[2,3]}}`,
		`{"a": 1, "b": [2, 3]}`:                 `{"id":"c","name":"f","args":{"a":1,"b":[2,3]},"spaced":true}`,
		`{"a": "x:y, \"z\\", "b": {}}`:          `{"id":"c","name":"f","args":{"a":"x:y, \"z\\","b":{}},"spaced":true}`,
		"{\n  \"a\": 1\n}":                      `{"id":"c","name":"f","args":{"a":1},"written":"{\n  \"a\": 1\n}"}`,
		`{}`:                                    `{"id":"c","name":"f","args":{}}`,
		``:                                      `{"id":"c","name":"f"}`,
		`{"a": "if a < b && c > d", "b": null}`: `{"id":"c","name":"f","args":{"a":"if a \u003c b \u0026\u0026 c \u003e d","b":null},"spaced":true}`,
	} {
		c := llm.Call{ID: "c", Name: "f", Args: json.RawMessage(args)}
		if args == "" {
			c.Args = nil
		}
		for range 3 {
			b, err := json.Marshal(c)
			if err != nil || string(b) != stored {
				t.Fatalf("%s is stored as %s (%v), want %s", args, b, err, stored)
			}
			c = llm.Call{}
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(c.Args))
			if got != args {
				t.Fatalf("%s comes back as %s", args, got)
			}
		}
	}
}
