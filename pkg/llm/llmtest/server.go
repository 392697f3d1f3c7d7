// Package llmtest tests models and lends them a server: an HTTP server on
// loopback with the protocols of OpenAI, Ollama and Anthropic that behaves as scripted, well
// or badly, and one suite that every adapter must pass.
//
//	s := llmtest.New(t,
//		llmtest.Fail(429, `{"error":{"message":"slow down"}}`, "Retry-After", "1"),
//		llmtest.Say(llmtest.Turn{Text: "Hello."}))
//	m, err := openai.New(openai.Config{BaseURL: s.URL + "/v1"})
//
// It checks adapters, not models: for a real server see internal/dev/e2e.
package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// A Server answers chat requests with the behaviours it was given, one each
// in order, on the path of each [Protocol], streaming or not as it is asked. It is safe for concurrent use.
type Server struct {
	URL string // without a path

	t       testing.TB
	stopped chan struct{}

	mu       sync.Mutex
	todo     []Behaviour
	requests []Request
	models   map[string]Model
	loaded   map[string]int
}

// A Request is a chat request that arrived.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// A Model is a model as /api/show and /api/tags describe it.
type Model struct {
	Context      int
	Family       string
	Capabilities []string
}

// New starts a server that stops when the test ends.
func New(t testing.TB, todo ...Behaviour) *Server {
	s := &Server{t: t, todo: todo, stopped: make(chan struct{}), models: map[string]Model{}, loaded: map[string]int{}}
	mux := http.NewServeMux()
	for _, p := range []Protocol{OpenAI, Ollama, Anthropic} {
		mux.HandleFunc("POST "+string(p), s.chat)
	}
	mux.HandleFunc("POST /api/show", s.show)
	mux.HandleFunc("GET /api/tags", s.tags)
	mux.HandleFunc("GET /api/ps", s.ps)
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { respond(w, object{"version": "0.0.0-llmtest"}) })
	hs := httptest.NewServer(mux)
	s.URL = hs.URL
	t.Cleanup(func() {
		close(s.stopped)
		hs.Close()
	})
	return s
}

// Add appends behaviours.
func (s *Server) Add(todo ...Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.todo = append(s.todo, todo...)
}

// AddModel makes a model known to the endpoints about models.
func (s *Server) AddModel(name string, m Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models[name] = m
}

// Requests returns the chat requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

type object = map[string]any

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var asked struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Stream   *bool             `json:"stream"`
		Options  struct {
			Window int `json:"num_ctx"`
		} `json:"options"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err), http.StatusBadRequest)
		return
	}
	x := &Exchange{W: w, R: r, Protocol: Protocol(r.URL.Path), stopped: s.stopped}
	native := x.Protocol == Ollama
	x.Stream = asked.Stream != nil && *asked.Stream || asked.Stream == nil && native

	s.mu.Lock()
	if m, ok := s.models[asked.Model]; ok && native {
		window := asked.Options.Window
		window = cmp.Or(window, 4096)
		s.loaded[asked.Model] = min(window, m.Context)
	}
	if native && len(asked.Messages) == 0 {
		s.mu.Unlock()
		respond(w, object{"model": asked.Model, "done": true, "done_reason": "load"})
		return
	}
	s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), body})
	var do Behaviour
	if len(s.todo) > 0 {
		do, s.todo = s.todo[0], s.todo[1:]
	}
	s.mu.Unlock()
	if do == nil {
		s.t.Errorf("llmtest: request %s came after the last behaviour", r.URL.Path)
		http.Error(w, `{"error":{"message":"llmtest has nothing left to do"}}`, http.StatusBadRequest)
		return
	}
	do(x)
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model string `json:"model"`
	}
	json.NewDecoder(r.Body).Decode(&asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.models[asked.Model]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		respond(w, object{"error": fmt.Sprintf("model '%s' not found", asked.Model)})
		return
	}
	respond(w, object{
		"details":      object{"family": m.Family},
		"model_info":   object{"general.architecture": m.Family, m.Family + ".context_length": m.Context},
		"capabilities": m.Capabilities,
	})
}

func (s *Server) tags(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []object{}
	for name, m := range s.models {
		list = append(list, object{"name": name, "model": name, "details": object{"family": m.Family}})
	}
	respond(w, object{"models": list})
}

func (s *Server) ps(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []object{}
	for name, window := range s.loaded {
		list = append(list, object{"name": name, "model": name, "context_length": window})
	}
	respond(w, object{"models": list})
}
