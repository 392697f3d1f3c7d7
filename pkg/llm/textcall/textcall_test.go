package textcall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

var offered = []llm.ToolSpec{{Name: "f"}, {Name: "read_file"}}

func TestRecover(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"name":"f","arguments":{"a":1}}`, `f{"a":1}`},
		{`{"name":"f","parameters":{}}`, `f{}`},
		{`{"type":"function","name":"f","arguments":"{\"a\":1}"}`, `f{"a":1}`},
		{`[{"name":"f","arguments":{}},{"name":"read_file","arguments":{}}]`, `f{} read_file{}`},
		{"{\"name\":\"f\",\"arguments\":{}}\n{\"name\":\"f\",\"arguments\":{}}", `f{} f{}`},
		{"```json\n{\"name\":\"f\",\"arguments\":{}}\n```", `f{}`},
		{"```\n{\"name\":\"f\",\"arguments\":{}}\n```\n", `f{}`},
		{"<tool_call>\n{\"name\":\"f\",\"arguments\":{\"s\":\"</tool_call>\"}}\n</tool_call>", `f{"s":"</tool_call>"}`},
		{`<tool_call>{"name":"f","arguments":{}}`, `f{}`},
		{`Let me see. <tool_call>{"name":"f","arguments":{}}</tool_call> <tool_call>{"name":"f","arguments":{}}</tool_call>`, `Let me see.|f{} f{}`},
		{`<think>{"name":"x"}</think> {"name":"f","arguments":{}}`, `f{}`},

		{``, ``},
		{`Hello.`, ``},
		{`{"name":"g","arguments":{}}`, ``},
		{`{"name":"f"}`, ``},
		{`{"name":"f","arguments":[1]}`, ``},
		{`{"name":"f","arguments":{},"note":"an example"}`, ``},
		{`{"name":"f","arguments":{},"parameters":{}}`, ``},
		{`{"name":"f","arguments":{"a":`, ``},
		{`Write {"name":"f","arguments":{}}`, ``},
		{`{"name":"f","arguments":{}} is how it is called`, ``},
		{"Like so:\n```json\n{\"name\":\"f\",\"arguments\":{}}\n```", ``},
		{"```go\n{\"name\":\"f\",\"arguments\":{}}\n```", ``},
		{`<tool_call>{"name":"f","arguments":{}}</tool_call> and that is that`, ``},
		{`<tool_call>{"name":"f","arguments":{}}</tool_call><tool_call>{"name":"g","arguments":{}}</tool_call>`, ``},
		{`<think>{"name":"f","arguments":{}}`, ``},
		{`[]`, ``},
	} {
		f, ok := Recover(c.in, offered)
		var got []string
		for _, k := range f.Calls {
			got = append(got, k.Name+string(k.Args))
		}
		s := strings.Join(got, " ")
		if f.Text != "" {
			s = f.Text + "|" + s
		}
		if s != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %t, want %q", c.in, s, ok, c.want)
		}
	}
}

func ExampleRecover() {
	f, ok := Recover(`<think>a.txt, then.</think><tool_call>{"name":"read_file","arguments":{"path":"a.txt"}}</tool_call>`,
		[]llm.ToolSpec{{Name: "read_file"}})
	fmt.Println(ok, f.Thinking, f.Calls[0].Name, string(f.Calls[0].Args))
	// Output: true a.txt, then. read_file {"path":"a.txt"}
}

func FuzzRecover(f *testing.F) {
	for _, s := range []string{`{"name":"f","arguments":{}}`, "```json\n{}\n```", `<think>a</think><tool_call>{"name":"f","parameters":"{}"}`, `[{"name":"f"}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found, ok := Recover(s, offered)
		if ok != (len(found.Calls) > 0) {
			t.Fatalf("%q: %t with %d calls", s, ok, len(found.Calls))
		}
		for _, c := range found.Calls {
			var args map[string]json.RawMessage
			if !knows(offered, c.Name) || json.Unmarshal(c.Args, &args) != nil || args == nil {
				t.Errorf("%q: call %+v", s, c)
			}
		}
	})
}
