package openai_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

func TestRealServer(t *testing.T) {
	url := ollamatest.Start(t)
	m, err := openai.New(openai.Config{Name: "compatible", BaseURL: url + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	ollamatest.CreateModel(t, url, "agent", []tinymodel.Turn{
		{Say: `<think>Let me look.</think><tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>` +
			`<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`},
		{Say: "I do not know.", If: "21C", Then: "It is 21C, é☀𝄞."},
	})
	zero := 0.0
	req := &llm.Request{
		Model:    "agent",
		Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Weather?"}},
		Tools: []llm.ToolSpec{{Name: "get_weather", Description: "The weather.", Input: json.RawMessage(
			`{"type":"object","properties":{"city":{"type":"string"},"any":true,"either":{"anyOf":[true]}},"required":["city"]}`)}},
		Options: llm.Options{Temperature: &zero},
		History: new(llm.EncodedHistory),
	}
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(r.Message.Calls) != 2:
		t.Fatalf("len(r.Message.Calls) is %v, want 2: %+v", len(r.Message.Calls), r)
	case r.Stop != llm.StopCalls:
		t.Fatalf("r.Stop is %v, want %v: %+v", r.Stop, llm.StopCalls, r)
	case r.Message.Thinking != "Let me look.":
		t.Fatalf(`r.Message.Thinking is %v, want "Let me look.": %+v`, r.Message.Thinking, r)
	case r.Usage.In < tinymodel.Period:
		t.Fatalf("r.Usage.In < tinymodel.Period: %+v", r)
	case len(r.Notes) != 0:
		t.Fatalf("len(r.Notes) is %v, want 0: %+v", len(r.Notes), r)
	}
	// An empty result and one call that could not be read are no reason for
	// the server to refuse the conversation.
	r.Message.Calls[0].Args = json.RawMessage(`[1e400]`)
	req.Messages = append(req.Messages, r.Message,
		llm.Message{Role: llm.Tool, CallID: r.Message.Calls[0].ID, Name: "get_weather"},
		llm.Message{Role: llm.Tool, CallID: r.Message.Calls[1].ID, Name: "get_weather", Text: "21C"})
	if r, err = m.Generate(t.Context(), req, nil); err != nil || r.Message.Text != "It is 21C, é☀𝄞." || r.Stop != llm.StopEnd {
		t.Errorf("%+v, %v", r, err)
	}
	req.Model = "nobody"
	var e *llm.Error
	if _, err := m.Generate(t.Context(), req, nil); !errors.As(err, &e) || e.Kind != llm.NoModel {
		t.Errorf("%v", err)
	}
}
