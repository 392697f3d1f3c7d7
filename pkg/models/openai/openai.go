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
	"bytes"
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
	goopenai "github.com/sashabaranov/go-openai"
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
	if q, err := url.ParseQuery(query); err == nil && q.Has("api-version") && (Guess(base).deployment || c.Dialect == "azure") { // which is sent with each path
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
	var below error // for which it was asked below /v1
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
		if below != nil && noPath(err) {
			m.below.Store(false)
			return m.failed(a.call, below)
		}
		if m.lacksVersion(err) {
			below = err
			a.Notes = append(a.Notes, "the server has no such path; it was asked again below /v1")
			continue
		}
		m.quirks.undo(req.Model, changes)
		if !m.asUnknown(err, req) {
			return m.failed(a.call, err)
		}
		refused = cmp.Or(refused, err)
		if changes = m.quirks.other(a.call, refused); len(changes) == 0 {
			return m.failed(a.call, refused)
		}
		m.quirks.add(req.Model, changes...)
		a.Notes = append(a.Notes, "the server refuses the request for a reason that is not known; it was asked again without "+strings.Join(changes, ", "))
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

// versioned matches a path with the version of an API.
var versioned = lazyregexp.New(`/v[0-9]`)

// lacksVersion reports whether the path of the address has no version and the server nothing below
// it: then it is asked below /v1, where most have it.
func (m *model) lacksVersion(err error) bool {
	u, perr := url.Parse(m.end.Base)
	return perr == nil && !versioned.MatchString(u.Path) && !m.dialect.deployment && noPath(err) && m.below.CompareAndSwap(false, true)
}

// noPath reports whether a server has nothing at the path that was asked.
func noPath(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.BadRequest && (e.Status == 404 || e.Status == 405)
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

// quirks records the fields that an endpoint has refused for a model. Servers name the
// field in their refusal; it is then left out, or renamed, and the request sent again at
// once: it is the same question. It is safe for concurrent use.
type quirks struct {
	mu      sync.Mutex
	refused map[string][]string   // by model
	left    map[string][][]string // by model that refused for an unknown reason: what other forms are to be tried without
}

// fields that a request can do without, as they are named in refusals.
// max_tokens is renamed rather than left out.
var fields = []string{"temperature", "stream_options", "parallel_tool_calls", "chat_template_kwargs", "reasoning_effort", "reasoning", "tool_choice", "grammar", "max_completion_tokens", "max_tokens", "stream"}

// Quirks of the messages: the server wants reasoning back with the calls that came with it,
// takes no message of the user right behind a result, and none of the system.
const (
	wantsReasoning = "conversations without reasoning_content"
	alternates     = "a user behind a tool"
	noSystem       = "a message of the system"
)

// strictTools is the quirk of a server that does not accept strict tools. With the name
// of a tool behind it, it is the quirk of a server that does not accept that tool's
// strict schema.
const strictTools = "strict"

// plainTools is the quirk of a server that refused the request with more in the schemas of its tools.
const plainTools = "bounds and defaults in the schemas of tools"

// ofTool finds the tool that a refusal of a schema names.
var ofTool = lazyregexp.New("invalid schema for function ['\"`]?([A-Za-z0-9_-]+)")

// loose are the tools of a model whose strict schemas were refused.
func (q *quirks) loose(model string) []string {
	var out []string
	for _, f := range q.of(model) {
		if name, ok := strings.CutPrefix(f, strictTools+" "); ok {
			out = append(out, name)
		}
	}
	return out
}

func (q *quirks) of(model string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.refused[model])
}

// learn reads a refusal and reports whether asking again without what it
// names may help: whether it names a field that was sent.
func (q *quirks) learn(c *call, err error) (field string, ok bool) {
	var e *llm.Error
	var words transport.ErrorText
	if !errors.As(err, &e) || e.Kind != llm.BadRequest && e.Kind != llm.Unsupported || !errors.As(err, &words) {
		return "", false
	}
	model, said := c.req.Model, strings.ToLower(string(words))
	switch {
	case strings.Contains(said, "reasoning_content") && c.lacksReasoning():
		return wantsReasoning, q.add(model, wantsReasoning)
	case (strings.Contains(said, "alternate") || strings.Contains(said, "after role")) && c.userBehindTool():
		return alternates, q.add(model, alternates)
	case ofSystem.MatchString(said) && c.hasSystem():
		return noSystem, q.add(model, noSystem)
	case e.Status != 400 && e.Status != 422:
		return "", false
	}
	for _, f := range append([]string{strictTools}, fields...) {
		if f == strictTools {
			if !strings.Contains(said, "invalid schema for function") && !strings.Contains(said, "strict") || !bytes.Contains(c.tools, []byte(`"strict":true`)) {
				continue
			}
			if of := ofTool.FindStringSubmatch(strings.Replace(string(words), "Invalid", "invalid", 1)); of != nil && bytes.Contains(c.tools, []byte(`"name":"`+of[1]+`"`)) {
				f += " " + of[1]
			}
		} else if !about(said, f) || !bytes.Contains(c.fields, []byte(`"`+f+`":`)) {
			continue
		}
		return f, q.add(model, f)
	}
	return "", false
}

// add notes what a model refuses and reports whether that is new.
func (q *quirks) add(model string, what ...string) (fresh bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refused == nil {
		q.refused = map[string][]string{}
	}
	for _, f := range what {
		if !slices.Contains(q.refused[model], f) {
			q.refused[model] = append(q.refused[model], f)
			fresh = true
		}
	}
	return fresh
}

// other finds another form of a request that was refused for a reason that is not known, each once for a model: without
// the fields that can be missing, and with what some servers want of the messages; with plainer tools; with
// all of that, in one piece.
func (q *quirks) other(c *call, err error) []string {
	var e *llm.Error
	if !errors.As(err, &e) || !transport.Unexplained(e) || c.named(err) {
		return nil
	}
	var light, plain, all []string
	for _, f := range fields {
		if f != "max_tokens" && f != "max_completion_tokens" && f != "stream" && bytes.Contains(c.fields, []byte(`"`+f+`":`)) && c.m.more[f] == nil {
			light = append(light, f)
		}
	}
	if c.lacksReasoning() {
		light = append(light, wantsReasoning)
	}
	if c.userBehindTool() {
		light = append(light, alternates)
	}
	if c.tools != nil {
		plain = append(plain, plainTools)
	}
	if len(plain) > 0 && c.stream {
		all = slices.Concat(light, plain, []string{"stream"})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	left, known := q.left[c.req.Model]
	if !known {
		left = slices.DeleteFunc([][]string{light, plain, all}, func(f []string) bool { return len(f) == 0 })
	}
	if q.left == nil {
		q.left = map[string][][]string{}
	}
	for len(left) > 0 { // without what is known already, so that it is not undone
		form := slices.DeleteFunc(left[0], func(f string) bool { return slices.Contains(q.refused[c.req.Model], f) })
		left = left[1:]
		q.left[c.req.Model] = left
		if len(form) > 0 {
			return form
		}
	}
	return nil
}

// undo takes back what another form was tried with.
func (q *quirks) undo(model string, changes []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(changes) > 0 {
		q.refused[model] = slices.DeleteFunc(q.refused[model], func(f string) bool { return slices.Contains(changes, f) })
	}
}

// named reports whether the server names a field that the operator wants sent.
func (c *call) named(err error) bool {
	var words transport.ErrorText
	if !errors.As(err, &words) {
		return false
	}
	for name := range c.m.more {
		if strings.Contains(string(words), name) {
			return true
		}
	}
	return false
}

// lacksReasoning reports whether the conversation has calls, and the server does not get
// the reasoning that came with them.
func (c *call) lacksReasoning() bool {
	return c.m.dialect.state == "" && !slices.Contains(c.m.quirks.of(c.req.Model), wantsReasoning) &&
		slices.ContainsFunc(c.req.Messages, func(m llm.Message) bool { return len(m.Calls) > 0 })
}

// hasSystem reports whether a message of the system is sent as one.
func (c *call) hasSystem() bool {
	return !c.noSystem && len(c.req.Messages) > 0 && c.req.Messages[0].Role == llm.System
}

// userBehindTool reports whether a message of the user is right behind a result.
func (c *call) userBehindTool() bool {
	if c.bridge {
		return false
	}
	for i := 1; i < len(c.req.Messages); i++ {
		if c.req.Messages[i].Role == llm.User && c.req.Messages[i-1].Role == llm.Tool {
			return true
		}
	}
	return false
}

// about reports whether a refusal is about a field. Ollama has words of its own
// for a model that does not think.
func about(said, field string) bool {
	if field == "stream" {
		return ofStream.MatchString(said) && cannot.MatchString(said)
	}
	return strings.Contains(said, field) || field == string(effortString) && strings.Contains(said, "does not support thinking")
}

// unable are the words of servers that cannot do what was asked, for which
// they have no code of their own.
var unable = []struct{ words, what string }{
	{"enable-auto-tool-choice", "tools"},        // vLLM
	{"requires --jinja", "tools"},               // llama.cpp
	{"tool calling", "tools"},                   // Groq, OpenRouter
	{"tool use", "tools"},                       // OpenRouter
	{"function calling", "tools"},               // Gemini, LM Studio
	{"response_format", "format"},               // all that refuse it
	{"json_schema", "format"},                   // OpenAI's older models
	{"json schema", "format"},                   // Ollama
	{"structured output", "format"},             // vLLM, OpenRouter
	{"guided decoding", "format"},               // vLLM
	{"grammar", "format"},                       // llama.cpp
	{"failed to initialize samplers", "format"}, // llama.cpp, of a grammar
}

// ofTools is a refusal that names tools, and cannot is one that says of something that the
// server does not do it: together they are the rule for words that no list has.
var (
	ofSystem = lazyregexp.New(`\b(?:system|developer) (?:role|message|prompt|instruction)s?\b|\bgot system\b`)
	ofStream = lazyregexp.New(`\bstream(?:ing)?\b`)

	ofTools = lazyregexp.New(`\b(?:tools?|tool_choice|functions?)\b`)
	cannot  = lazyregexp.New(`support|unavailable|not (?:available|enabled|implemented|permitted|allowed)|disabled|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)`)
)

// asUnsupported makes the refusal of tools or of a schema one of kind Unsupported, so
// that another way can be tried.
func asUnsupported(err error, req *llm.Request) error {
	var e *llm.Error
	var words transport.ErrorText
	if !errors.As(err, &e) || !errors.As(err, &words) || e.Kind != llm.BadRequest && e.Kind != llm.Overloaded || e.Status < 400 || e.Status > 500 {
		return err
	}
	said := strings.ToLower(string(words))
	refused := len(req.Tools) > 0 && e.Kind == llm.BadRequest && ofTools.MatchString(said) && cannot.MatchString(said)
	for _, u := range unable {
		asked := u.what == "tools" && len(req.Tools) > 0 || u.what == "format" && len(req.Output) > 0
		refused = refused || asked && strings.Contains(said, u.words)
	}
	if refused {
		c := *e
		c.Kind = llm.Unsupported
		return &c
	}
	return err
}
