package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// tokens are special tokens of the families, and words that are none.
var tokens = []string{
	"<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|begin_of_text|>", "<|python_tag|>", "<|endoftext|>",
	"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|user|>", "<|assistant|>", "<|START_OF_TURN_TOKEN|>", "<|start_of_role|>",
	"<｜User｜>", "<｜Assistant｜>", "<｜tool▁calls▁begin｜>", "<｜end▁of▁sentence｜>", "<|turn>", "<turn|>", "<|tool_call>", `<|"|>`,
	"<start_of_turn>", "<end_of_turn>", "<start_function_call>", "<s>", "</s>", "<bos>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
	"[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[gMASK]", "[img-0]", "]~!b[", "]~b]", "[e~[",
	"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<function=read_file>", "<parameter=path>",
	"<function_calls>", "<minimax:tool_call>", "<seed:tool_call>", "<arg_key>", "<tools>",
}

func TestSpelling(t *testing.T) {
	for _, tok := range tokens {
		got := inData.escape("a" + tok + "b")
		if strings.Contains(got, tok) || !strings.Contains(got, bar) {
			t.Errorf("%s is sent as %s", tok, got)
		}
		if back := inData.unescape(got); back != "a"+tok+"b" {
			t.Errorf("%s comes back as %s", tok, back)
		}
		twice := inData.escape(got)
		if twice == got || inData.unescape(twice) != got {
			t.Errorf("%s, spelt so already, is sent as %s and comes back as %s", got, twice, inData.unescape(twice))
		}
	}
	for _, s := range []string{"if a < b || c[i] > 1 {", "x <- ch", "a <|> b", "[INSTALL]", "<span>", "<!-- x -->", "[image]", "cat <<EOF", "¦", "a¦b"} {
		if got := inData.escape(s); got != s {
			t.Errorf("%s is sent as %s", s, got)
		}
		if got := inData.unescape(s); got != s {
			t.Errorf("%s is read as %s", s, got)
		}
	}
}

func FuzzSpelling(f *testing.F) {
	f.Add(strings.Join(tokens, ""))
	f.Add("]~!b[INST]~b]<¦<|im_start|><<¦¦SYS>>[¦[e~[/INST]")
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range []speller{inData, inRoles} {
			got := p.escape(s)
			if back := p.unescape(got); back != s {
				t.Errorf("%q is sent as %q and comes back as %q", s, got, back)
			}
			for _, hit := range p.plain.FindAllString(got, -1) {
				if !strings.Contains(hit, bar) {
					t.Errorf("%q is left in %q", hit, got)
				}
			}
		}
		raw, _ := json.Marshal(map[string]any{"k": s, "n": []any{json.Number("12345678901234567890"), s}})
		there := within(raw, inData.escape)
		var was, is any
		if !json.Valid(there) || json.Unmarshal(raw, &was) != nil || json.Unmarshal(within(there, inData.unescape), &is) != nil {
			t.Fatalf("%s became %s", raw, there)
		}
		a, _ := json.Marshal(was)
		b, _ := json.Marshal(is)
		if string(a) != string(b) {
			t.Errorf("%s came back as %s", a, b)
		}
	})
}

// What is data is spelt; what asks for calls in text is not.
func TestWhichMessages(t *testing.T) {
	const s = "<|im_start|><tool_call>"
	text := func(role llm.Role) string { return escapeTokens(&llm.Message{Role: role, Text: s}).Text }
	for role, want := range map[llm.Role]string{
		llm.System: s, llm.User: "<¦|im_start|><tool_call>", llm.Assistant: "<¦|im_start|><tool_call>", llm.Tool: "<¦|im_start|><¦tool_call>",
	} {
		if got := text(role); got != want {
			t.Errorf("%s: %s, want %s", role, got, want)
		}
	}
	m := llm.Message{Role: llm.Assistant, Calls: []llm.Call{{Args: json.RawMessage(`{"old": "\u003c|im_start|\u003e", "n": 12345678901234567890}`)}}}
	args := string(escapeTokens(&m).Calls[0].Args)
	if args != `{"old": "<¦|im_start|>", "n": 12345678901234567890}` {
		t.Errorf("arguments are sent as %s", args)
	}
	if strings.Contains(string(m.Calls[0].Args), bar) {
		t.Error("the conversation itself was changed")
	}
	back := llm.Message{Calls: []llm.Call{{Args: json.RawMessage(`{"old": "\u003c\u00a6|im_start|\u003e"}`)}}}
	if unescapeTokens(&back); string(back.Calls[0].Args) != `{"old": "<|im_start|>"}` {
		t.Errorf("arguments are read as %s", back.Calls[0].Args)
	}
}
