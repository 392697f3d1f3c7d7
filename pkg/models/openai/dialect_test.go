package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// product opens a model at a server that behaves as the dialect's.
func product(t *testing.T, dialect string, answer func(llmtest.Asked) llmtest.Turn, edit func(*openai.Config)) (llm.Model, *llmtest.Product) {
	t.Helper()
	p := llmtest.NewProduct(t, dialect, answer)
	c := openai.Config{Name: dialect, BaseURL: p.URL + "/v1", Dialect: strings.TrimSuffix(dialect, " without a parser"), Key: llmtest.Key}
	if dialect == "azure" {
		c.BaseURL = p.URL
	}
	if edit != nil {
		edit(&c)
	}
	m, err := openai.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// TestDialects has a conversation with each: thinking, two calls in one
// answer, a result without text, a word in between and an end.
func TestDialects(t *testing.T) {
	for _, d := range openai.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			m, p := product(t, d.Name, func(a llmtest.Asked) llmtest.Turn {
				if len(a.Messages) > 3 {
					return llmtest.Turn{Text: "done"}
				}
				return llmtest.Turn{Thinking: "Let me see.", Text: "I look.", Calls: []llm.Call{
					{ID: "call_abcdefgh", Name: "f", Args: json.RawMessage(`{"n":9007199254740993}`)}, {ID: "call_ijklmnop", Name: "f", Args: json.RawMessage(`{"n":2}`)}}}
			}, func(c *openai.Config) { c.OneCall = true })
			zero := 0.0
			req := &llm.Request{
				Model:    "gpt-5-mini",
				Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Look."}},
				Tools:    []llm.ToolSpec{{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"any":true}}`)}},
				Options:  llm.Options{Temperature: &zero, MaxTokens: 100},
				History:  new(llm.EncodedHistory),
			}
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatalf("%v; refused: %q", err, p.Refused())
			}
			c := r.Message.Calls
			switch {
			case len(c) != 2:
				t.Fatalf("len(c) is %v, want 2: %+v", len(c), r)
			case string(c[0].Args) != `{"n":9007199254740993}`:
				t.Fatalf("string(c[0].Args) is %v, want `{\"n\":9007199254740993}`: %+v", string(c[0].Args), r)
			case string(c[1].Args) != `{"n":2}`:
				t.Fatalf("string(c[1].Args) is %v, want `{\"n\":2}`: %+v", string(c[1].Args), r)
			case r.Stop != llm.StopCalls:
				t.Fatalf("r.Stop is %v, want %v: %+v", r.Stop, llm.StopCalls, r)
			case r.Message.Thinking != "Let me see.":
				t.Fatalf(`r.Message.Thinking is %v, want "Let me see.": %+v`, r.Message.Thinking, r)
			case r.Message.Text != "I look.":
				t.Fatalf(`r.Message.Text is %v, want "I look.": %+v`, r.Message.Text, r)
			}
			if r.Usage.In != 100 || r.Usage.Out != 10 || slices.Contains([]string{"deepseek", "llamacpp"}, d.Name) != (r.Usage.Cached == 64) {
				t.Errorf("usage is %+v", r.Usage)
			}
			if len(r.Notes) != 0 {
				t.Errorf("notes are %q", r.Notes)
			}
			req.Messages = append(req.Messages, r.Message,
				llm.Message{Role: llm.Tool, CallID: c[0].ID, Name: "f"},
				llm.Message{Role: llm.Tool, CallID: c[1].ID, Name: "f", Text: "2"},
				llm.Message{Role: llm.User, Text: "And now?"})
			if r, err = m.Generate(t.Context(), req, nil); err != nil {
				t.Fatalf("%v; refused: %q", err, p.Refused())
			}
			if r.Message.Text != "done" || r.Stop != llm.StopEnd || r.Message.State != nil {
				t.Errorf("%+v", r)
			}
			if no := p.Refused(); len(no) != 0 {
				t.Errorf("the table does not say that it refuses: %q", no)
			}
			asked := p.Asked()
			newer := d.Name == "openai" || d.Name == "azure"
			if (asked[0].Messages[0].Role == "developer") != newer || (asked[0].Body["max_tokens"] == nil) != newer || (asked[0].Body["temperature"] == nil) != newer {
				t.Errorf("it was sent %s, %s", asked[0].Messages[0].Role, fmt.Sprint(asked[0].Body))
			}
			if (asked[0].Body["parallel_tool_calls"] != nil) != d.Parallel {
				t.Errorf("one call was asked for: %v", asked[0].Body["parallel_tool_calls"] != nil)
			}
		})
	}
}

