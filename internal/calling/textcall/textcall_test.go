package textcall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

var offered = []llm.ToolSpec{
	{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"s":{"type":"string"}}}`)},
	{Name: "read_file", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"}},` +
		`"all":{"type":"boolean"},"limit":{"type":["integer","null"]},"ratio":{"type":"number"},"where":{"type":"object"}},"required":["path"]}`)},
	{Name: "write_file", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]}`)},
	{Name: "now", Input: json.RawMessage(`{"type":"object","properties":{}}`)},
}

// show renders a Found as one line.
func show(f Found) string {
	var got []string
	for _, k := range f.Calls {
		s := k.Name + string(k.Args)
		if k.Malformed != "" {
			s = k.Name + "!"
		}
		got = append(got, s)
	}
	s := strings.Join(got, " ")
	if f.Thinking != "" {
		s = "(" + f.Thinking + ")" + s
	}
	if f.Text != "" {
		s = f.Text + "|" + s
	}
	return s
}

func TestRecover(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"name":"f","arguments":{"a":1}}`, `f{"a":1}`},
		{`{"name":"f","parameters":{}}`, `f{}`},
		{`{"type":"function","name":"f","arguments":"{\"a\":1}"}`, `f{"a":1}`},
		{`[{"name":"f","arguments":{}},{"name":"read_file","arguments":{}}]`, `f{} read_file{}`},
		{"{\"name\":\"f\",\"arguments\":{}}\n{\"name\":\"f\",\"arguments\":{}}", `f{} f{}`},
		{"```json\n{\"name\":\"f\",\"arguments\":{}}\n```", `f{}`},
		{"```\n{\"name\":\"f\",\"arguments\":{}}\n```\n", `f{}`},
		{"```xml\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n```\n", `f{}`},
		{"<tool_call>\n{\"name\":\"f\",\"arguments\":{\"s\":\"</tool_call>\"}}\n</tool_call>", `f{"s":"</tool_call>"}`},
		{`<tool_call>{"name":"f","arguments":{}}`, `f{}`},
		{`Let me see. <tool_call>{"name":"f","arguments":{}}</tool_call> <tool_call>{"name":"f","arguments":{}}</tool_call>`, `Let me see.|f{} f{}`},
		{`<think>{"name":"x"}</think> {"name":"f","arguments":{}}`, `({"name":"x"})f{}`},
		// What stops in the middle is a call that nobody runs.
		{`{"name":"f","arguments":{"a":`, `f!`},
		{`{"name":"f","arguments":{"a":1`, `f!`},
		{`<tool_call>{"name":"write_file","arguments":{"path":"a","text":"half`, `write_file!`},
	} {
		f, ok := recovered(c.in, offered)
		if s := show(f); s != c.want || !ok {
			t.Errorf("%s: %q, %t, want %q; doubt %q", c.in, s, ok, c.want, f.UnreadCall)
		}
	}
}

// An answer that talks about a call is not a call.
func TestMentionsAreNoCalls(t *testing.T) {
	const call = `<tool_call>{"name":"f","arguments":{}}</tool_call>`
	const object = `{"name":"f","arguments":{}}`
	for _, in := range []string{
		``, `Hello.`, `[]`, `{}`, `[1,2]`, `{"a":1}`, ` x `, "a\n\n",
		`{"name":"g","arguments":{}}`,
		`{"name":"f"}`,
		`{"name":"f","arguments":[1]}`,
		`{"name":"f","arguments":{},"note":"an example"}`,
		`{"name":"f","arguments":{},"parameters":{}}`,
		`{"calls":[` + object + `]}`,
		`Write ` + object,
		object + ` is how it is called`,
		"Like so:\n```json\n" + object + "\n```",
		"For example:\n" + object,
		"I read it.\n" + object + "\nThen I wait.",
		"Like so:\n```\n" + call + "\n```",
		"```go\n" + object + "\n```",
		"```\n" + call + "\n```\nThat is the format.",
		call + ` and that is that`,
		call + "\nThat is how you call it.",
		"Write `" + call + "` to call it.",
		"Write `" + call + "`",
		"Use <tool_call> and </tool_call> around it.",
		"The tags are <tool_call>, <|python_tag|> and [TOOL_CALLS].",
		"Never write <tool_call>name</tool_call>.",
		call + `<tool_call>{"name":"g","arguments":{}}</tool_call>`,
		`[TOOL_CALLS] is a token of Mistral.`,
		`[f](https://example.org) is a link`,
		`[f(a=1)] is how it is called`,
		`f(a=1)`,
		"```python\nf(a=1)\n```",
		`<function=f> is an opening tag.`,
		"In C you write `x = functools[1]`.",
		"A line\n<think is not a tag",
		"The tag </think> ends a thought.",
	} {
		f, ok := recovered(in, offered)
		if ok || f.Text != in || f.Thinking != "" {
			t.Errorf("%s: %q, text %q", in, show(f), f.Text)
		}
	}
}

