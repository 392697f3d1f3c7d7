package ollama

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Client asks a server about its models. It is safe for concurrent use.
type Client struct{ end *transport.Endpoint }

// NewClient returns a Client of the server that c names. It does not connect.
func NewClient(c Config) (*Client, error) {
	end, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	return &Client{end}, nil
}

// Info is what a server says of a model. Numbers are 0 if it does not say.
type Info struct {
	Capabilities []string // completion, tools, thinking, vision, …
	Family       string   // the architecture, such as qwen3
	Context      int      // the longest window the model was made for, in tokens
	Parameters   string   // how many, such as 8.2B
	Quantisation string   // such as Q4_K_M
	Template     string   // of its prompts, in Go's template language
	PerToken     int64    // bytes of memory that each token of the window takes
}

// Can reports whether the model has a capability.
func (i Info) Can(capability string) bool { return slices.Contains(i.Capabilities, capability) }

// Show describes a model. The error is an [llm.Error] of kind NoModel if the
// server does not have it.
func (c *Client) Show(ctx context.Context, model string) (Info, error) {
	got, err := c.api().Show(ctx, &api.ShowRequest{Model: model})
	if err != nil {
		return Info{}, c.failed(err)
	}
	info := Info{
		Family:       got.Details.Family,
		Parameters:   got.Details.ParameterSize,
		Quantisation: got.Details.QuantizationLevel,
		Template:     got.Template,
	}
	for _, k := range got.Capabilities {
		info.Capabilities = append(info.Capabilities, string(k))
	}
	arch, _ := got.ModelInfo["general.architecture"].(string)
	number := func(key string) int64 {
		n, ok := got.ModelInfo[arch+"."+key].(float64)
		if !ok || n <= 0 || n >= 1<<31 {
			return 0
		}
		return int64(n)
	}
	info.Context = int(number("context_length"))
	heads := cmp.Or(number("attention.head_count_kv"), number("attention.head_count"))
	var each int64
	if all := number("attention.head_count"); all > 0 {
		each = number("embedding_length") / all
	}
	keys, values := cmp.Or(number("attention.key_length"), each), cmp.Or(number("attention.value_length"), each)
	// Two bytes a number: the server keeps the cache in half precision.
	info.PerToken = 2 * number("block_count") * heads * (keys + values)
	return info, nil
}

// A Listed is a model that the server has.
type Listed struct {
	Name     string
	Size     int64 // bytes
	Family   string
	Modified time.Time
}

// List returns the models that the server has, by name.
func (c *Client) List(ctx context.Context) ([]Listed, error) {
	got, err := c.api().List(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	var out []Listed
	for _, m := range got.Models {
		out = append(out, Listed{Name: m.Name, Size: m.Size, Family: m.Details.Family, Modified: m.ModifiedAt})
	}
	slices.SortFunc(out, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// A Loaded is a model in memory.
type Loaded struct {
	Name    string
	Context int       // the window it was loaded with, in tokens
	Until   time.Time // when it will be unloaded if nobody asks it anything
}

// Running returns the models in memory, by name.
func (c *Client) Running(ctx context.Context) ([]Loaded, error) {
	got, err := c.api().ListRunning(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	var out []Loaded
	for _, m := range got.Models {
		out = append(out, Loaded{Name: m.Name, Context: m.ContextLength, Until: m.ExpiresAt})
	}
	slices.SortFunc(out, func(a, b Loaded) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Up reports whether an Ollama server answers within a second.
func (c *Client) Up(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	version, err := c.api().Version(ctx)
	return err == nil && version != ""
}

// Verify loads the model with a window and reports the window it really got,
// which the server makes smaller without a word when the model was made for
// less. The error says so too.
func (c *Client) Verify(ctx context.Context, model string, window int) (int, error) {
	whole := false
	load := &api.ChatRequest{Model: model, Messages: []api.Message{}, Stream: &whole, Options: map[string]any{"num_ctx": window}}
	if err := c.api().Chat(ctx, load, func(api.ChatResponse) error { return nil }); err != nil {
		return 0, c.failed(err)
	}
	loaded, err := c.Running(ctx)
	if err != nil {
		return 0, err
	}
	for _, l := range loaded {
		if l.Name != model && l.Name != model+":latest" {
			continue
		}
		if l.Context < window {
			return l.Context, fmt.Errorf("%s: %s was loaded with a window of %d tokens instead of %d; ask for at most that",
				c.end.Name, model, l.Context, window)
		}
		return l.Context, nil
	}
	return 0, fmt.Errorf("%s: %s was loaded, but the server does not list it as running; its window is not known", c.end.Name, model)
}

// api is the library's client over the endpoint, for answers in one piece.
func (c *Client) api() *api.Client { return (&roundTripper{end: c.end}).client() }

// failed makes a typed error of one of the library's.
func (c *Client) failed(err error) error {
	if sent := sendError(err); sent != nil {
		return sent
	}
	e := c.end.Error(llm.Garbled, "the answer is not what the protocol says: "+err.Error())
	e.Hint = "check that the base URL leads to an Ollama server"
	return e
}

// sendError is the error of a roundTripper that the library wrapped, nil if err
// is one of its own.
func sendError(err error) error {
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return sent.Err
	}
	return nil
}

// A roundTripper sends the library's requests to an endpoint, under its limits
// and with its typed errors.
type roundTripper struct {
	end    *transport.Endpoint
	stream bool
	broken error // why a stream could not be read to its end
}

func (t *roundTripper) client() *api.Client {
	// The library signs requests to ollama.com with the user's own key;
	// RoundTrip puts the host in place.
	base := &url.URL{Scheme: "http", Host: "ollama.invalid"}
	return api.NewClient(base, &http.Client{Transport: t})
}

// streamBody is the body of a stream. The library does not report its errors.
type streamBody struct {
	*transport.Reply
	of *roundTripper
}

func (b streamBody) Read(p []byte) (int, error) {
	n, err := b.Reply.Read(p)
	if n > 0 {
		b.Watch.Touch()
	}
	if err != nil && err != io.EOF {
		b.of.broken = b.Broken(err, "a part of the answer")
	}
	return n, err
}

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	var body transport.Body
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = transport.Body{b}
	}
	to, err := url.Parse(t.end.Base + req.URL.Path)
	if err != nil {
		return nil, t.end.Error(llm.BadRequest, "the base URL cannot be used")
	}
	req = req.Clone(req.Context())
	req.URL, req.Host = to, ""
	reply, err := t.end.Do(req, body, t.stream)
	if err != nil {
		return nil, err
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: streamBody{reply, t}}
	if !t.stream {
		defer reply.Close()
		b, err := reply.All()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(b))
	}
	return resp, nil
}
