package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Key is the key that the suite expects of the models it is given.
const Key = "sk-llmtest-0123456789"

// Limits are the time limits of a model under test: tight ones where the
// suite waits for them to pass, else ones that a busy machine keeps.
type Limits struct{ Idle, Total time.Duration }

var (
	tight = Limits{400 * time.Millisecond, 1500 * time.Millisecond}
	loose = Limits{time.Minute, 2 * time.Minute}
)

var (
	usage   = &llm.Usage{In: 120, Out: 7}
	weather = llm.ToolSpec{Name: "get_weather", Description: "The weather.", Input: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}
	paris = llm.Call{ID: "a1", Name: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)}
)

type suite struct {
	newModel func(baseURL string) llm.Model // with loose limits
	limited  func(baseURL string, l Limits) llm.Model
}

// Suite checks what every adapter promises. newModel returns a model of the
// server at baseURL, which has no path, with [Key] and the limits given.
func Suite(t *testing.T, newModel func(baseURL string, l Limits) llm.Model) {
	s := &suite{func(baseURL string) llm.Model { return newModel(baseURL, loose) }, newModel}
	t.Run("answers", s.answers)
	t.Run("calls", s.calls)
	t.Run("request", s.request)
	t.Run("images", s.images)
	t.Run("images of tools", s.toolImages)
	t.Run("statuses", s.statuses)
	t.Run("connections", s.connections)
	t.Run("silence", s.silence)
	t.Run("cut", s.cut)
	t.Run("garbled", s.garbled)
	t.Run("usage", s.usage)
	t.Run("cancel", s.cancel)
	t.Run("at once", s.atOnce)
}

func question() *llm.Request {
	return &llm.Request{
		Model:    "m",
		Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "Weather in \"Paris\"?\n\u2028<é𝄞>"}},
		Tools:    []llm.ToolSpec{weather},
	}
}

// ask has a model answer one question with a behaviour.
func (s *suite) ask(t *testing.T, do Behaviour) (*llm.Response, error) {
	t.Helper()
	return s.newModel(New(t, do).URL).Generate(t.Context(), question(), nil)
}

func (s *suite) answer(t *testing.T, turn Turn) *llm.Response {
	t.Helper()
	r, err := s.ask(t, Say(turn))
	if err != nil {
		t.Fatal(err)
	}
	if r.Message.Role != llm.Assistant {
		t.Errorf("role is %q", r.Message.Role)
	}
	return r
}

// fails checks that the error is an [llm.Error] of kind that does not name
// the key.
func (s *suite) fails(t *testing.T, err error, kind llm.ErrorKind) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T %v, want a %s error", err, err, kind)
	}
	if e.Kind != kind {
		t.Errorf("error is of kind %s, want %s: %v", e.Kind, kind, err)
	}
	if e.Provider == "" || e.Message == "" {
		t.Errorf("error does not say who failed and how: %+v", e)
	}
	if strings.Contains(err.Error()+e.Hint, Key) {
		t.Errorf("error shows the key: %v", err)
	}
	if len(err.Error()) > 3000 {
		t.Errorf("error has %d bytes", len(err.Error()))
	}
	return e
}

