// Package anthropic is a client of Anthropic's Messages API, which other
// servers offer too.
//
//	m, err := anthropic.New(anthropic.Config{Key: key})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "claude-sonnet-4-6", Messages: conversation}, nil)
//
// Nothing is read from the environment. Prompts are cached by the server: each request marks its
// end as a place to cache up to.
//
// Answers are asked for as streams; one in one piece is read, too.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config names an endpoint. Only Key is often needed.
type Config struct {
	Name        string            // for errors and hints; default "anthropic"
	BaseURL     string            // without /v1; default Anthropic's
	Key         string            // sent as X-Api-Key; "" for servers that want none
	Headers     map[string]string // sent with each request; they win over ours
	HTTP        *http.Client      // default: a client that heeds the environment's proxies
	IdleTimeout time.Duration     // the longest silence; 0 means five minutes, near by from the first byte on; negative no limit
	Timeout     time.Duration     // the longest answer; 0 means thirty minutes, negative no limit
}

// New returns a Model for the endpoint. It does not connect.
func New(c Config) (llm.Model, error) {
	m := &model{end: transport.Endpoint{
		Name:    cmp.Or(c.Name, "anthropic"),
		Base:    cmp.Or(c.BaseURL, "https://api.anthropic.com"),
		Headers: map[string]string{"Accept": "application/json", "Anthropic-Version": "2023-06-01"},
		HTTP:    c.HTTP,
		Idle:    c.IdleTimeout,
		Total:   c.Timeout,
	}}
	if key := transport.Secret(c.Key); key != "" {
		m.end.Headers["X-Api-Key"] = key
	}
	for name, value := range c.Headers {
		m.end.Headers[http.CanonicalHeaderKey(name)] = value
	}
	err := m.end.Ready()
	m.end.Base = strings.TrimSuffix(m.end.Base, "/v1")
	return m, err
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if len(req.Messages) == 0 {
		return nil, m.end.Error(llm.BadRequest, "the request has no messages")
	}
	a := &answer{Answer: transport.NewAnswer(&m.end, req, emit, ""), end: &m.end}
	var refused error // the refusal that another form is tried after
	var undo func()
	for {
		params, err := m.params(req)
		if err != nil {
			return nil, m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
		}
		err = a.post(ctx, params)
		if err == nil {
			break
		}
		if field, ok := m.quirks.learn(req.Model, a.body, err); ok {
			a.Notes = append(a.Notes, "the server refuses "+field+"; it was asked again without")
			continue
		}
		if refused != nil {
			undo()
			return nil, refused
		}
		if undo = m.quirks.other(req.Model, a.body, err); undo != nil {
			refused = err
			a.Notes = append(a.Notes, "the server refuses the request for a reason that is not known; it was asked again without what may be missing")
			continue
		}
		return nil, err
	}
	defer a.reply.Close()
	if req.Options.Effort != "" && m.quirks.refused(req.Model, effort) {
		a.Notes = append(a.Notes, "effort "+string(req.Options.Effort)+" is left out: the server refuses it")
	}
	if err := a.read(); err != nil {
		return nil, err
	}
	return a.response()
}

// post asks the server. a.reply is then to be closed.
func (a *answer) post(ctx context.Context, p *params) (err error) {
	if a.body, err = json.Marshal(p); err != nil {
		return a.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
	}
	a.reply, err = a.end.Post(ctx, "/v1/messages", transport.Body{a.body}, true)
	return err
}

// defaultAnswer bounds the tokens of an answer, which the protocol requires, where the
// request has no bound.
const defaultAnswer = 16_384

// params is a request, with its fields in the order in which Anthropic's own client sends them.
type params struct {
	MaxTokens    int       `json:"max_tokens"`
	Messages     []message `json:"messages,omitempty"`
	Model        string    `json:"model,omitempty"`
	Temperature  *float64  `json:"temperature,omitempty"`
	CacheControl *kind     `json:"cache_control,omitempty"`
	Output       output    `json:"output_config,omitzero"`
	System       []text    `json:"system,omitempty"`
	Thinking     *kind     `json:"thinking,omitempty"`
	ToolChoice   *kind     `json:"tool_choice,omitempty"`
	Tools        []tool    `json:"tools,omitempty"`
	Stream       bool      `json:"stream"`
}

