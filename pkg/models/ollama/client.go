package ollama

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/ollama/ollama/api"
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

// Info is a server's description of a model. Numbers are 0 if the server does not state
// them.
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

// A listed is a model that the server has.
type listed struct {
	Name     string
	Size     int64 // bytes
	Family   string
	Modified time.Time
}

// List returns the models that the server has, by name.
func (c *Client) List(ctx context.Context) ([]listed, error) {
	got, err := c.api().List(ctx)
	if err != nil {
		return nil, c.failed(err)
	}
	var out []listed
	for _, m := range got.Models {
		out = append(out, listed{Name: m.Name, Size: m.Size, Family: m.Details.Family, Modified: m.ModifiedAt})
	}
	slices.SortFunc(out, func(a, b listed) int { return strings.Compare(a.Name, b.Name) })
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
// which the server makes smaller silently when the model was made for
// less. The error reports that, too.
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

// Asking the server what it does while it does not answer.
const (
	quiet    = time.Second // before the first time, so that a quick answer costs nothing
	interval = 5 * time.Second
)

// showLoading reports, while a request waits for its first byte, that the server
// loads the model or reads the prompt. done ends that; emit is not called after it.
func (m *model) showLoading(ctx context.Context, name string, emit func(llm.Delta)) (done func()) {
	if emit == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		last := ""
		timer := time.NewTimer(quiet)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if now := m.activity(ctx, name); now != last && ctx.Err() == nil {
				last = now
				emit(llm.Delta{Waiting: now})
			}
			timer.Reset(interval)
		}
	}()
	return func() {
		stop()
		<-ended
	}
}

// activity describes the server's activity before the first byte of an answer.
func (m *model) activity(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	list, err := (&Client{&m.end}).Running(ctx)
	switch {
	case err != nil:
		return "the server does not say what it does"
	case slices.ContainsFunc(list, func(l Loaded) bool { return l.Name == name || l.Name == name+":latest" }):
		return "reading the prompt"
	}
	return "loading " + name
}

// A Progress is the progress of a pull.
type Progress struct {
	Status string `json:"status"` // the server's word for what it does
	Digest string `json:"digest,omitempty"`
	Done   int64  `json:"completed,omitempty"` // bytes of the part with this digest
	Total  int64  `json:"total,omitempty"`
}

// maxTries bounds the retries of a pull that makes no progress.
const maxTries = 3

// Pull makes the server fetch a model from its registry, or a newer version of it. It
// reports progress to progress, which may be nil. A pull that breaks off is retried for
// as long as it makes progress; the server resumes it and fetches nothing twice. insecure
// permits a registry without TLS.
//
// The whole pull has no time limit but that of ctx. The Config bounds the time without
// progress.
func (c *Client) Pull(ctx context.Context, model string, insecure bool, progress func(Progress)) error {
	end := *c.end
	end.Total = -1
	req := &api.PullRequest{Model: model, Insecure: insecure}
	if progress == nil {
		progress = func(Progress) {}
	}
	had := map[string]int64{} // by digest
	for failed := 0; ; {
		before := len(had)
		more := false
		err := pull(ctx, &end, req, func(p Progress) {
			if p.Done > had[p.Digest] {
				had[p.Digest], more = p.Done, true
			}
			progress(p)
		})
		var e *llm.Error
		if err == nil || !errors.As(err, &e) || !e.Retryable() || e.Kind == llm.Unreachable && len(had) == 0 {
			return err // a server that is not there at the beginning has to be started
		}
		if failed++; more || len(had) > before {
			failed = 0
		}
		if failed >= maxTries {
			return err
		}
		progress(Progress{Status: "interrupted, going on: " + e.Message})
		wait := time.NewTimer(time.Duration(failed) * time.Second)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%s: %w", c.end.Name, context.Cause(ctx))
		}
	}
}

func pull(ctx context.Context, end *transport.Endpoint, req *api.PullRequest, progress func(Progress)) error {
	t := &roundTripper{end: end, stream: true}
	done := false
	err := t.client().Pull(ctx, req, func(p api.ProgressResponse) error {
		done = p.Status == "success"
		progress(Progress{Status: p.Status, Digest: p.Digest, Done: p.Completed, Total: p.Total})
		return nil
	})
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case t.broken != nil: // which the library takes for the end
		return t.broken
	case errors.As(err, &syntax), errors.As(err, &typed):
		return end.Error(llm.Garbled, "the server's progress is not what the protocol says: "+err.Error())
	case err != nil:
		if sent := sendError(err); sent != nil {
			return named(sent)
		}
		return named(end.Reported([]byte(err.Error())))
	case !done:
		return end.Error(llm.Cut, "the progress of the pull ended before the model was there")
	}
	return nil
}

// named distinguishes a name unknown to every registry from a registry that
// cannot be reached: the server reports both in the same way.
func named(err error) error {
	var e *llm.Error
	var said transport.ErrorText
	if !errors.As(err, &e) || !errors.As(err, &said) {
		return err
	}
	words := []byte(said)
	switch {
	case bytes.Contains(words, []byte("file does not exist")), bytes.Contains(words, []byte("manifest unknown")):
		e.Kind = llm.NoModel
		e.Hint = "check the name, or look for it on https://ollama.com/library"
	case bytes.Contains(words, []byte("no such host")), bytes.Contains(words, []byte("connection refused")),
		bytes.Contains(words, []byte("i/o timeout")), bytes.Contains(words, []byte("network is unreachable")):
		e.Kind = llm.Unreachable
		e.Hint = "the Ollama server cannot reach the registry; check its network and proxy settings, which are not adroit's"
	case bytes.Contains(words, []byte("server gave HTTP response to HTTPS client")), bytes.Contains(words, []byte("insecure protocol")):
		e.Kind = llm.BadRequest
		e.Hint = "the registry has no TLS; --insecure permits that"
	case bytes.Contains(words, []byte("invalid model name")):
		e.Kind = llm.BadRequest
	}
	return e
}

// Limits bound the context window of a job. The zero value leaves all to the
// model.
type Limits struct {
	Want   int   // in tokens; 0 means 32768
	Budget int   // all the tokens that the job may use; 0 for no limit
	Memory int64 // bytes that the window may take; 0 if unknown
}

const (
	usualWindow = 32768
	leastWindow = 4096 // an agent's prompt and tools alone take half of it
)

// Window chooses the context window of a job: Want if the model can have it,
// else the most it can. With Want 0 it is 32768, or less if the model was made
// for less; a model of unknown size gets what is wanted.
//
// The window is for the life of a job: with another one, the server
// would load the model again. It is a multiple of 1024 where memory or budget
// bound it, and never less than 4096 for their sake.
func (i Info) Window(l Limits) int {
	n := l.Want
	if n <= 0 {
		n = usualWindow
	}
	if i.Context > 0 {
		n = min(n, i.Context)
	}
	least := min(n, leastWindow)
	round := func(m int64) int {
		if m >= int64(n) {
			return n
		}
		return max(least, int(m)/1024*1024)
	}
	if l.Budget > 0 {
		n = round(int64(l.Budget))
	}
	if l.Memory > 0 && i.PerToken > 0 {
		n = round(l.Memory / i.PerToken)
	}
	return n
}
