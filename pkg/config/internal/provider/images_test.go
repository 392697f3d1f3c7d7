package provider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNoImages: a model is refused an image only where it is known not to see.
func TestNoImages(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := make([]byte, 200)
		n, _ := r.Body.Read(name)
		switch body := string(name[:n]); {
		case strings.Contains(body, "seer"):
			fmt.Fprint(w, `{"capabilities":["completion","vision","tools"]}`)
		case strings.Contains(body, "blind"):
			fmt.Fprint(w, `{"capabilities":["completion","tools"]}`)
		default: // an old server
			fmt.Fprint(w, `{}`)
		}
	}))
	defer srv.Close()
	s := New(Config{Getenv: func(name string) string {
		if name == "OLLAMA_HOST" {
			return srv.URL
		}
		return ""
	}, CLIs: []string{"codex"}})
	for ref, refused := range map[string]bool{
		"ollama/seer": false, "ollama/blind": true, "ollama/old": false, "script:x.yaml": false, "cli/codex": true,
		"openai/gpt-5-mini": false, "openai/gpt-4o": false, "openai/gpt-4": true, "openai/gpt-3.5-turbo": true, "openrouter/deepseek/deepseek-chat": true,
		"anthropic/claude-sonnet-5-5": false, "anthropic/claude-2.1": true, "gemini/gemini-3.6-flash": false, "openrouter/mistral/pixtral": false,
	} {
		if why := s.NoImages(t.Context(), ref); (why != "") != refused {
			t.Errorf("%s: %q", ref, why)
		}
	}
}