func TestDoubtIsSaid(t *testing.T) {
	for in, want := range map[string]string{
		`<tool_call>{"name":"g","arguments":{}}</tool_call>`:                           `"g"`,
		`{"name":"g","arguments":{}}`:                                                  `"g"`,
		"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\nWhich I ran.":       "middle of text",
		`{"name":"f","arguments":{}} Done.`:                                            "middle of text",
		"<function=g>\n<parameter=a>\n1\n</parameter>\n</function>":                    `"g"`,
		`[TOOL_CALLS]g[ARGS]{}`:                                                        `"g"`,
		`Hello.`:                                                                       "",
		"Like so:\n```\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n```": "a call of f",
		"Like so:\n```\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n```\nThat is all.": "a call of f",
		"Like so:\n```json\n{\"name\":\"f\",\"arguments\":{}}\n```":                                  "an example",
		"I read it.\n{\"name\":\"read_file\",\"arguments\":{}}":                                      "path is missing",
		"I read it.\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"...\"}}":                      "placeholder",
		"I read it.\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\",\"b\":1}}":                "b is not known",
		"I read it.\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\nThen I wait.":                         "middle of text",
		"I read it: {\"name\":\"f\",\"arguments\":{\"a\":1}}":                                        "a call of f",
	} {
		if f, ok := recovered(in, offered); ok || !strings.Contains(f.UnreadCall, want) || (want == "") != (f.UnreadCall == "") {
			t.Errorf("%s: %t, doubt %q", in, ok, f.UnreadCall)
		}
	}
}

func TestThinking(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"<think>a</think>b", "b|(a)"},
		{"<think>\na\n</think>\n\nb\n<think>c</think>\nd", "b\n\nd|(a\nc)"},
		{"<think>a", "(a)"},
		{"a\n</think>\n\nb", "b|(a)"},
		{"a</think>", "(a)"},
		// The template opened the thought, and the answer follows on its line.
		{"Let me look.</think>Here is the answer.", "Here is the answer.|(Let me look.)"},
		{"Let me look.</think> Here it is.", "Here it is.|(Let me look.)"},
		{"Let me look. </think> Here it is.", "Here it is.|(Let me look.)"},
		{"one\n\ntwo</think>three", "three|(one\n\ntwo)"},
		{"a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>", "b|(a)"},
		{"<|START_THINKING|>a<|END_THINKING|><|START_TEXT|>b<|END_TEXT|>", "b|(a)"},
		{"<|channel>plan\na<channel|>b", "b|(plan\na)"},
		{"<mm:think>a</mm:think>b", "b|(a)"},
		{"a</mm:think>b", "b|(a)"},
		{`a</think><tool_call>{"name":"f","arguments":{}}</tool_call>`, `(a)f{}`},
		{`<think>a <tool_call>{"name":"f","arguments":{"a":1}}</tool_call>`, `(a)f{"a":1}`},
		{`<think>I could <tool_call>{"name":"f","arguments":{"a":1}}</tool_call> or not`, `(I could <tool_call>{"name":"f","arguments":{"a":1}}</tool_call> or not)`},
		// Where the tag is named nothing is a thought.
		{"It ends with \"</think>\", mostly.", "It ends with \"</think>\", mostly.|"},
		{"It ends with `</think>`.", "It ends with `</think>`.|"},
		{"It is the tag </think>, which ends it.", "It is the tag </think>, which ends it.|"},
		{"<think>a</think>The tag</think>b", "The tag</think>b|(a)"},
		{`{"text": "a</think>b"}`, `{"text": "a</think>b"}|`},
		{"<think>a <think> b </think> c\n</think>\nd", "d|(a <think> b\nc)"},
		{"<seed:think>a</seed:think>b", "b|(a)"},
		{"[THINK]a[/THINK]b", "b|(a)"},
		{"◁think▷a◁/think▷b", "b|(a)"},
		{`<think>x</think><tool_call>{"name":"f","arguments":{"s":"<think>y</think>"}}</tool_call>`, `(x)f{"s":"<think>y</think>"}`},
		{`<think><tool_call>{"name":"f","arguments":{}}</tool_call></think>`, `(<tool_call>{"name":"f","arguments":{}}</tool_call>)`},
		{"I say <think>.", "I say <think>.|"},
		{"```\n<think>a</think>\n```", "```\n<think>a</think>\n```|"},
	} {
		if f := Read(c.in, Options{Offered: offered}); show(f) != c.want {
			t.Errorf("%q: %q, want %q", c.in, show(f), c.want)
		}
	}
	in := `<think>Now. <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_calls_section_end|>`
	if f := Read(in, Options{Offered: offered, Family: Kimi}); show(f) != `(Now.)f{"a":1}` || f.Calls[0].ID != "functions.f:0" {
		t.Errorf("%q", show(f))
	}
	// Where the thinking is never closed the call that ends it is meant, but
	// not if it was closed, or if the answer was cut.
	if f := Read(in, Options{Offered: offered}); show(f) != `(Now.)f{"a":1}` {
		t.Errorf("%q", show(f))
	}
	if f := Read(in, Options{Offered: offered, Cut: true}); len(f.Calls) != 0 {
		t.Errorf("%q", show(f))
	}
	if f := Read(in+"</think>", Options{Offered: offered, Family: Hermes}); len(f.Calls) != 0 {
		t.Errorf("%q", show(f))
	}
}

