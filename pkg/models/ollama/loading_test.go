package ollama_test

import (
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// A server that sends nothing yet is asked what it does: it loads the model.
func TestLoadingIsReported(t *testing.T) {
	t.Parallel()
	slow := func(x *llmtest.Exchange) {
		time.Sleep(1500 * time.Millisecond)
		llmtest.Say(llmtest.Turn{Text: "ok"})(x)
	}
	s := llmtest.New(t, slow, llmtest.Say(llmtest.Turn{Text: "ok"}))
	m := newModel(false)(s.URL)
	for _, want := range []string{"loading m", ""} {
		var waits []string
		got := ""
		_, err := m.Generate(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "q"}}}, func(d llm.Delta) {
			if d.Waiting != "" {
				waits = append(waits, d.Waiting)
			}
			got += d.Text
		})
		if err != nil || got != "ok" {
			t.Errorf("%q, %v", got, err)
		}
		if strings.Join(waits, ", ") != want {
			t.Errorf("it reports %q, want %q", waits, want)
		}
	}
}