// TestChoice asks for a call, and forbids calls of tools that are shown for the
// server's cache, where the dialect can say so.
func TestChoice(t *testing.T) {
	for _, d := range openai.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			m, p := product(t, d.Name, func(llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: "well"} }, nil)
			tools := []llm.ToolSpec{{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}}
			req := request()
			req.Tools, req.HiddenTools, req.RequireCall = tools, nil, true
			ask := func() llmtest.Asked {
				t.Helper()
				if _, err := m.Generate(t.Context(), req, nil); err != nil {
					t.Fatalf("%v; refused: %q", err, p.Refused())
				}
				all := p.Asked()
				return all[len(all)-1]
			}
			quoted := func(s string) string {
				if s == "" {
					return ""
				}
				return `"` + s + `"`
			}
			if a := ask(); string(a.Body["tool_choice"]) != quoted(d.Must) || len(a.Tools) != 1 {
				t.Errorf("a call was asked for by %s", a.Body["tool_choice"])
			}
			req.Tools, req.HiddenTools, req.RequireCall = nil, tools, false
			if a := ask(); len(a.Tools) != 1 || (string(a.Body["tool_choice"]) == `"none"`) != (d.Must != "") {
				t.Errorf("%d tools with choice %s", len(a.Tools), a.Body["tool_choice"])
			}
			req.Tools, req.HiddenTools = tools, nil
			if a := ask(); a.Body["tool_choice"] != nil {
				t.Errorf("choice %s although the model is free", a.Body["tool_choice"])
			}
		})
	}
}

