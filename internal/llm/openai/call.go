package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/llm/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A call is one request through go-openai's client, as its HTTPDoer. It owns
// what the client lacks: fields of other servers and a temperature of 0,
// messages and tools that are encoded already, time limits, typed errors with
// Retry-After, and the end of a stream that was cut off.
type call struct {
	m               *model
	req             *llm.Request
	messages, tools []byte         // JSON arrays; tools may be nil
	extra           map[string]any // fields that the library's request lacks
	fields          []byte         // all fields but messages and tools, as sent
	sent            int            // bytes of the body
	reply           *transport.Reply
}

// post asks the server. The stream's Close ends the request.
func (c *call) post(ctx context.Context) (*goopenai.ChatCompletionStream, error) {
	request, err := c.m.request(c)
	if err != nil {
		return nil, c.m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
	}
	conf := goopenai.DefaultConfig(c.m.end.Key)
	conf.HTTPClient = c
	conf.BaseURL, conf.APIVersion = c.m.base(c.req.Model)
	return goopenai.NewClientWithConfig(conf).CreateChatCompletionStream(ctx, request)
}

// base is the address under which a model is asked, and Azure's API version.
func (m *model) base(name string) (base, version string) {
	base = m.end.Base
	switch {
	case !m.dialect.deployment, strings.HasSuffix(base, "/v1"):
		return base, ""
	case strings.Contains(base, "/deployments/"):
		return base, m.version
	case !strings.HasSuffix(base, "/openai"):
		base += "/openai"
	}
	return base + "/deployments/" + url.PathEscape(name), m.version
}

// Do implements [goopenai.HTTPDoer]. The body of the response is a stream that
// the client can read, whatever the server sent.
func (c *call) Do(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	body, err := c.body(b)
	if err != nil {
		return nil, c.m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
	}
	c.sent = body.Len()
	if !c.m.stream {
		req.Header.Set("Accept", "application/json")
	}
	if c.reply, err = c.m.end.Do(req, body, c.m.stream); err != nil {
		return nil, err
	}
	f := &frames{end: &c.m.end, reply: c.reply}
	switch c.reply.Type {
	case "text/event-stream", "text/plain", "application/octet-stream", "":
		if c.m.stream {
			f.events = transport.NewEvents(c.reply, c.reply.Watch.Touch)
		}
	case "application/json", "application/problem+json":
		// Some servers ignore the wish for a stream.
	default:
		c.reply.Close()
		return nil, c.m.end.WrongType(c.reply.Type, "text/event-stream or application/json")
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: f}, nil
}

// body completes the fields that the library encoded: with the model, which the
// library must not see, because it refuses fields by the names of OpenAI's
// models; with fields that it lacks; and with those of the endpoint's
// configuration, which win. Fields that the server refused are left out.
func (c *call) body(encoded []byte) (transport.Body, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	delete(fields, "messages")
	c.extra["model"], c.extra["stream"] = c.req.Model, c.m.stream
	for key, value := range c.extra {
		b, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[key] = b
	}
	for key, more := range c.m.more {
		fields[key] = overlay(fields[key], more)
	}
	for _, name := range c.m.quirks.of(c.req.Model) {
		delete(fields, name)
	}
	var err error
	if c.fields, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	// The bracket that closes the messages is sent from here: the history
	// overwrites its own when the conversation grows, and the HTTP client may
	// still be reading then.
	body := transport.Body{[]byte(`{"messages":`), c.messages[:len(c.messages)-1], []byte(`],`)}
	if c.tools != nil {
		body = append(body, []byte(`"tools":`), c.tools, []byte(`,`))
	}
	return append(body, c.fields[1:]), nil
}

// overlay lays more over b: key by key if both are objects.
func overlay(b, more json.RawMessage) json.RawMessage {
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

// errNotDone is the end of a stream without [DONE].
var errNotDone = fmt.Errorf("the stream ended without [DONE]: %w", io.ErrUnexpectedEOF)

// frames is an answer in the form that go-openai's reader expects: a line
// "data: …" for each event, of which an answer in one piece has one. Errors that
// the server sent inside the answer are errors of Read.
type frames struct {
	end    *transport.Endpoint
	reply  *transport.Reply
	events *transport.Events // nil for an answer in one piece
	whole  bool              // an answer in one piece has been read
	buf    []byte
	rest   []byte // of buf, still to be read
}

func (f *frames) Close() error { return f.reply.Close() }

func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		data, err := f.next()
		if err != nil {
			return 0, err
		}
		f.buf = append(append(append(f.buf[:0], "data: "...), data...), '\n')
		for i, b := range f.buf[:len(f.buf)-1] {
			if b == '\n' || b == '\r' {
				f.buf[i] = ' '
			}
		}
		f.rest = f.buf
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// next is the data of the next event.
func (f *frames) next() ([]byte, error) {
	var ev transport.Event
	var err error
	for len(ev.Data) == 0 {
		switch {
		case f.events != nil:
			if ev, err = f.events.Next(); err == io.EOF {
				err = errNotDone
			}
		case f.whole:
			ev.Data = []byte("[DONE]")
		default:
			f.whole = true
			if ev.Data, err = f.reply.All(); err == nil && bytes.TrimSpace(ev.Data)[0] != '{' {
				err = f.end.Error(llm.Garbled, "the answer is not JSON: "+string(ev.Data[:min(len(ev.Data), 200)]))
			}
		}
		if err != nil {
			return nil, err
		}
		ev.Data = bytes.TrimSpace(ev.Data)
	}
	if ev.Name == "error" && string(ev.Data) != "[DONE]" {
		return nil, f.end.Reported(ev.Data)
	}
	return ev.Data, f.end.ErrorIn(ev.Data)
}
