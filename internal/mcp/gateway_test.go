package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// manyTools lists n tools that resemble those of a real server.
func manyTools(n int) string {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"create_record_%d","description":"Create a record of kind %d in the data base of the customer, with a title, a body and labels. It returns the number of the record, its address and the time when it was made, and fails if one with this title is there already.","inputSchema":{"type":"object","properties":{"title":{"type":"string","description":"The title of the record, at most 200 characters"},"body":{"type":"string","description":"The body of the record as Markdown"},"labels":{"type":"array","items":{"type":"string"},"description":"Labels that it gets"}},"required":["title"]},"annotations":{"readOnlyHint":true}}`, i, i)
	}
	b.WriteString("]}")
	return b.String()
}

// TestMCPGateway: an agent with very many tools sends few of them, the same ones in
// each request, and finds and calls the others.
func TestMCPGateway(t *testing.T) {
	for _, n := range []int{200, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := serve(t, "behaves", manyTools(n))
			s, requests := runGateway(t, f, agents.DynamicAgent{Name: "clerk", Description: "Keeps records.", MCPServers: []string{"fake"}, Deny: []string{"mcp__fake__create_record_9"},
				Prompt: "You keep records."}, []llmtest.Turn{
				called(`{"name":"record of kind 7"}`, "describe_tool"),
				called(`{"name":"mcp__fake__create_record_7"}`, "describe_tool"),
				called(`{"name":"mcp__fake__create_record_7","arguments":{"title":"A"}}`, "call_tool"),
				called(`{"title":"B"}`, "mcp__fake__create_record_8"), // as models do that have seen the name
				called(`{"name":"mcp__fake__create_record_7","arguments":{"titel":1}}`, "call_tool"),
				called(`{"name":"create_record_6","arguments":{}}`, "call_tool"),
				called(`{"name":"mcp__fake__create_record_9","arguments":{"title":"C"}}`, "call_tool"),
				called(`{"name":"mcp__fake__no_such","arguments":{}}`, "call_tool"),
				{Text: "Done."},
			})
			if tokens := len(requests[0]) * 10 / 33; tokens >= 3000 {
				t.Errorf("the first request has some %d tokens", tokens)
			}
			for i, r := range requests {
				if toolsOf(t, r) != toolsOf(t, requests[0]) {
					t.Errorf("request %d has other tools than the first", i)
				}
			}
			last := string(requests[len(requests)-1])
			for _, want := range []string{"Labels that it gets", "did create_record_7", "did create_record_8", "was not called, its arguments do not fit", `did you mean \"mcp__fake__create_record_6\"`, `no tool \"mcp__fake__create_record_9\" within reach`, "no tool mcp__fake__no_such"} {
				if !strings.Contains(strings.ReplaceAll(last, `\\"`, `\"`), want) {
					t.Errorf("the last request lacks %q", want)
				}
			}
			if s.Called["mcp__fake__create_record_7"] != 1 || s.Called["mcp__fake__create_record_9"] != 0 || s.Called["call_tool"] != 0 {
				t.Errorf("called were %v", s.Called)
			}
		})
	}
	t.Run("few", func(t *testing.T) {
		f := serve(t, "behaves", manyTools(20))
		_, requests := runGateway(t, f, agents.DynamicAgent{Name: "clerk", Description: "Keeps records.", MCPServers: []string{"fake"}, Prompt: "You keep records."}, []llmtest.Turn{{Text: "Done."}})
		if names := toolsOf(t, requests[0]); !strings.Contains(names, "mcp__fake__create_record_19") || strings.Contains(names, "call_tool") {
			t.Errorf("the tools are %.300s", names)
		}
	})
	t.Run("named", func(t *testing.T) {
		f := serve(t, "behaves", manyTools(200))
		_, requests := runGateway(t, f, agents.DynamicAgent{Name: "clerk", Description: "Keeps records.", MCPServers: []string{"fake"}, Tools: []string{"mcp__fake__create_record_3"}, Prompt: "You keep records."}, []llmtest.Turn{{Text: "Done."}})
		if names := toolsOf(t, requests[0]); !strings.Contains(names, `"name":"mcp__fake__create_record_3"`) || !strings.Contains(names, "call_tool") {
			t.Errorf("the tools are %.300s", names)
		}
	})
}

func called(args, name string) llmtest.Turn {
	return llmtest.Turn{Calls: []llm.Call{{ID: "c", Name: name, Args: json.RawMessage(args)}}}
}

// runGateway runs an agent against a server that gives answers, and returns the
// requests that it was sent.
func runGateway(t *testing.T, f *fixture, a agents.DynamicAgent, turns []llmtest.Turn) (*executor.State, [][]byte) {
	t.Helper()
	server := llmtest.New(t)
	for _, turn := range turns {
		server.Add(llmtest.Say(turn))
	}
	model, err := openai.New(openai.Config{BaseURL: server.URL + "/v1", Dialect: "openai", NoStream: true})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Models: map[string]llm.Model{"test": model}, Model: "test/m", Workspace: adroit.Workspace{Dir: t.TempDir(), Servers: []adroit.LanguageServer{}}, ToolServers: f.Pool,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	s, err := adroit.Run(t.Context(), rt, adroit.Request{Input: agents.Input{Spec: &a, Prompt: "Make a record."}})
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	for _, r := range server.Requests() {
		if bytes.Contains(r.Body, []byte(`"messages"`)) {
			bodies = append(bodies, r.Body)
		}
	}
	return s, bodies
}

func toolsOf(t *testing.T, body []byte) string {
	t.Helper()
	var r struct{ Tools json.RawMessage }
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	return string(r.Tools)
}
