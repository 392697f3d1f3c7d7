package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/llm/transport"
)

// A chunk is a piece of an answer, or a whole answer, as servers send it: all
// spellings of reasoning, arguments as an object, content in parts, a message in place of a
// delta, and indexes, ids and counts of any type are met in the wild.
type chunk struct {
	Model   scalar `json:"model"`
	Choices []struct {
		Index   scalar         `json:"index"`
		Delta   lenient[*part] `json:"delta"`
		Message lenient[*part] `json:"message"`
		Finish  scalar         `json:"finish_reason"`
	} `json:"choices"`
	Usage lenient[*usage] `json:"usage"`
	Groq  lenient[struct {
		Usage lenient[*usage] `json:"usage"`
	}] `json:"x_groq"`
	// Timings are llama.cpp's, where usage is missing.
	Timings lenient[*struct {
		Prompt    transport.Count `json:"prompt_n"`
		Predicted transport.Count `json:"predicted_n"`
		Cached    transport.Count `json:"cache_n"`
	}] `json:"timings"`
}

// lenient is a value that counts as missing if it is of another type.
type lenient[T any] struct{ v T }

func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		l.v = v
	}
	return nil
}

// scalar is a string, or a number in the same form, "" for null.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if json.Unmarshal(b, (*string)(s)) == nil {
		*s = scalar(strings.TrimSpace(string(*s)))
		return nil
	}
	*s = scalar(b)
	if f, err := strconv.ParseFloat(string(b), 64); err == nil {
		*s = scalar(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return nil
}

// usage has the names that servers give to counts.
type usage struct {
	Prompt     transport.Count `json:"prompt_tokens"`
	Completion transport.Count `json:"completion_tokens"`
	Input      transport.Count `json:"input_tokens"`
	Output     transport.Count `json:"output_tokens"`
	Total      transport.Count `json:"total_tokens"`
	Hit        transport.Count `json:"prompt_cache_hit_tokens"`
	Details    lenient[struct {
		Cached transport.Count `json:"cached_tokens"`
	}] `json:"prompt_tokens_details"`
}

// part is a delta or a message.
type part struct {
	Content          text `json:"content"`
	Reasoning        text `json:"reasoning"`
	ReasoningContent text `json:"reasoning_content"`
	Thinking         text `json:"thinking"`
	Refusal          text `json:"refusal"`

	Details   lenient[[]map[string]json.RawMessage] `json:"reasoning_details"`
	ToolCalls toolCalls                             `json:"tool_calls"`
	// Function is the only call of an answer in the form before tool_calls.
	Function lenient[*function] `json:"function_call"`
}

type function struct {
	Name scalar `json:"name"`
	Args args   `json:"arguments"`
}

type toolCall struct {
	Index    scalar            `json:"index"`
	ID       scalar            `json:"id"`
	Function lenient[function] `json:"function"`
	Extra    json.RawMessage   `json:"extra_content"`
	function                   // some servers leave out the object around it
}

// toolCalls is a list, or the only element of one.
type toolCalls []toolCall

func (t *toolCalls) UnmarshalJSON(b []byte) error {
	var one toolCall
	if json.Unmarshal(b, (*[]toolCall)(t)) != nil && json.Unmarshal(b, &one) == nil {
		*t = toolCalls{one}
	}
	return nil
}

// pieces are the calls of a delta or message.
func (p *part) pieces() (list []transport.Piece) {
	for _, t := range p.ToolCalls {
		k := transport.Piece{Index: string(t.Index), ID: string(t.ID), Name: string(cmp.Or(t.Function.v.Name, t.Name)),
			Args: string(cmp.Or(t.Function.v.Args, t.Args))}
		if string(t.Extra) != "null" {
			k.Extra = t.Extra
		}
		list = append(list, k)
	}
	if f := p.Function.v; f != nil && len(p.ToolCalls) == 0 {
		list = append(list, transport.Piece{Index: "function_call", Name: string(f.Name), Args: string(f.Args)})
	}
	return list
}

// calls reports whether there is a piece of a call.
func (c *chunk) calls() bool {
	for _, ch := range c.Choices {
		for _, p := range []*part{ch.Delta.v, ch.Message.v} {
			if p != nil && len(p.pieces()) > 0 {
				return true
			}
		}
	}
	return false
}

// texts are what the part says and thinks. A server that sends several spellings of reasoning
// sends the same words each time.
func (p *part) texts() (said, thought string) {
	return cmp.Or(p.Content.text, p.Refusal.text), cmp.Or(p.Reasoning.text, p.ReasoningContent.text, p.Thinking.text, p.Content.thought)
}

// text may come as a string, as null, as a part or as a list of parts, some of which may
// be thoughts.
type text struct{ text, thought string }

func (t *text) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &t.text) == nil {
		return nil
	}
	type piece struct {
		Text     string `json:"text"`
		Thinking text   `json:"thinking"`
	}
	var parts []piece
	if bytes.HasPrefix(b, []byte("{")) {
		parts = make([]piece, 1)
		_ = json.Unmarshal(b, &parts[0]) // what is no part says nothing
	} else if json.Unmarshal(b, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		t.text += p.Text
		t.thought += p.Thinking.text + p.Thinking.thought
	}
	return nil
}

// args is JSON inside a string, as it should be, or JSON itself.
type args string

func (a *args) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(a)) != nil {
		*a = args(b)
	}
	return nil
}
