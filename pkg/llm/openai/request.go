package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
	"github.com/adroit-run/adroit/pkg/llm/schema"
)

// body is the request in pieces around the encoded messages.
func (m *model) body(req *llm.Request) (transport.Body, error) {
	d := &m.dialect
	encode := func(dst []byte, msg *llm.Message) ([]byte, error) { return m.append(dst, req, msg) }
	messages, err := req.History.Encode("openai/"+d.Name, req.Messages, encode)
	if err != nil {
		return nil, err
	}
	end, err := m.tail(req)
	if err != nil {
		return nil, err
	}
	head := transport.AppendString([]byte(`{"model":`), req.Model)
	head = append(head, `,"messages":`...)
	// The tools go before the rest. The bracket that closes the messages is
	// sent from here: the history overwrites its own when the conversation grows,
	// and the HTTP client may still be reading then.
	body := transport.Body{head, messages[:len(messages)-1]}
	if list := m.shown(req); len(list) > 0 {
		form, encode := "openai/"+d.Name, m.encodeTools
		if m.strict(req.Model) {
			loose := m.quirks.loose(req.Model)
			form = strings.Join(append([]string{form, "strict"}, loose...), " ")
			encode = func(specs []llm.ToolSpec) ([]byte, error) { return m.encode(specs, true, loose) }
		}
		offered, err := req.History.Tools(form, list, encode)
		if err != nil {
			return nil, err
		}
		return append(body, []byte(`],"tools":`), offered, end), nil
	}
	return append(body, []byte{']'}, end), nil
}

// shown are the tools that the server is told of. Those that may not be called
// are among them only where that can be said.
func (m *model) shown(req *llm.Request) []llm.ToolSpec {
	if len(req.Tools) == 0 && m.dialect.Must != "" && !m.format(req) && !slices.Contains(m.quirks.of(req.Model), "tool_choice") {
		return req.HiddenTools
	}
	return req.Tools
}

// strict reports whether the server holds arguments to strict schemas.
func (m *model) strict(name string) bool {
	return m.dialect.StrictTools && !slices.Contains(m.quirks.of(name), strictTools)
}

// format reports whether the schema of a request is sent. Where it cannot go
// with tools they are what the model needs; the answer is validated by
// whoever asked.
func (m *model) format(req *llm.Request) bool {
	return len(req.Output) > 0 && !(m.dialect.Alone && len(req.Tools) > 0)
}

// tail is the part of a request behind its messages and tools: ours, then
// what the endpoint's configuration adds, which wins.
func (m *model) tail(req *llm.Request) ([]byte, error) {
	d, refused := &m.dialect, m.quirks.of(req.Model)
	no := func(field string) bool { return slices.Contains(refused, field) }
	out := []byte{','}
	var failed error
	add := func(key string, value any) {
		if no(key) {
			return
		}
		b, err := json.Marshal(value)
		if more, ok := m.more[key]; ok {
			b = laid(b, more)
		}
		if err != nil {
			failed = err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(transport.AppendString(out, key), ':'), b...)
	}
	var ours []string
	set := func(key string, value any) {
		ours = append(ours, key)
		add(key, value)
	}
	set("stream", m.stream)
	if m.stream && !d.UsageUnasked {
		set("stream_options", goopenai.StreamOptions{IncludeUsage: true})
	}
	newer := d.newer(req.Model)
	if t := req.Options.Temperature; t != nil && !newer {
		set("temperature", *t)
	}
	if n := req.Options.MaxTokens; n > 0 {
		if newer && !no("max_completion_tokens") || no("max_tokens") {
			set("max_completion_tokens", n)
		} else {
			set("max_tokens", n)
		}
	}
	if e := req.Options.Effort; e != "" && m.idle(req) == "" {
		set(string(d.Thinks), d.Thinks.value(e))
	}
	if m.oneCall && len(req.Tools) > 0 {
		set("parallel_tool_calls", false)
	}
	switch shown := len(m.shown(req)) > 0; {
	case shown && len(req.Tools) == 0:
		set("tool_choice", "none")
	case shown && req.RequireCall && d.Must != "":
		set("tool_choice", d.Must)
	}
	if d.Grammar && len(req.TextTools) > 0 && len(req.Tools)+len(req.Output) == 0 {
		text, err := req.History.Tools("gbnf", req.TextTools, textOrCall)
		if err != nil {
			return nil, err
		}
		set("grammar", string(text))
	}
	if m.format(req) {
		value, err := m.responseFormat(req.Output)
		if err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(d.WithFormat)) {
			set(key, d.WithFormat[key])
		}
		set("response_format", value)
	}
	for _, key := range slices.Sorted(maps.Keys(m.more)) {
		if !slices.Contains(ours, key) {
			add(key, m.more[key])
		}
	}
	return append(out, '}'), failed
}

func textOrCall(specs []llm.ToolSpec) ([]byte, error) {
	var list []schema.Callable
	for _, s := range specs {
		list = append(list, schema.Callable{Name: s.Name, Input: s.Input})
	}
	text, err := schema.TextOrCall(list)
	return []byte(text), err
}

// laid lays more over b: key by key if both are objects.
func laid(b, more json.RawMessage) json.RawMessage {
	var under, over map[string]json.RawMessage
	if json.Unmarshal(b, &under) != nil || json.Unmarshal(more, &over) != nil || under == nil || over == nil {
		return more
	}
	maps.Copy(under, over)
	both, err := json.Marshal(under)
	if err != nil {
		return more
	}
	return both
}

