package openai

import (
	"cmp"
	"encoding/json"

	"github.com/adroit-run/adroit/internal/calling/transport"
)

// A chunk is a piece of an answer, or a whole answer, as servers send it: all
// spellings of reasoning, arguments as an object, content in parts, a message in place of a
// delta, and indexes, ids and counts of any type are met in the wild.
type chunk struct {
	Model   transport.Scalar `json:"model"`
	Choices []struct {
		Index   transport.Scalar         `json:"index"`
		Delta   transport.Lenient[*part] `json:"delta"`
		Message transport.Lenient[*part] `json:"message"`
		Finish  transport.Scalar         `json:"finish_reason"`
	} `json:"choices"`
	Usage transport.Lenient[*usage] `json:"usage"`
	Groq  transport.Lenient[struct {
		Usage transport.Lenient[*usage] `json:"usage"`
	}] `json:"x_groq"`
	// Timings are llama.cpp's, where usage is missing.
	Timings transport.Lenient[*struct {
		Prompt    transport.Count `json:"prompt_n"`
		Predicted transport.Count `json:"predicted_n"`
		Cached    transport.Count `json:"cache_n"`
	}] `json:"timings"`
}

// usage has the names that servers give to counts.
type usage struct {
	Prompt     transport.Count `json:"prompt_tokens"`
	Completion transport.Count `json:"completion_tokens"`
	Input      transport.Count `json:"input_tokens"`
	Output     transport.Count `json:"output_tokens"`
	Total      transport.Count `json:"total_tokens"`
	Hit        transport.Count `json:"prompt_cache_hit_tokens"`
	Details    transport.Lenient[struct {
		Cached transport.Count `json:"cached_tokens"`
	}] `json:"prompt_tokens_details"`
}

// part is a delta or a message.
type part struct {
	Content          transport.Text `json:"content"`
	Reasoning        transport.Text `json:"reasoning"`
	ReasoningContent transport.Text `json:"reasoning_content"`
	Thinking         transport.Text `json:"thinking"`
	Refusal          transport.Text `json:"refusal"`

	Details   transport.Lenient[[]map[string]json.RawMessage] `json:"reasoning_details"`
	ToolCalls transport.ToolCalls                             `json:"tool_calls"`
	// Function is the only call of an answer in the form before tool_calls.
	Function transport.Lenient[*transport.Function] `json:"function_call"`
}

// pieces are the calls of a delta or message.
func (p *part) pieces() (list []transport.Piece) {
	list = p.ToolCalls.Pieces()
	if f := p.Function.V; f != nil && len(p.ToolCalls) == 0 {
		list = append(list, transport.Piece{Index: "function_call", Name: string(f.Name), Args: string(f.Args)})
	}
	return list
}

// Calls reports whether there is a piece of a call.
func (c *chunk) Calls() bool {
	for _, ch := range c.Choices {
		for _, p := range []*part{ch.Delta.V, ch.Message.V} {
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
	return cmp.Or(p.Content.Text, p.Refusal.Text), cmp.Or(p.Reasoning.Text, p.ReasoningContent.Text, p.Thinking.Text, p.Content.Thought)
}
