package ollama_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

var tools = []llm.ToolSpec{
	{Name: "get_weather", Description: "The weather.", Input: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string","minLength":1},"any":true,"unit":{"const":"C"}},"required":["city"]}`)},
	{Name: "read_file", Description: "Read a file.", Input: json.RawMessage(
		`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"}}}}`)},
}

func TestRealServer(t *testing.T) {
	url := ollamatest.Start(t)
	m, err := ollama.New(ollama.Config{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ollama.NewClient(ollama.Config{BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Up(t.Context()) {
		t.Fatal("the server is not up")
	}
	said := func(text string) *llm.Request {
		return &llm.Request{Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: text}}}
	}

	t.Run("conversation", func(t *testing.T) {
		ollamatest.CreateModel(t, url, "agent", []tinymodel.Turn{
			{Say: `<think>Let me look.</think>I will look.<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "unit": "C"}}</tool_call>` +
				`<tool_call>{"name": "read_file", "arguments": {"path": "é.txt", "lines": [1, 2]}}</tool_call>`},
			{Say: "I do not know.", If: "21C in é.txt", Then: "It is 21C in Paris, é☀𝄞."},
		})
		var streamed strings.Builder
		req := said("Weather?")
		req.Model, req.Tools, req.Options.Window, req.History = "agent", tools, 4096, new(llm.EncodedHistory)
		r, err := m.Generate(t.Context(), req, func(d llm.Delta) { streamed.WriteString(d.Text) })
		if err != nil {
			t.Fatal(err)
		}
		calls := r.Message.Calls
		if r.Stop != llm.StopCalls || len(calls) != 2 || calls[0].Name != "get_weather" || calls[1].Name != "read_file" || calls[0].ID == calls[1].ID {
			t.Fatalf("%+v", r)
		}
		var args struct {
			Path  string
			Lines []int
		}
		if err := json.Unmarshal(calls[1].Args, &args); err != nil || args.Path != "é.txt" || !slices.Equal(args.Lines, []int{1, 2}) {
			t.Errorf("arguments are %s", calls[1].Args)
		}
		if !strings.Contains(streamed.String(), "I will look.") || r.Message.Thinking != "Let me look." || len(r.Notes) != 0 {
			t.Errorf("streamed %q, %+v", &streamed, r)
		}
		req.Messages = append(req.Messages, r.Message,
			llm.Message{Role: llm.Tool, CallID: calls[0].ID, Name: "get_weather"},
			llm.Message{Role: llm.Tool, CallID: calls[1].ID, Name: "read_file", Text: "21C in é.txt"})
		r, err = m.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Message.Text != "It is 21C in Paris, é☀𝄞." || r.Stop != llm.StopEnd || r.Usage.Out == 0 || r.Usage.In < tinymodel.Period {
			t.Errorf("%+v", r)
		}
		loaded, err := c.Running(t.Context())
		if err != nil || len(loaded) != 1 || loaded[0].Context != 4096 || loaded[0].Name != "agent:latest" {
			t.Errorf("running is %+v, %v", loaded, err)
		}
	})
	t.Run("models", func(t *testing.T) {
		info, err := c.Show(t.Context(), "agent")
		if err != nil || info.Context != ollamatest.Context || info.Family != "llama" || !info.Can("tools") || !info.Can("thinking") || info.Can("vision") {
			t.Errorf("%+v, %v", info, err)
		}
		list, err := c.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "agent:latest" || list[0].Size == 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if got, err := c.Verify(t.Context(), "agent", 8192); got != 8192 || err != nil {
			t.Errorf("verified %d, %v", got, err)
		}
		if got, err := c.Verify(t.Context(), "agent", 2*ollamatest.Context); got != ollamatest.Context || err == nil {
			t.Errorf("a window it was not made for: %d, %v", got, err)
		}
	})
	t.Run("too long", func(t *testing.T) {
		req := said(strings.Repeat("Long. ", 1000))
		req.Model, req.Options.Window = "agent", 4096
		_, err := m.Generate(t.Context(), req, nil)
		wantKind(t, err, llm.TooLong)
	})
	t.Run("unknown model", func(t *testing.T) {
		req := said("Hello?")
		req.Model = "nobody"
		_, err := m.Generate(t.Context(), req, nil)
		wantKind(t, err, llm.NoModel)
		_, err = c.Show(t.Context(), "nobody")
		wantKind(t, err, llm.NoModel)
	})
	t.Run("swallowed call", func(t *testing.T) {
		ollamatest.CreateModel(t, url, "clumsy", []tinymodel.Turn{{Say: `<tool_call>{"name": "no_such_tool", "arguments": {}}</tool_call>`}})
		req := said("Weather?")
		req.Model, req.Tools = "clumsy", tools
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil || r.Message.Text != "" || len(r.Message.Calls) != 0 || !slices.Contains(r.Notes, llm.DroppedCall) {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("length", func(t *testing.T) {
		ollamatest.CreateModel(t, url, "talker", []tinymodel.Turn{{Say: "One two three four five."}})
		req := said("Count.")
		req.Model, req.Options.MaxTokens = "talker", 7
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil || r.Stop != llm.StopLength || r.Message.Text != "One two" || r.Usage.Out != 7 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("schema", func(t *testing.T) {
		ollamatest.CreateModel(t, url, "typed", []tinymodel.Turn{{Say: `{"n": 7}`}})
		req := said("A number.")
		req.Model, req.Output = "typed", json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		r, err := m.Generate(t.Context(), req, nil)
		var got struct{ N int }
		if err != nil || json.Unmarshal([]byte(r.Message.Text), &got) != nil || got.N != 7 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func wantKind(t *testing.T, err error, kind llm.ErrorKind) {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error is %v, want one of kind %s", err, kind)
	}
}
