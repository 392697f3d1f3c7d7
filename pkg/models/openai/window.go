package openai

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/transport"
)

// windowPatience bounds the time for which a server is asked for a model's window: a run
// can do without it.
var windowPatience = 3 * time.Second

// A Window is a server's statement about a model's context window, in tokens; zero means
// not stated.
type Window struct {
	Tokens int // that it answers with
	Most   int // that the model was trained for, or can be loaded with
}

// AskWindow asks a server, and no other, for the window of a model: its list of models, then, if
// that does not have it, the routes of llama.cpp, LM Studio and Ollama. What is slow,
// missing or of another form is no error: the window is not known then.
func AskWindow(ctx context.Context, c Config, name string) Window {
	got, err := New(c)
	m, ok := got.(*model)
	if err != nil || !ok || m.dialect.silent {
		return Window{}
	}
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	root := strings.TrimSuffix(m.end.Base, "/v1")
	var w Window
	for _, at := range m.lists() {
		if w, ok = m.listed(ctx, at, name, false); ok {
			break
		}
	}
	if len(m.dialect.hosts) > 0 || w.Tokens > 0 && w.Most == 0 {
		return w
	}
	named := map[string]string{"model": name}
	asks := []func() Window{
		func() Window { // llama.cpp; its router wants the model's name
			var props struct {
				Settings map[string]any `json:"default_generation_settings"`
			}
			m.get(ctx, root+"/props?model="+url.QueryEscape(name), nil, &props)
			return windowIn(props.Settings, false)
		},
		func() Window { w, _ := m.listed(ctx, root+"/api/v0/models", name, true); return w }, // LM Studio
		func() Window { w, _ := m.listed(ctx, root+"/api/ps", name, true); return w },        // Ollama, what is loaded
		func() Window {
			var shown struct {
				Info map[string]any `json:"model_info"`
			}
			m.get(ctx, root+"/api/show", named, &shown)
			arch, _ := shown.Info["general.architecture"].(string)
			return Window{Most: whole(shown.Info[arch+".context_length"])}
		},
	}
	all := make([]Window, len(asks))
	var wait sync.WaitGroup
	for i, ask := range asks {
		wait.Go(func() { all[i] = ask() })
	}
	wait.Wait()
	for _, said := range all {
		w = w.and(said)
	}
	return w
}

// and is the smaller of what two routes state: a server that divides its window among
// slots states the sum, too.
func (w Window) and(o Window) Window {
	return Window{smaller(w.Tokens, o.Tokens), smaller(w.Most, o.Most)}
}

// smaller is the smaller one of two figures that may be unknown.
func smaller(a, b int) int {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// get asks for JSON and reports whether there was some. A redirect is not followed, so no other
// host is sent the key.
func (m *model) get(ctx context.Context, address string, ask, into any) bool {
	method, body := http.MethodGet, transport.Body(nil)
	if b, err := json.Marshal(ask); err == nil && ask != nil && string(b) != "null" {
		method, body = http.MethodPost, transport.Body{b}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return false
	}
	reply, err := m.end.Do(req, body, false)
	if err != nil {
		return false
	}
	defer reply.Close()
	b, err := reply.All()
	return err == nil && json.Unmarshal(b, into) == nil
}

// listed returns the window stated in an entry of a list of models, and whether there was
// a list. loads is set if the server loads models when they are asked for: then only a
// loaded model has a window.
func (m *model) listed(ctx context.Context, address, name string, loads bool) (Window, bool) {
	list := m.entries(ctx, address)
	for _, e := range list {
		for _, key := range []string{"id", "name", "model"} {
			if id, _ := e[key].(string); id == name || id == name+":latest" {
				return windowIn(e, loads), true
			}
		}
	}
	if len(list) == 1 && !loads { // such a server answers to any name
		return windowIn(list[0], loads), true
	}
	return Window{}, list != nil
}

// entries returns a server's list of models, nil if it has none.
func (m *model) entries(ctx context.Context, address string) (list []map[string]any) {
	var raw json.RawMessage
	if !m.get(ctx, address, nil, &raw) || json.Unmarshal(raw, &list) == nil {
		return list
	}
	var object struct {
		Data   []map[string]any `json:"data"`
		Models []map[string]any `json:"models"`
	}
	_ = json.Unmarshal(raw, &object) // what is no list is none
	if object.Data != nil {
		return object.Data
	}
	return object.Models
}

// Names asks a server for the names of its models, in its order. It takes as long as AskWindow at
// most; a server that does not answer, or has no list, has none.
func Names(ctx context.Context, c Config) (names []string) {
	got, err := New(c)
	m, ok := got.(*model)
	if err != nil || !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	for _, at := range m.lists() {
		for _, e := range m.entries(ctx, at) {
			if id, _ := e["id"].(string); id != "" {
				names = append(names, id)
			}
		}
		if names != nil {
			break
		}
	}
	return names
}

// lists returns the addresses at which the server may list its models: below the base URL, and below
// /v1 where that has no path.
func (m *model) lists() []string {
	at := []string{m.end.Base + "/models"}
	if u, err := url.Parse(m.end.Base); err == nil && strings.Trim(u.Path, "/") == "" {
		at = append(at, m.end.Base+"/v1/models")
	}
	return at
}

// windowIn reads the window out of an entry and the objects in it by the names of its fields, since
// each server has its own: max_model_len, context_length, n_ctx, context_window.
func windowIn(entry map[string]any, loads bool) (w Window) {
	var loaded int
	for name, value := range entry {
		if inner, ok := value.(map[string]any); ok {
			for name, value := range inner {
				loaded = w.field(name, value, loads, loaded)
			}
			continue
		}
		loaded = w.field(name, value, loads, loaded)
	}
	if loaded > 0 {
		w.Tokens = loaded
	}
	return w
}

// field counts a field in, and returns what is stated to be loaded.
func (w *Window) field(name string, value any, loads bool, loaded int) int {
	n, name := whole(value), strings.ToLower(name)
	about := strings.Contains(name, "ctx") || strings.Contains(name, "context") || strings.Contains(name, "max_model_len")
	switch {
	case n == 0 || !about:
	case strings.HasPrefix(name, "loaded"):
		return smaller(loaded, n)
	case strings.Contains(name, "train"), loads && strings.HasPrefix(name, "max_"):
		w.Most = smaller(w.Most, n)
	default:
		w.Tokens = smaller(w.Tokens, n)
	}
	return loaded
}

// leastStated keeps what counts something else, such as slots or checkpoints, from being a window.
const leastStated = 1024

// whole is the whole number of a JSON value that may be a window, else 0.
func whole(value any) int {
	f, ok := value.(float64)
	if !ok || f < leastStated || f >= math.MaxInt32 || f != math.Trunc(f) {
		return 0
	}
	return int(f)
}