// Where the template opens the thought, nothing of it is shown as text,
// however the answer comes in.
func TestOpened(t *testing.T) {
	o := Options{Offered: offered, Opened: OpensThought("{{ .System }}<|user|>{{ .Prompt }}<|assistant|><think>\n{{ .Response }}")}
	for _, c := range []struct{ in, want, shown string }{
		{"Hm.</think>Done.", "Done.|(Hm.)", "Done."},
		{"Hm.\n</think>\n\nI look.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "I look.|(Hm.)f{}", "I look."},
		{"Hm.</think>{\"name\":\"f\",\"arguments\":{\"a\":1}}", `(Hm.)f{"a":1}`, ""},
		{"Hm. <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "(Hm.)f{}", ""},
		{"Hm", "(Hm)", ""},
		{"a</think>The tag</think>b", "The tag</think>b|(a)", "The tag</think>b"},
	} {
		if f := Read(c.in, o); show(f) != c.want || f.Unopened {
			t.Errorf("%q: %s, want %s", c.in, show(f), c.want)
		}
		whole := shown(o, c.in)
		if !strings.Contains(whole, "\nshown: "+c.shown+"\nthought: ") {
			t.Errorf("%q: %s", c.in, whole)
		}
		for i := range len(c.in) + 1 {
			if got := shown(o, c.in[:i], c.in[i:]); got != whole {
				t.Errorf("%q, split at %d: %s\nwant %s", c.in, i, got, whole)
			}
		}
	}
	for template, want := range map[string]string{
		"<|assistant|><think>":                                     "</think>",
		"<|assistant|><think>\n{{- .Response }}<|end|>":            "</think>",
		"{{ if .Thinking }}<think>{{ .Thinking }}{{ end }}":        "",
		"<|assistant|>{{ .Response }}":                             "",
		"<think>{{ .Prompt }}</think><|assistant|>{{ .Response }}": "",
	} {
		if got := OpensThought(template); got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
}

func recovered(text string, offered []llm.ToolSpec) (Found, bool) {
	f := Read(text, Options{Offered: offered})
	return f, len(f.Calls) > 0
}

func ExampleRead() {
	f := Read(`<think>a.txt, then.</think><tool_call>{"name":"read_file","arguments":{"path":"a.txt"}}</tool_call>`,
		Options{Offered: []llm.ToolSpec{{Name: "read_file"}}})
	fmt.Println(f.Thinking, f.Calls[0].Name, string(f.Calls[0].Args))
	// Output: a.txt, then. read_file {"path":"a.txt"}
}