// responseFormat tells the server of the schema of the answer.
func (m *model) responseFormat(output json.RawMessage) (any, error) {
	if m.dialect.Format == FormatObject {
		return goopenai.ChatCompletionResponseFormat{Type: goopenai.ChatCompletionResponseFormatTypeJSONObject}, nil
	}
	if m.wrapped(output) {
		output = fmt.Appendf(nil, `{"type":"object","properties":{"value":%s},"required":["value"],"additionalProperties":false}`, output)
	}
	down, err := m.schemas.Down(m.dialect.words(), output)
	if err != nil {
		return nil, err
	}
	return goopenai.ChatCompletionResponseFormat{
		Type: goopenai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{
			Name: "answer", Schema: down, Strict: m.dialect.Format == FormatStrict},
	}, nil
}

// wrapped reports whether a schema has to be put into an object, as the
// strict form wants one at the root.
func (m *model) wrapped(output json.RawMessage) bool {
	return m.dialect.words().Object && !schema.Closes(output)
}

// raised is an answer to a schema in the form that was asked for.
func (m *model) raised(output json.RawMessage, text string) string {
	if m.dialect.Format != FormatStrict {
		return text
	}
	value := json.RawMessage(text)
	if m.wrapped(output) {
		var in struct {
			Value json.RawMessage `json:"value"`
		}
		if json.Unmarshal(value, &in) != nil || len(in.Value) == 0 {
			return text
		}
		value = in.Value
	}
	return string(schema.Raise(output, value))
}

func (m *model) encodeTools(specs []llm.ToolSpec) ([]byte, error) {
	return m.encode(specs, false, nil)
}

// encode writes tools, strict ones where their schemas have a strict form and
// the server did not refuse it: loose names those.
func (m *model) encode(specs []llm.ToolSpec, strict bool, loose []string) ([]byte, error) {
	var list []goopenai.Tool
	for _, s := range specs {
		var about string
		var input json.RawMessage
		var err error
		closed := false
		if strict && !slices.Contains(loose, s.Name) {
			about, input, closed, err = m.schemas.Strict(s.Description, s.Input)
		}
		if !closed && err == nil {
			about, input, err = m.schemas.Parameters(schema.Common, s.Description, s.Input)
		}
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
		list = append(list, goopenai.Tool{
			Type:     goopenai.ToolTypeFunction,
			Function: &goopenai.FunctionDefinition{Name: s.Name, Description: about, Parameters: input, Strict: closed},
		})
	}
	return json.Marshal(list)
}

// loosened are calls whose arguments were written for strict schemas, in the
// form of the full ones. What the server did not send as JSON stays.
func loosened(calls []llm.Call, offered []llm.ToolSpec) {
	for i := range calls {
		c := &calls[i]
		n := slices.IndexFunc(offered, func(t llm.ToolSpec) bool { return t.Name == c.Name })
		if n >= 0 && c.Malformed == "" && len(offered[n].Input) > 0 {
			c.Args = schema.Raise(offered[n].Input, c.Args)
		}
	}
}

// append appends one message. Content is always there, since several servers
// refuse messages without it.
func (m *model) append(dst []byte, req *llm.Request, msg *llm.Message) ([]byte, error) {
	d, text := &m.dialect, msg.Text
	if text == "" {
		switch {
		case msg.Role == llm.Tool:
			text = "(no output)"
		case msg.Role == llm.Assistant && len(msg.Calls) == 0:
			text = "(no text)"
		}
	}
	if d.Bridge && msg.Role == llm.User && before(req.Messages, msg) == llm.Tool {
		dst = append(dst, `{"role":"assistant","content":"(noted)"},`...)
	}
	role := string(msg.Role)
	if msg.Role == llm.System && d.newer(req.Model) {
		role = "developer"
	}
	dst = transport.AppendString(append(dst, `{"role":`...), role)
	dst = transport.AppendString(append(dst, `,"content":`...), text)
	if msg.Role == llm.Tool {
		dst = transport.AppendString(append(dst, `,"tool_call_id":`...), d.id(msg.CallID))
	}
	for i, c := range msg.Calls {
		sep := `,{"id":`
		if i == 0 {
			sep = `,"tool_calls":[{"id":`
		}
		dst = transport.AppendString(append(dst, sep...), d.id(c.ID))
		dst = transport.AppendString(append(dst, `,"type":"function","function":{"name":`...), callName(c.Name))
		dst = transport.AppendString(append(dst, `,"arguments":`...), string(transport.Plain(transport.Object(c.Args))))
		dst = append(dst, `}}`...)
	}
	if len(msg.Calls) > 0 {
		dst = append(dst, ']')
	}
	if e := msg.State; e != nil && e.Dialect == d.Name && e.Field == d.Echo && json.Valid(e.Value) {
		dst = append(transport.AppendString(append(dst, ','), e.Field), ':')
		dst = append(dst, e.Value...)
	}
	return append(dst, '}'), nil
}

// before is the role of the message before msg, which is one of msgs.
func before(msgs []llm.Message, msg *llm.Message) llm.Role {
	for i := len(msgs) - 1; i > 0; i-- {
		if &msgs[i] == msg {
			return msgs[i-1].Role
		}
	}
	return ""
}

// id is the id of a call in the form the server wants. The same id always
// becomes the same.
func (d *Dialect) id(id string) string {
	plain := len(id) == d.ID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if d.ID == 0 || plain {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:d.ID]
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
