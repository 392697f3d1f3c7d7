package textcall

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// TestNoCallIsLost checks that a call is run if it has one meaning, and asked about if it has none
// or two; quoted calls are ignored.
func TestNoCallIsLost(t *testing.T) {
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	offered := []llm.ToolSpec{{Name: "read_file", Input: path}, {Name: "write_file", Input: path}, {Name: "do_it", Input: path}, {Name: "doit", Input: path}}
	const a, fence = `{"path":"a.go"}`, "```"
	for _, c := range []struct{ text, runs, asks string }{
		{`{"name": "readFile", "arguments": ` + a + `}`, "read_file", ""},
		{`{"name": "ReadFile", "arguments": ` + a + `}`, "read_file", ""},
		{`{"name": "Read", "arguments": ` + a + `}`, "read_file", ""},
		{"<tool_call>{'name': 'read_file', 'arguments': {'path': 'a.go',},}</tool_call>", "read_file", ""},
		{`{"action": "read_file", "action_input": ` + a + `}`, "read_file", ""},
		{"Thought: I look.\nAction: read_file\nAction Input: " + a, "read_file", ""},
		{"Action: Read\nAction Input: " + a + "\nObservation: package a", "read_file", ""},
		{`{"name": "WriteFile", "arguments": ` + a + `}`, "write_file", ""},
		{`{"name": "Write", "arguments": ` + a + `}`, "", `calls "Write"`},
		{`{"name": "Do-It", "arguments": ` + a + `}`, "", `calls "Do-It"`},
		{`{"name": "run_linter", "arguments": ` + a + `}`, "", `calls "run_linter"`},
		{"I lint it.\n" + fence + "json\n" + `{"name": "run_linter", "arguments": ` + a + "}\n" + fence, "", `calls "run_linter"`},
		{"I lint it.\n" + `{"name": "run_linter", "arguments": ` + a + "}", "", `calls "run_linter"`},
		{"Action: run_linter\nAction Input: " + a, "", `calls "run_linter"`},
		{"Action: read_file\nAction Input: " + a + "\nAction: read_file\nAction Input: " + a, "", "looks like a call of read_file"},
		{"Action: read_file\nAction Input: " + `{"path": "a`, "", "looks like a call of read_file"},
		{"Action: read_file\nAction Input: " + a + "\nThat is all.", "", "looks like a call of read_file"},
		{"⟦call read_file⟧" + a + "⟦/call⟧", "", "looks like a call of read_file"},
		{"I look.\n【read_file】\n" + a, "", "looks like a call of read_file"},
		{"«read_file» " + a, "", "looks like a call of read_file"},
		{"[[read_file]]\n" + a, "", "looks like a call of read_file"},
		{`<write_file path="a.go">package a</write_file>`, "", "looks like a call of write_file"},
		{`The tag <write_file path="a.go"> opens it.`, "", ""},
		{"「read_file」 reads a file.", "", ""},
		{"This is the format, for example:\nAction: run_linter\nAction Input: " + a, "", ""},
		{"The configuration is\n" + fence + "json\n" + `{"name": "adroit", "version": "1"}` + "\n" + fence, "", ""},
		{`{"action": "Final Answer", "action_input": "All is well."}`, "", ""},
	} {
		f := Read(c.text, Options{Offered: offered})
		runs := ""
		for _, call := range f.Calls {
			if runs += call.Name; call.Malformed != "" || string(call.Args) != a {
				t.Errorf("%q: arguments %s %s", c.text, call.Args, call.Malformed)
			}
		}
		if runs != c.runs || !strings.Contains(f.UnreadCall, c.asks) || (c.asks == "") != (f.UnreadCall == "") {
			t.Errorf("%q: ran %q, asked %q; want %q and %q", c.text, runs, f.UnreadCall, c.runs, c.asks)
		}
	}
}

func TestBareName(t *testing.T) {
	for name, want := range map[string]string{
		"functions.read_file": "read_file", "default_api.read_file": "read_file", "functions::edit_file": "edit_file", "tool/finish": "finish",
		"read_file<|channel|>commentary": "read_file", " `read_file` ": "read_file", "'read_file'": "read_file",
		"github.delete_file": "github.delete_file", "mcp__tools__read": "mcp__tools__read", "functions": "functions", "tools.": "tools.", "": "",
	} {
		if got := BareName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// TestQuotedCallsAreNotRun has calls that stand in a quotation or in a sentence, and calls
// that rest on a result which the model made up.
func TestQuotedCallsAreNotRun(t *testing.T) {
	offered := []llm.ToolSpec{{Name: "read_file"}, {Name: "delete_file"}}
	for i := range offered {
		offered[i].Input = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	}
	call := func(name string) string {
		return `<tool_call>{"name":"` + name + `","arguments":{"path":"a"}}</tool_call>`
	}
	for text, want := range map[string]string{
		"The file says:\n> " + call("delete_file"): "",
		"  > " + call("delete_file"):               "",
		"It holds an injected instruction, which I did not follow:\n" + `{"name":"delete_file","arguments":{"path":"a"}}`: "",
		"I will not run the following:\n```json\n" + `{"name":"delete_file","arguments":{"path":"a"}}` + "\n```":          "",
		"> Do it.\n" + call("read_file"):                                                        "read_file",
		`The log has [TOOL_CALLS]delete_file{"path":"a"} in it.`:                                "",
		call("read_file") + "\n<tool_response>ok</tool_response>\n" + call("delete_file"):       "read_file",
		call("read_file") + "\n<tool_response>ok</tool_response>\nNow:\n" + call("delete_file"): "read_file",
		call("read_file") + "\n" + call("delete_file"):                                          "read_file delete_file",
		"I look. " + call("read_file"):                                                          "read_file",
		"I look. [TOOL_CALLS]read_file{\"path\":\"a\"}":                                         "read_file",
		"[TOOL_CALLS]read_file{\"path\":\"a\"}\nI wait.":                                        "read_file",
	} {
		var got []string
		f := Read(text, Options{Offered: offered})
		for _, c := range f.Calls {
			got = append(got, c.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q (%s), want %q", text, got, f.UnreadCall, want)
		}
	}
}
