// Package anthropic is a client of Anthropic's Messages API, which other
// servers offer too.
//
//	m, err := anthropic.New(anthropic.Config{Key: key})
//	answer, err := m.Generate(ctx, &llm.Request{Model: "claude-sonnet-4-6", Messages: conversation}, nil)
//
// Requests are the types of github.com/anthropics/anthropic-sdk-go, and its client
// makes the calls over an HTTPClient of ours, which owns the time limits and the
// errors. Events are read by a type of ours, which takes values of any type. Nothing is read from the environment. Prompts are cached
// by the server: each request marks its end as a place to cache up to.
//
// Answers are asked for as streams; one in one piece is read, too.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
		Headers: map[string]string{},
		HTTP:    c.HTTP,
		Idle:    c.IdleTimeout,
		Total:   c.Timeout,
	}}
	if key := transport.Secret(c.Key); key != "" {
		m.end.Headers["X-Api-Key"] = key
	}
	maps.Copy(m.end.Headers, c.Headers)
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
func (a *answer) post(ctx context.Context, params sdk.MessageNewParams) error {
	client := sdk.Client{Options: []option.RequestOption{
		option.WithBaseURL(a.end.Base + "/"), option.WithHTTPClient(a), option.WithMaxRetries(0),
		option.WithHeader("anthropic-version", "2023-06-01"), option.WithJSONSet("stream", true),
	}}
	var raw *http.Response
	err := client.Post(ctx, "v1/messages", params, nil, option.WithResponseInto(&raw))
	if a.reply != nil {
		return nil
	}
	var e *llm.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", a.end.Name, context.Cause(ctx))
	case errors.As(err, &e):
		return e
	}
	return a.end.Error(llm.BadRequest, "the request cannot be sent: "+err.Error())
}

// errTaken keeps the SDK from reading an answer, which is read from a.reply.
var errTaken = errors.New("the answer is read elsewhere")

// Do implements the SDK's HTTP client.
func (a *answer) Do(req *http.Request) (*http.Response, error) {
	var err error
	if a.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	if a.reply, err = a.end.Do(req, transport.Body{a.body}, true); err != nil {
		a.reply = nil
		return nil, err
	}
	return nil, errTaken
}
