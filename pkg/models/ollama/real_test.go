package ollama_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
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
	up := false
	for range 20 { // each try waits for a second, which is little under load
		if up = c.Up(t.Context()); up {
			break
		}
	}
	if !up {
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
		switch {
		case r.Stop != llm.StopCalls:
			t.Fatalf("r.Stop is %v, want %v: %+v", r.Stop, llm.StopCalls, r)
		case len(calls) != 2:
			t.Fatalf("len(calls) is %v, want 2: %+v", len(calls), r)
		case calls[0].Name != "get_weather":
			t.Fatalf(`calls[0].Name is %v, want "get_weather": %+v`, calls[0].Name, r)
		case calls[1].Name != "read_file":
			t.Fatalf(`calls[1].Name is %v, want "read_file": %+v`, calls[1].Name, r)
		case calls[0].ID == calls[1].ID:
			t.Fatalf("calls[0].ID is calls[1].ID: %+v", r)
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
		switch {
		case r.Message.Text != "It is 21C in Paris, é☀𝄞.":
			t.Errorf(`r.Message.Text is %v, want "It is 21C in Paris, é☀𝄞.": %+v`, r.Message.Text, r)
		case r.Stop != llm.StopEnd:
			t.Errorf("r.Stop is %v, want %v: %+v", r.Stop, llm.StopEnd, r)
		case r.Usage.Out == 0:
			t.Errorf("r.Usage.Out is 0: %+v", r)
		case r.Usage.In < tinymodel.Period:
			t.Errorf("r.Usage.In < tinymodel.Period: %+v", r)
		}
		loaded, err := c.Running(t.Context())
		switch {
		case err != nil:
			t.Errorf("unexpected error: running is %+v, %v", loaded, err)
		case len(loaded) != 1:
			t.Errorf("len(loaded) is %v, want 1: running is %+v, %v", len(loaded), loaded, err)
		case loaded[0].Context != 4096:
			t.Errorf("loaded[0].Context is %v, want 4096: running is %+v, %v", loaded[0].Context, loaded, err)
		case loaded[0].Name != "agent:latest":
			t.Errorf(`loaded[0].Name is %v, want "agent:latest": running is %+v, %v`, loaded[0].Name, loaded, err)
		}
	})
	t.Run("models", func(t *testing.T) {
		info, err := c.Show(t.Context(), "agent")
		switch {
		case err != nil:
			t.Errorf("unexpected error: %+v, %v", info, err)
		case info.Context != ollamatest.Context:
			t.Errorf("info.Context is %v, want %v: %+v, %v", info.Context, ollamatest.Context, info, err)
		case info.Family != "llama":
			t.Errorf(`info.Family is %v, want "llama": %+v, %v`, info.Family, info, err)
		case !info.Can("tools"):
			t.Errorf(`info.Can("tools") is false: %+v, %v`, info, err)
		case !info.Can("thinking"):
			t.Errorf(`info.Can("thinking") is false: %+v, %v`, info, err)
		case info.Can("vision"):
			t.Errorf(`info.Can("vision") is true: %+v, %v`, info, err)
		}
		list, err := c.List(t.Context())
		switch {
		case err != nil:
			t.Errorf("unexpected error: %+v, %v", list, err)
		case len(list) != 1:
			t.Errorf("len(list) is %v, want 1: %+v, %v", len(list), list, err)
		case list[0].Name != "agent:latest":
			t.Errorf(`list[0].Name is %v, want "agent:latest": %+v, %v`, list[0].Name, list, err)
		case list[0].Size == 0:
			t.Errorf("list[0].Size is 0: %+v, %v", list, err)
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
		switch {
		case err != nil:
			t.Errorf("unexpected error: %+v, %v", r, err)
		case r.Message.Text != "":
			t.Errorf(`r.Message.Text is %v, want "": %+v, %v`, r.Message.Text, r, err)
		case len(r.Message.Calls) != 0:
			t.Errorf("len(r.Message.Calls) is %v, want 0: %+v, %v", len(r.Message.Calls), r, err)
		case !slices.Contains(r.Notes, llm.DroppedCall):
			t.Errorf("r.Notes lacks llm.DroppedCall: %+v, %v", r, err)
		}
	})
	t.Run("length", func(t *testing.T) {
		ollamatest.CreateModel(t, url, "talker", []tinymodel.Turn{{Say: "One two three four five."}})
		req := said("Count.")
		req.Model, req.Options.MaxTokens = "talker", 7
		r, err := m.Generate(t.Context(), req, nil)
		switch {
		case err != nil:
			t.Errorf("unexpected error: %+v, %v", r, err)
		case r.Stop != llm.StopLength:
			t.Errorf("r.Stop is %v, want %v: %+v, %v", r.Stop, llm.StopLength, r, err)
		case r.Message.Text != "One two":
			t.Errorf(`r.Message.Text is %v, want "One two": %+v, %v`, r.Message.Text, r, err)
		case r.Usage.Out != 7:
			t.Errorf("r.Usage.Out is %v, want 7: %+v, %v", r.Usage.Out, r, err)
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
