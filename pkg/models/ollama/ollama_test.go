package ollama_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

func newModel(noStream bool) func(string) llm.Model {
	return func(base string) llm.Model { return limited(noStream)(base, llmtest.Limits{}) }
}

func limited(noStream bool) func(string, llmtest.Limits) llm.Model {
	return func(base string, l llmtest.Limits) llm.Model {
		m, err := ollama.New(ollama.Config{Name: "test", BaseURL: base, Key: llmtest.Key,
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

func TestStreamsAsTheyAre(t *testing.T) {
	line := func(s string) string { return `{"model":"m","message":{"content":"` + s + `"},"done":false}` + "\n" }
	const end = `{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":1}` + "\n"
	for _, c := range []struct {
		label, in, text string
		kind            llm.ErrorKind // "" for none
	}{
		{"plain", line("a") + line("b") + end, "ab", ""},
		{"crlf and blank lines", strings.ReplaceAll(line("a")+"\n"+end, "\n", "\r\n"), "a", ""},
		{"no last line end", line("a") + strings.TrimSpace(end), "a", ""},
		{"after the end", line("a") + end + line("b") + "{", "a", ""},
		{"over several lines", strings.NewReplacer(`{"model"`, "{\n \"model\"", `}`+"\n", "\n}\n").Replace(line("a") + end), "a", ""},
		{"10 MB", line(strings.Repeat("x", 10<<20)) + end, strings.Repeat("x", 10<<20), ""},
		{"halves", line("\xf0\x9f") + line("\x9a\x80") + end, "🚀", ""},
		{"again at the end", line("It is ") + line("four.") + strings.Replace(end, `"content":""`, `"content":"It is four."`, 1), "It is four.", ""},
		{"not done", line("a") + line("b"), "", llm.Cut},
		{"cut line", line("a") + `{"model":"m","mess`, "", llm.Cut},
		{"broken line", line("a") + "{]}\n" + line("b") + end, "ab", ""},
		{"broken line in a call", line("a") + `{"message":{"tool_calls":[{]}` + "\n" + end, "", llm.Garbled},
		{"broken end", line("a") + "{]}\n", "", llm.Garbled},
		{"error line", line("a") + `{"error":"an error was encountered while running the model: unexpected EOF"}` + "\n", "", llm.Overloaded},
		{"error object", line("a") + `{"error":{"message":"context size exceeded","code":400}}` + "\n", "", llm.TooLong},
		{"endless line", `{"x":"` + strings.Repeat("x", 17<<20), "", llm.Garbled},
	} {
		t.Run(c.label, func(t *testing.T) {
			s := llmtest.New(t, llmtest.Raw("application/x-ndjson", c.in))
			r, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
			var e *llm.Error
			switch {
			case c.kind != "" && (r != nil || !errors.As(err, &e) || e.Kind != c.kind):
				t.Errorf("%+v, %v, want an error of kind %s", r, err, c.kind)
			case c.kind == "" && (err != nil || r.Message.Text != c.text):
				t.Errorf("%.200s, %v", fmt.Sprint(r), err)
			}
		})
	}
}

// Calls behind the end are those of the answer, once.
func TestCallBehindTheEnd(t *testing.T) {
	call := `{"model":"m","message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":true}` + "\n"
	end := `{"model":"m","message":{"content":"a"},"done":true,"prompt_eval_count":5}` + "\n"
	for _, in := range []string{end + call, call + call} {
		s := llmtest.New(t, llmtest.Raw("application/x-ndjson", in))
		r, err := newModel(false)(s.URL).Generate(t.Context(), request(), nil)
		if err != nil || len(r.Message.Calls) != 1 || r.Stop != llm.StopCalls {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestSwallowedCallIsNoted(t *testing.T) {
	for _, c := range []struct {
		turn    llmtest.Turn
		tools   bool
		dropped bool
	}{
		{llmtest.Turn{Usage: &llm.Usage{In: 5, Out: 40}}, true, true},
		{llmtest.Turn{Text: " \n", Usage: &llm.Usage{In: 5, Out: 40}}, true, true},
		{llmtest.Turn{Usage: &llm.Usage{In: 5, Out: 40}}, false, false},
		{llmtest.Turn{Usage: &llm.Usage{In: 5, Out: 0}}, true, false},
		{llmtest.Turn{Thinking: "Hm.", Usage: &llm.Usage{In: 5, Out: 40}}, true, false},
		{llmtest.Turn{Text: "Hi.", Usage: &llm.Usage{In: 5, Out: 40}}, true, false},
	} {
		req := request()
		if !c.tools {
			req.Tools = nil
		}
		r, err := newModel(false)(llmtest.New(t, llmtest.Say(c.turn)).URL).Generate(t.Context(), req, nil)
		if err != nil || slices.Contains(r.Notes, llm.DroppedCall) != c.dropped || c.dropped && r.Message.Text != "" {
			t.Errorf("%+v: %+v, %v", c.turn, r, err)
		}
	}
}

// sent has the adapter send a request and reads it as the server would.
func sent(t *testing.T, config ollama.Config, req *llm.Request) (api.ChatRequest, []byte, *llm.Response) {
	t.Helper()
	s := llmtest.New(t, llmtest.Say(llmtest.Turn{Text: "{}", Usage: &llm.Usage{In: 1, Out: 1}}))
	config.BaseURL = s.URL + "/v1" // as copied from an OpenAI client
	m, err := ollama.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got api.ChatRequest
	body := s.Requests()[0].Body
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return got, body, r
}

func TestWhatIsSent(t *testing.T) {
	req := request()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Thinking: "Hm.", Calls: []llm.Call{{ID: "a", Name: "f", Args: json.RawMessage(`{"n":9007199254740993}`)}}},
		llm.Message{Role: llm.Tool, CallID: "a", Name: "f", Text: "ok"})
	got, body, _ := sent(t, ollama.Config{}, req)
	switch {
	case *got.Truncate:
		t.Errorf("*got.Truncate is true: %s", body)
	case *got.Shift:
		t.Errorf("*got.Shift is true: %s", body)
	case got.Think != nil:
		t.Errorf("got.Think is %v: %s", got.Think, body)
	case got.KeepAlive != nil:
		t.Errorf("got.KeepAlive is %v: %s", got.KeepAlive, body)
	case !*got.Stream:
		t.Errorf("*got.Stream is false: %s", body)
	}
	if want := map[string]any{"num_predict": float64(ollama.DefaultAnswer)}; !reflect.DeepEqual(got.Options, want) {
		t.Errorf("options are %v, want %v", got.Options, want)
	}
	if m := got.Messages[1]; m.Thinking != "Hm." || m.ToolCalls[0].Function.Name != "f" || m.ToolCalls[0].ID != "a" {
		t.Errorf("%+v", m)
	}
	if m := got.Messages[2]; m.ToolName != "f" || m.ToolCallID != "a" || m.Role != "tool" {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(string(body), `{"n":9007199254740993}`) {
		t.Errorf("a large number changed: %s", body)
	}

	_, open, _ := sent(t, ollama.Config{}, req)
	last := *req
	last.Tools, last.HiddenTools = nil, req.Tools
	if _, closing, _ := sent(t, ollama.Config{}, &last); !bytes.Equal(open, closing) || len(req.Tools) == 0 {
		t.Errorf("the last words lose the prompt that the server has cached:\n%s\n%s", open, closing)
	}

	zero := 0.0
	req.Options = llm.Options{Temperature: &zero, MaxTokens: 9, Window: 2048}
	got, _, _ = sent(t, ollama.Config{Think: "high", KeepAlive: 60e9, NoStream: true}, req)
	if want := map[string]any{"num_predict": 9.0, "num_ctx": 2048.0, "temperature": 0.0}; !reflect.DeepEqual(got.Options, want) {
		t.Errorf("options are %v, want %v", got.Options, want)
	}
	if got.Think.Value != "high" || got.KeepAlive.Minutes() != 1 || *got.Stream {
		t.Errorf("%+v", got)
	}

	req.Output = json.RawMessage(`{"type":"object"}`)
	got, _, r := sent(t, ollama.Config{}, req)
	if got.Format != nil || len(r.Notes) != 1 {
		t.Errorf("with tools, format is %s, notes %q", got.Format, r.Notes)
	}
	req.Tools, req.HiddenTools = nil, req.Tools
	got, _, _ = sent(t, ollama.Config{}, req)
	if len(got.Tools) != 0 {
		t.Errorf("%d tools beside a format, which cannot be", len(got.Tools))
	}
	if string(got.Format) != `{"type":"object"}` || got.Think == nil || got.Think.Value != false {
		t.Errorf("format is %s, think %v", got.Format, got.Think)
	}
	if got, _, _ = sent(t, ollama.Config{Think: "on"}, req); got.Think.Value != true {
		t.Errorf("think is %v", got.Think)
	}
}

func TestSchemasAreWhatTheServerKeeps(t *testing.T) {
	req := request()
	req.Tools[0].Input = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["z"],"properties":{
		"z":{"type":"string","description":"A name.","minLength":1,"pattern":"^a"},
		"any":true,
		"one":{"const":1},
		"either":{"oneOf":[{"type":"string"},{"type":["null","integer"],"minimum":3}]},
		"list":{"type":"array","items":{"maxLength":3,"type":"string"},"maxItems":9},
		"tuple":{"type":"array","items":true},
		"in":{"type":"object","properties":{"y":{"enum":["a","b"]},"x":true},"required":["y"]},
		"wrapped":{"description":"Outer.","allOf":[{"type":"integer","default":7}]},
		"big":{"maximum":9007199254740993}}}`)
	got, body, _ := sent(t, ollama.Config{}, req)
	const anything = `{"description":"Any JSON value."}`
	const props = `"properties":{` +
		`"z":{"type":"string","description":"A name. (characters at least 1, matching ^a)"},` +
		`"any":` + anything + `,` +
		`"one":{"enum":[1],"type":"integer"},` +
		`"either":{"anyOf":[{"type":"string"},{"type":["null","integer"],"description":"(at least 3)"}]},` +
		`"list":{"type":"array","items":{"type":"string","description":"(characters at most 3)"},"description":"(items at most 9)"},` +
		`"tuple":{"type":"array","items":` + anything + `},` +
		`"in":{"type":"object","properties":{"y":{"enum":["a","b"],"type":"string"},"x":` + anything + `},"required":["y"]},` +
		`"wrapped":{"type":"integer","description":"Outer. (default 7)"},` +
		`"big":{"description":"(at most 9007199254740993)"}}`
	var raw struct {
		Tools []struct{ Function struct{ Parameters any } }
	}
	var want any
	if err := errors.Join(json.Unmarshal(body, &raw), json.Unmarshal([]byte(`{"type":"object",`+props+`,"required":["z"]}`), &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(raw.Tools[0].Function.Parameters, want) {
		t.Errorf("sent %s\nwant parameters %v", body, want)
	}
	if keys := `"properties":{"z":`; !strings.Contains(string(body), keys) {
		t.Errorf("the order of properties changed: %s", body)
	}
	// What the server decodes and encodes again is the same, in its order of
	// keys: nothing is lost.
	again, err := json.Marshal(got.Tools[0].Function.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	var kept, meant map[string]any
	if json.Unmarshal(again, &kept) != nil || json.Unmarshal([]byte(`{"type":"object","required":["z"],`+props+`}`), &meant) != nil || !reflect.DeepEqual(kept, meant) {
		t.Errorf("the server keeps %s", again)
	}
}

func TestClient(t *testing.T) {
	s := llmtest.New(t)
	s.AddModel("b:latest", llmtest.Model{Context: 2048, Family: "llama", Capabilities: []string{"completion", "tools"}})
	s.AddModel("a:8b", llmtest.Model{Context: 40960, Family: "qwen3"})
	c, err := ollama.NewClient(ollama.Config{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Up(t.Context()) {
		t.Error("it is not up")
	}
	info, err := c.Show(t.Context(), "b:latest")
	switch {
	case err != nil:
		t.Errorf("unexpected error: %+v, %v", info, err)
	case info.Context != 2048:
		t.Errorf("info.Context is %v, want 2048: %+v, %v", info.Context, info, err)
	case info.Family != "llama":
		t.Errorf(`info.Family is %v, want "llama": %+v, %v`, info.Family, info, err)
	case !info.Can("tools"):
		t.Errorf(`info.Can("tools") is false: %+v, %v`, info, err)
	case info.Can("vision"):
		t.Errorf(`info.Can("vision") is true: %+v, %v`, info, err)
	}
	var e *llm.Error
	if _, err := c.Show(t.Context(), "x"); !errors.As(err, &e) || e.Kind != llm.NoModel {
		t.Errorf("%v", err)
	}
	list, err := c.List(t.Context())
	switch {
	case err != nil:
		t.Errorf("unexpected error: %+v, %v", list, err)
	case len(list) != 2:
		t.Errorf("len(list) is %v, want 2: %+v, %v", len(list), list, err)
	case list[0].Name != "a:8b":
		t.Errorf(`list[0].Name is %v, want "a:8b": %+v, %v`, list[0].Name, list, err)
	case list[1].Family != "llama":
		t.Errorf(`list[1].Family is %v, want "llama": %+v, %v`, list[1].Family, list, err)
	}
	if n, err := c.Verify(t.Context(), "a:8b", 8192); n != 8192 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := c.Verify(t.Context(), "b:latest", 8192); n != 2048 || err == nil || !strings.Contains(err.Error(), "2048 tokens instead of 8192") {
		t.Errorf("%d, %v", n, err)
	}
	loaded, err := c.Running(t.Context())
	if err != nil || !slices.Equal(loaded, []ollama.Loaded{{Name: "a:8b", Context: 8192}, {Name: "b:latest", Context: 2048}}) {
		t.Errorf("%+v, %v", loaded, err)
	}
	nobody, err := ollama.NewClient(ollama.Config{BaseURL: "http://127.0.0.1:1"})
	if err != nil || nobody.Up(t.Context()) {
		t.Errorf("nobody is up, %v", err)
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct{ context, want, got int }{
		{0, 0, 32768}, {0, 9000, 9000}, {8192, 0, 8192}, {131072, 0, 32768}, {131072, 65536, 65536}, {8192, 65536, 8192},
	} {
		if got := (ollama.Info{Context: c.context}).Window(ollama.Limits{Want: c.want}); got != c.got {
			t.Errorf("of %d, %d are wanted: %d, want %d", c.context, c.want, got, c.got)
		}
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	if _, err := ollama.New(ollama.Config{Think: "hard"}); err == nil || !strings.Contains(err.Error(), "medium") {
		t.Errorf("%v", err)
	}
	if _, err := ollama.NewClient(ollama.Config{BaseURL: "lab"}); err == nil {
		t.Error("a word was taken for a URL")
	}
}

func ExampleInfo_Window() {
	fmt.Println(ollama.Info{Context: 8192}.Window(ollama.Limits{Want: 32768}))
	// Output: 8192
}

func ExampleNew() {
	m, err := ollama.New(ollama.Config{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Generate(context.Background(), &llm.Request{Model: "qwen3:8b", Messages: []llm.Message{{Role: llm.User, Text: "Hello?"}}}, nil)
	var e *llm.Error
	fmt.Println(errors.As(err, &e), e.Kind, e.Retryable())
	// Output: true unreachable true
}

// TestCallsComeAgain: some servers repeat all calls in the line that says done.
func TestCallsComeAgain(t *testing.T) {
	const calls = `"tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"f","arguments":{"x":2}}}]`
	s := llmtest.New(t, llmtest.Raw("application/x-ndjson", `{"model":"m","message":{"content":"",`+calls+`}}`+"\n"+`{"model":"m","message":{"content":"",`+calls+`},"done":true}`+"\n"))
	req := request()
	req.Tools = []llm.ToolSpec{{Name: "f"}}
	r, err := newModel(false)(s.URL).Generate(t.Context(), req, nil)
	if err != nil || len(r.Message.Calls) != 2 || string(r.Message.Calls[1].Args) != `{"x":2}` {
		t.Errorf("%+v, %v", r, err)
	}
}
