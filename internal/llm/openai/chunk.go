package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/llm/transport"
)

// decode reads a chunk, or a whole answer as a chunk. Chunks that go-openai's
// type cannot hold are read by a wider one and converted.
func (a *answer) decode(raw []byte) (c goopenai.ChatCompletionStreamResponse, err error) {
	if !unusual(raw) && json.Unmarshal(raw, &c) == nil {
		return c, nil
	}
	c = goopenai.ChatCompletionStreamResponse{}
	var w wide
	if err := json.Unmarshal(raw, &w); err != nil {
		return c, err
	}
	for _, ch := range w.Choices {
		for _, p := range []*part{ch.Delta, ch.Message} {
			if ch.Index == 0 && p != nil {
				a.details.add(p.Details)
				a.sign(p)
			}
		}
	}
	return w.chunk(), nil
}

// keys of chunks that go-openai's type does not have. In a text their quotes
// would be escaped.
var keys = [][]byte{[]byte(`"reasoning"`), []byte(`"thinking"`), []byte(`"reasoning_details"`), []byte(`"message"`),
	[]byte(`"x_groq"`), []byte(`"extra_content"`), []byte(`"timings"`), []byte(`"input_tokens"`), []byte(`"prompt_cache_hit_tokens"`)}

func unusual(raw []byte) bool {
	return slices.ContainsFunc(keys, func(key []byte) bool { return bytes.Contains(raw, key) })
}

// wide is a chunk as servers send it: both spellings of reasoning, arguments as
// an object, content in parts, a message in place of a delta, and counts that
// are no numbers are all met in the wild.
type wide struct {
	Model   string `json:"model"`
	Choices []struct {
		Index   int                   `json:"index"`
		Delta   *part                 `json:"delta"`
		Message *part                 `json:"message"`
		Finish  goopenai.FinishReason `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
	Groq  struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	// Timings are llama.cpp's, where usage is missing.
	Timings *struct {
		Prompt    transport.Count `json:"prompt_n"`
		Predicted transport.Count `json:"predicted_n"`
		Cached    transport.Count `json:"cache_n"`
	} `json:"timings"`
}

// usage has the names that servers give to counts.
type usage struct {
	Prompt     transport.Count `json:"prompt_tokens"`
	Completion transport.Count `json:"completion_tokens"`
	Input      transport.Count `json:"input_tokens"`
	Output     transport.Count `json:"output_tokens"`
	Total      transport.Count `json:"total_tokens"`
	Hit        transport.Count `json:"prompt_cache_hit_tokens"`
	Details    struct {
		Cached transport.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type part struct {
	Content          text `json:"content"`
	Reasoning        text `json:"reasoning"`
	ReasoningContent text `json:"reasoning_content"`
	Thinking         text `json:"thinking"`
	Refusal          text `json:"refusal"`

	Details   []map[string]json.RawMessage `json:"reasoning_details"`
	ToolCalls []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments args   `json:"arguments"`
		} `json:"function"`
		Extra json.RawMessage `json:"extra_content"`
	} `json:"tool_calls"`
}

// text may come as a string, as null, or as a list of parts, some of which may
// be thoughts.
type text struct{ text, thought string }

func (t *text) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &t.text) == nil {
		return nil
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking text   `json:"thinking"`
	}
	if json.Unmarshal(b, &parts) == nil {
		for _, p := range parts {
			t.text += p.Text
			t.thought += p.Thinking.text + p.Thinking.thought
		}
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

func (w *wide) chunk() goopenai.ChatCompletionStreamResponse {
	c := goopenai.ChatCompletionStreamResponse{Model: w.Model}
	for _, u := range []*usage{w.Usage, w.Groq.Usage} {
		if u != nil {
			c.Usage = &goopenai.Usage{PromptTokens: max(u.Prompt.N, u.Input.N), CompletionTokens: max(u.Completion.N, u.Output.N), TotalTokens: u.Total.N,
				PromptTokensDetails: &goopenai.PromptTokensDetails{CachedTokens: max(u.Hit.N, u.Details.Cached.N)}}
		}
	}
	if t := w.Timings; t != nil && c.Usage == nil {
		// What was cached was not read again.
		c.Usage = &goopenai.Usage{PromptTokens: t.Prompt.N + t.Cached.N, CompletionTokens: t.Predicted.N,
			PromptTokensDetails: &goopenai.PromptTokensDetails{CachedTokens: t.Cached.N}}
	}
	for _, ch := range w.Choices {
		choice := goopenai.ChatCompletionStreamChoice{Index: ch.Index, FinishReason: ch.Finish}
		if ch.Delta != nil {
			ch.Delta.fill(&choice.Delta)
		}
		if ch.Message != nil {
			n := len(choice.Delta.ToolCalls)
			ch.Message.fill(&choice.Delta)
			for i := range choice.Delta.ToolCalls[n:] {
				// The calls of a message are whole. No server has such an index.
				index := -1 - i
				choice.Delta.ToolCalls[n+i].Index = &index
			}
		}
		c.Choices = append(c.Choices, choice)
	}
	return c
}

func (p *part) fill(d *goopenai.ChatCompletionStreamChoiceDelta) {
	d.Content += p.Content.text
	d.Refusal += p.Refusal.text
	// A server that sends several spellings sends the same words each time.
	d.ReasoningContent += cmp.Or(p.Reasoning.text, p.ReasoningContent.text, p.Thinking.text, p.Content.thought)
	for _, t := range p.ToolCalls {
		d.ToolCalls = append(d.ToolCalls, goopenai.ToolCall{Index: t.Index, ID: t.ID,
			Function: goopenai.FunctionCall{Name: t.Function.Name, Arguments: string(t.Function.Arguments)}})
	}
}
