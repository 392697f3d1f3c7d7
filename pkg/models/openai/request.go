package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// call encodes the messages and tools of a request that the history does not
// have yet.
func (m *model) call(req *llm.Request) (*call, error) {
	quirks := m.quirks.of(req.Model)
	c := &call{m: m, req: req, bridge: m.dialect.bridge || slices.Contains(quirks, alternates), reasoning: m.dialect.state, must: slices.Contains(quirks, wantsReasoning),
		noSystem: slices.Contains(quirks, noSystem), stream: m.stream && !slices.Contains(quirks, "stream")}
	form := "openai/" + m.dialect.Name
	if c.bridge && !m.dialect.bridge {
		form += " bridge"
	}
	if c.noSystem {
		form += " without system"
	}
	if c.must {
		c.reasoning = reasoningContent
		form += " reasoning"
	}
	var err error
	encode := func(dst []byte, msg *llm.Message) ([]byte, error) { return c.append(dst, msg) }
	if c.messages, err = req.History.Encode(form, req.Messages, encode); err != nil {
		return nil, err
	}
	if list := m.shown(req); len(list) > 0 {
		strict, loose := m.strict(req.Model), []string(nil)
		if strict {
			loose = m.quirks.loose(req.Model)
			form = strings.Join(append([]string{form, "strict"}, loose...), " ")
		}
		words := schema.Common
		if slices.Contains(quirks, plainTools) {
			words = schema.Ollama
			form += " plain"
		}
		c.tools, err = req.History.Tools(form, list, func(specs []llm.ToolSpec) ([]byte, error) { return m.encode(specs, words, strict, loose) })
	}
	return c, err
}

// shown are the tools in the request. Those that may not be called are among them, as
// they come first in the prompt that the server has cached.
func (m *model) shown(req *llm.Request) []llm.ToolSpec {
	if len(req.Tools) == 0 && !(m.dialect.Alone && m.format(req)) {
		return req.HiddenTools
	}
	return req.Tools
}

// strict reports whether the server holds arguments to strict schemas.
func (m *model) strict(name string) bool {
	refused := m.quirks.of(name)
	return m.dialect.StrictTools && !slices.Contains(refused, strictTools) && !slices.Contains(refused, plainTools)
}

// format reports whether the schema of a request is sent. If it cannot be sent together
// with tools, the model needs the tools more; the caller validates the answer.
func (m *model) format(req *llm.Request) bool {
	return len(req.Output) > 0 && !(m.dialect.Alone && len(req.Tools) > 0)
}

// requestFields are all of a request but its messages and tools, in the library's
// type. Fields of the same name here win.
type requestFields struct {
	Messages    *struct{} `json:"messages,omitempty"`    // which are encoded already
	Temperature *float64  `json:"temperature,omitempty"` // the library takes 0 for none
	MaxTokens   int       `json:"max_tokens,omitempty"`  // which other servers know, and the library deprecates
	goopenai.ChatCompletionRequest
}

