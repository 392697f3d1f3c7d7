// Package ollama is a client of Ollama's native protocol, which can set the context
// window and refuses a prompt that is too long instead of silently cutting
// it, as its OpenAI-compatible one does.
//
//	m, err := ollama.New(ollama.Config{})
//	answer, err := m.Generate(ctx, &llm.Request{
//		Model: "qwen3:8b", Messages: conversation, Options: llm.Options{Window: 32768},
//	}, nil)
//
// Requests, messages and tools are the types of github.com/ollama/ollama/api, and
// its client asks the server about its models. Lines of an answer are read by a type
// of ours, see ADR 51.
//
// [Client] asks the server about its models. Pulling models is not its
// business.
package ollama

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// defaultAnswer bounds an answer, in tokens, if the request does not: without a limit a
// small model that repeats itself never stops.
const defaultAnswer = 4096

// A Config names a server. The zero value is the one on this machine.
type Config struct {
	Name        string            // for errors and hints; default "ollama"
	BaseURL     string            // default http://127.0.0.1:11434
	Key         string            // for a proxy in front of the server, "" for none
	Headers     map[string]string // sent with each request
	HTTP        *http.Client      // default: a client that heeds the environment's proxies
	IdleTimeout time.Duration     // the longest silence; 0 means five minutes, near by from the first byte on; negative no limit
	Timeout     time.Duration     // the longest answer; 0 means thirty minutes, negative no limit
	NoStream    bool              // ask for the answer in one piece
	Think       string            // "on", "off", "low", "medium", "high"; "" leaves it to the model
	KeepAlive   time.Duration     // how long the model stays loaded; 0 leaves it to the server
}

type model struct {
	end    transport.Endpoint
	stream bool
	think  *api.ThinkValue
	keep   *api.Duration
	known  known

	schemas schema.Cache
}

// New returns a Model for the server. It does not connect.
func New(c Config) (llm.Model, error) {
	end, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	m := &model{end: *end, stream: !c.NoStream}
	switch c.Think {
	case "":
	case "on", "off":
		m.think = &api.ThinkValue{Value: c.Think == "on"}
	case "low", "medium", "high":
		m.think = &api.ThinkValue{Value: c.Think}
	default:
		return nil, fmt.Errorf("%s: think is %q; use on, off, low, medium or high", end.Name, c.Think)
	}
	if c.KeepAlive != 0 {
		m.keep = &api.Duration{Duration: c.KeepAlive}
	}
	return m, nil
}

func (c Config) endpoint() (*transport.Endpoint, error) {
	end := &transport.Endpoint{
		Name:    cmp.Or(c.Name, "ollama"),
		Base:    cmp.Or(c.BaseURL, "http://127.0.0.1:11434"),
		Key:     c.Key,
		Headers: c.Headers,
		HTTP:    c.HTTP,
		Idle:    c.IdleTimeout,
		Total:   c.Timeout,
	}
	if err := end.Ready(); err != nil {
		return nil, err
	}
	// People have the path of the compatible protocol at hand.
	end.Base = strings.TrimSuffix(strings.TrimSuffix(end.Base, "/v1"), "/api")
	return end, nil
}

// Generate implements [llm.Model]. In deltas, special tokens that the model
// quotes are spelt as it was shown them; in the response they have their own spelling.
func (m *model) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	r, err := m.generate(ctx, req, emit)
	if r != nil {
		unescapeTokens(&r.Message)
	}
	return r, err
}

func (m *model) generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if len(req.Messages) == 0 {
		return nil, m.end.Error(llm.BadRequest, "the request has no messages")
	}
	a := &answer{Answer: transport.NewAnswer(&m.end, req, emit, m.known.opens(req.Model)), end: &m.end, req: req}
	body, err := m.body(ctx, req, &a.Notes)
	if err != nil {
		return nil, m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
	}
	a.Sent = body.Len()
	done := m.showLoading(ctx, req.Model, emit)
	reply, err := m.end.Post(ctx, "/api/chat", body, m.stream)
	done()
	if err != nil {
		return a.unparsed(err)
	}
	defer reply.Close()
	if _, err := reply.Events(true); err != nil {
		return nil, err
	}
	if err := a.read(reply); err != nil {
		return a.unparsed(err)
	}
	m.verify(ctx, a)
	r, err := a.response()
	if err == nil {
		m.withinThought(ctx, a, r)
	}
	if a.Unopened {
		// From now on thinking is separated while it streams.
		m.known.unopened(ctx, &m.end, req.Model)
	}
	return r, err
}
