package openai_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/models/openai"
)

// What the servers of models send for their routes, cut to what matters.
const (
	llamaModels = `{"models":[{"name":"/m/qwen.gguf","details":{"family":""}}],"object":"list","data":[{"id":"/m/qwen.gguf","owned_by":"llamacpp",
		"meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":32768,"n_embd":1536,"n_params":1543714304}}]}`
	llamaProps  = `{"default_generation_settings":{"id":0,"n_ctx":6144,"params":{"n_predict":-1,"n_keep":0}},"total_slots":4,"model_path":"/m/qwen.gguf"}`
	lmModels    = `{"object":"list","data":[{"id":"qwen","object":"model","owned_by":"organization_owner"},{"id":"other","object":"model"}]}`
	lmWrong     = `{"error":"Unexpected endpoint or method. (GET /props)"}`
	ollamaNames = `{"object":"list","data":[{"id":"qwen:latest","object":"model","created":1,"owned_by":"library"}]}`
)

func TestAskWindow(t *testing.T) {
	for _, c := range []struct {
		server string
		routes map[string]string
		want   openai.Window
	}{
		{"vLLM", map[string]string{"/v1/models": `{"object":"list","data":[{"id":"other","max_model_len":99999},{"id":"qwen","root":"Qwen/Qwen3","max_model_len":40960,"permission":[{"id":"p"}]}]}`},
			openai.Window{Tokens: 40960}},
		{"llama.cpp", map[string]string{"/v1/models": llamaModels, "/props": llamaProps}, openai.Window{Tokens: 6144, Most: 32768}},
		{"llama.cpp without its properties", map[string]string{"/v1/models": llamaModels}, openai.Window{Most: 32768}},
		{"llama.cpp that states the sum of its slots", map[string]string{"/v1/models": strings.Replace(llamaModels, `"n_vocab"`, `"n_ctx":24576,"n_vocab"`, 1), "/props": llamaProps},
			openai.Window{Tokens: 6144, Most: 32768}},
		{"LM Studio", map[string]string{"/v1/models": lmModels, "/props": lmWrong, "/api/ps": lmWrong, "/api/show": lmWrong,
			"/api/v0/models": `{"data":[{"id":"other","state":"not-loaded","max_context_length":4096},{"id":"qwen","state":"loaded","max_context_length":131072,"loaded_context_length":8192}]}`},
			openai.Window{Tokens: 8192, Most: 131072}},
		{"LM Studio, not loaded", map[string]string{"/v1/models": lmModels,
			"/api/v0/models": `{"data":[{"id":"qwen","state":"not-loaded","max_context_length":16384},{"id":"other","loaded_context_length":2048}]}`},
			openai.Window{Most: 16384}},
		{"LM Studio with another model alone", map[string]string{"/v1/models": lmModels, "/api/v0/models": `{"data":[{"id":"other","loaded_context_length":2048}]}`},
			openai.Window{}},
		{"Ollama", map[string]string{"/v1/models": ollamaNames, "/api/ps": `{"models":[{"name":"qwen:latest","model":"qwen:latest","context_length":4096}]}`,
			"/api/show": `{"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960,"qwen3.rope.scaling.original_context_length":2048}}`},
			openai.Window{Tokens: 4096, Most: 40960}},
		{"Ollama, not loaded", map[string]string{"/v1/models": ollamaNames, "/api/ps": `{"models":[]}`,
			"/api/show": `{"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`}, openai.Window{Most: 40960}},
		{"OpenRouter", map[string]string{"/v1/models": `{"data":[{"id":"qwen","context_length":262144,"top_provider":{"context_length":131072,"max_completion_tokens":65536},"pricing":{"prompt":"0.0001"}}]}`},
			openai.Window{Tokens: 131072}},
		{"Groq", map[string]string{"/v1/models": `{"data":[{"id":"qwen","context_window":131072,"max_completion_tokens":40960}]}`}, openai.Window{Tokens: 131072}},
		{"Mistral", map[string]string{"/v1/models": `{"data":[{"id":"qwen","max_context_length":32768,"capabilities":{"completion_chat":true}}]}`}, openai.Window{Tokens: 32768}},
		{"a list alone", map[string]string{"/v1/models": `[{"id":"qwen","context_length":65536}]`}, openai.Window{Tokens: 65536}},
		{"a name that nobody knows", map[string]string{"/v1/models": `{"data":[{"id":"qwen","engine":{"kvContextTokens":12288}}]}`}, openai.Window{Tokens: 12288}},
		{"what is no window", map[string]string{"/v1/models": `{"data":[{"id":"qwen","context_length":"8192","n_ctx_checkpoints":32,"supports_context":true,"ctx":-1,"context":1e300,"max_model_len":4096.5}]}`}, openai.Window{}},
		{"no route at all", nil, openai.Window{}},
		{"other forms", map[string]string{"/v1/models": `"models"`, "/props": `[1]`, "/api/v0/models": `{"data":7}`, "/api/ps": `null`, "/api/show": `<html>`}, openai.Window{}},
	} {
		t.Run(c.server, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, ok := c.routes[r.URL.Path]
				if !ok || (r.Method == http.MethodPost) != (r.URL.Path == "/api/show") {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(body))
			}))
			defer srv.Close()
			for _, base := range []string{srv.URL + "/v1", srv.URL} {
				if got := openai.AskWindow(t.Context(), openai.Config{BaseURL: base}, "qwen"); got != c.want {
					t.Errorf("%s: got %+v, want %+v", base, got, c.want)
				}
				names, want := openai.Names(t.Context(), openai.Config{BaseURL: base}), strings.Contains(c.routes["/v1/models"], `"id":"qwen"`)
				if slices.Contains(names, "qwen") != want {
					t.Errorf("%s: the names are %q", base, names)
				}
			}
		})
	}
}

// A key goes to the server that it is for, whatever that answers.
func TestAskWindowKeepsTheKey(t *testing.T) {
	var mu sync.Mutex
	var here, elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = append(elsewhere, r.URL.Path)
	}))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		here = append(here, r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	if got := openai.AskWindow(t.Context(), openai.Config{BaseURL: srv.URL + "/v1", Key: "k1"}, "qwen"); got != (openai.Window{}) {
		t.Errorf("got %+v of a server that leads elsewhere", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(here) == 0 || here[0] != "/v1/models Bearer k1" || len(elsewhere) > 0 {
		t.Errorf("asked %q here and %q elsewhere", here, elsewhere)
	}
}

func TestAskWindowOfSilentServer(t *testing.T) {
	openai.WaitForWindow(t, 50*time.Millisecond)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	if got := openai.AskWindow(t.Context(), openai.Config{BaseURL: srv.URL + "/v1"}, "qwen"); got != (openai.Window{}) {
		t.Errorf("got %+v of a server that does not answer", got)
	}
}

// Servers that state no windows in their lists are not asked: there is no such host to reach.
func TestAskWindowOfHosted(t *testing.T) {
	asked := false
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { asked = true; return nil, http.ErrServerClosed })}
	openai.AskWindow(t.Context(), openai.Config{Key: "k", HTTP: client}, "gpt-5-mini")
	if asked {
		t.Error("api.openai.com was asked for what it does not state")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