func (s *suite) answers(t *testing.T) {
	t.Run("text and thinking", func(t *testing.T) {
		var text, thinking strings.Builder
		srv := New(t, Say(Turn{Text: "Hello, wörld 𝄞.", Thinking: "Hm, é.", Usage: usage}))
		r, err := s.newModel(srv.URL).Generate(t.Context(), question(), func(d llm.Delta) {
			text.WriteString(d.Text)
			thinking.WriteString(d.Thinking)
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Message.Text != "Hello, wörld 𝄞." || r.Message.Thinking != "Hm, é." || r.Stop != llm.StopEnd || len(r.Notes) != 0 {
			t.Errorf("%+v", r)
		}
		if r.Usage != *usage || r.Model != "m" {
			t.Errorf("usage %+v, model %q", r.Usage, r.Model)
		}
		if text.String() != r.Message.Text || thinking.String() != r.Message.Thinking {
			t.Errorf("streamed %q and %q", &text, &thinking)
		}
	})
	t.Run("thinking in the text", func(t *testing.T) {
		for _, text := range []string{"<think>Hm.</think>Hello.", "Hm.</think>Hello."} {
			r := s.answer(t, Turn{Text: text, Usage: usage})
			if r.Message.Text != "Hello." || r.Message.Thinking != "Hm." {
				t.Errorf("%s: %+v", text, r)
			}
		}
		var shown strings.Builder
		srv := New(t, Say(Turn{Text: "<think>Hm.</think>Hello.", Usage: usage}))
		_, err := s.newModel(srv.URL).Generate(t.Context(), question(), func(d llm.Delta) { shown.WriteString(d.Text) })
		if err != nil || shown.String() != "Hello." {
			t.Errorf("shown %q, %v", &shown, err)
		}
	})
	t.Run("length", func(t *testing.T) {
		if r := s.answer(t, Turn{Text: "The weather is", Finish: "length", Usage: usage}); r.Stop != llm.StopLength || r.Message.Text != "The weather is" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("thinking only", func(t *testing.T) {
		r := s.answer(t, Turn{Thinking: "Hm.", Usage: usage})
		if r.Stop != llm.StopEnd || r.Message.Text != "" || r.Message.Thinking != "Hm." || len(r.Notes) != 0 {
			t.Errorf("%+v", r)
		}
	})
	for _, text := range []string{"", " \n\t"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if r := s.answer(t, Turn{Text: text, Usage: usage}); r.Stop != llm.StopEnd || strings.TrimSpace(r.Message.Text) != "" || len(r.Message.Calls) != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("long", func(t *testing.T) {
		long := strings.Repeat("long ", 10_000)
		if r := s.answer(t, Turn{Text: long, Usage: usage}); r.Message.Text != long {
			t.Errorf("%d bytes came, want %d", len(r.Message.Text), len(long))
		}
	})
	t.Run("call as text", func(t *testing.T) {
		for _, text := range []string{
			`{"name":"get_weather","arguments":{"city":"Paris"}}`,
			"```json\n{\"name\": \"get_weather\", \"parameters\": {\"city\":\"Paris\"}}\n```",
			"I will look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n</tool_call>",
		} {
			r := s.answer(t, Turn{Text: text, Usage: usage})
			if len(r.Message.Calls) != 1 || string(r.Message.Calls[0].Args) != `{"city":"Paris"}` || r.Stop != llm.StopCalls || len(r.Notes) != 1 || r.Message.Calls[0].ID == "" {
				t.Errorf("%s: %+v", text, r)
			}
		}
		for name, shape := range Shapes {
			turn := Print(shape, paris)
			turn.Usage = usage
			r := s.answer(t, turn)
			if len(r.Message.Calls) != 1 || string(r.Message.Calls[0].Args) != string(paris.Args) || r.Stop != llm.StopCalls || r.UnreadCall != "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		for name, shape := range Unclear {
			turn := Print(shape, paris)
			turn.Usage = usage
			if r := s.answer(t, turn); len(r.Message.Calls) != 0 || r.UnreadCall == "" || r.Message.Text != turn.Text {
				t.Errorf("%s: %+v", name, r)
			}
		}
		r := s.answer(t, Turn{Text: `To call it, write {"name":"get_weather","arguments":{}}`, Usage: usage})
		if len(r.Message.Calls) != 0 || r.UnreadCall == "" {
			t.Errorf("an answer that talks about a call became one, or raised no doubt: %+v", r)
		}
	})
}

func (s *suite) calls(t *testing.T) {
	t.Run("two", func(t *testing.T) {
		second := llm.Call{ID: "b2", Name: "get_weather", Args: json.RawMessage(`{"n":9007199254740993,"city":"Rome"}`)}
		r := s.answer(t, Turn{Text: "Looking.", Calls: []llm.Call{paris, second}, Usage: usage})
		if r.Stop != llm.StopCalls || r.Message.Text != "Looking." || len(r.Message.Calls) != 2 {
			t.Fatalf("%+v", r)
		}
		if c := r.Message.Calls[1]; c.ID != "b2" || string(c.Args) != string(second.Args) || c.Malformed != "" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("stop hides calls", func(t *testing.T) {
		if r := s.answer(t, Turn{Calls: []llm.Call{paris}, Finish: "stop", Usage: usage}); r.Stop != llm.StopCalls || len(r.Message.Calls) != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("ids", func(t *testing.T) {
		anonymous := paris
		anonymous.ID = ""
		srv := New(t, Say(Turn{Calls: []llm.Call{paris, paris, anonymous, anonymous}, Usage: usage}))
		req := question()
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Calls: []llm.Call{paris}},
			llm.Message{Role: llm.Tool, CallID: "a1", Name: "get_weather", Text: "21C"})
		r, err := s.newModel(srv.URL).Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range r.Message.Calls {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); got != "a1_2 a1_3 call_4 call_5" {
			t.Errorf("ids are %s", got)
		}
	})
	t.Run("a hundred", func(t *testing.T) {
		var calls []llm.Call
		for i := range 100 {
			calls = append(calls, llm.Call{ID: fmt.Sprint("c", i), Name: "get_weather", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
		}
		r := s.answer(t, Turn{Calls: calls, Usage: usage})
		if len(r.Message.Calls) != 100 {
			t.Fatalf("%d calls", len(r.Message.Calls))
		}
		for i, c := range r.Message.Calls {
			if c.ID != calls[i].ID || string(c.Args) != string(calls[i].Args) {
				t.Fatalf("call %d is %+v", i, c)
			}
		}
	})
	t.Run("odd names and arguments", s.odd)
}

// odd checks that whatever a model calls, however, the conversation goes on:
// the next request is one that a strict server takes.
func (s *suite) odd(t *testing.T) {
	big := `{"text":"` + strings.Repeat("x", 5<<20) + `"}`
	for _, c := range []struct{ label, name, args, want string }{
		{"unknown name", "no_such_tool", `{}`, `{}`},
		{"case", "GET_Weather", `{"City":1}`, `{"City":1}`},
		{"spaces", "get the wéather", `{}`, `{}`},
		{"constructor", "constructor", `{"__proto__":{}}`, `{"__proto__":{}}`},
		{"array", "get_weather", `[1]`, `[1]`},
		{"null", "get_weather", `null`, `{}`},
		{"number", "get_weather", `7`, `7`},
		{"object in a string", "get_weather", `"{\"city\":\"Rome\"}"`, `{"city":"Rome"}`},
		{"duplicate keys", "get_weather", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{"too large a number", "get_weather", `{"n":1e400}`, `{"n":1e400}`},
		{"nesting", "get_weather", `{"a":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}`, ""},
		{"5 MB", "get_weather", big, big},
	} {
		t.Run(c.label, func(t *testing.T) {
			srv := New(t, Say(Turn{Calls: []llm.Call{{ID: "a1", Name: c.name, Args: json.RawMessage(c.args)}}, Usage: usage}), Say(Turn{Text: "ok", Usage: usage}))
			m := s.newModel(srv.URL)
			req := question()
			r, err := m.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Message.Calls) != 1 {
				t.Fatalf("%+v", r)
			}
			call := r.Message.Calls[0]
			if call.Name != c.name || !json.Valid(call.Args) || c.want != "" && string(call.Args) != c.want {
				t.Errorf("%.200v", call)
			}
			req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.Tool, CallID: call.ID, Name: call.Name, Text: "no"})
			if _, err := m.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			strict(t, srv.Requests()[1].Body)
		})
	}
}

// A wireMessage is a message of a request, in any of the protocols.
type wireMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		Function struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// blocks are the parts of a message in Anthropic's protocol.
func (m *wireMessage) blocks() (list []struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}) {
	_ = json.Unmarshal(m.Content, &list) // not so in the other protocols
	return list
}

// text is what a message says, or what a tool returned.
func (m *wireMessage) text() (text string, ok bool) {
	ok = json.Unmarshal(m.Content, &text) == nil && string(m.Content) != "null"
	for _, b := range m.blocks() {
		text, ok = text+b.Text, true
		for _, c := range b.Content {
			text += c.Text
		}
	}
	return text, ok
}

func wireMessages(t *testing.T, body []byte) (list []wireMessage) {
	t.Helper()
	got := struct{ Messages *[]wireMessage }{&list}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("the request is not JSON: %v", err)
	}
	return list
}

// strict reads a request as the strictest of the servers would.
func strict(t *testing.T, body []byte) {
	t.Helper()
	check := func(i int, name string, raw json.RawMessage) {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			raw = []byte(s)
		}
		var args map[string]any
		if err := json.Unmarshal(raw, &args); err != nil || args == nil {
			t.Errorf("message %d: arguments of %s are %.100s: %v", i, name, raw, err)
		}
	}
	for i, m := range wireMessages(t, body) {
		text, ok := m.text()
		if !ok || m.Role == "tool" && text == "" {
			t.Errorf("message %d has no content", i)
		}
		for _, c := range m.Calls {
			check(i, c.Function.Name, c.Function.Args)
			if c.Function.Args[0] == '"' && strings.ContainsAny(c.Function.Name, " é") {
				t.Errorf("message %d calls %q", i, c.Function.Name)
			}
		}
		for _, b := range m.blocks() {
			if b.Type != "tool_use" {
				continue
			}
			check(i, b.Name, b.Input)
			if strings.ContainsAny(b.Name, " é") {
				t.Errorf("message %d calls %q", i, b.Name)
			}
		}
	}
}

func (s *suite) request(t *testing.T) {
	srv := New(t, Say(Turn{Calls: []llm.Call{paris}, Usage: usage}), Say(Turn{Text: "21C", Usage: usage}), Say(Turn{Text: "21C", Usage: usage}))
	m := s.newModel(srv.URL)
	zero := 0.0
	req := question()
	req.Options = llm.Options{Temperature: &zero, MaxTokens: 77}
	req.History = new(llm.EncodedHistory)
	r, err := m.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.Tool, CallID: "a1", Name: "get_weather"})
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	req.History = nil
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()
	if string(got[1].Body) != string(got[2].Body) {
		t.Errorf("with a Wire it sends\n%s\nwithout\n%s", got[1].Body, got[2].Body)
	}
	if h := got[0].Header; h.Get("Authorization") != "Bearer "+Key && h.Get("X-Api-Key") != Key {
		t.Errorf("the key is not sent: %v", h)
	}
	if n := got[1].Header.Get("Content-Length"); n != fmt.Sprint(len(got[1].Body)) {
		t.Errorf("Content-Length is %q for %d bytes", n, len(got[1].Body))
	}
	strict(t, got[1].Body)
	said := map[string]string{}
	for _, m := range wireMessages(t, got[1].Body) {
		text, _ := m.text()
		said[m.Role] += text
		if m.Role == "user" && len(m.blocks()) > 0 && m.blocks()[0].Type == "tool_result" {
			said["tool"] = text
		}
	}
	if text := question().Messages[1].Text; !strings.HasPrefix(said["user"], text) {
		t.Errorf("the question arrives as %q", said["user"])
	}
	if said["tool"] != "(no output)" {
		t.Errorf("an empty result arrives as %q", said["tool"])
	}
	for _, want := range []string{`"temperature":0`, `:77`, `"get_weather"`} {
		if !strings.Contains(string(got[1].Body), want) {
			t.Errorf("the request lacks %s: %s", want, got[1].Body)
		}
	}
	// History is never sent differently, or a server's prefix cache is lost.
	before, after := wireMessages(t, got[0].Body), wireMessages(t, got[1].Body)
	for i, m := range before {
		if string(m.Content) != string(after[i].Content) {
			t.Errorf("message %d is sent as %s, then as %s", i, m.Content, after[i].Content)
		}
	}
}

func (s *suite) statuses(t *testing.T) {
	said := func(text string) string { return fmt.Sprintf(`{"error":{"message":%q,"type":"x","code":null}}`, text) }
	plain := func(text string) string { return fmt.Sprintf(`{"error":%q}`, text) }
	for _, c := range []struct {
		status int
		body   string
		kind   llm.ErrorKind
	}{
		{401, said("bad key " + Key), llm.Auth},
		{403, plain("no"), llm.Auth},
		{404, said(`model "x" not found, try pulling it first`), llm.NoModel},
		{404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, llm.NoModel},
		{404, "404 page not found", llm.BadRequest},
		{405, "", llm.BadRequest},
		{400, said("temperature must be a number"), llm.BadRequest},
		{400, plain("registry/x:latest does not support tools"), llm.Unsupported},
		{400, said("This model's maximum context length is 8192 tokens"), llm.TooLong},
		{400, plain("the input length exceeds the context length"), llm.TooLong},
		{400, plain(`{"error":{"code":400,"type":"exceed_context_size_error","message":"x","n_ctx":2048}}`), llm.TooLong},
		{413, "", llm.TooLong},
		{429, said("slow down"), llm.RateLimit},
		{429, `{"error":{"message":"x","code":"insufficient_quota"}}`, llm.RateLimit},
		{500, said("oops"), llm.Overloaded},
		{500, plain("invalid JSON schema in format"), llm.BadRequest},
		{502, "<html><body>Bad Gateway</body></html>", llm.Overloaded},
		{503, plain("server busy, please try again"), llm.Overloaded},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded},
		{407, "", llm.Unreachable},
		{400, strings.Repeat("a", 8000) + Key, llm.BadRequest},
		{400, strings.Repeat("é", 1020) + Key, llm.BadRequest},
		{302, "", llm.BadRequest},
	} {
		t.Run(fmt.Sprintf("%d %.30s", c.status, c.body), func(t *testing.T) {
			_, err := s.ask(t, Fail(c.status, c.body))
			kind := c.kind
			if strings.Contains(c.body, "insufficient_quota") {
				kind = llm.Auth // waiting does not fill an account
			}
			if e := s.fails(t, err, kind); e.Status != c.status {
				t.Errorf("status is %d", e.Status)
			}
			if strings.Contains(err.Error(), Key[:10]) {
				t.Errorf("a part of the key is shown: %v", err)
			}
		})
	}
	for _, c := range []struct {
		after    string
		min, max time.Duration
	}{
		{"1", time.Second, time.Second},
		{"0.5", 500 * time.Millisecond, 500 * time.Millisecond},
		{time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 60 * time.Second, 90 * time.Second},
		{time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{"1000000000", time.Hour, time.Hour},
		{"1e99", time.Hour, time.Hour},
		{"-5", 0, 0},
		{"NaN", 0, 0},
		{"soon", 0, 0},
		{"", 0, 0},
	} {
		t.Run("retry after "+c.after, func(t *testing.T) {
			_, err := s.ask(t, Fail(429, said("slow down"), "Retry-After", c.after))
			if e := s.fails(t, err, llm.RateLimit); e.RetryAfter < c.min || e.RetryAfter > c.max {
				t.Errorf("it says to wait %s, want %s to %s", e.RetryAfter, c.min, c.max)
			}
		})
	}
}

func (s *suite) connections(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = s.newModel("http://"+l.Addr().String()).Generate(t.Context(), question(), nil)
		if e := s.fails(t, err, llm.Unreachable); e.Hint == "" || !e.Retryable() {
			t.Errorf("%+v", e)
		}
	})
	t.Run("tls", func(t *testing.T) {
		m := s.newModel(strings.Replace(New(t).URL, "http:", "https:", 1))
		_, err := m.Generate(t.Context(), question(), nil)
		s.fails(t, err, llm.Unreachable)
	})
	t.Run("no messages", func(t *testing.T) {
		_, err := s.newModel(New(t).URL).Generate(t.Context(), &llm.Request{Model: "m"}, nil)
		s.fails(t, err, llm.BadRequest)
	})
}