// A kind is an object with nothing but its type.
type kind struct {
	Type string `json:"type"`
}

type output struct {
	Effort llm.Effort `json:"effort,omitempty"`
	Format *format    `json:"format,omitempty"`
}

type format struct {
	Schema json.RawMessage `json:"schema"`
	Type   string          `json:"type"`
}

type tool struct {
	Input       json.RawMessage `json:"input_schema"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
}

// A message is a turn. Its content is of the types below.
type message struct {
	Content []any  `json:"content"`
	Role    string `json:"role"`
}

type text struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

type image struct {
	Source source `json:"source"`
	Type   string `json:"type"`
}

type source struct {
	Data  []byte `json:"data"` // base64
	Media string `json:"media_type"`
	Type  string `json:"type"`
}

type toolUse struct {
	ID    string          `json:"id"`
	Input json.RawMessage `json:"input"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
}

type toolResult struct {
	ID      string `json:"tool_use_id"`
	Failed  bool   `json:"is_error"`
	Content []any  `json:"content"`
	Type    string `json:"type"`
}

type thinking struct {
	Signature string `json:"signature"`
	Thinking  string `json:"thinking"`
	Type      string `json:"type"`
}

type redacted struct {
	Data string `json:"data"`
	Type string `json:"type"`
}

func textOf(s string) text { return text{s, "text"} }

// params is the request in the form of the protocol, without what the server refused.
func (m *model) params(req *llm.Request) (*params, error) {
	p := &params{Model: req.Model, MaxTokens: cmp.Or(req.Options.MaxTokens, defaultAnswer), Stream: true}
	refused := func(field string) bool { return m.quirks.refused(req.Model, field) }
	if !refused("cache_control") {
		p.CacheControl = &kind{"ephemeral"}
	}
	for i := range req.Messages {
		if msg := &req.Messages[i]; msg.Role == llm.System {
			p.System = append(p.System, textOf(msg.Text))
		} else {
			p.Messages = join(p.Messages, turn(msg))
		}
	}
	thinks := req.Options.Effort != "" && !refused(effort)
	if thinks {
		p.Output.Effort = req.Options.Effort
		if !refused("adaptive") {
			p.Thinking = &kind{"adaptive"}
		}
	}
	if t := req.Options.Temperature; t != nil && p.Thinking == nil && !refused("temperature") {
		p.Temperature = t
	}
	var err error
	if p.Tools, err = m.tools(req); err != nil {
		return p, err
	}
	switch {
	case len(p.Tools) == 0:
	case len(req.Tools) == 0:
		p.ToolChoice = &kind{"none"}
	case req.RequireCall && p.Thinking == nil && !refused("tool_choice"):
		p.ToolChoice = &kind{"any"}
	}
	if len(req.Output) > 0 && !refused("format") {
		down, err := m.schemas.Down(schema.Strict, req.Output)
		if err != nil {
			return p, err
		}
		p.Output.Format = &format{down, "json_schema"}
	}
	return p, nil
}

// tools returns the tools that may be called, or that the prompt had before and that may not be called
// now.
func (m *model) tools(req *llm.Request) ([]tool, error) {
	list := req.Tools
	if len(list) == 0 {
		list = req.HiddenTools
	}
	var out []tool
	for _, s := range list {
		about, input, err := m.schemas.Parameters(schema.Common, s.Description, s.Input)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
		out = append(out, tool{Input: input, Name: s.Name, Description: about})
	}
	return out, nil
}

