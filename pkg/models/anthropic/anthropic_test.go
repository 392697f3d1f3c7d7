package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/models/anthropic"
)

func newModel(base string, l llmtest.Limits) llm.Model {
	m, err := anthropic.New(anthropic.Config{Name: "test", BaseURL: base, Key: llmtest.Key, IdleTimeout: l.Idle, Timeout: l.Total})
	if err != nil {
		panic(err)
	}
	return m
}

func TestSuite(t *testing.T) { llmtest.Suite(t, newModel) }

func ask(t *testing.T, req *llm.Request, do ...llmtest.Behaviour) (*llm.Response, *llmtest.Server, error) {
	t.Helper()
	s := llmtest.New(t, do...)
	r, err := newModel(s.URL, llmtest.Limits{}).Generate(t.Context(), req, nil)
	return r, s, err
}

func request() *llm.Request {
	return &llm.Request{Model: "claude", Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "q"}},
		Tools: []llm.ToolSpec{{Name: "f", Description: "F.", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}}
}

// recorded is a stream as the API documents it, with thinking, a call in pieces,
// pings and the counts of its cache.
const recorded = `event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAh=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"b64=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"x"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

`

// A tool that the server has run itself is no call of ours, though its arguments come
// in the same pieces. Real servers pad their events with blanks.
const serverTool = `event: message_start
data: {"type":"message_start","message":{"model":"claude-sonnet-4-6","id":"msg_02","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}               }

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_01","name":"web_search","input":{}}     }

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"go\"}"}         }

event: content_block_stop
data: {"type":"content_block_stop","index":0               }

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_01","content":[]}    }

event: content_block_stop
data: {"type":"content_block_stop","index":1 }

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Found."}  }

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":9,"server_tool_use":{"web_search_requests":1}}        }

event: message_stop
data: {"type":"message_stop"         }

`

func TestServerTool(t *testing.T) {
	for _, media := range []string{"text/event-stream; charset=utf-8", "application/json"} {
		r, _, err := ask(t, request(), llmtest.Raw(media, serverTool))
		if err != nil || len(r.Message.Calls) != 0 || r.Message.Text != "Found." || r.Stop != llm.StopEnd || r.Usage != (llm.Usage{In: 7, Out: 9}) {
			t.Errorf("%s: %+v, %v", media, r, err)
		}
	}
}

