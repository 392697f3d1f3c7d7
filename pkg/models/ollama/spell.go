package ollama

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// bar is put behind the first character of special tokens in data (<¦|im_start|>), and
// removed from the model's output. The server puts a conversation together as one text
// and then reads special tokens out of it, wherever they stand: a file with <|im_start|>
// in it would begin a message of its own. A model can read the changed spelling. A token
// that is spelt so already gets one bar more, so that nothing is lost.
const bar = "¦"

// firsts are the characters that tokens begin with.
const firsts = "<[]"

// roleTokens begin and end messages, in all families: a model's family is not
// always known, and a token of another one does no harm in this spelling. None
// of the patterns takes more than it must, since what it took could begin another.
const roleTokens = `<[|｜][\pL\pN_"/-]|<[a-z_]{1,40}[|｜]>|<(?:/?s|bos|eos|pad|unk|sop|eop|(?:start|end)_of_[a-z]+|(?:start|end)_function_[a-z]+)>|<</?SYS\b` +
	`|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|TOOL_CALLS|MODEL_SETTINGS|CALL_ID|ARGS|THINK|IMG|gMASK|img-[0-9]+)\b|\[e~|\]~!?b`

// callTokens frame calls, results and thinking. In what a person or a model
// wrote they may be meant: calls in text are asked for with them.
const callTokens = `</?(?:think|tools?|tool_calls?|tool_responses?|function_calls?|function_response|invoke|arg_key|arg_value|(?:minimax|seed):[a-z_]+)\b|</?(?:function|parameter)[=>]`

var (
	inRoles = spelling(roleTokens)
	inData  = spelling(roleTokens + "|" + callTokens)
)

// A speller finds tokens in both spellings.
type speller struct{ plain, barred *lazyregexp.Regexp }

func spelling(tokens string) speller {
	// The first character of each alternative, and what follows it.
	var parts []string
	for _, open := range []string{`<`, `\[`, `\]`} {
		var rests []string
		for _, t := range alternatives(tokens) {
			if rest, ok := strings.CutPrefix(t, open); ok {
				rests = append(rests, rest)
			}
		}
		if len(rests) > 0 {
			parts = append(parts, open+bar+`*(?:`+strings.Join(rests, "|")+`)`)
		}
	}
	barred := strings.ReplaceAll(strings.Join(parts, "|"), bar+"*", bar+"+")
	return speller{lazyregexp.New(strings.Join(parts, "|")), lazyregexp.New(barred)}
}

// alternatives splits a pattern at the bars that are not within brackets.
func alternatives(pattern string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '|':
			if depth == 0 {
				out, from = append(out, pattern[from:i]), i+1
			}
		}
	}
	return append(out, pattern[from:])
}

// escape changes the tokens in s that the server would read as special.
func (p speller) escape(s string) string {
	if !strings.ContainsAny(s, firsts) {
		return s
	}
	return p.plain.ReplaceAllStringFunc(s, func(t string) string { return t[:1] + bar + t[1:] })
}

// unescape undoes escape in text that a model wrote after having read escaped data.
func (p speller) unescape(s string) string {
	if !strings.Contains(s, bar) {
		return s
	}
	return p.barred.ReplaceAllStringFunc(s, func(t string) string { return t[:1] + t[1+len(bar):] })
}

// within applies change to the strings of a JSON text, keys too. Text that is not JSON is
// unchanged.
func within(raw json.RawMessage, change func(string) string) json.RawMessage {
	if !json.Valid(raw) {
		return raw
	}
	var out []byte
	from := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := i + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		var s string
		if json.Unmarshal(raw[i:end+1], &s) == nil {
			if now := change(s); now != s {
				out = append(append(out, raw[from:i]...), jsontext.Quote(now)...)
				from = end + 1
			}
		}
		i = end
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// escapeTokens returns a message as the server gets it. System messages, the operator's
// own words, are unchanged.
func escapeTokens(m *llm.Message) *llm.Message {
	if m.Role == llm.System {
		return m
	}
	c := *m
	if c.Role == llm.Tool {
		c.Text = inData.escape(c.Text)
		return &c
	}
	c.Text, c.Thinking = inRoles.escape(c.Text), inRoles.escape(c.Thinking)
	c.Calls = append([]llm.Call(nil), c.Calls...)
	for i, call := range c.Calls {
		if bytes.ContainsAny(call.Args, firsts) || bytes.Contains(call.Args, []byte(`\u00`)) {
			c.Calls[i].Args = within(call.Args, inData.escape)
		}
	}
	return &c
}

// unescapeTokens takes the spelling back out of what a model wrote.
func unescapeTokens(m *llm.Message) {
	m.Text, m.Thinking = inData.unescape(m.Text), inData.unescape(m.Thinking)
	for i, c := range m.Calls {
		if bytes.Contains(c.Args, []byte(bar)) || bytes.Contains(c.Args, []byte(`\u00`)) {
			m.Calls[i].Args = within(c.Args, inData.unescape)
		}
	}
}