// request returns the fields of a request and, in c.extra, those that the library lacks.
func (m *model) request(c *call) (requestFields, error) {
	d, req, refused := &m.dialect, c.req, m.quirks.of(c.req.Model)
	c.extra = map[string]any{}
	r := requestFields{}
	r.Model, r.Stream = req.Model, c.stream
	if c.stream && !d.usageByDefault {
		r.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	newer := d.isNew(req.Model)
	if !newer {
		r.Temperature = req.Options.Temperature
	}
	if n := req.Options.MaxTokens; newer && !slices.Contains(refused, "max_completion_tokens") || slices.Contains(refused, "max_tokens") {
		r.MaxCompletionTokens = n
	} else {
		r.MaxTokens = n
	}
	if e := req.Options.Effort; e != "" && m.effortOmitted(req) == "" {
		c.extra[string(d.effortField)] = d.effortField.value(e)
	}
	if m.oneCall && len(req.Tools) > 0 {
		r.ParallelToolCalls = false
	}
	switch {
	case c.tools == nil:
	case len(req.Tools) == 0:
		if d.Must != "" && !slices.Contains(refused, "tool_choice") {
			r.ToolChoice = "none"
		}
	case req.RequireCall && d.Must != "":
		r.ToolChoice = d.Must
	}
	if d.Grammar && len(req.TextTools) > 0 && len(req.Tools)+len(req.Output) == 0 {
		text, err := req.History.Tools("gbnf", req.TextTools, textOrCall)
		if err != nil {
			return r, err
		}
		c.extra["grammar"] = string(text)
	}
	if m.format(req) {
		maps.Copy(c.extra, d.WithFormat)
		var err error
		if r.ResponseFormat, err = m.responseFormat(req.Output); err != nil {
			return r, err
		}
	}
	return r, nil
}

func textOrCall(specs []llm.ToolSpec) ([]byte, error) {
	var list []schema.Callable
	for _, s := range specs {
		list = append(list, schema.Callable{Name: s.Name, Input: s.Input})
	}
	text, err := schema.TextOrCall(list)
	return []byte(text), err
}

// responseFormat holds the answer to a schema.
func (m *model) responseFormat(output json.RawMessage) (*goopenai.ChatCompletionResponseFormat, error) {
	if m.dialect.Format == formatObject {
		return &goopenai.ChatCompletionResponseFormat{Type: goopenai.ChatCompletionResponseFormatTypeJSONObject}, nil
	}
	if m.wrapped(output) {
		output = fmt.Appendf(nil, `{"type":"object","properties":{"value":%s},"required":["value"],"additionalProperties":false}`, output)
	}
	down, err := m.schemas.Down(m.dialect.schemaDialect(), output)
	if err != nil {
		return nil, err
	}
	return &goopenai.ChatCompletionResponseFormat{
		Type: goopenai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{
			Name: "answer", Schema: down, Strict: m.dialect.Format == formatStrict},
	}, nil
}

// wrapped reports whether a schema has to be put into an object, as the
// strict form wants one at the root.
func (m *model) wrapped(output json.RawMessage) bool {
	return m.dialect.schemaDialect().Object && !schema.Closes(output)
}

// raised is an answer to a schema in the form that was asked for.
func (m *model) raised(output json.RawMessage, text string) string {
	if m.dialect.Format != formatStrict {
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

// encode writes tools, strict ones where their schemas have a strict form and
// the server did not refuse it: loose names those.
func (m *model) encode(specs []llm.ToolSpec, words *schema.Dialect, strict bool, loose []string) ([]byte, error) {
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
			about, input, err = m.schemas.Parameters(words, s.Description, s.Input)
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

// raiseArguments changes arguments that were written for strict schemas into the
// form of the full ones. What the server did not send as JSON stays.
func raiseArguments(calls []llm.Call, offered []llm.ToolSpec) {
	for i := range calls {
		c := &calls[i]
		n := slices.IndexFunc(offered, func(t llm.ToolSpec) bool { return t.Name == c.Name })
		if n >= 0 && c.Malformed == "" && len(offered[n].Input) > 0 {
			c.Args = schema.Raise(offered[n].Input, c.Args)
		}
	}
}

// noted is an answer between two messages of the user, which templates want to alternate.
const noted = `,{"role":"assistant","content":"(noted)"}`

// append appends one message, encoded by the library's type. Content is always
// there, since several servers refuse messages without it.
func (c *call) append(dst []byte, msg *llm.Message) ([]byte, error) {
	m, req, text := c.m, c.req, msg.Text
	d := &m.dialect
	if text == "" {
		switch {
		case msg.Role == llm.Tool:
			text = "(no output)"
		case msg.Role == llm.Assistant && len(msg.Calls) == 0:
			text = "(no text)"
		}
	}
	if c.bridge && msg.Role == llm.User && before(req.Messages, msg) == llm.Tool {
		dst = append(append(dst, noted[1:]...), ',')
	}
	out := goopenai.ChatCompletionMessage{Role: string(msg.Role), Content: text}
	if parts := images(msg.Images); parts != nil && msg.Role == llm.User {
		out.Content = ""
		out.MultiContent = append([]goopenai.ChatMessagePart{{Type: goopenai.ChatMessagePartTypeText, Text: cmp.Or(text, "(no text)")}}, parts...)
	}
	switch {
	case msg.Role != llm.System:
	case c.noSystem:
		out.Role = goopenai.ChatMessageRoleUser
	case d.isNew(req.Model):
		out.Role = goopenai.ChatMessageRoleDeveloper
	}
	if msg.Role == llm.Tool {
		out.ToolCallID = d.id(msg.CallID)
	}
	for _, k := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{ID: d.id(k.ID), Type: goopenai.ToolTypeFunction,
			Function: goopenai.FunctionCall{Name: transport.CallName(k.Name), Arguments: string(transport.Plain(transport.Object(k.Args)))}})
	}
	b, err := out.MarshalJSON() // json.Marshal would read what it returns once more
	s := msg.State
	if s != nil && (s.Dialect != d.Name || s.Field != c.reasoning || !json.Valid(s.Value)) {
		s = nil
	}
	if s == nil && c.must && len(msg.Calls) > 0 {
		s = &llm.ProviderState{Field: reasoningContent, Value: json.RawMessage(`"(none)"`)} // also of calls that came without
	}
	if err == nil && s != nil && s.Field == extraContent {
		b, err = signCalls(b, s.Value)
		s = nil
	}
	if err != nil {
		return nil, err
	}
	dst = append(dst, transport.Plain(b)...)
	if text == "" && out.MultiContent == nil { // which the library leaves out
		dst = append(dst[:len(dst)-1], `,"content":""}`...)
	}
	if s != nil {
		dst = append(append(append(dst[:len(dst)-1], `,"`+s.Field+`":`...), s.Value...), '}')
	}
	if msg.Role == llm.System && c.noSystem {
		dst = append(dst, noted...)
	}
	return c.appendShown(dst, req.Messages, msg)
}

// appendShown appends the images in the results of an answer's calls after the last
// result, as a user message: tool messages carry text only.
func (c *call) appendShown(dst []byte, msgs []llm.Message, msg *llm.Message) ([]byte, error) {
	at := len(msgs) - 1 // a message that was not encoded before is near the end
	for at >= 0 && &msgs[at] != msg {
		at--
	}
	if msg.Role != llm.Tool || at < 0 || at+1 < len(msgs) && msgs[at+1].Role == llm.Tool {
		return dst, nil
	}
	var parts []goopenai.ChatMessagePart
	var names []string
	for ; at > 0 && msgs[at].Role == llm.Tool; at-- {
		parts = slices.Concat(images(msgs[at].Images), parts)
		for _, i := range slices.Backward(msgs[at].Images) {
			names = append(names, i.Name)
		}
	}
	if parts == nil {
		return dst, nil
	}
	slices.Reverse(names)
	text := goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeText, Text: "[shown by the results above: " + strings.Join(names, ", ") + "]"}
	b, err := json.Marshal(goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleUser, MultiContent: slices.Insert(parts, 0, text)})
	if c.bridge {
		dst = append(dst, noted...)
	}
	return append(append(dst, ','), transport.Plain(b)...), err
}

// images are the parts of a message for its images.
func images(list []llm.Image) (parts []goopenai.ChatMessagePart) {
	for _, i := range list {
		if len(i.Data) > 0 {
			url := "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
			parts = append(parts, goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeImageURL, ImageURL: &goopenai.ChatMessageImageURL{URL: url}})
		}
	}
	return parts
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
	plain := len(id) == d.idLength && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if d.idLength == 0 || plain {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:d.idLength]
}
