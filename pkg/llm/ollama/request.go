package ollama

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
	"github.com/adroit-run/adroit/pkg/llm/schema"
)

// tail is the part of an [api.ChatRequest] behind its messages.
type tail struct {
	Tools     json.RawMessage `json:"tools,omitempty"`
	Stream    bool            `json:"stream"`
	Format    json.RawMessage `json:"format,omitempty"`
	KeepAlive *api.Duration   `json:"keep_alive,omitempty"`
	Think     *api.ThinkValue `json:"think,omitempty"`
	Truncate  bool            `json:"truncate"`
	Shift     bool            `json:"shift"`
	Options   options         `json:"options"`
}

type options struct {
	Window      int      `json:"num_ctx,omitempty"`
	Answer      int      `json:"num_predict"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// body is the request in pieces around the encoded messages.
func (m *model) body(ctx context.Context, req *llm.Request, notes *[]string) (transport.Body, error) {
	messages, err := req.History.Encode("ollama", req.Messages, appendMessage)
	if err != nil {
		return nil, err
	}
	t := tail{
		Stream:    m.stream,
		Think:     m.think,
		KeepAlive: m.keep,
		Options: options{
			Window:      max(req.Options.Window, 0),
			Answer:      req.Options.MaxTokens,
			Temperature: req.Options.Temperature,
		},
	}
	if t.Options.Answer <= 0 {
		t.Options.Answer = DefaultAnswer // 0 would mean no limit
	}
	if len(req.Tools) > 0 {
		if t.Tools, err = req.History.Tools("ollama", req.Tools, m.encodeTools); err != nil {
			return nil, err
		}
	}
	idle := false // the effort is not said
	switch {
	case len(req.Output) == 0:
	case len(req.Tools) > 0:
		*notes = append(*notes, "the output schema was not sent: Ollama cannot combine it with tools")
	default:
		if t.Format, err = m.schemas.Down(schema.Grammar, req.Output); err != nil {
			return nil, err
		}
		if t.Think == nil {
			idle = req.Options.Effort != ""
			// On a thinking model the schema takes effect only after a thinking
			// part, and not at all if there is none.
			t.Think = &api.ThinkValue{Value: false}
		}
	}
	switch e := req.Options.Effort; {
	case idle:
		*notes = append(*notes, effortOmitted(e, "thoughts would come before the answer that a schema holds"))
	case e != "":
		var why string
		if t.Think, why = m.effort(ctx, req.Model, e, t.Think); why != "" {
			*notes = append(*notes, effortOmitted(e, why))
		}
	}
	end, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	head := transport.AppendString([]byte(`{"model":`), req.Model)
	head = append(head, `,"messages":`...)
	// The closing bracket is sent from here; see openai for why.
	end[0] = ','
	end = append([]byte{']'}, end...)
	return transport.Body{head, messages[:len(messages)-1], end}, nil
}

// encodeTools describes tools as far as the server can keep it: its own type
// for a property would lose the rest on arrival, and `true` in place of a
// schema would be an error.
func (m *model) encodeTools(specs []llm.ToolSpec) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var list []tool
	for _, s := range specs {
		about, input, err := m.schemas.Parameters(schema.Ollama, s.Description, s.Input)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
		list = append(list, tool{"function", function{s.Name, about, input}})
	}
	return json.Marshal(list)
}

// appendMessage appends one message in the shape of [api.Message]. Arguments
// go out as they are, so that numbers stay exact.
func appendMessage(dst []byte, m *llm.Message) ([]byte, error) {
	m = spelt(m)
	text := m.Text
	if text == "" && m.Role == llm.Tool {
		text = "(no output)"
	}
	dst = transport.AppendString(append(dst, `{"role":`...), string(m.Role))
	dst = transport.AppendString(append(dst, `,"content":`...), text)
	if m.Thinking != "" {
		dst = transport.AppendString(append(dst, `,"thinking":`...), m.Thinking)
	}
	if m.Role == llm.Tool {
		dst = transport.AppendString(append(dst, `,"tool_name":`...), m.Name)
		dst = transport.AppendString(append(dst, `,"tool_call_id":`...), m.CallID)
	}
	for i, c := range m.Calls {
		sep := `,{"id":`
		if i == 0 {
			sep = `,"tool_calls":[{"id":`
		}
		dst = transport.AppendString(append(dst, sep...), c.ID)
		dst = fmt.Appendf(dst, `,"function":{"index":%d,"name":`, i)
		dst = transport.AppendString(dst, c.Name)
		dst = append(append(dst, `,"arguments":`...), transport.Object(c.Args)...)
		dst = append(dst, `}}`...)
	}
	if len(m.Calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}
