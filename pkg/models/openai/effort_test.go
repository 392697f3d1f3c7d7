package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// TestEffort sends each product the effort in the field that it has, and
// expects a note where it has none.
func TestEffort(t *testing.T) {
	fields := map[string]string{
		"openai": `{"reasoning_effort":"high"}`, "azure": `{"reasoning_effort":"high"}`, "groq": `{"reasoning_effort":"high"}`, "gemini": `{"reasoning_effort":"high"}`,
		"ollama": `{"reasoning_effort":"high"}`, "vllm": `{"reasoning_effort":"high"}`, "compatible": `{"reasoning_effort":"high"}`,
		"openrouter": `{"reasoning":{"effort":"high"}}`,
		"llamacpp":   `{"chat_template_kwargs":{"enable_thinking":true,"reasoning_effort":"high"}}`,
		"mistral":    `{}`, "deepseek": `{}`, "lmstudio": `{}`,
	}
	for _, d := range openai.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			m, p := product(t, d.Name, func(llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: "well"} }, nil)
			r, err := m.Generate(t.Context(), &llm.Request{Model: "gpt-5-mini", Messages: request().Messages, Options: llm.Options{Effort: llm.EffortHigh}}, nil)
			if err != nil || len(p.Refused()) > 0 {
				t.Fatalf("%v; refused: %q", err, p.Refused())
			}
			got, body := map[string]json.RawMessage{}, p.Asked()[0].Body
			for _, f := range []string{"reasoning_effort", "reasoning", "chat_template_kwargs"} {
				if body[f] != nil {
					got[f] = body[f]
				}
			}
			if b, _ := json.Marshal(got); string(b) != fields[d.Name] {
				t.Errorf("it was sent %s, want %s", b, fields[d.Name])
			}
			said := strings.Contains(strings.Join(r.Notes, "\n"), "effort high is left out: ")
			if left := fields[d.Name] == "{}"; said != left || left != (d.Effort("gpt-5-mini") != "") {
				t.Errorf("notes are %q; beforehand it was said %q", r.Notes, d.Effort("gpt-5-mini"))
			}
		})
	}
}

func TestEffortIsLeftOut(t *testing.T) {
	effort := llm.Options{Effort: llm.EffortLow}
	answer := func(llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: "{}"} }
	m, p := product(t, "openai", answer, nil)
	r, err := m.Generate(t.Context(), &llm.Request{Model: "gpt-4.1", Messages: request().Messages, Options: effort}, nil)
	switch {
	case err != nil:
		t.Errorf("unexpected error: an older model: %+v, %v; refused: %q", r, err, p.Refused())
	case len(p.Refused()) > 0:
		t.Errorf("len(p.Refused()) > 0: an older model: %+v, %v; refused: %q", r, err, p.Refused())
	case len(r.Notes) != 1:
		t.Errorf("len(r.Notes) is %v, want 1: an older model: %+v, %v; refused: %q", len(r.Notes), r, err, p.Refused())
	case !strings.Contains(r.Notes[0], "not one that thinks"):
		t.Errorf(`r.Notes[0] lacks "not one that thinks": an older model: %+v, %v; refused: %q`, r, err, p.Refused())
	}
	// A schema takes hold of an answer without thoughts only.
	m, p = product(t, "vllm", answer, nil)
	r, err = m.Generate(t.Context(), &llm.Request{Model: "m", Messages: request().Messages, Output: json.RawMessage(`{"type":"object"}`), Options: effort}, nil)
	if err != nil || p.Asked()[0].Body["reasoning_effort"] != nil || len(r.Notes) != 1 {
		t.Errorf("with a schema: %+v, %v", r, err)
	}
	// A server that the table has wrong (here with Ollama's message) is asked
	// again, without the effort.
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		json.NewDecoder(r.Body).Decode(&body)
		if asked++; body["reasoning_effort"] != nil {
			w.WriteHeader(400)
			w.Write([]byte(`{"error":{"message":"\"m\" does not support thinking","type":"invalid_request_error"}}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"well"},"finish_reason":"stop"}]}`))
	}))
	defer s.Close()
	if m, err = openai.New(openai.Config{BaseURL: s.URL + "/v1"}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		r, err := m.Generate(t.Context(), &llm.Request{Model: "m", Messages: request().Messages, Options: effort}, nil)
		if err != nil || r.Message.Text != "well" || !strings.Contains(strings.Join(r.Notes, "\n"), "the server refuses reasoning_effort") {
			t.Errorf("%d: %+v, %v", i, r, err)
		}
	}
	if asked != 3 {
		t.Errorf("it was asked %d times, want 3", asked)
	}
}
