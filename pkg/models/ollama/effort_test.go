package ollama_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

// TestEffort says it in the words that a model's template has.
func TestEffort(t *testing.T) {
	for _, c := range []struct {
		label, show, think string
		effort             llm.Effort
		output             string
		left               string
	}{
		{"levels", `{"capabilities":["completion","thinking"],"template":"{{ .ThinkLevel }}"}`, `"high"`, llm.EffortHigh, "", ""},
		{"levels, low", `{"capabilities":["completion","thinking"],"template":"{{ .ThinkLevel }}"}`, `"low"`, llm.EffortLow, "", ""},
		{"on", `{"capabilities":["completion","thinking"],"template":"{{ .Think }}"}`, `true`, llm.EffortMedium, "", ""},
		{"off", `{"capabilities":["completion","thinking"],"template":"{{ .Think }}"}`, `false`, llm.EffortLow, "", ""},
		{"never", `{"capabilities":["completion"]}`, ``, llm.EffortHigh, "", "the model does not think"},
		{"unknown", ``, ``, llm.EffortHigh, "", "does not say"},
		{"schema", `{"capabilities":["completion","thinking"]}`, `false`, llm.EffortHigh, `{"type":"object"}`, "a schema holds"},
		{"not asked for", `{"capabilities":["completion","thinking"]}`, ``, "", "", ""},
	} {
		t.Run(c.label, func(t *testing.T) {
			var think json.RawMessage
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/api/chat":
					var body struct{ Think json.RawMessage }
					json.NewDecoder(r.Body).Decode(&body)
					think = body.Think
					w.Header().Set("Content-Type", "application/x-ndjson")
					w.Write([]byte(`{"model":"m","message":{"content":"{}"},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":1}` + "\n"))
				case r.URL.Path == "/api/show" && c.show != "":
					w.Header().Set("Content-Type", "application/json")
					w.Write([]byte(c.show))
				default:
					w.WriteHeader(404)
				}
			}))
			defer s.Close()
			m := open(t, ollama.Config{BaseURL: s.URL})
			r, err := m.Generate(t.Context(), &llm.Request{Model: "m", Messages: request().Messages, Output: json.RawMessage(c.output), Options: llm.Options{Effort: c.effort}}, nil)
			if err != nil || string(think) != c.think {
				t.Errorf("think is %s, want %s; %v", think, c.think, err)
			}
			if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "is left out") != (c.left != "") || !strings.Contains(notes, c.left) {
				t.Errorf("notes are %q", r.Notes)
			}
		})
	}
}

// TestRealEffort asks the real server, which refuses a model that does not
// think to do so, and reads the level in the template.
func TestRealEffort(t *testing.T) {
	url := ollamatest.Start(t)
	template := func(play func([]tinymodel.Turn) (string, error), say string) string {
		text, err := play([]tinymodel.Turn{{Say: say}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	levels := `{{ if eq .ThinkLevel "high" }}` + template(tinymodel.Template, "much") + `{{ else }}` + template(tinymodel.Template, "little") + `{{ end }}`
	ollamatest.Create(t, url, "levels", tinymodel.Tape(4096), levels)
	ollamatest.Create(t, url, "plain", tinymodel.Tape(4096), template(tinymodel.Plain, "well"))
	m := open(t, ollama.Config{BaseURL: url})
	for _, c := range []struct {
		model  string
		effort llm.Effort
		text   string
		left   bool
	}{{"levels", llm.EffortHigh, "much", false}, {"levels", llm.EffortLow, "little", false}, {"plain", llm.EffortHigh, "well", true}} {
		req := ask(c.model, "q")
		req.Options.Effort = c.effort
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil {
			t.Errorf("%s: %v", c.model, err)
			continue
		}
		if said := r.Message.Thinking + r.Message.Text; strings.TrimSpace(said) != c.text || strings.Contains(strings.Join(r.Notes, "\n"), "is left out") != c.left {
			t.Errorf("%s, %s: %q with notes %q", c.model, c.effort, said, r.Notes)
		}
	}
}
