package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

func newModel(noStream bool) func(string) llm.Model {
	return func(base string) llm.Model { return limited(noStream)(base, llmtest.Limits{}) }
}

func limited(noStream bool) func(string, llmtest.Limits) llm.Model {
	return func(base string, l llmtest.Limits) llm.Model {
		m, err := openai.New(openai.Config{Name: "test", BaseURL: base + "/v1", Key: llmtest.Key,
			IdleTimeout: l.Idle, Timeout: l.Total, NoStream: noStream})
		if err != nil {
			panic(err)
		}
		return m
	}
}

func TestStream(t *testing.T)   { llmtest.Suite(t, limited(false)) }
func TestNoStream(t *testing.T) { llmtest.Suite(t, limited(true)) }

func request() *llm.Request {
	return &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "q"}}, Tools: []llm.ToolSpec{{Name: "f"}}}
}

// stream has the adapter read a raw stream.
func stream(t *testing.T, body string) (*llm.Response, error) {
	t.Helper()
	s := llmtest.New(t, llmtest.Raw("text/event-stream", body))
	return newModel(false)(s.URL).Generate(t.Context(), request(), nil)
}

func TestStreamsAsTheyAre(t *testing.T) {
	const end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	text := func(s string) string { return `data: {"choices":[{"delta":{"content":"` + s + `"}}]}` + "\n\n" }
	for _, c := range []struct{ label, in, text, thinking string }{
		{"crlf", strings.ReplaceAll(text("a")+text("b")+end, "\n", "\r\n"), "ab", ""},
		{"no space, mark, comments", "\ufeff: PROCESSING\n\n" + strings.ReplaceAll(text("a")+end, "data: ", "data:"), "a", ""},
		{"several data lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n" + end, "a", ""},
		{"done twice and more", text("a") + end + "data: [DONE]\n\ndata: [DONE]\n\n" + text("b"), "a", ""},
		{"no done", text("a") + end, "a", ""},
		{"done and no finish", text("a") + "data: [DONE]\n\n", "a", ""},
		{"counts and no finish", text("a") + `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n\n", "a", ""},
		{"no last blank line", text("a") + strings.TrimSpace(end), "a", ""},
		{"empty choices first", `data: {"choices":[],"prompt_filter_results":[]}` + "\n\n" + text("a") + end, "a", ""},
		{"null choices", `data: {"choices":null,"usage":null}` + "\n\n" + text("a") + end, "a", ""},
		{"other choices", `data: {"choices":[{"index":1,"delta":{"content":"x"}}]}` + "\n\n" + text("a") + end, "a", ""},
		{"reasoning", `data: {"choices":[{"delta":{"reasoning":"h"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"reasoning_content":"m"}}]}` + "\n\n" + text("a") + end, "a", "hm"},
		{"both spellings", `data: {"choices":[{"delta":{"reasoning":"h","reasoning_content":"h"}}]}` + "\n\n" + end, "", "h"},
		{"null for calls", `data: {"choices":[{"delta":{"content":"a","tool_calls":[null]}}]}` + "\n\n" + `data: {"choices":[{"delta":{"tool_calls":null,"function_call":null}}]}` + "\n\n" + end, "a", ""},
		{"parts", `data: {"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}` + "\n\n" + end, "a", ""},
		{"null content", `data: {"choices":[{"delta":{"content":null,"role":"assistant"}}]}` + "\n\n" + text("a") + end, "a", ""},
		{"a message instead of deltas", `data: {"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n", "a", ""},
		{"message beside delta", `data: {"choices":[{"delta":{"content":"It "},"message":{"content":"It "}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"is 4."},"message":{"content":"It is 4."}}]}` + "\n\n" + end, "It is 4.", ""},
		{"again at the end", text("It is ") + text("four.") + `data: {"choices":[{"delta":{"content":"It is four."},"finish_reason":"stop"}]}` + "\n\n", "It is four.", ""},
		{"halves", text(`\ud83d`) + text(`\ude80`) + text("\xe6\x97") + text("\xa5") + end, "🚀日", ""},
		{"lone surrogate", text(`\ud83d`) + end, "\ufffd", ""},
		{"NaN", text("a") + `data: {"choices":[{"delta":{"content":"NaN -Infinity \"NaN"},"finish_reason":"stop"}],"usage":{"prompt_tokens":NaN,"x":-Infinity}}` + "\n\n", `aNaN -Infinity "NaN`, ""},
		{"a bad line", text("a") + "data: {]}\n\n" + text("b") + end, "ab", ""},
		{"another choice beside the first", `data: {"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"stop"},{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + end, "a", ""},
		{"only another choice", `data: {"choices":[{"index":1,"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n", "ab", ""},
		{"only another choice, no reason", `data: {"choices":[{"index":"2","delta":{"content":"a"}}]}` + "\n\ndata: [DONE]\n\n", "a", ""},
		{"text of completions", `data: {"choices":[{"index":0,"text":"a"}]}` + "\n\n" + `data: {"choices":[{"index":0,"text":"b","finish_reason":"stop"}]}` + "\n\n", "ab", ""},
		{"text in one piece", `{"choices":[{"text":"a","finish_reason":"stop"}]}`, "a", ""},
		{"lines of Ollama's", `{"model":"m","created_at":"x","message":{"role":"assistant","content":"a","thinking":"h"},"done":false}` + "\n" + `{"message":{"content":"b"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}` + "\n", "ab", "h"},
		{"a message of Ollama's", `{"message":{"content":"a"},"done":true,"eval_count":2}`, "a", ""},
		{"lines of Ollama's generate", `{"response":"a","done":false}` + "\n" + `{"response":"b","done":true}` + "\n", "ab", ""},
		{"10 MB", text(strings.Repeat("x", 10<<20)) + end, strings.Repeat("x", 10<<20), ""},
	} {
		t.Run(c.label, func(t *testing.T) {
			r, err := stream(t, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if r.Message.Text != c.text || r.Message.Thinking != c.thinking || r.Stop != llm.StopEnd {
				t.Errorf("%.300v", fmt.Sprint(r))
			}
		})
	}
}

func TestStreamErrors(t *testing.T) {
	const a = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"
	for _, c := range []struct {
		label, in string
		kind      llm.ErrorKind
		says      string
	}{
		{"error event", a + "event: error\ndata: {\"message\":\"upstream overloaded\"}\n\n", llm.Overloaded, "upstream"},
		{"error as text", `data: {"error":"boom"}` + "\n\n", llm.Overloaded, "boom"},
		{"error after a comment", ": x\n\n" + `data: {"error":{"message":"no","code":429}}` + "\n\n", llm.RateLimit, "no"},
		{"object error", `data: {"object":"error","message":"bad","code":400}` + "\n\n", llm.BadRequest, "bad"},
		{"error with finish", `data: {"error":{"message":"gone","code":502},"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\n", llm.Overloaded, "gone"},
		{"finish reason error", `data: {"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\n", llm.Overloaded, "finish reason"},
		{"done without anything", `data: {"choices":[{"delta":{"role":"assistant"}}]}` + "\n\ndata: [DONE]\n\n", llm.Cut, "without a finish reason"},
		{"done within a call", `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\""}}]}}]}` + "\n\ndata: [DONE]\n\n", llm.Cut, "without a finish reason"},
		{"a clean end without finish", `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n", llm.Cut, "without a finish reason after 1 byte"},
		{"a web page as a stream", "<html><title>Sign in</title></html>", llm.Garbled, "web page"},
		{"runner died", a + `data: {"model":"","choices":[{"delta":{},"finish_reason":null}]}` + "\n\n", llm.Cut, ""},
		{"broken chunk", a + "data: {]}\n\n" + a, llm.Garbled, "chunk"},
		{"broken chunk in a call", `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\ndata: {]}\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n", llm.Garbled, "{]}"},
		{"broken call", a + `data: {"choices":[{"delta":{"tool_calls":[{]}` + "\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n", llm.Garbled, "tool_calls"},
		{"NaN for a call", `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"n":NaN}}}]},"finish_reason":"tool_calls"}]}` + "\n\n", llm.Garbled, "NaN"},
		{"only broken", "data: {]}\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n", llm.Garbled, "{]}"},
		{"cut chunk", a + `data: {"choices":[{"delta":{"con`, llm.Cut, ""},
		{"comments only", ": a\n\n: b\n\n", llm.Garbled, "no data"},
		{"Messages API", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n", llm.Garbled, "Anthropic's Messages API"},
		{"a message of the Messages API", `{"type":"message","role":"assistant","content":[{"type":"text","text":"a"}]}`, llm.Garbled, "Anthropic's Messages API"},
		{"Responses API", `data: {"type":"response.created","response":{}}` + "\n\n", llm.Garbled, "OpenAI's Responses API"},
		{"Gemini's", `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, llm.Garbled, "Gemini's own API"},
		{"choices as text", `data: {"choices":"x"}` + "\n\n" + a, llm.Garbled, "chunk"},
	} {
		t.Run(c.label, func(t *testing.T) {
			r, err := stream(t, c.in)
			var e *llm.Error
			switch {
			case r != nil:
				t.Errorf("r is %v: %+v, %v; want %s saying %q", r, r, err, c.kind, c.says)
			case !errors.As(err, &e):
				t.Errorf("errors.As(err, &e) is false: %+v, %v; want %s saying %q", r, err, c.kind, c.says)
			case e.Kind != c.kind:
				t.Errorf("e.Kind is %v, want %v: %+v, %v; want %s saying %q", e.Kind, c.kind, r, err, c.kind, c.says)
			case !strings.Contains(err.Error(), c.says):
				t.Errorf("err.Error() lacks c.says: %+v, %v; want %s saying %q", r, err, c.kind, c.says)
			}
		})
	}
}

func TestUnreadableArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001)
	for _, c := range []struct {
		args, finish string
		malformed    bool
		stop         llm.Stop
	}{
		{`{"a":`, "tool_calls", true, llm.StopCalls},
		{`{"a":}`, "stop", true, llm.StopCalls},
		{`{"a":"b`, "length", true, llm.StopLength},
		{``, "length", true, llm.StopLength},
		{`{"a":"b"}`, "length", false, llm.StopLength},
		{``, "tool_calls", false, llm.StopCalls},
		{deep, "tool_calls", true, llm.StopCalls},
	} {
		for _, noStream := range []bool{false, true} {
			s := llmtest.New(t, llmtest.Say(llmtest.Turn{Calls: []llm.Call{{ID: "a", Name: "f", Args: json.RawMessage(c.args)}}, Finish: c.finish}))
			r, err := newModel(noStream)(s.URL).Generate(t.Context(), request(), nil)
			if err != nil {
				t.Fatal(err)
			}
			k := r.Message.Calls[0]
			switch {
			case (k.Malformed != "") != c.malformed:
				t.Errorf(`(k.Malformed != "") is %v, want %v: %.40s with %s: %.300v`, (k.Malformed != ""), c.malformed, c.args, c.finish, fmt.Sprint(r))
			case !json.Valid(k.Args):
				t.Errorf("json.Valid(k.Args) is false: %.40s with %s: %.300v", c.args, c.finish, fmt.Sprint(r))
			case r.Stop != c.stop:
				t.Errorf("r.Stop is %v, want %v: %.40s with %s: %.300v", r.Stop, c.stop, c.args, c.finish, fmt.Sprint(r))
			case c.malformed && k.Raw != c.args:
				t.Errorf("c.malformed && k.Raw != c.args: %.40s with %s: %.300v", c.args, c.finish, fmt.Sprint(r))
			}
		}
	}
}

func TestFilterWithholdsCalls(t *testing.T) {
	s := llmtest.New(t, llmtest.Say(llmtest.Turn{Text: "I", Calls: []llm.Call{{ID: "a", Name: "f", Args: json.RawMessage(`{}`)}}, Finish: "content_filter"}))
	r, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
	if err != nil || r.Stop != llm.StopFilter || len(r.Message.Calls) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRefusalField: what stands in the field for refusals is no answer.
func TestRefusalField(t *testing.T) {
	for _, chunk := range []string{`{"choices":[{"delta":{"content":null,"refusal":"I can not help with that."},"finish_reason":"stop"}]}`,
		`{"choices":[{"message":{"content":null,"refusal":"I can not help with that."},"finish_reason":"stop"}]}`} {
		r, err := stream(t, "data: "+chunk+"\n\ndata: [DONE]\n\n")
		if err != nil || r.Stop != llm.StopFilter || r.Message.Text != "I can not help with that." {
			t.Errorf("%s is read as %+v, %v", chunk, r, err)
		}
	}
}

func TestUsageTwice(t *testing.T) {
	r, err := stream(t, `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`+"\n\n"+
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`+"\n\n"+
		`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`+"\n\ndata: [DONE]\n\n")
	if err != nil || r.Usage != (llm.Usage{In: 9, Out: 2, Cached: 4}) || len(r.Notes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestJSONInsteadOfStream(t *testing.T) {
	for _, media := range []string{"application/json", "text/event-stream", "text/plain"} {
		s := llmtest.New(t, llmtest.Raw(media, "\n"+`{"model":"m","choices":[{"message":{"content":"a"},`+"\n"+`"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
		r, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
		if err != nil || r.Message.Text != "a" {
			t.Errorf("%s: %+v, %v", media, r, err)
		}
	}
}

// TestRefusalInOnePiece: a refusal with status 200 is no broken answer.
func TestRefusalInOnePiece(t *testing.T) {
	for _, body := range []string{`[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, `{"detail":"Not authenticated"}`} {
		_, err := newModel(false)(llmtest.New(t, llmtest.Raw("application/json", body)).URL).Generate(t.Context(), request(), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.Auth || !strings.Contains(e.Hint, "refused the key") {
			t.Errorf("%s is read as %+v", body, err)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	turn := llmtest.Say(llmtest.Turn{Text: "{}"})
	s := llmtest.New(t, turn, turn)
	req := request()
	req.Tools[0].Input = json.RawMessage(`{"type":"object","properties":{"properties":true,"b":{"type":"object","properties":{"a":true}},"c":{"anyOf":[true,{"properties":{"d":true}}],"enum":[true]}},"required":["b"],"x":true}`)
	req.Output = json.RawMessage(`{"type":"object"}`)
	req.Options.MaxTokens = 5
	for _, noStream := range []bool{false, true} {
		if _, err := newModel(noStream)(s.URL).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Requests()
	const anything = `{"description":"Any JSON value."}`
	const both = `{"messages":[{"role":"user","content":"q"}],"tools":[{"function":{"name":"f","description":"(x true)","parameters":` +
		`{"type":"object","properties":{"properties":` + anything + `,"b":{"type":"object","properties":{"a":` + anything + `}},"c":{"anyOf":[` + anything + `,{"properties":{"d":` + anything + `}}],"enum":[true],"type":"boolean"}},"required":["b"]}},"type":"function"}],` +
		`"max_tokens":5,"model":"m","stream":%s}`
	for i, middle := range []string{`true,"stream_options":{"include_usage":true}`, `false`} {
		if want := fmt.Sprintf(both, middle); string(got[i].Body) != want {
			t.Errorf("sent\n%s\nwant\n%s", got[i].Body, want)
		}
	}
}

func TestHeadersAreSecretToo(t *testing.T) {
	no := llmtest.Fail(400, `{"error":{"message":"what is Api-Key: hunter2hunter2?"}}`)
	s := llmtest.New(t, no, no, no, no)
	m, err := openai.New(openai.Config{BaseURL: s.URL + "/v1/", Headers: map[string]string{"Api-Key": "hunter2hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Generate(t.Context(), request(), nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") || s.Requests()[0].Header.Get("Api-Key") != "hunter2hunter2" {
		t.Errorf("%v", err)
	}
}

// TestAddresses: whatever address people have at hand, the request comes to its path, or an error
// names the cause. H is the host of a server that has one path only.
func TestAddresses(t *testing.T) {
	served := map[string][]string{
		"/v1": {"http://H/v1", "http://H/v1/", "http://H/v1//", "http://H", "http://H ", "http://H/", "http://H/v1/chat/completions", "http://H/v1/chat/completions/", "http://H/v1/completions", "http://H/v1/responses",
			"http://H/v1/models", "http://H/v1/models/", "http://H/v1/embeddings", "http://H/v1/chat", "http://H/v1#x", "HTTP://H/v1", "H/v1", "H", "http://http://H/v1", "http://H/v1 # my server",
			"<http://H/v1>", "`http://H/v1`", "“http://H/v1”", `"http://H/v1",`, "http://H/v1,", "http://H/v1;", "http://H/v1.", "http://H/v1\u00a0", "http://H/v1\u200b", "\ufeffhttp://H/v1", `http://H/v1\`, "(http://H/v1)",
			"POST http://H/v1/chat/completions", "curl http://H/v1/chat/completions -H", "base_url=http://H/v1", "X_BASE_URL=http://H/v1", `export X_BASE_URL="http://H/v1"`, "base_url: 'http://H/v1'"},
		"/v1?tenant=a":                        {"http://H/v1?tenant=a", "http://H/v1/chat/completions?tenant=a"},
		"/api/v1":                             {"http://H/api/v1", "http://H/api/v1/chat/completions", "http://H/api/v1/models", "http://H/api"},
		"/api":                                {"http://H/api", "http://H/api/chat/completions"},
		"/inference":                          {"http://H/inference", "http://H/inference/chat/completions"},
		"/inference/v1":                       {"http://H/inference/v1", "http://H/inference"},
		"/compatible-mode/v1":                 {"http://H/compatible-mode/v1"},
		"/openai/v1":                          {"http://H/openai/v1/", "http://H/openai"},
		"/v1beta/openai":                      {"http://H/v1beta/openai/", "http://H/v1beta/openai/chat/completions"},
		"/serving-endpoints":                  {"http://H/serving-endpoints"},
		"/api/paas/v4":                        {"http://H/api/paas/v4/"},
		"/models?api-version=1":               {"http://H/models/chat/completions?api-version=1", "http://H/models?api-version=1"},
		"/engines/v1":                         {"http://H/engines/v1"},
		"/proxy/openai/v1":                    {"http://H/proxy/openai"},
		"/openai/deployments/X?api-version=1": {"http://H/openai/deployments/X?api-version=1", "http://H/openai/deployments/X/chat/completions?api-version=1"},
	}
	wrong := map[string]string{
		"http://H/docs": "the server has nothing at /docs/chat/completions", "http://H/v1/v1": "the server has nothing at /v1/v1/chat/completions", "https://H/v1": "does not use TLS: the base URL must begin with http://",
		"unix:///tmp/x.sock": "must start with http:// or https://", "/tmp/x.sock": "must start with", "ws://H/v1": "must start with", "http//H/v1": "must start with",
		"http:H/v1": "names no host", "http:///H/v1": "names no host", `http:\\H\v1`: "names no host", "http:// H/v1": "invalid character", "http://h:99999/v1": "99999",
	}
	var want string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, query, _ := strings.Cut(want, "?"); r.URL.Path != path+"/chat/completions" || r.URL.RawQuery != query {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)
	}))
	defer s.Close()
	ask := func(form string) error {
		i := strings.LastIndex(form, "H/")
		if i < 0 || strings.HasSuffix(form, "-H") && i == 0 {
			i = strings.LastIndex(strings.TrimSuffix(form, "-H"), "H")
		}
		if i >= 0 {
			form = form[:i] + strings.TrimPrefix(s.URL, "http://") + form[i+1:]
		}
		m, err := openai.New(openai.Config{BaseURL: form})
		if err == nil {
			_, err = m.Generate(t.Context(), request(), nil)
		}
		return err
	}
	for want = range served {
		for _, form := range served[want] {
			if err := ask(form); err != nil {
				t.Errorf("%q, served at %s: %v", form, want, err)
			}
		}
	}
	want = "/v1"
	for form, cause := range wrong {
		err := ask(form)
		var e *llm.Error
		hint := ""
		if errors.As(err, &e) {
			hint = e.Hint
		}
		if err == nil || !strings.Contains(err.Error()+hint, cause) {
			t.Errorf("%q: %v, %s; want %s", form, err, hint, cause)
		}
	}
}

func TestNewRefusesWhatIsNoURL(t *testing.T) {
	if _, err := openai.New(openai.Config{BaseURL: "ftp://localhost:8000/v1"}); err == nil || !strings.Contains(err.Error(), "http://") {
		t.Errorf("%v", err)
	}
}

// TestCallsInOtherForms: calls come through in the forms of other protocols, and counts that no
// request has are estimated.
func TestCallsInOtherForms(t *testing.T) {
	for _, in := range []string{
		`{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"n":1}}},{"function":{"name":"f","arguments":{"n":2}}}]},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":1e20,"eval_count":4294967295}` + "\n",
		`data: {"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}},{"index":1,"id":"b","function":{"name":"f","arguments":"{\"n\":2}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1e20,"completion_tokens":18446744073709551615}}` + "\n\n",
	} {
		r, err := stream(t, in)
		if err != nil || len(r.Message.Calls) != 2 || string(r.Message.Calls[1].Args) != `{"n":2}` || r.Stop != llm.StopCalls {
			t.Fatalf("%s: %+v, %v", in, r, err)
		}
		if r.Usage.In <= 0 || r.Usage.In > 10_000 || r.Usage.Out <= 0 || r.Usage.Out > 10_000 || !strings.Contains(strings.Join(r.Notes, " "), "estimated") {
			t.Errorf("%s: usage %+v, notes %q", in, r.Usage, r.Notes)
		}
	}
}

// A message is encoded once: the cost of a request does not grow with what
// was encoded before.
func BenchmarkLongConversation(b *testing.B) {
	s := httptest.NewServer(nil)
	defer s.Close()
	for _, wire := range []bool{true, false} {
		b.Run(fmt.Sprintf("wire=%t", wire), func(b *testing.B) {
			m, err := openai.New(openai.Config{BaseURL: s.URL})
			if err != nil {
				b.Fatal(err)
			}
			req := request()
			for range 2000 {
				req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: strings.Repeat("word ", 100)})
			}
			if wire {
				req.History = new(llm.EncodedHistory)
			}
			for b.Loop() {
				// The server has nothing there; what counts is the way to it.
				if _, err := m.Generate(context.Background(), req, nil); err == nil {
					b.Fatal("an answer from nowhere")
				}
			}
		})
	}
}

func ExampleNew() {
	m, err := openai.New(openai.Config{Name: "vllm", BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Generate(context.Background(), &llm.Request{Model: "qwen3", Messages: []llm.Message{{Role: llm.User, Text: "Hello?"}}}, nil)
	var e *llm.Error
	fmt.Println(errors.As(err, &e), e.Kind, e.Hint)
	// Output: true unreachable check that a server runs at http://127.0.0.1:1, which the base URL names
}
