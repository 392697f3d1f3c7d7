// Package openai is a client of the OpenAI chat completions protocol, which
// most other servers support too.
//
//	m, err := openai.New(openai.Config{Name: "vllm", BaseURL: "http://gpu:8000/v1"})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "qwen3", Messages: conversation}, nil)
//
// Requests, messages and chunks are the types of github.com/sashabaranov/go-openai,
// and its client makes the calls, over an HTTPDoer of ours: see ADR 51.
//
// It is not for OpenAI's Responses API, images or audio.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config names an endpoint. Only BaseURL is often needed.
type Config struct {
	Name        string            // for errors and hints; default "openai"
	BaseURL     string            // including /v1; default OpenAI's
	Key         string            // "" for servers that want none
	Headers     map[string]string // sent with each request; they win over ours
	HTTP        *http.Client      // default: a client that heeds the environment's proxies
	IdleTimeout time.Duration     // the longest silence; 0 means five minutes, near by from the first byte on; negative no limit
	Timeout     time.Duration     // the longest answer; 0 means thirty minutes, negative no limit
	NoStream    bool              // ask for the answer in one piece

	Dialect    string         // its name, see Dialects; "" guesses it from BaseURL
	APIVersion string         // of Azure; default 2024-10-21
	Body       map[string]any // fields to send with each request
	OneCall    bool           // ask for one call at a time, where the dialect can
}

type model struct {
	end     transport.Endpoint
	stream  bool
	dialect Dialect
	version string
	more    map[string]json.RawMessage
	oneCall bool
	quirks  quirks
	below   atomic.Bool // paths are below /v1, which the base URL lacks
	schemas schema.Cache
}

// New returns a Model for the endpoint. It does not connect.
func New(c Config) (llm.Model, error) {
	base, query := transport.Address(c.BaseURL)
	if q, err := url.ParseQuery(query); err == nil && q.Has("api-version") { // Azure's, which we send ourselves
		c.APIVersion = cmp.Or(c.APIVersion, q.Get("api-version"))
		q.Del("api-version")
		query = q.Encode()
	}
	if query != "" {
		base += "?" + query
	}
	m := &model{stream: !c.NoStream, end: transport.Endpoint{
		Name:    cmp.Or(c.Name, "openai"),
		Base:    cmp.Or(base, "https://api.openai.com/v1"),
		Key:     c.Key,
		Headers: c.Headers,
		HTTP:    c.HTTP,
		Idle:    c.IdleTimeout,
		Total:   c.Timeout,
	}}
	if err := m.end.Ready(); err != nil {
		return nil, err
	}
	m.dialect = Guess(m.end.Base)
	if c.Dialect != "" {
		var ok bool
		if m.dialect, ok = Known(c.Dialect); !ok {
			return nil, fmt.Errorf("%s: there is no dialect %q; use %s", m.end.Name, c.Dialect, names())
		}
	}
	if m.dialect.state == "" && wantReasoning(m.end.Base) {
		m.dialect.state = reasoningContent
	}
	m.version, m.oneCall = cmp.Or(c.APIVersion, "2024-10-21"), c.OneCall && m.dialect.Parallel
	if h := m.dialect.keyHeader; h != "" && m.end.Key != "" {
		m.end.Headers = maps.Clone(m.end.Headers)
		if m.end.Headers == nil {
			m.end.Headers = map[string]string{}
		}
		if _, set := m.end.Headers[h]; !set {
			m.end.Headers[h] = m.end.Key
		}
		m.end.Key = ""
	}
	m.more = map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(c.Body)) {
		if slices.Contains([]string{"model", "messages", "tools", "stream", "response_format"}, key) {
			return nil, fmt.Errorf("%s: body must not set %s, which belongs to the request", m.end.Name, key)
		}
		b, err := json.Marshal(c.Body[key])
		if err != nil {
			return nil, fmt.Errorf("%s: body.%s cannot be sent as JSON: %w", m.end.Name, key, err)
		}
		m.more[key] = b
	}
	return m, nil
}