// TestGrammar holds text that may call to a grammar where there are some, and
// does without where a server refuses it.
func TestGrammar(t *testing.T) {
	req := &llm.Request{Model: "m", Messages: request().Messages, History: new(llm.EncodedHistory),
		TextTools: []llm.ToolSpec{{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}}}
	for _, d := range openai.Dialects() {
		m, p := product(t, d.Name, func(llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: "well"} }, nil)
		if _, err := m.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(d.Name, err)
		}
		got := string(p.Asked()[0].Body["grammar"])
		if (got != "") != d.Grammar || got != "" && !strings.Contains(got, `root ::= text0`) {
			t.Errorf("%s: the grammar is %s", d.Name, got)
		}
	}
	s := llmtest.New(t, llmtest.Fail(400, `{"error":{"message":"Failed to parse grammar"}}`), llmtest.Say(llmtest.Turn{Text: "ok"}))
	m, err := openai.New(openai.Config{BaseURL: s.URL + "/v1", Dialect: "llamacpp"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := m.Generate(t.Context(), req, nil); err != nil || r.Message.Text != "ok" || !slices.Contains(r.Notes, "the server refuses grammar; it was asked again without") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestStrictTools sends strict schemas where they hold, takes the arguments
// back into the full form, and does without where a server refuses one.
func TestStrictTools(t *testing.T) {
	tools := []llm.ToolSpec{{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":1},"b":{"type":"integer"},"m":{"type":"object"}},"required":["a"]}`)}}
	for _, d := range openai.Dialects() {
		m, p := product(t, d.Name, func(a llmtest.Asked) llmtest.Turn {
			args := `{"a":"x","m":{"k":9007199254740993}}`
			if a.Tools[0].Function.Strict {
				args = `{"a":"x","b":null,"m":"{\"k\":9007199254740993}"}`
			}
			return llmtest.Turn{Calls: []llm.Call{{ID: "call_abcdefgh", Name: "f", Args: json.RawMessage(args)}}}
		}, nil)
		req := request()
		req.Tools = tools
		r, err := m.Generate(t.Context(), req, nil)
		if err != nil || len(r.Message.Calls) != 1 || string(r.Message.Calls[0].Args) != `{"a":"x","m":{"k":9007199254740993}}` {
			t.Errorf("%s: %+v, %v; refused: %q", d.Name, r, err, p.Refused())
			continue
		}
		if a := p.Asked()[0]; a.Tools[0].Function.Strict != d.StrictTools || len(p.Refused()) > 0 {
			t.Errorf("%s: strict is %v; refused: %q", d.Name, a.Tools[0].Function.Strict, p.Refused())
		}
	}
	// Tools without a strict form go without, and only they. A server of the
	// product refuses what is not what it demands.
	for name, input := range map[string]string{
		"none": `{"type":"object","properties":{}}`, "closed": `{"type":"object","properties":{},"additionalProperties":false}`,
		"map": `{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`, "patterns": `{"type":"object","properties":{},"patternProperties":{"^x":{"type":"string"}}}`,
		"choice":  `{"type":"object","properties":{},"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
		"more":    `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		"nested":  `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}},"patternProperties":{"^x":{"type":"string"}}}}}}`,
		"listing": `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array"}}},"m":{"type":"object"}},"required":["a"]}`,
	} {
		m, p := product(t, "openai", func(llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: "ok"} }, nil)
		req := request()
		req.Tools = append([]llm.ToolSpec{{Name: "g", Input: json.RawMessage(input)}}, tools...)
		if _, err := m.Generate(t.Context(), req, nil); err != nil || len(p.Refused()) > 0 {
			t.Errorf("%s: %v; refused: %q", name, err, p.Refused())
			continue
		}
		a := p.Asked()[0]
		if want := name == "closed" || name == "listing"; a.Tools[0].Function.Strict != want || !a.Tools[1].Function.Strict {
			t.Errorf("%s: strict is %v, and of the other %v: %s", name, a.Tools[0].Function.Strict, a.Tools[1].Function.Strict, a.Tools[0].Function.Parameters)
		}
	}
	// One refused schema does not loosen the others.
	refusing := llmtest.New(t, llmtest.Fail(400, `{"error":{"message":"Invalid schema for function 'g': it is too deep."}}`), llmtest.Say(llmtest.Turn{Text: "ok"}))
	strict, err := openai.New(openai.Config{BaseURL: refusing.URL + "/v1", Dialect: "openai", Key: llmtest.Key})
	if err != nil {
		t.Fatal(err)
	}
	asked := request()
	asked.Tools, asked.History = append([]llm.ToolSpec{{Name: "g", Input: tools[0].Input}}, tools...), new(llm.EncodedHistory)
	if _, err := strict.Generate(t.Context(), asked, nil); err != nil {
		t.Fatal(err)
	}
	if got := refusing.Requests(); len(got) != 2 || strings.Count(string(got[0].Body), `"strict":true`) != 2 || strings.Count(string(got[1].Body), `"strict":true`) != 1 {
		t.Errorf("%d requests: %s", len(got), got[len(got)-1].Body)
	}
	s := llmtest.New(t, llmtest.Fail(400, `{"error":{"message":"Invalid schema for function 'f': In context=('properties', 'm'), this is too deep."}}`), llmtest.Say(llmtest.Turn{Text: "ok"}))
	m, err := openai.New(openai.Config{BaseURL: s.URL + "/v1", Dialect: "openai", Key: llmtest.Key})
	if err != nil {
		t.Fatal(err)
	}
	req := request()
	req.Tools, req.History = tools, new(llm.EncodedHistory)
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil || r.Message.Text != "ok" || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "strict") }) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFormats(t *testing.T) {
	const full = `{"type":"object","properties":{"a":{"type":"string","minLength":1},"b":{"type":"integer"},"m":{"type":"object"}},"required":["a"]}`
	for _, d := range openai.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			m, p := product(t, d.Name, func(a llmtest.Asked) llmtest.Turn {
				if d.Format == openai.FormatStrict {
					return llmtest.Turn{Text: `{"a":"x","b":null,"m":"{\"k\":1}"}`}
				}
				return llmtest.Turn{Text: `{"a":"x","m":{"k":1}}`}
			}, nil)
			req := &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "Answer with JSON."}}, Output: json.RawMessage(full)}
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil || r.Message.Text != `{"a":"x","m":{"k":1}}` {
				t.Fatalf("%+v, %v; refused: %q", r, err, p.Refused())
			}
			if no := p.Refused(); len(no) != 0 {
				t.Errorf("the table does not say that it refuses: %q", no)
			}
			a := p.Asked()[0]
			if (a.Schema != nil) != d.Holds() {
				t.Errorf("response_format was %s", a.Body["response_format"])
			}
			for field := range d.WithFormat {
				if a.Body[field] == nil {
					t.Errorf("%s was not sent", field)
				}
			}
			// With tools a schema goes out only where both can be had.
			req.Tools = []llm.ToolSpec{{Name: "f"}}
			if _, err := m.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			a = p.Asked()[1]
			if len(a.Tools) != 1 || (a.Body["response_format"] != nil) == d.Alone {
				t.Errorf("with tools response_format was %s", a.Body["response_format"])
			}
		})
	}
	t.Run("a list at the root", func(t *testing.T) {
		m, _ := product(t, "openai", func(a llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: `{"value":[1,2]}`} }, nil)
		r, err := m.Generate(t.Context(), &llm.Request{Model: "m", Messages: request().Messages, Output: json.RawMessage(`{"type":"array","items":{"type":"integer"}}`)}, nil)
		if err != nil || r.Message.Text != "[1,2]" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestGuess(t *testing.T) {
	for base, want := range map[string]string{
		"":                               "openai",
		"https://api.openai.com/v1":      "openai",
		"https://corp.openai.azure.com":  "azure",
		"https://openrouter.ai/api/v1":   "openrouter",
		"https://API.MISTRAL.AI/v1":      "mistral",
		"https://api.groq.com/openai/v1": "groq",
		"https://api.deepseek.com":       "deepseek",
		"https://generativelanguage.googleapis.com/v1beta/openai": "gemini",
		"http://localhost:11434/v1":                               "ollama",
		"http://127.0.0.1:8080/v1":                                "llamacpp",
		"http://[::1]:8000/v1":                                    "vllm",
		"http://127.0.0.1:1234/v1":                                "lmstudio",
		"http://gpu:8000/v1":                                      "compatible",
		"https://api.openai.com.example.org":                      "compatible",
		"https://notopenrouter.ai/v1":                             "compatible",
		"http://127.0.0.1:80%zz":                                  "compatible",
	} {
		if got := openai.Guess(base).Name; got != want {
			t.Errorf("%s is taken for %s, want %s", base, got, want)
		}
	}
	if _, err := openai.New(openai.Config{BaseURL: "http://x", Dialect: "esperanto"}); err == nil || !strings.Contains(err.Error(), "openai, azure") {
		t.Errorf("%v", err)
	}
	if _, err := openai.New(openai.Config{BaseURL: "http://x", Body: map[string]any{"messages": 1}}); err == nil || !strings.Contains(err.Error(), "messages") {
		t.Errorf("%v", err)
	}
}

// TestLearnsWhatIsRefused meets a server that the table does not know.
func TestLearnsWhatIsRefused(t *testing.T) {
	turn := func(llmtest.Asked) llmtest.Turn { return llmtest.Turn{Text: "done"} }
	p := llmtest.NewProduct(t, "openai", turn)
	m, err := openai.New(openai.Config{BaseURL: p.URL + "/v1", Dialect: "compatible", Body: map[string]any{"top_k": 7}})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	req := &llm.Request{Model: "gpt-5-mini", Messages: request().Messages, Options: llm.Options{Temperature: &zero, MaxTokens: 9}}
	var e *llm.Error
	if _, err = m.Generate(t.Context(), req, nil); !errors.As(err, &e) || e.Kind != llm.BadRequest || !strings.Contains(err.Error(), "top_k") {
		t.Fatalf("what the operator wants sent is not left out in silence: %v", err)
	}
	if m, err = openai.New(openai.Config{BaseURL: p.URL + "/v1", Dialect: "compatible"}); err != nil {
		t.Fatal(err)
	}
	before := len(p.Refused())
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil || r.Message.Text != "done" || len(r.Notes) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if a := p.Asked()[0]; a.Body["temperature"] != nil || string(a.Body["max_completion_tokens"]) != "9" {
		t.Errorf("it was sent %s", fmt.Sprint(a.Body))
	}
	if _, err = m.Generate(t.Context(), req, nil); err != nil || len(p.Refused()) != before+2 {
		t.Errorf("%v; refused: %q", err, p.Refused()[before:])
	}
}

// TestWhatServersWantOfMessages: reasoning goes back with its calls and no user follows a result, once a
// refusal has said so, in known words or none.
func TestWhatServersWantOfMessages(t *testing.T) {
	for _, c := range []struct {
		label, says string
		status      int
	}{
		{"reasoning", "thinking is on, but reasoning_content is missing in message 2", 400},
		{"reasoning", "no", 422},
		{"roles", "Conversation roles must alternate user/assistant", 500},
		{"roles", "Unexpected role 'user' after role 'tool'", 400},
		{"roles", "no", 400},
		{"system", "System role not supported", 400},
		{"system", "Jinja Exception: Only user, assistant and tool roles are supported, got system.", 500},
		{"system", "Developer instruction is not enabled for models/gemma-3-27b-it", 400},
		{"stream", "Streaming is unsupported for this model.", 400},
	} {
		ok := func(body []byte) bool {
			var in struct {
				Stream   bool `json:"stream"`
				Messages []struct {
					Role      string            `json:"role"`
					Calls     []json.RawMessage `json:"tool_calls"`
					Reasoning string            `json:"reasoning_content"`
				} `json:"messages"`
			}
			if err := json.Unmarshal(body, &in); err != nil {
				t.Fatal(err)
			}
			for i, m := range in.Messages {
				if c.label == "stream" && in.Stream || c.label == "system" && m.Role == "system" ||
					c.label == "reasoning" && len(m.Calls) > 0 && m.Reasoning == "" || c.label == "roles" && m.Role == "user" && i > 0 && in.Messages[i-1].Role == "tool" {
					return false
				}
			}
			return true
		}
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked++
			w.Header().Set("Content-Type", "application/json")
			switch {
			case !ok(body):
				w.WriteHeader(c.status)
				fmt.Fprintf(w, `{"error":{"message":%q}}`, c.says)
			case asked == 1:
				fmt.Fprint(w, `{"choices":[{"message":{"reasoning_content":"I look.","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
			default:
				if c.label == "reasoning" && !strings.Contains(string(body), `"reasoning_content":"I look."`) {
					t.Errorf("%s: the reasoning that came is not sent: %s", c.says, body)
				}
				fmt.Fprint(w, `{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}`)
			}
		}))
		m := newModel(false)(s.URL)
		req := request()
		if c.label == "system" {
			req.Messages = append([]llm.Message{{Role: llm.System, Text: "s"}}, req.Messages...)
		}
		req.History = new(llm.EncodedHistory)
		for range 2 {
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatalf("%s: %v", c.says, err)
			}
			if req.Messages = append(req.Messages, r.Message); len(r.Message.Calls) > 0 {
				req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, CallID: r.Message.Calls[0].ID, Name: "f", Text: "x"})
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: "go on"})
		}
		if _, err := m.Generate(t.Context(), req, nil); err != nil || asked != 4 { // learned with the second request
			t.Errorf("%s: %v, asked %d times", c.says, err, asked)
		}
		s.Close()
	}
}

func TestWhatAServerCannotDo(t *testing.T) {
	m, _ := product(t, "vllm without a parser", nil, nil)
	var e *llm.Error
	if _, err := m.Generate(t.Context(), request(), nil); !errors.As(err, &e) || e.Kind != llm.Unsupported {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		status int
		says   string
		tools  bool
		kind   llm.ErrorKind
	}{
		{500, "tools param requires --jinja flag", true, llm.Unsupported},
		{500, "tools param requires --jinja flag", false, llm.Overloaded},
		{400, "This model does not support response format `json_schema`", false, llm.Unsupported},
		{400, "'response_format' of type 'json_schema' is not supported with this model", false, llm.Unsupported},
		{400, "'response_format' of type 'json_schema' is not supported with this model", true, llm.BadRequest},
		{400, "Failed to initialize samplers: failed to parse grammar", false, llm.Unsupported},
		{400, "messages: missing", false, llm.BadRequest},
		// No list has these words.
		{400, "response_format and tools are not supported by this server", true, llm.Unsupported},
		{422, "body.tools: Extra inputs are not permitted", true, llm.Unsupported},
		{400, "Unrecognized request argument supplied: functions", true, llm.Unsupported},
		{400, "tools are disabled", false, llm.BadRequest},
		{400, "tools[0].function.name: must match ^[a-z]+$", true, llm.BadRequest},
		{400, "role 'tool' must follow a message with calls", true, llm.BadRequest},
	} {
		no := llmtest.Fail(c.status, fmt.Sprintf(`{"error":{"message":%q}}`, c.says))
		s := llmtest.New(t, no, no, no, no)
		req := request()
		if !c.tools {
			req.Tools, req.Output = nil, json.RawMessage(`{"type":"object"}`)
		}
		if _, err := newModel(false)(s.URL).Generate(t.Context(), req, nil); !errors.As(err, &e) || e.Kind != c.kind {
			t.Errorf("%s (tools: %v) is %v, want %s", c.says, c.tools, err, c.kind)
		}
	}
}

func TestGroqsFailedGeneration(t *testing.T) {
	const body = `{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":%q}}`
	for raw, want := range map[string]string{
		`<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>`: `{"n":1}`,
		`I will call it soon`: "",
	} {
		s := llmtest.New(t, llmtest.Fail(400, fmt.Sprintf(body, raw)))
		r, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
		switch {
		case err != nil:
			t.Errorf("%s: %v", raw, err)
		case want == "" && (!r.Dropped() || len(r.Message.Calls) > 0):
			t.Errorf("%s: %+v", raw, r)
		case want != "" && (len(r.Message.Calls) != 1 || string(r.Message.Calls[0].Args) != want || r.Stop != llm.StopCalls):
			t.Errorf("%s: %+v", raw, r)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	in := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).UnixMilli()) }
	for _, c := range []struct {
		headers  []string
		body     string
		from, to time.Duration
	}{
		{[]string{"Retry-After", "2"}, "", 2 * time.Second, 2 * time.Second},
		{[]string{"Retry-After", "2s"}, "", 2 * time.Second, 2 * time.Second},
		{[]string{"Retry-After", "2, 30"}, "", 2 * time.Second, 2 * time.Second},
		{[]string{"Retry-After", "1e9"}, "", 366 * 24 * time.Hour, 366 * 24 * time.Hour},
		{[]string{"Retry-After", "100000"}, "", 100000 * time.Second, 100000 * time.Second},
		{[]string{"Retry-After", "-3"}, "", 0, 0},
		{[]string{"Retry-After", time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat)}, "", 30 * time.Second, 41 * time.Second},
		{[]string{"Retry-After-Ms", "1500"}, "", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{[]string{"X-RateLimit-Reset-Requests", "1m30s"}, "", 90 * time.Second, 90 * time.Second},
		{[]string{"X-RateLimit-Reset-Tokens", "6ms", "X-RateLimit-Reset-Requests", "17m", "X-RateLimit-Remaining-Requests", "40", "X-RateLimit-Remaining-Tokens", "0"}, "", 6 * time.Millisecond, 6 * time.Millisecond},
		{[]string{"X-RateLimit-Reset", in(20 * time.Second)}, "", 10 * time.Second, 21 * time.Second},
		{nil, "Rate limit reached. Please try again in 1m2.5s. Visit us.", 62500 * time.Millisecond, 62500 * time.Millisecond},
		{nil, "Rate limit reached, try again in 3 seconds", 3 * time.Second, 3 * time.Second},
		{nil, `quota exceeded, \"retryDelay\": \"34s\"`, 0, 0}, // escaped within the words
		{nil, "slow down", 0, 0},
	} {
		s := llmtest.New(t, llmtest.Fail(429, `{"error":{"message":"`+c.body+`"}}`, c.headers...))
		_, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.RetryAfter < c.from || e.RetryAfter > c.to {
			t.Errorf("%q %q: %+v", c.headers, c.body, e)
		}
	}
	s := llmtest.New(t, llmtest.Fail(429, `{"error":{"code":429,"message":"quota","details":[{"@type":"RetryInfo","retryDelay":"34s"}]}}`))
	_, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.RetryAfter != 34*time.Second {
		t.Errorf("%+v", e)
	}
}

// A refusal that comes in a list, as Gemini's do, is read as any other.
func TestRefusalInAList(t *testing.T) {
	m, _ := product(t, "gemini", nil, nil)
	req := request()
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "a", Name: "f", Args: json.RawMessage("{}")}}},
		llm.Message{Role: llm.Tool, CallID: "a", Name: "f", Text: "1"})
	_, err := m.Generate(t.Context(), req, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.BadRequest || !strings.HasPrefix(e.Message, "Function call is missing") {
		t.Errorf("%v", err)
	}
}

// TestThoughtsInTotal: Gemini counts thoughts, which are paid for, in the total alone,
// gives its calls no ids and names their end.
func TestThoughtsInTotal(t *testing.T) {
	const answer = `{"choices":[{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","extra_content":{"google":{"thought":true,"thought_signature":"c2ln"}},"tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"","type":"function"}]}}],"created":1748902365,"id":"x","model":"gemini-2.5-pro","object":"chat.completion","usage":{"completion_tokens":12,"prompt_tokens":35,"total_tokens":109}}`
	for dialect, want := range map[string]int{"gemini": 74, "compatible": 12} {
		srv := llmtest.New(t, llmtest.Raw("application/json", answer))
		m, err := openai.New(openai.Config{BaseURL: srv.URL + "/v1", Dialect: dialect, NoStream: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Generate(t.Context(), request(), nil)
		if err != nil || len(r.Message.Calls) != 1 || r.Message.Calls[0].Name != "f" || r.Message.Calls[0].ID == "" || r.Usage.In != 35 || r.Usage.Out != want {
			t.Errorf("%s: %+v, %v", dialect, r, err)
		}
	}
}

// TestUnknownRefusals: a refusal whose cause and status nobody knows is answered once with
// another form, and one of a path that is not there is not.
func TestUnknownRefusals(t *testing.T) {
	for status, asked := range map[int]int{400: 2, 418: 2, 422: 2, 499: 2, 404: 1, 405: 1} {
		s := llmtest.New(t, llmtest.Fail(status, "<html>no</html>"), llmtest.Say(llmtest.Turn{Text: "ok"}))
		m, err := openai.New(openai.Config{BaseURL: s.URL + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), request(), nil)
		if got := len(s.Requests()); got != asked || (err == nil) != (asked == 2) {
			t.Errorf("%d: asked %d times, %v", status, got, err)
		}
	}
}

// TestUnknownRefusalsOfPart: whatever part of a request a server refuses in words that nobody knows, the request is made
// without it, as far as there is a form that calls tools, and is bounded where there is none.
func TestUnknownRefusalsOfPart(t *testing.T) {
	tool := llm.ToolSpec{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"default":2}},"additionalProperties":false}`)}
	for refused, c := range map[string]struct {
		dialect string
		asked   int
		without string // of the request that was answered
	}{
		"stream_options": {"compatible", 2, "stream_options"}, "parallel_tool_calls": {"openai", 2, "parallel_tool_calls"}, "minimum": {"compatible", 3, `"default"`},
		"additionalProperties": {"openai", 3, "strict"}, `"strict"`: {"openai", 3, `"minimum"`}, `"stream":true`: {"compatible", 4, `"minimum"`}, `"messages"`: {"compatible", 4, ""},
	} {
		var s *llmtest.Server
		do := func(x *llmtest.Exchange) {
			list := s.Requests()
			answer := llmtest.Say(llmtest.Turn{Text: "ok"})
			if body := string(list[len(list)-1].Body); strings.Contains(body, refused) || strings.Contains(body, "poison") {
				answer = llmtest.Fail(400, `{"error":{"message":"E17"}}`)
			}
			answer(x)
		}
		s = llmtest.New(t, slices.Repeat([]llmtest.Behaviour{do}, 12)...)
		m, err := openai.New(openai.Config{BaseURL: s.URL + "/v1", Dialect: c.dialect, OneCall: true})
		if err != nil {
			t.Fatal(err)
		}
		req := request()
		req.Tools = []llm.ToolSpec{tool}
		_, err = m.Generate(t.Context(), req, nil)
		list := s.Requests()
		if last := string(list[len(list)-1].Body); len(list) != c.asked || (err == nil) != (c.without != "") || c.without != "" && strings.Contains(last, c.without) {
			t.Errorf("%s: asked %d times, %v, at last %s", refused, len(list), err, last)
		}
		if _, err = m.Generate(t.Context(), req, nil); len(s.Requests()) != c.asked+1 || (err == nil) != (c.without != "") {
			t.Errorf("%s: what was learned is forgotten: %v", refused, err)
		}
		bad := request()
		bad.Tools, bad.Messages = req.Tools, append(bad.Messages, llm.Message{Role: llm.User, Text: "poison"})
		if _, err = m.Generate(t.Context(), bad, nil); err == nil {
			t.Errorf("%s: what no form answers is answered", refused)
		}
		asked := len(s.Requests())
		if _, err = m.Generate(t.Context(), req, nil); len(s.Requests()) != asked+1 || (err == nil) != (c.without != "") {
			t.Errorf("%s: what was learned is forgotten after another refusal: %v", refused, err)
		}
	}
}
