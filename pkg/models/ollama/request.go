package ollama

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/ollama/ollama/api"
)

// body is the request in pieces around the encoded messages.
func (m *model) body(ctx context.Context, req *llm.Request, notes *[]string) (transport.Body, error) {
	messages, err := req.History.Encode("ollama", req.Messages, appendMessage)
	if err != nil {
		return nil, err
	}
	no, options := false, map[string]any{"num_predict": req.Options.MaxTokens}
	if req.Options.MaxTokens <= 0 {
		options["num_predict"] = defaultAnswer // 0 would mean no limit
	}
	if req.Options.Window > 0 {
		options["num_ctx"] = req.Options.Window
	}
	if req.Options.Temperature != nil {
		options["temperature"] = *req.Options.Temperature
	}
	t := api.ChatRequest{Model: req.Model, Stream: &m.stream, Think: m.think, KeepAlive: m.keep, Truncate: &no, Shift: &no, Options: options}
	var tools []byte
	shown := req.Tools
	if len(shown)+len(req.Output) == 0 {
		shown = req.HiddenTools
	}
	if len(shown) > 0 {
		if tools, err = req.History.Tools("ollama", shown, m.encodeTools); err != nil {
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
	fields, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	head, tail, _ := bytes.Cut(fields, []byte("null,")) // the messages, which are encoded already
	// The closing bracket is sent from here; see openai for why.
	body := transport.Body{head, messages[:len(messages)-1], []byte(`],`)}
	if tools != nil {
		body = append(body, []byte(`"tools":`), tools, []byte(`,`))
	}
	return append(body, tail), nil
}

// encodeTools describes tools by the library's type, which is also the
// server's: what it cannot hold would be lost on arrival.
func (m *model) encodeTools(specs []llm.ToolSpec) ([]byte, error) {
	list := make(api.Tools, len(specs))
	for i, s := range specs {
		about, input, err := m.schemas.Parameters(schema.Ollama, s.Description, s.Input)
		list[i] = api.Tool{Type: "function", Function: api.ToolFunction{Name: s.Name, Description: about}}
		if err == nil {
			err = json.Unmarshal(input, &list[i].Function.Parameters)
		}
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
	}
	return json.Marshal(list)
}

// appendMessage appends one message, encoded by the library's type.
func appendMessage(dst []byte, m *llm.Message) ([]byte, error) {
	m = escapeTokens(m)
	out := api.Message{Role: string(m.Role), Content: m.Text, Thinking: m.Thinking}
	if m.Role == llm.Tool {
		out.Content = cmp.Or(m.Text, "(no output)")
		out.ToolName, out.ToolCallID = m.Name, m.CallID
	}
	for _, i := range m.Images {
		if len(i.Data) > 0 {
			out.Images = append(out.Images, i.Data)
		}
	}
	for i, c := range m.Calls {
		args, err := arguments(transport.Object(c.Args))
		if err != nil {
			return nil, err
		}
		out.ToolCalls = append(out.ToolCalls, api.ToolCall{ID: c.ID, Function: api.ToolCallFunction{Index: i, Name: c.Name, Arguments: args}})
	}
	b, err := json.Marshal(out)
	return append(dst, transport.Plain(b)...), err
}

// arguments converts the arguments of a call to the library's type. Their values stay
// raw, so that numbers stay exact.
func arguments(object json.RawMessage) (api.ToolCallFunctionArguments, error) {
	args := api.NewToolCallFunctionArguments()
	dec := json.NewDecoder(bytes.NewReader(object))
	_, err := dec.Token() // the opening brace
	for err == nil && dec.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
			args.Set(fmt.Sprint(key), value)
		}
	}
	return args, err
}

// thinking is a model's support for requests to think.
type thinking int

const (
	thinksUnknown thinking = iota
	thinksNever
	thinksOrNot  // on or off
	thinksLevels // by the level requested
)

// thinking returns what the model supports, asking the server the first time.
func (m *model) thinking(ctx context.Context, name string) thinking {
	k := &m.known
	k.mu.Lock()
	t, ok := k.thinks[name]
	k.mu.Unlock()
	if ok {
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	info, err := (&Client{&m.end}).Show(ctx, name)
	switch {
	case err != nil:
		return thinksUnknown
	case !info.Can("thinking"):
		t = thinksNever
	case strings.Contains(info.Template, ".ThinkLevel") || textcall.Detect(info.Template, name, info.Family) == textcall.Harmony:
		t = thinksLevels
	default:
		t = thinksOrNot
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.thinks == nil {
		k.thinks = map[string]thinking{}
	}
	k.thinks[name] = t
	return t
}

// effort translates it to the words of the model: a level, or whether to think
// at all, which low means not to. Where that is impossible, it returns what
// else would be sent, and why.
func (m *model) effort(ctx context.Context, name string, e llm.Effort, otherwise *api.ThinkValue) (*api.ThinkValue, string) {
	switch m.thinking(ctx, name) {
	case thinksLevels:
		return &api.ThinkValue{Value: string(e)}, ""
	case thinksOrNot:
		return &api.ThinkValue{Value: e != llm.EffortLow}, ""
	case thinksNever:
		return otherwise, "the model does not think"
	}
	return otherwise, "the server does not say whether the model thinks"
}

func effortOmitted(e llm.Effort, why string) string {
	return "effort " + string(e) + " is left out: " + why
}