func names() string {
	var list []string
	for _, d := range dialects() {
		list = append(list, d.Name)
	}
	return strings.Join(list, ", ")
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if len(req.Messages) == 0 {
		return nil, m.end.Error(llm.BadRequest, "the request has no messages")
	}
	a := &answer{end: &m.end, Answer: transport.NewAnswer(&m.end, req, emit, "")}
	var stream *goopenai.ChatCompletionStream
	var refused error // the refusal that another form is tried after
	var changes []string
	for {
		var err error
		if a.call, err = m.call(req); err != nil {
			return nil, m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
		}
		if stream, err = a.post(ctx); err == nil {
			break
		}
		if field, ok := m.quirks.learn(a.call, err); ok {
			a.Notes = append(a.Notes, "the server refuses "+field+"; it was asked again without")
			continue
		}
		if m.lacksVersion(err) {
			a.Notes = append(a.Notes, "the server has no such path; it was asked again below /v1")
			continue
		}
		if refused != nil {
			m.quirks.undo(req.Model, changes)
			return m.failed(a.call, refused)
		}
		if m.asUnknown(err, req) {
			changes = m.quirks.other(a.call, err)
		}
		if len(changes) > 0 {
			refused = err
			m.quirks.add(req.Model, changes...)
			a.Notes = append(a.Notes, "the server refuses the request for a reason that is not known; it was asked again without "+strings.Join(changes, ", "))
			continue
		}
		return m.failed(a.call, err)
	}
	defer stream.Close()
	if idle := m.effortOmitted(req); idle != "" {
		a.Notes = append(a.Notes, idle)
	}
	if err := a.read(stream); err != nil {
		return m.failed(a.call, err)
	}
	r, err := a.response()
	if err == nil && m.strict(req.Model) {
		raiseArguments(r.Message.Calls, req.Tools)
	}
	if err == nil && m.format(req) && r.Stop == llm.StopEnd {
		r.Message.Text = m.raised(req.Output, r.Message.Text)
	} else if err == nil && len(req.Output) > 0 && !m.format(req) {
		r.Notes = append(r.Notes, "the output schema was not sent: "+m.dialect.Name+" cannot combine it with tools")
	}
	return r, err
}

// lacksVersion reports whether the address has no path and the server none of ours below it: then
// it is asked below /v1, where most have it.
func (m *model) lacksVersion(err error) bool {
	var e *llm.Error
	u, perr := url.Parse(m.end.Base)
	return perr == nil && strings.Trim(u.Path, "/") == "" && !m.dialect.deployment && errors.As(err, &e) && e.Kind == llm.BadRequest &&
		(e.Status == 404 || e.Status == 405) && m.below.CompareAndSwap(false, true)
}

// asUnknown reports whether no other way to answer err is known.
func (m *model) asUnknown(err error, req *llm.Request) bool {
	var e *llm.Error
	var raw transport.Generation
	return errors.As(asUnsupported(err, req), &e) && e.Kind == llm.BadRequest && !errors.As(err, &raw)
}

// failed makes an answer of what a model wrote and the server could not parse.
// If we cannot either, a call was lost: asking again the same way would fail
// again. Other errors stay errors.
func (m *model) failed(c *call, err error) (*llm.Response, error) {
	req := c.req
	var raw transport.Generation
	if len(req.Tools) == 0 || !errors.As(err, &raw) {
		return nil, asUnsupported(err, req)
	}
	r := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: llm.StopCalls, Model: req.Model,
		Notes: []string{"the server could not parse a tool call and reported an error; its text was read from there"}}
	found := textcall.Read(string(raw), textcall.Options{Family: textcall.Detect("", req.Model, ""), Offered: req.Tools})
	r.Message.Text, r.Message.Thinking = found.Text, found.Thinking
	calls := found.Calls
	r.Notes, r.Repairs = append(r.Notes, found.Notes...), found.Notes
	if len(calls) == 0 {
		if call, note, ok := textcall.Whose(string(raw), req.Tools); ok {
			calls, r.Message.Text = []llm.Call{call}, ""
			if note != "" {
				r.Notes, r.Repairs = append(r.Notes, note), []string{note}
			}
		}
	}
	if len(calls) == 0 {
		r.Stop, r.Message.Text, r.Notes = llm.StopEnd, "", []string{llm.DroppedCall}
	}
	r.Message.Calls = transport.Tidy(calls, req.Messages, false)
	r.Usage, _ = transport.Usage(llm.Usage{}, c.sent, len(raw))
	return r, nil
}
