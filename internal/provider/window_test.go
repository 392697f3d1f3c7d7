package provider

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/llm/ollama"
	"github.com/adroit-run/adroit/internal/llm/openai"
	"github.com/adroit-run/adroit/internal/llm/route"
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