func (s *suite) silence(t *testing.T) {
	turn := Turn{Text: "Hello, world, and more of it.", Usage: usage}
	word := func(p Protocol) string {
		switch p {
		case Ollama:
			return `{"model":"m","message":{"content":"a"},"done":false}` + "\n"
		case Anthropic:
			return named("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": "a"}})
		}
		return `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"
	}
	blank := func(p Protocol) string {
		if p == Ollama {
			return "\n"
		}
		return ": still here\n\n"
	}
	for _, c := range []struct {
		label string
		do    Behaviour
	}{
		{"after headers", SilentAt(Turn{}, 0)},
		{"after one token", SilentAt(turn, 2)},
		{"comments for ever", Forever(blank)},
		{"words for ever", Forever(word)},
	} {
		t.Run(c.label, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := s.limited(New(t, c.do).URL, tight).Generate(t.Context(), question(), nil)
			if e := s.fails(t, err, llm.Timeout); !e.Retryable() {
				t.Errorf("%+v", e)
			}
			if d := time.Since(begin); d < tight.Idle {
				t.Errorf("it gave up after %s", d)
			}
		})
	}
}

func (s *suite) cut(t *testing.T) {
	text := Turn{Text: "The weather in Paris is fine.", Usage: usage}
	call := Turn{Calls: []llm.Call{paris, paris}, Usage: usage}
	for _, c := range []struct {
		label string
		do    Behaviour
	}{
		{"in text", CutAt(text, 2)},
		{"in a call", CutAt(call, 2)},
		{"before the end", CutAt(Turn{Text: "ok"}, 1)},
		{"reset in text", ResetAt(text, 2)},
		{"reset in a call", ResetAt(call, 2)},
	} {
		t.Run(c.label, func(t *testing.T) {
			r, err := s.ask(t, c.do)
			if r != nil {
				t.Fatalf("a partial answer was returned: %+v", r)
			}
			if e := s.fails(t, err, llm.Cut); !e.Retryable() {
				t.Errorf("%+v", e)
			}
		})
	}
}

func (s *suite) garbled(t *testing.T) {
	for _, c := range []struct {
		label string
		do    Behaviour
		kind  llm.ErrorKind
		says  string
	}{
		{"error at once", ErrorInside(Turn{}, 0, "an error was encountered while running the model"), llm.Overloaded, "running the model"},
		{"error in text", ErrorInside(Turn{Text: "Hello, world."}, 1, "rate limit exceeded"), llm.RateLimit, "rate limit"},
		{"error too long", ErrorInside(Turn{}, 0, "the input length exceeds the context length"), llm.TooLong, "exceeds"},
		{"web page", Raw("text/html; charset=utf-8", "<!doctype html><title>Log in</title>"), llm.Garbled, "web page"},
		{"empty", Raw("", ""), llm.Garbled, ""},
		{"image", Raw("image/png", "x"), llm.Garbled, "image/png"},
		{"prose", Raw("application/json", "Hello"), llm.Garbled, "Hello"},
		{"number", Raw("application/json", "17"), llm.Garbled, ""},
	} {
		t.Run(c.label, func(t *testing.T) {
			_, err := s.ask(t, c.do)
			if s.fails(t, err, c.kind); !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
}

func (s *suite) usage(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		r := s.answer(t, Turn{Text: "Thirty-three bytes of plain text."})
		if r.Usage.In < 50 || r.Usage.Out != 10 || len(r.Notes) != 1 {
			t.Errorf("%+v, notes %q", r.Usage, r.Notes)
		}
	})
	t.Run("negative", func(t *testing.T) {
		r := s.answer(t, Turn{Text: "Hello.", Usage: &llm.Usage{In: -5, Out: -1, Cached: -3}})
		if r.Usage.In <= 0 || r.Usage.Out <= 0 || r.Usage.Cached != 0 || len(r.Notes) != 1 {
			t.Errorf("%+v, notes %q", r.Usage, r.Notes)
		}
	})
	t.Run("huge", func(t *testing.T) {
		r := s.answer(t, Turn{Text: "Hello.", Usage: &llm.Usage{In: 1 << 62, Out: 1 << 62}})
		if sum := r.Usage.Add(r.Usage); sum.In < 1<<31 || sum.Out < 1<<31 {
			t.Errorf("%+v", r.Usage)
		}
	})
}

func (s *suite) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := New(t, func(x *Exchange) {
		x.Start()
		cancel()
		x.wait()
	})
	_, err := s.newModel(srv.URL).Generate(ctx, question(), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var e *llm.Error
	if errors.As(err, &e) {
		t.Errorf("the provider is blamed: %v", err)
	}
}

func (s *suite) atOnce(t *testing.T) {
	const n = 8
	srv := New(t)
	for range n {
		srv.Add(Say(Turn{Text: "Hello.", Calls: []llm.Call{paris}, Usage: usage}))
	}
	m := s.newModel(srv.URL)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			r, err := m.Generate(t.Context(), question(), nil)
			if err != nil || len(r.Message.Calls) != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
}
