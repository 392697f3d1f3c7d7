package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// The client of the library sends a whole request of its own to the server of the tests, and
// reads the answer by itself. What the adapter sends for the same request, in place of the
// client, is the same JSON, under the same headers, and it reads the same answer.
func TestClientSendsTheSame(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	answer := llmtest.Turn{Text: "I look.", Calls: []llm.Call{{ID: "call_2", Name: "weather", Args: json.RawMessage(`{"city":"Rome"}`)}}, Usage: &llm.Usage{In: 12, Out: 5}}
	s := llmtest.New(t, llmtest.Say(answer), llmtest.Say(answer))

	half := 0.5
	got, err := newModel(false)(s.URL).Generate(t.Context(), &llm.Request{
		Model: "m", Options: llm.Options{Temperature: &half, MaxTokens: 100},
		Messages: []llm.Message{
			{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Weather in <Paris> & Rome?"},
			{Role: llm.Assistant, Text: "Paris first.", Calls: []llm.Call{{ID: "call_1", Name: "weather", Args: json.RawMessage(`{"city":"Paris"}`)}}},
			{Role: llm.Tool, CallID: "call_1", Name: "weather", Text: "21C"},
		},
		Tools: []llm.ToolSpec{{Name: "weather", Description: "The weather.", Input: json.RawMessage(schema)}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	conf := goopenai.DefaultConfig(llmtest.Key)
	conf.BaseURL = s.URL + "/v1"
	stream, err := goopenai.NewClientWithConfig(conf).CreateChatCompletionStream(t.Context(), goopenai.ChatCompletionRequest{
		Model: "m", Temperature: 0.5, MaxTokens: 100, StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
		Messages: []goopenai.ChatCompletionMessage{
			{Role: goopenai.ChatMessageRoleSystem, Content: "Be brief."}, {Role: goopenai.ChatMessageRoleUser, Content: "Weather in <Paris> & Rome?"},
			{Role: goopenai.ChatMessageRoleAssistant, Content: "Paris first.", ToolCalls: []goopenai.ToolCall{{ID: "call_1", Type: goopenai.ToolTypeFunction,
				Function: goopenai.FunctionCall{Name: "weather", Arguments: `{"city":"Paris"}`}}}},
			{Role: goopenai.ChatMessageRoleTool, ToolCallID: "call_1", Content: "21C"},
		},
		Tools: []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: "weather", Description: "The weather.", Parameters: json.RawMessage(schema)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var text, args strings.Builder
	var usage *goopenai.Usage
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
			for _, k := range c.Delta.ToolCalls {
				args.WriteString(k.Function.Arguments)
			}
		}
	}
	switch m := got.Message; {
	case m.Text != text.String() || m.Text != answer.Text:
		t.Errorf("the adapter reads %q, the client %q", m.Text, text.String())
	case len(m.Calls) != 1 || string(m.Calls[0].Args) != args.String():
		t.Errorf("the adapter reads the calls %+v, the client %q", m.Calls, args.String())
	case usage == nil || got.Usage.In != usage.PromptTokens || got.Usage.Out != usage.CompletionTokens:
		t.Errorf("the adapter reads the usage %+v, the client %+v", got.Usage, usage)
	}

	sent := s.Requests()
	if len(sent) != 2 {
		t.Fatalf("%d requests", len(sent))
	}
	var ours, theirs any
	if err := errors.Join(json.Unmarshal(sent[0].Body, &ours), json.Unmarshal(sent[1].Body, &theirs)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("the adapter sends\n%s\nthe client\n%s", sent[0].Body, sent[1].Body)
	}
	if sent[0].Path != sent[1].Path {
		t.Errorf("the adapter asks %s, the client %s", sent[0].Path, sent[1].Path)
	}
	for _, name := range []string{"Authorization", "Content-Type", "Accept"} {
		if a, b := sent[0].Header.Get(name), sent[1].Header.Get(name); a != b || a == "" {
			t.Errorf("%s: the adapter sends %q, the client %q", name, a, b)
		}
	}
}
