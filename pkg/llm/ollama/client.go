package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
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
	var got api.ShowResponse
	if err := c.post(ctx, "/api/show", map[string]any{"model": model}, &got); err != nil {
		return Info{}, err
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
	var got api.ListResponse
	if err := c.get(ctx, "/api/tags", &got); err != nil {
		return nil, err
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
	var got api.ProcessResponse
	if err := c.get(ctx, "/api/ps", &got); err != nil {
		return nil, err
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
	var got struct {
		Version string `json:"version"`
	}
	return c.get(ctx, "/api/version", &got) == nil && got.Version != ""
}

// Verify loads the model with a window and reports the window it really got,
// which the server makes smaller without a word when the model was made for
// less. The error says so too.
func (c *Client) Verify(ctx context.Context, model string, window int) (int, error) {
	load := map[string]any{"model": model, "messages": []any{}, "stream": false, "options": map[string]any{"num_ctx": window}}
	var got struct{}
	if err := c.post(ctx, "/api/chat", load, &got); err != nil {
		return 0, err
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

func (c *Client) get(ctx context.Context, path string, into any) error {
	b, err := c.end.Get(ctx, path)
	if err != nil {
		return err
	}
	return c.decode(b, into)
}

func (c *Client) post(ctx context.Context, path string, what, into any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	r, err := c.end.Post(ctx, path, transport.Body{body}, false)
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := r.All()
	if err != nil {
		return err
	}
	return c.decode(b, into)
}

func (c *Client) decode(b []byte, into any) error {
	if err := json.Unmarshal(b, into); err != nil {
		e := c.end.Error(llm.Garbled, "the answer is not what the protocol says: "+err.Error())
		e.Hint = "check that base_url leads to an Ollama server"
		return e
	}
	return nil
}
