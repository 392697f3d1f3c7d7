package provider

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// A window is the configured one, else the one that its server states, which is asked
// once, else a guess within what the model can have.
func TestStatedWindow(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"id":"big","max_model_len":40960},{"id":"claude-like","meta":{"n_ctx_train":8192}},{"id":"set","max_model_len":40960}]}`))
	}))
	defer srv.Close()
	m := New(Config{Getenv: func(string) string { return "" }, Windows: route.Windows{"lab/set": 16384, "ollama/qwen3*": 65536},
		Endpoints: map[string]Endpoint{"lab": {Config: openai.Config{Name: "lab", BaseURL: srv.URL + "/v1"}}}})
	ask := func(ref string) (int, int) { return m.Stated(context.Background(), ref) }
	for range 2 {
		if n, guess := m.conf.Windows.Of("lab/big", ask); n != 40960 || guess {
			t.Errorf("of what the server states: %d, guess %v", n, guess)
		}
	}
	if asked != 1 {
		t.Errorf("the server was asked %d times", asked)
	}
	if n, guess := m.conf.Windows.Of("lab/claude-like", ask); n != 8192 || !guess {
		t.Errorf("of a model that can have 8192: %d, guess %v", n, guess)
	}
	asked = 0
	if n, guess := m.conf.Windows.Of("lab/set", ask); n != 16384 || guess || asked != 0 {
		t.Errorf("of a configured one: %d, guess %v, asked %d times", n, guess, asked)
	}
	for _, c := range []struct{ ref, want string }{
		{"lab/big", "; window 40960, as its server states"},
		{"lab/set", "; window 16384, as configured"},
		{"lab/claude-like", "; window 8192, a guess: windows: in the config file says what it is"},
		{"ollama/qwen3:8b", ""}, {"script:turns.yaml", ""},
	} {
		if got := m.windowWords(context.Background(), c.ref); got != c.want {
			t.Errorf("doctor has of %s: %q, want %q", c.ref, got, c.want)
		}
	}
	srv.Close()
	gone := New(m.conf)
	if got := gone.windowWords(context.Background(), "lab/big"); !strings.Contains(got, "32768, a guess") {
		t.Errorf("of a server that is gone: %q", got)
	}
	// Ollama is asked for what is configured, within what the model was made for.
	for context, want := range map[int]int{131072: 65536, 8192: 8192} {
		if got := m.fit("qwen3:8b", ollama.Info{Context: context, PerToken: 1 << 40}); got != want {
			t.Errorf("asked Ollama for %d tokens of %d, want %d", got, context, want)
		}
	}
}

// An endpoint is listed by the address that is asked, without a query, which may have a key in it.
func TestEndpointIsListedAsAsked(t *testing.T) {
	m := New(Config{Getenv: func(string) string { return "" }, Endpoints: map[string]Endpoint{"lab": {Config: openai.Config{Name: "lab", BaseURL: " 127.0.0.1:9/v1/chat/completions?key=s3cret "}}}})
	if got := m.endpointWords("lab"); got != "http://127.0.0.1:9/v1" {
		t.Errorf("it is listed as %q", got)
	}
}

// A window that a refusal names counts for the jobs of later processes at the same server, as long
// as the server states what it stated then; a configured one goes before it.
func TestRefusedWindow(t *testing.T) {
	stated := 0
	refusal := "This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens."
	status := 400
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":"m","max_model_len":%d}]}`, stated)
		case "/v1/chat/completions":
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":%q}}`, refusal)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	conf := Config{Getenv: func(string) string { return "" }, Refused: filepath.Join(t.TempDir(), "data", "windows.json"),
		Endpoints: map[string]Endpoint{"lab": {Config: openai.Config{Name: "lab", BaseURL: srv.URL + "/v1"}}}}
	refuse := func(m *Source, bytes int) {
		t.Helper()
		model, name, err := m.Open("lab/m")
		dirtest.Must(t, err)
		_, err = model.Generate(t.Context(), &llm.Request{Model: name, Messages: []llm.Message{{Role: llm.User, Text: strings.Repeat("word ", bytes/5)}}}, nil)
		if err == nil {
			t.Fatal("the request was not refused")
		}
	}
	window := func(m *Source, want int, guessed bool) {
		t.Helper()
		ask := func(ref string) (int, int) { return m.Stated(t.Context(), ref) }
		if n, guess := m.conf.Windows.Of("lab/m", ask); n != want || guess != guessed {
			t.Errorf("the window is %d, guess %v; want %d, %v", n, guess, want, guessed)
		}
	}
	window(New(conf), 32768, true)
	refuse(New(conf), 400) // so short that the number is not the window
	window(New(conf), 32768, true)
	status, refusal = 429, "Request too large for m on tokens per min (TPM): Limit 8192, Requested 12000."
	refuse(New(conf), 48_000)
	window(New(conf), 32768, true)
	status, refusal = 429, "This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens." // of a gateway
	at, err := New(conf).At(srv.URL+"/v1/chat/completions", "lab/m")
	dirtest.Must(t, err)
	refuse(at.(*Source), 48_000)
	window(New(conf), 8192, false)
	if got := New(conf).windowWords(t.Context(), "lab/m"); !strings.Contains(got, "; window 8192, which a refusal named on 20") || !strings.Contains(got, "adroit models forget lab/m") {
		t.Errorf("doctor has %q", got)
	}
	set := conf
	set.Windows = route.Windows{"lab/*": 16384}
	window(New(set), 16384, false)
	stated = 65536 // started anew
	window(New(conf), 65536, false)
	refuse(New(conf), 48_000) // and refuses all the same
	window(New(conf), 8192, false)
	stated = 131072
	window(New(conf), 131072, false)
	if n, err := New(conf).Forget("lab/m"); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	stated = 0
	window(New(conf), 32768, true)
}

// What a server wants of requests is learned for all jobs of the process.
func TestQuirksOutliveJobs(t *testing.T) {
	requests := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), "stream_options") {
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`))
	}))
	defer srv.Close()
	m := New(Config{Getenv: func(string) string { return "" }, Endpoints: map[string]Endpoint{"lab": {Config: openai.Config{Name: "lab", BaseURL: srv.URL + "/v1"}}}})
	for job, want := range []int{2, 1} {
		requests = 0
		at, err := m.At("", "lab/m")
		dirtest.Must(t, err)
		model, name, err := at.Open("lab/m")
		dirtest.Must(t, err)
		if _, err = model.Generate(t.Context(), &llm.Request{Model: name, Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, func(llm.Delta) {}); err != nil || requests != want {
			t.Errorf("job %d: %d requests, %v; want %d", job, requests, err, want)
		}
	}
}

// A name without a provider is answered with the reference that it was most likely to be.
func TestMeant(t *testing.T) {
	m := New(Config{Getenv: func(string) string { return "" }, CLIs: []string{"claude"}})
	for name, want := range map[string]string{
		"ollama:qwen3:8b": "ollama/qwen3:8b", "openai:gpt-5": "openai/gpt-5", "qwen3:8b": "ollama/qwen3:8b", "gpt-5": "openai/gpt-5",
		"claude": "cli/claude", "ollama": "", "openai": "", "my model": "",
	} {
		if got := m.meant(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
