// Package openai speaks the OpenAI chat completions protocol, which OpenAI
// itself and most other servers understand.
//
//	m, err := openai.New(openai.Config{Name: "vllm", BaseURL: "http://gpu:8000/v1"})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "qwen3", Messages: conversation}, nil)
//
// The types of github.com/sashabaranov/go-openai describe what is sent and
// the errors that come back; its client is not used. That client marshals the
// whole conversation anew for each request, cannot send a temperature of 0 or
// an empty content, drops the reasoning field most servers use, takes a stream
// that was cut off for a finished one, and loses Retry-After.
//
// It is not for OpenAI's Responses API, images or audio.
package openai

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
)

// A Config names an endpoint. Only BaseURL is often needed.
type Config struct {
	Name        string            // for errors and hints; default "openai"
	BaseURL     string            // including /v1; default OpenAI's
	Key         string            // "" for servers that want none
	Headers     map[string]string // sent with each request; they win over ours
	HTTP        *http.Client      // default: a client that heeds the environment's proxies
	IdleTimeout time.Duration     // the longest silence; 0 means five minutes, negative no limit
	Timeout     time.Duration     // the longest answer; 0 means thirty minutes, negative no limit
	NoStream    bool              // ask for the answer in one piece
}

type model struct {
	end    transport.Endpoint
	stream bool
	// newer says that the server is OpenAI's own, whose recent models refuse
	// max_tokens; others know nothing else.
	newer bool
}

// New returns a Model for the endpoint. It does not connect.
func New(c Config) (llm.Model, error) {
	m := &model{stream: !c.NoStream, end: transport.Endpoint{
		Name:    cmp.Or(c.Name, "openai"),
		Base:    cmp.Or(c.BaseURL, "https://api.openai.com/v1"),
		Key:     c.Key,
		Headers: c.Headers,
		HTTP:    c.HTTP,
		Idle:    c.IdleTimeout,
		Total:   c.Timeout,
	}}
	if err := m.end.Ready(); err != nil {
		return nil, err
	}
	if u, err := url.Parse(m.end.Base); err == nil {
		m.newer = u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com")
	}
	return m, nil
}

// Generate implements [llm.Model].
func (m *model) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if len(req.Messages) == 0 {
		return nil, m.end.Error(llm.BadRequest, "the request has no messages")
	}
	body, err := m.body(req)
	if err != nil {
		return nil, m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
	}
	reply, err := m.end.Post(ctx, "/chat/completions", body, m.stream)
	if err != nil {
		return nil, err
	}
	defer reply.Close()
	a := &answer{end: &m.end, req: req, emit: emit, sent: body.Len()}
	switch reply.Type {
	case "text/event-stream", "text/plain", "application/octet-stream", "":
		if m.stream {
			err = a.stream(reply)
			break
		}
		err = a.whole(reply)
	case "application/json", "application/problem+json":
		// Some servers ignore the wish for a stream.
		err = a.whole(reply)
	default:
		err = m.end.WrongType(reply.Type, "text/event-stream or application/json")
	}
	if err != nil {
		return nil, err
	}
	return a.response()
}
