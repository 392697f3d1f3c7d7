package transport

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOrdinary: arguments that are accepted without parsing can be parsed.
func TestOrdinary(t *testing.T) {
	for _, args := range []string{`{}`, `{"a":"1e999 \" {","b":[1,2.5,{"c":null}]}`} {
		if !ordinary(json.RawMessage(args)) {
			t.Errorf("%s is read anew", args)
		}
	}
	for _, args := range []string{``, `[]`, `null`, `{`, `{"a":1e999}`, `{"a":-1E400}`, `{"a":2.5e999}`, `{"a":` + strings.Repeat("9", 400) + `}`} {
		if ordinary(json.RawMessage(args)) {
			t.Errorf("%s is taken as it is", args)
		}
		if got := string(Object(json.RawMessage(args))); got != "{}" {
			t.Errorf("%s is passed on as %s", args, got)
		}
	}
}

func FuzzOrdinary(f *testing.F) {
	f.Add(`{"a":1e5,"b":"c\\"}`)
	f.Fuzz(func(t *testing.T, args string) {
		var m map[string]any
		if ordinary(json.RawMessage(args)) && json.Unmarshal([]byte(args), &m) != nil {
			t.Errorf("%s is taken as it is", args)
		}
	})
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x \u003c y \u0026\u0026 z \u003e 1"}`: `{"a":"x < y && z > 1"}`,
		`{"a":"\\u003c \\\u003c \u00e9"}`:            `{"a":"\\u003c \\< \u00e9"}`,
		`{"a":1}`:                                    `{"a":1}`,
		`{"a":"\u003`:                                `{"a":"\u003`,
	} {
		if got := string(Plain(json.RawMessage(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// TestBare: marks of a model's own form behind arguments, or around them, are not arguments.
func TestBare(t *testing.T) {
	const args = `{"a":"</b> <|x|> ` + "```" + `"}`
	for _, in := range []string{args, args + "</tool_call>", args + "<|im_end|>\n", args + "\n</parameter>\n</function><|tool_call_end|>", "```json\n" + args + "\n```", "```\n" + args + "```"} {
		if got := bare(in); got != args {
			t.Errorf("%s became %s", in, got)
		}
	}
	for _, in := range []string{"", "x", args + args, args + " and more", `{"a":1` + "<|im_end|>", "```json\n[1]\n```", "```", args + "<b c>"} {
		if got := bare(in); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// TestPieces: arguments stand under one of the names that servers give them.
func TestPieces(t *testing.T) {
	for _, in := range []string{
		`[{"id":"i","function":{"name":"n","arguments":{"a":1}}}]`, `[{"id":"i","function":{"name":"n","parameters":{"a":1}}}]`,
		`[{"id":"i","name":"n","input":{"a":1}}]`, `[{"id":"i","type":"custom","custom":{"name":"n","input":"{\"a\":1}"}}]`,
	} {
		var calls ToolCalls
		if err := json.Unmarshal([]byte(in), &calls); err != nil {
			t.Fatal(err)
		}
		if got := calls.Pieces(); len(got) != 1 || got[0].Name != "n" || got[0].ID != "i" || got[0].Args != `{"a":1}` {
			t.Errorf("%s: %+v", in, got)
		}
	}
}
