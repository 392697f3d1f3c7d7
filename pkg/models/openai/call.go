package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/calling/transport"
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
	bridge          bool           // no user right behind a result
	noSystem        bool           // the system's words are the user's
	stream          bool
	reasoning       string // the field in which reasoning goes back, "" for none
	must            bool   // with every call, there was one or not
	fields          []byte // all fields but messages and tools, as sent
	sent            int    // bytes of the body
	reply           *transport.Reply
	events          *transport.Events // nil before an answer in one piece is read
	whole           bool              // the answer is an object and no stream
	got             int               // events
}

// post asks the server. The stream's Close ends the request. The client sees an
// empty request, because Do sends the body: encoding it once costs a fraction of
// completing what the client encoded.
func (c *call) post(ctx context.Context) (*goopenai.ChatCompletionStream, error) {
	conf := goopenai.DefaultConfig(c.m.end.Key)
	conf.HTTPClient = c
	conf.BaseURL, conf.APIVersion = c.m.base(c.req.Model)
	return goopenai.NewClientWithConfig(conf).CreateChatCompletionStream(ctx, goopenai.ChatCompletionRequest{})
}

// base is the address under which a model is asked, and Azure's API version.
func (m *model) base(name string) (base, version string) {
	base = m.end.Base
	switch {
	case m.below.Load():
		return base + "/v1", ""
	case !m.dialect.deployment, strings.HasSuffix(base, "/v1"):
		return base, ""
	case strings.Contains(base, "/deployments/"), strings.HasSuffix(base, "/models"): // the model is in the request
		return base, m.version
	case !strings.HasSuffix(base, "/openai"):
		base += "/openai"
	}
	return base + "/deployments/" + url.PathEscape(name), m.version
}

// Do implements [goopenai.HTTPDoer]. The body of the response is a stream that
// the client can read, whatever the server sent.
func (c *call) Do(req *http.Request) (*http.Response, error) {
	body, err := c.body()
	if err != nil {
		return nil, c.m.end.Error(llm.BadRequest, "the request cannot be encoded: "+err.Error())
	}
	c.sent = body.Len()
	if !c.stream {
		req.Header.Set("Accept", "application/json")
	}
	if c.reply, err = c.m.end.Do(req, body, c.stream); err != nil {
		return nil, err
	}
	stream, err := c.reply.Events(c.stream)
	if err != nil {
		c.reply.Close()
		return nil, err
	}
	if stream {
		c.events = transport.NewEvents(c.reply, c.reply.Watch.Touch)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: &frames{call: c}}, nil
}

// body completes the request with fields that the library lacks and with those
// of the endpoint's configuration, which win. Fields that the server refused are
// left out.
func (c *call) body() (transport.Body, error) {
	request, err := c.m.request(c)
	if err != nil {
		return nil, err
	}
	if c.fields, err = json.Marshal(request); err != nil {
		return nil, err
	}
	if refused := c.m.quirks.of(c.req.Model); len(c.extra)+len(c.m.more)+len(refused) > 0 {
		if c.fields, err = c.edit(c.fields, refused); err != nil {
			return nil, err
		}
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

// edit adds fields to those that are encoded, and takes out those that were refused.
func (c *call) edit(encoded []byte, refused []string) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
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
	for _, name := range refused {
		delete(fields, name)
	}
	return json.Marshal(fields)
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
// "data: …" for each event.
type frames struct {
	*call
	buf  []byte
	rest []byte // of buf, still to be read
}

func (f *frames) Close() error { return f.reply.Close() }

func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		data, err := f.next()
		if err != nil {
			return 0, err
		}
		f.buf = append(append(append(f.buf[:0], "data: "...), data...), '\n')
		f.rest = f.buf
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// next is the data of the next event, of which an answer in one piece has one, or a list of them;
// io.EOF is the end. Errors that the server sent inside the answer are errors of next.
func (c *call) next() ([]byte, error) {
	var ev transport.Event
	var err error
	for len(ev.Data) == 0 {
		if c.events == nil {
			all, err := c.reply.All()
			if err != nil {
				return nil, err
			}
			if c.whole = bytes.TrimSpace(all)[0] == '{'; !c.whole && bytes.TrimSpace(all)[0] != '[' {
				return nil, cmp.Or(c.m.end.ErrorIn(all), error(c.m.end.Error(llm.Garbled, "the answer is not JSON: "+string(all[:min(len(all), 200)]))))
			}
			c.events = transport.EventsIn(all)
		}
		if ev, err = c.events.Next(); err == io.EOF && !(c.whole && c.got == 1) {
			err = errNotDone
		}
		if err != nil {
			return nil, err
		}
		ev.Data = bytes.TrimSpace(ev.Data)
	}
	c.got++
	switch {
	case ev.Done():
		return nil, io.EOF
	case ev.Name == "error":
		return nil, c.m.end.Reported(ev.Data)
	}
	for i, b := range ev.Data {
		if b == '\n' || b == '\r' { // some servers break lines inside of texts
			ev.Data[i] = ' '
		}
	}
	return ev.Data, c.m.end.ErrorIn(ev.Data)
}
