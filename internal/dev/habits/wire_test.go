package habits

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// wires are the interfaces of servers, by the path of their requests.
var wires = map[string]string{"openai": "/v1/chat/completions", "ollama": "/api/chat", "anthropic": "/v1/messages"}

// A server answers for a model on one wire and keeps the requests.
type server struct {
	*httptest.Server
	wire  string
	model *model

	mu     sync.Mutex
	bodies []string
	modes  map[string]bool
	wrote  []answer
}

func serve(t testing.TB, wire string, m *model) *server {
	s := &server{wire: wire, model: m, modes: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case wires[s.wire]:
	case "/api/show":
		fmt.Fprint(w, `{"capabilities":["completion","tools"],"details":{"family":"weak"},"model_info":{"general.architecture":"weak","weak.context_length":32768}}`)
		return
	case "/api/ps":
		fmt.Fprint(w, `{"models":[{"name":"weak:7b","model":"weak:7b","context_length":32768}]}`)
		return
	case "/api/version":
		fmt.Fprint(w, `{"version":"0.24.0"}`)
		return
	case "/v1/models":
		fmt.Fprint(w, `{"data":[{"id":"weak:7b","context_length":32768}]}`)
		return
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mode := modeOf(body)
	if s.model.quiet && mode != "native" { // a title of the session, and the like
		s.bodies = append(s.bodies, string(body))
		s.stream(w, says("A title"))
		return
	}
	a := s.model.next(string(body), mode)
	s.bodies, s.modes[mode], s.wrote = append(s.bodies, string(body)), true, append(s.wrote, a)
	a = inMode(a, mode)
	switch s.wire {
	case "openai":
		if s.model.quiet {
			s.stream(w, a)
		} else {
			s.openAI(w, a)
		}
	case "ollama":
		s.ollama(w, a)
	case "anthropic":
		s.anthropic(w, a)
	}
}

// modeOf returns the form in which a request wants calls: native, constrained, or in the text.
func modeOf(body []byte) string {
	var req map[string]json.RawMessage
	if json.Unmarshal(body, &req) != nil {
		return ""
	}
	switch {
	case len(req["tools"]) > 2:
		return "native"
	case len(req["response_format"])+len(req["format"])+len(req["output_config"])+len(req["output_format"]) > 0:
		return "constrained"
	}
	return "text"
}

// inMode writes calls in the form of the mode. If the server constrains the model's output,
// arguments that are not JSON cannot be written; then the server did not constrain it.
func inMode(a answer, mode string) answer {
	if mode == "native" || a.said && len(a.calls) == 0 {
		return a
	}
	var parts []string
	for _, c := range a.calls {
		if mode == "constrained" {
			parts = append(parts, fmt.Sprintf(`{"tool":%s,"arguments":%s}`, text(c.name), c.args))
		} else {
			parts = append(parts, fmt.Sprintf(`<tool_call>{"name": %s, "arguments": %s}</tool_call>`, text(c.name), c.args))
		}
	}
	out := answer{thinking: a.thinking, cut: a.cut}
	switch {
	case mode == "constrained" && len(parts) == 0 && a.text == "":
	case mode == "constrained" && len(parts) == 0:
		out.text = `{"next":[{"answer":` + text(a.text) + `}]}`
	case mode == "constrained":
		out.text = `{"next":[` + strings.Join(parts, ",") + `]}`
	default:
		out.text = strings.TrimSpace(a.text + "\n" + strings.Join(parts, "\n"))
	}
	return out
}

func (s *server) openAI(w io.Writer, a answer) {
	m := map[string]any{"role": "assistant", "content": a.text}
	if a.thinking != "" {
		m["reasoning_content"] = a.thinking
	}
	reason := "stop"
	var list []any
	for i, c := range a.calls {
		reason = "tool_calls"
		list = append(list, map[string]any{"id": fmt.Sprintf("call_%d_%d", len(s.bodies), i), "type": "function", "function": map[string]any{"name": c.name, "arguments": c.args}})
	}
	if list != nil {
		m["tool_calls"] = list
	}
	if a.cut {
		reason = "length"
	}
	io.WriteString(w, text(map[string]any{"id": "x", "object": "chat.completion", "model": "weak:7b", "choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": reason}},
		"usage": map[string]any{"prompt_tokens": s.tokens(), "completion_tokens": 10}}))
}

func (s *server) stream(w http.ResponseWriter, a answer) {
	var b strings.Builder
	s.openAI(&b, a)
	w.Header().Set("Content-Type", "text/event-stream")
	streamed(w, b.String())
}

func (s *server) ollama(w http.ResponseWriter, a answer) {
	m := map[string]any{"role": "assistant", "content": a.text}
	if a.thinking != "" {
		m["thinking"] = a.thinking
	}
	var list []any
	for _, c := range a.calls {
		var args any
		if json.Unmarshal([]byte(c.args), &args) != nil {
			// Like a server that cannot parse a model's output.
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, text(map[string]any{"error": "error parsing tool call: raw='" + c.args + "', err=invalid character"}))
			return
		}
		if _, ok := args.(map[string]any); !ok { // its own type has objects only
			args = map[string]any{}
		}
		list = append(list, map[string]any{"function": map[string]any{"name": c.name, "arguments": args}})
	}
	if list != nil {
		m["tool_calls"] = list
	}
	reason := "stop"
	if a.cut {
		reason = "length"
	}
	io.WriteString(w, text(map[string]any{"model": "weak:7b", "created_at": "2026-01-01T00:00:00Z", "message": m, "done": true, "done_reason": reason, "prompt_eval_count": s.tokens(), "eval_count": 10})+"\n")
}

func (s *server) anthropic(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, v map[string]any) {
		v["type"] = kind
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text(v))
	}
	event("message_start", map[string]any{"message": map[string]any{"id": "m", "type": "message", "role": "assistant", "model": "weak:7b", "content": []any{}, "usage": map[string]any{"input_tokens": s.tokens(), "output_tokens": 1}}})
	n := 0
	block := func(start map[string]any, deltas ...map[string]any) {
		event("content_block_start", map[string]any{"index": n, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", map[string]any{"index": n, "delta": d})
		}
		event("content_block_stop", map[string]any{"index": n})
		n++
	}
	if a.thinking != "" {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, map[string]any{"type": "thinking_delta", "thinking": a.thinking})
	}
	if a.text != "" {
		block(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": a.text})
	}
	reason := "end_turn"
	for i, c := range a.calls {
		reason = "tool_use"
		block(map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", len(s.bodies), i), "name": c.name, "input": map[string]any{}}, map[string]any{"type": "input_json_delta", "partial_json": c.args})
	}
	if a.cut {
		reason = "max_tokens"
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason}, "usage": map[string]any{"output_tokens": 10}})
	event("message_stop", map[string]any{})
}

// tokens estimates the tokens of the last request.
func (s *server) tokens() int { return len(s.bodies[len(s.bodies)-1]) / 4 }
