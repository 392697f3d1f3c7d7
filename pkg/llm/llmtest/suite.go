package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
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
	// An adapter may ask again in other forms.
	return s.newModel(New(t, do, do, do, do).URL).Generate(t.Context(), question(), nil)
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
		rome, anonymous := paris, paris
		rome.Args, anonymous.ID = json.RawMessage(`{"city":"Rome"}`), ""
		srv := New(t, Say(Turn{Calls: []llm.Call{paris, rome, paris, anonymous, anonymous}, Usage: usage})) // the third is the first again
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
		if r.Usage.In <= 0 || r.Usage.In > 10_000 || r.Usage.Out <= 0 || r.Usage.Out > 10_000 || len(r.Notes) != 1 {
			t.Errorf("%+v, notes %q", r.Usage, r.Notes)
		}
	})
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