// TestAgain: servers with this interface repeat blocks, send the arguments whole and in pieces,
// cut characters and give no reason for the end.
func TestAgain(t *testing.T) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	block := event(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{"a":"x"}}}`) +
		event(`{"type":"content_block_delta","index":%[1]d,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`) +
		event(`{"type":"content_block_delta","index":%[1]d,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`)
	text := func(s string) string {
		return event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`)
	}
	r, _, err := ask(t, request(), llmtest.Raw("text/event-stream", event(`{"type":"message_start","message":{"model":"m"}}`)+
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)+text("It is ")+text("\xf0\x9f")+text("\x9a\x80")+
		fmt.Sprintf(block, 1)+fmt.Sprintf(block, 2)+event(`{"type":"message_stop"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Message.Calls; r.Message.Text != "It is 🚀" || len(c) != 1 || string(c[0].Args) != `{"a":"x"}` || r.Stop != llm.StopCalls {
		t.Errorf("%+v", r)
	}

	// A call whose block comes late has its arguments, and one whose block does not is lost aloud.
	start := event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`)
	args := event(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"x\"}"}}`)
	end := event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`)
	r, _, err = ask(t, request(), llmtest.Raw("text/event-stream", args+start+end))
	if err != nil || len(r.Message.Calls) != 1 || string(r.Message.Calls[0].Args) != `{"a":"x"}` {
		t.Errorf("%+v, %v", r, err)
	}
	r, _, err = ask(t, request(), llmtest.Raw("text/event-stream", text("I look.")+end))
	if err != nil || !r.Dropped() {
		t.Errorf("%+v, %v", r, err)
	}
	second := strings.NewReplacer(`"index":0`, `"index":1`, `t1`, `t2`, `\"x\"`, `\"y\"`)
	r, _, err = ask(t, request(), llmtest.Raw("text/event-stream", start+args+second.Replace(args)+second.Replace(start)+end))
	if err != nil || len(r.Message.Calls) != 2 || string(r.Message.Calls[1].Args) != `{"a":"y"}` {
		t.Errorf("%+v, %v", r, err)
	}

	// A message that begins again with a block is taken from there; one without a block goes on.
	begin, words := event(`{"type":"message_start","message":{"model":"m"}}`), event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for _, body := range []string{begin + words + text("It") + begin + words + text("It is"), begin + words + text("It") + begin + text(" is")} {
		r, _, err = ask(t, request(), llmtest.Raw("text/event-stream", body+event(`{"type":"message_stop"}`)))
		if err != nil || r.Message.Text != "It is" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestRecordedTurn(t *testing.T) {
	r, _, err := ask(t, request(), llmtest.Raw("text/event-stream; charset=utf-8", recorded))
	if err != nil {
		t.Fatal(err)
	}
	if r.Message.Text != "I look." || r.Message.Thinking != "Let me see." || r.Stop != llm.StopCalls || r.Model != "claude-sonnet-4-6" {
		t.Errorf("%+v", r)
	}
	if want := (llm.Usage{In: 2112, Out: 89, Cached: 2000}); r.Usage != want {
		t.Errorf("usage is %+v, want %+v", r.Usage, want)
	}
	if c := r.Message.Calls; len(c) != 1 || c[0].ID != "toolu_01" || string(c[0].Args) != `{"a": "x"}` {
		t.Fatalf("calls are %+v", c)
	}

	// The next request has the thoughts back as they were signed, and the results
	// of all calls in one turn.
	req := request()
	r.Message.Calls = append(r.Message.Calls, llm.Call{ID: "toolu_02", Name: "f", Args: json.RawMessage(`{}`)})
	req.Messages = append(req.Messages, r.Message,
		llm.Message{Role: llm.Tool, CallID: "toolu_01", Name: "f", Text: "one"},
		llm.Message{Role: llm.Tool, CallID: "toolu_02", Name: "f", Text: "two", Failed: true},
		llm.Message{Role: llm.User, Text: "go on"})
	_, s, err := ask(t, req, llmtest.Say(llmtest.Turn{Text: "ok"}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Messages []json.RawMessage
		System   json.RawMessage
		Cache    json.RawMessage `json:"cache_control"`
	}
	if err := json.Unmarshal(s.Requests()[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"content":[{"text":"q","type":"text"}],"role":"user"}`,
		`{"content":[{"signature":"EqQBCgIYAh==","thinking":"Let me see.","type":"thinking"},{"data":"b64==","type":"redacted_thinking"},{"text":"I look.","type":"text"},` +
			`{"id":"toolu_01","input":{"a":"x"},"name":"f","type":"tool_use"},{"id":"toolu_02","input":{},"name":"f","type":"tool_use"}],"role":"assistant"}`,
		`{"content":[{"tool_use_id":"toolu_01","is_error":false,"content":[{"text":"one","type":"text"}],"type":"tool_result"},` +
			`{"tool_use_id":"toolu_02","is_error":true,"content":[{"text":"two","type":"text"}],"type":"tool_result"},{"text":"go on","type":"text"}],"role":"user"}`,
	}
	if len(got.Messages) != len(want) {
		t.Fatalf("%d messages: %s", len(got.Messages), got.Messages)
	}
	for i, m := range got.Messages {
		if string(m) != want[i] {
			t.Errorf("message %d is\n%s\nwant\n%s", i, m, want[i])
		}
	}
	if string(got.System) != `[{"text":"Be brief.","type":"text"}]` {
		t.Errorf("system is %s", got.System)
	}
	if string(got.Cache) != `{"type":"ephemeral"}` {
		t.Errorf("cache_control is %s", got.Cache)
	}
}

func TestWhatIsSent(t *testing.T) {
	warm := 0.5
	for _, c := range []struct {
		label  string
		change func(*llm.Request)
		has    string
		hasNot string
	}{
		{"plain", func(*llm.Request) {}, `"max_tokens":16384`, `"thinking"`},
		{"effort", func(r *llm.Request) { r.Options.Effort = llm.EffortHigh }, `"output_config":{"effort":"high"}`, ""},
		{"adaptive thinking", func(r *llm.Request) { r.Options.Effort = llm.EffortLow }, `"thinking":{"type":"adaptive"}`, ""},
		{"no temperature while it thinks", func(r *llm.Request) { r.Options.Effort, r.Options.Temperature = llm.EffortLow, &warm }, "", `"temperature"`},
		{"must call", func(r *llm.Request) { r.RequireCall = true }, `"tool_choice":{"type":"any"}`, ""},
		{"may think or call", func(r *llm.Request) { r.RequireCall, r.Options.Effort = true, llm.EffortLow }, "", `"tool_choice"`},
		{"hidden tools", func(r *llm.Request) { r.HiddenTools, r.Tools = r.Tools, nil }, `"tool_choice":{"type":"none"}`, ""},
		{"hidden tools are sent", func(r *llm.Request) { r.HiddenTools, r.Tools = r.Tools, nil }, `"name":"f"`, ""},
		{"schema", func(r *llm.Request) {
			r.Output = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
		},
			`"format":{"schema":{`, ""},
		{"tool", func(*llm.Request) {}, `"input_schema":{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"blank question", func(r *llm.Request) { r.Messages[1].Text = " \n" }, `"(no text)"`, ""},
		{"foreign id", func(r *llm.Request) {
			r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "functions.f:0", Name: "f"}}},
				llm.Message{Role: llm.Tool, CallID: "functions.f:0", Name: "f"})
		}, `"tool_use_id":"functions_f_0"`, "functions.f"},
	} {
		t.Run(c.label, func(t *testing.T) {
			req := request()
			c.change(req)
			_, s, err := ask(t, req, llmtest.Say(llmtest.Turn{Text: "ok", Usage: &llm.Usage{In: 1, Out: 1}}))
			if err != nil {
				t.Fatal(err)
			}
			body := string(s.Requests()[0].Body)
			if !strings.Contains(body, c.has) {
				t.Errorf("the request lacks %s: %s", c.has, body)
			}
			if c.hasNot != "" && strings.Contains(body, c.hasNot) {
				t.Errorf("the request has %s: %s", c.hasNot, body)
			}
		})
	}
}