// turn is one message, which is a part of a turn.
func turn(m *llm.Message) message {
	var images []any
	for _, i := range m.Images {
		if len(i.Data) > 0 {
			images = append(images, image{source{i.Data, i.Type, "base64"}, "image"})
		}
	}
	switch m.Role {
	case llm.Tool:
		content := append([]any{textOf(cmp.Or(m.Text, "(no output)"))}, images...)
		return message{[]any{toolResult{callID(m.CallID), m.Failed, content, "tool_result"}}, "user"}
	case llm.User:
		said := m.Text
		if strings.TrimSpace(said) == "" { // which the server refuses
			said = "(no text)"
		}
		return message{append(images, textOf(said)), "user"} // images first, as the server wants them
	}
	blocks := thoughts(m.State)
	if strings.TrimSpace(m.Text) != "" || len(m.Calls)+len(blocks) == 0 {
		// The last text of a conversation may not end in white space.
		blocks = append(blocks, textOf(cmp.Or(strings.TrimRight(m.Text, " \t\r\n"), "(no text)")))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, toolUse{callID(c.ID), transport.Object(c.Args), transport.CallName(c.Name), "tool_use"})
	}
	return message{blocks, "assistant"}
}

// join appends a message. What one side says in several messages is one turn:
// the results of calls must all be in the turn that follows them.
func join(list []message, m message) []message {
	if n := len(list); n > 0 && list[n-1].Role == m.Role {
		list[n-1].Content = append(list[n-1].Content, m.Content...)
		return list
	}
	return append(list, m)
}

// thoughts are the signed thinking blocks of a message, which the server wants
// back unchanged.
func thoughts(s *llm.ProviderState) (blocks []any) {
	if s == nil || s.Dialect != stateDialect || s.Field != stateField {
		return nil
	}
	var list []thought
	if json.Unmarshal(s.Value, &list) != nil {
		return nil
	}
	for _, t := range list {
		if t.Data != "" {
			blocks = append(blocks, redacted{t.Data, "redacted_thinking"})
		} else if t.Signature != "" {
			blocks = append(blocks, thinking{t.Signature, t.Thinking, "thinking"})
		}
	}
	return blocks
}

// callID is the id of a call in the form that the server takes; ids of other
// providers may have other characters.
func callID(id string) string {
	return transport.CallName(id)
}

const effort = "effort"

// fields lists the fields that a request can do without, as refusals name them. Models differ in what
// they take: older ones know no adaptive thinking, newer ones no temperature.
var fields = []string{"temperature", "adaptive", effort, "cache_control", "tool_choice", "format"}

// quirks records the fields that an endpoint has refused for a model. It is safe for
// concurrent use.
type quirks struct {
	mu   sync.Mutex
	list map[string][]string // by model
	// tried are models whose refusal for an unknown reason was answered with another form.
	tried map[string]bool
}

func (q *quirks) refused(model, field string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.list[model], field)
}

// learn reads a refusal and reports whether asking again without what it names
// may help: whether it names a field that was sent.
func (q *quirks) learn(model string, sent []byte, err error) (field string, ok bool) {
	var e *llm.Error
	var words transport.ErrorText
	if !errors.As(err, &e) || !errors.As(err, &words) || e.Status != 400 || e.Kind != llm.BadRequest && e.Kind != llm.Unsupported {
		return "", false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	said := strings.ToLower(string(words))
	for _, f := range fields {
		if !strings.Contains(said, f) || !bytes.Contains(sent, []byte(`"`+f+`"`)) || slices.Contains(q.list[model], f) {
			continue
		}
		if q.list == nil {
			q.list = map[string][]string{}
		}
		q.list[model] = append(q.list[model], f)
		return f, true
	}
	return "", false
}

// other gives up all fields that were sent and can be missing, once for a model, after a refusal for a
// reason that is not known. undo takes that back.
func (q *quirks) other(model string, sent []byte, err error) (undo func()) {
	var e *llm.Error
	if !errors.As(err, &e) || !transport.Unexplained(e) {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before, tried := q.list[model], q.tried[model]
	now := slices.Clone(before)
	for _, f := range fields {
		if bytes.Contains(sent, []byte(`"`+f+`"`)) && !slices.Contains(now, f) {
			now = append(now, f)
		}
	}
	if tried || len(now) == len(before) {
		return nil
	}
	if q.tried == nil {
		q.tried = map[string]bool{}
	}
	if q.list == nil {
		q.list = map[string][]string{}
	}
	q.tried[model], q.list[model] = true, now
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.list[model] = before
	}
}

type model struct {
	end     transport.Endpoint
	quirks  quirks
	schemas schema.Cache
}
