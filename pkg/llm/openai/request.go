package openai

import (
	"encoding/json"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
)

// tail is the part of a request behind its messages and tools.
type tail struct {
	Stream              bool                                   `json:"stream"`
	StreamOptions       *goopenai.StreamOptions                `json:"stream_options,omitempty"`
	Temperature         *float64                               `json:"temperature,omitempty"`
	MaxTokens           int                                    `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                                    `json:"max_completion_tokens,omitempty"`
	ResponseFormat      *goopenai.ChatCompletionResponseFormat `json:"response_format,omitempty"`
}

// body is the request in pieces around the encoded messages.
func (m *model) body(req *llm.Request) (transport.Body, error) {
	messages, err := req.Wire.Encode("openai", req.Messages, appendMessage)
	if err != nil {
		return nil, err
	}
	t := tail{Stream: m.stream, Temperature: req.Options.Temperature}
	if m.stream {
		t.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	if m.newer {
		t.MaxCompletionTokens = req.Options.MaxTokens
	} else {
		t.MaxTokens = req.Options.MaxTokens
	}
	if len(req.Output) > 0 {
		// Not strict: that mode refuses schemas with optional properties. The
		// answer is validated by whoever asked.
		t.ResponseFormat = &goopenai.ChatCompletionResponseFormat{
			Type:       goopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: req.Output},
		}
	}
	end, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	head := transport.AppendString([]byte(`{"model":`), req.Model)
	head = append(head, `,"messages":`...)
	// The tools go before the rest. The bracket that closes the messages is
	// sent from here: the Wire overwrites its own when the conversation grows,
	// and the HTTP client may still be reading then.
	end[0] = ','
	body := transport.Body{head, messages[:len(messages)-1]}
	if len(req.Tools) > 0 {
		offered, err := req.Wire.Tools("openai", req.Tools, encodeTools)
		if err != nil {
			return nil, err
		}
		return append(body, []byte(`],"tools":`), offered, end), nil
	}
	return append(body, []byte{']'}, end), nil
}

func encodeTools(specs []llm.ToolSpec) ([]byte, error) {
	var list []goopenai.Tool
	for _, s := range specs {
		input := s.Input
		if len(input) == 0 {
			input = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		list = append(list, goopenai.Tool{
			Type:     goopenai.ToolTypeFunction,
			Function: &goopenai.FunctionDefinition{Name: s.Name, Description: s.Description, Parameters: loosen(input)},
		})
	}
	return json.Marshal(list)
}

// appendMessage appends one message. Content is always there, since several
// servers refuse messages without it.
func appendMessage(dst []byte, m *llm.Message) ([]byte, error) {
	text := m.Text
	if text == "" {
		switch {
		case m.Role == llm.Tool:
			text = "(no output)"
		case m.Role == llm.Assistant && len(m.Calls) == 0:
			text = "(no text)"
		}
	}
	dst = transport.AppendString(append(dst, `{"role":`...), string(m.Role))
	dst = transport.AppendString(append(dst, `,"content":`...), text)
	if m.Role == llm.Tool {
		dst = transport.AppendString(append(dst, `,"tool_call_id":`...), m.CallID)
	}
	for i, c := range m.Calls {
		sep := `,{"id":`
		if i == 0 {
			sep = `,"tool_calls":[{"id":`
		}
		dst = transport.AppendString(append(dst, sep...), c.ID)
		dst = transport.AppendString(append(dst, `,"type":"function","function":{"name":`...), callName(c.Name))
		dst = transport.AppendString(append(dst, `,"arguments":`...), string(transport.Object(c.Args)))
		dst = append(dst, `}}`...)
	}
	if len(m.Calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}

// callName makes a name that a model invented acceptable: OpenAI refuses a
// whole conversation for one name with a space in it.
func callName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}