// TestBodies: the requests are, byte for byte, what anthropic-sdk-go 1.84.0 sent for the same conversations,
// but that the properties of a schema keep their order.
func TestBodies(t *testing.T) {
	warm := 0.5
	picture := []llm.Image{{Type: "image/png", Data: []byte("abc")}}
	for _, c := range []struct {
		req  llm.Request
		want string
	}{
		{llm.Request{
			Model: "c<&>", RequireCall: true, Options: llm.Options{Temperature: &warm},
			Messages: []llm.Message{
				{Role: llm.System, Text: "Be <brief> & \u2028 \"x\"\x01."}, {Role: llm.System},
				{Role: llm.User, Text: "q\xff", Images: picture},
				{Role: llm.Assistant, Text: "a ", Calls: []llm.Call{{ID: "x", Name: "f", Args: json.RawMessage(`{ "a" : 1.50, "b":"<&" , "c": 12345678901234567890}`)}}},
				{Role: llm.Tool, CallID: "x", Failed: true, Images: picture},
			},
			Tools: []llm.ToolSpec{
				{Name: "f", Description: "F.", Input: json.RawMessage(`{ "type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","description":"<x>"}}}`)},
				{Name: "g"},
			},
			Output: json.RawMessage(`{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"string","description":"<&>"}}}`),
		}, `{"max_tokens":16384,"messages":[{"content":[{"source":{"data":"YWJj","media_type":"image/png","type":"base64"},"type":"image"},{"text":"q\ufffd","type":"text"}],"role":"user"},` +
			`{"content":[{"text":"a","type":"text"},{"id":"x","input":{"a":1.50,"b":"\u003c\u0026","c":12345678901234567890},"name":"f","type":"tool_use"}],"role":"assistant"},` +
			`{"content":[{"tool_use_id":"x","is_error":true,"content":[{"text":"(no output)","type":"text"},{"source":{"data":"YWJj","media_type":"image/png","type":"base64"},"type":"image"}],"type":"tool_result"}],"role":"user"}],` +
			`"model":"c\u003c\u0026\u003e","temperature":0.5,"cache_control":{"type":"ephemeral"},"output_config":{"format":{"schema":` +
			`{"type":"object","properties":{"z":{"type":["integer","null"]},"a":{"type":["string","null"],"description":"\u003c\u0026\u003e"}},"required":["z","a"],"additionalProperties":false},"type":"json_schema"}},` +
			`"system":[{"text":"Be \u003cbrief\u003e \u0026 \u2028 \"x\"\u0001.","type":"text"},{"text":"","type":"text"}],"tool_choice":{"type":"any"},` +
			`"tools":[{"input_schema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","description":"\u003cx\u003e"}}},"name":"f","description":"F."},{"input_schema":{"type":"object","properties":{}},"name":"g"}],"stream":true}`},
		{llm.Request{
			Model: "c", Options: llm.Options{Effort: llm.EffortHigh, MaxTokens: 5},
			Messages: []llm.Message{
				{Role: llm.User, Text: "q"},
				{Role: llm.Assistant, Text: "x", State: &llm.ProviderState{Dialect: "anthropic", Field: "thinking", Value: json.RawMessage(`[{"thinking":"t","signature":"s"},{"data":"d"},{"signature":"only"}]`)}},
			},
			HiddenTools: []llm.ToolSpec{{Name: "f", Description: "F."}},
		}, `{"max_tokens":5,"messages":[{"content":[{"text":"q","type":"text"}],"role":"user"},{"content":[{"signature":"s","thinking":"t","type":"thinking"},` +
			`{"data":"d","type":"redacted_thinking"},{"signature":"only","thinking":"","type":"thinking"},{"text":"x","type":"text"}],"role":"assistant"}],"model":"c","cache_control":{"type":"ephemeral"},` +
			`"output_config":{"effort":"high"},"thinking":{"type":"adaptive"},"tool_choice":{"type":"none"},"tools":[{"input_schema":{"type":"object","properties":{}},"name":"f","description":"F."}],"stream":true}`},
	} {
		_, s, err := ask(t, &c.req, llmtest.Say(llmtest.Turn{Text: "ok"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(s.Requests()[0].Body); got != c.want {
			t.Errorf("sent\n%s\nwant\n%s", got, c.want)
		}
		if h := s.Requests()[0].Header; h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Accept") != "application/json" {
			t.Errorf("headers are %v", h)
		}
	}
}

// What a model refuses is left out at once, and of later requests.
func TestQuirks(t *testing.T) {
	refuse := func(text string) llmtest.Behaviour {
		return llmtest.Fail(400, `{"type":"error","error":{"type":"invalid_request_error","message":"`+text+`"}}`)
	}
	ok := llmtest.Say(llmtest.Turn{Text: "ok", Usage: &llm.Usage{In: 1, Out: 1}})
	s := llmtest.New(t, refuse("adaptive thinking is not supported on this model"), refuse("This model does not support the effort parameter."), ok, ok)
	m := newModel(s.URL, llmtest.Limits{})
	req := request()
	req.Options.Effort = llm.EffortHigh
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, "refuses adaptive") || !strings.Contains(notes, "effort high is left out") {
		t.Errorf("notes are %q", r.Notes)
	}
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
	if body := string(s.Requests()[3].Body); strings.Contains(body, "effort") || strings.Contains(body, "thinking") {
		t.Errorf("sent again: %s", body)
	}
}

// TestAnotherForm: a refusal without a reason is answered once with a plainer request; if that is refused
// too, the first one counts and nothing is learned.
func TestAnotherForm(t *testing.T) {
	refuse := func(text string) llmtest.Behaviour {
		return llmtest.Fail(400, `{"type":"error","error":{"type":"invalid_request_error","message":"`+text+`"}}`)
	}
	ok := llmtest.Say(llmtest.Turn{Text: "ok", Usage: &llm.Usage{In: 1, Out: 1}})
	r, s, err := ask(t, request(), refuse("no"), ok)
	if err != nil || r.Message.Text != "ok" || strings.Contains(string(s.Requests()[1].Body), "cache_control") {
		t.Errorf("%+v, %v", r, err)
	}
	s = llmtest.New(t, refuse("no"), refuse("nor that"), refuse("no"), ok)
	m := newModel(s.URL, llmtest.Limits{})
	for range 2 {
		if _, err := m.Generate(t.Context(), request(), nil); err == nil || !strings.Contains(err.Error(), ": no (HTTP 400)") {
			t.Errorf("%v", err)
		}
	}
	if _, err := m.Generate(t.Context(), request(), nil); err != nil || !strings.Contains(string(s.Requests()[3].Body), "cache_control") {
		t.Errorf("%v", err)
	}
}

func TestStops(t *testing.T) {
	turn := llmtest.Turn{Text: "I", Calls: []llm.Call{{ID: "a", Name: "f", Args: json.RawMessage(`{}`)}}}
	for finish, want := range map[string]llm.Stop{
		"tool_use": llm.StopCalls, "end_turn": llm.StopCalls, "pause_turn": llm.StopCalls, "refusal": llm.StopFilter,
		"max_tokens": llm.StopLength, "model_context_window_exceeded": llm.StopLength,
	} {
		t.Run(finish, func(t *testing.T) {
			turn.Finish = finish
			r, _, err := ask(t, request(), llmtest.Say(turn))
			if err != nil {
				t.Fatal(err)
			}
			if r.Stop != want {
				t.Errorf("stop is %s, want %s", r.Stop, want)
			}
			if calls := len(r.Message.Calls); (calls == 0) != (want == llm.StopFilter) {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// Nothing of the environment reaches the server.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-of-somebody")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Own: 1")
	_, s, err := ask(t, request(), llmtest.Say(llmtest.Turn{Text: "ok"}))
	if err != nil {
		t.Fatal(err)
	}
	if h := s.Requests()[0].Header; h.Get("X-Api-Key") != llmtest.Key || h.Get("X-Own") != "" {
		t.Errorf("headers are %v", h)
	}
}

func ExampleNew() {
	m, err := anthropic.New(anthropic.Config{BaseURL: "http://127.0.0.1:1", Key: "sk-ant"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Generate(context.Background(), &llm.Request{Model: "claude-sonnet-4-6", Messages: []llm.Message{{Role: llm.User, Text: "Hello?"}}}, nil)
	var e *llm.Error
	fmt.Println(errors.As(err, &e), e.Kind, e.Hint)
	// Output: true unreachable check that a server runs at http://127.0.0.1:1, which the base URL names
}
