// Package clis supports the end-to-end tests of command-line agents with the real programs,
// installed by ../install.sh, and a server on the loopback that plays a script in the protocols of
// their models.
package clis

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// A Turn is one answer of the scripted model.
type Turn struct {
	Say    string
	Run    string // a command for whatever tool of the program runs commands
	Tool   string // or the end of the name of another tool, called with Args
	Args   map[string]any
	Status int  // answer with this status of HTTP instead
	Hang   bool // never answer
}

// A Server answers from a script: the n-th turn of a conversation gets the n-th entry, and later
// turns the last one. It is safe for concurrent use.
type Server struct {
	URL string

	server *httptest.Server
	turns  []Turn
	quit   chan struct{}

	mu     sync.Mutex
	bodies []string
	paths  []string
	seen   chan struct{} // gets a value for each request
}

// Serve starts a server; Close ends it.
func Serve(turns ...Turn) *Server {
	s := &Server{turns: turns, quit: make(chan struct{}), seen: make(chan struct{}, 1024)}
	s.server = httptest.NewServer(http.HandlerFunc(s.answer))
	s.URL = s.server.URL
	return s
}

// Close ends the server and its pending requests.
func (s *Server) Close() {
	close(s.quit)
	s.server.CloseClientConnections()
	s.server.Close()
}

// Requests returns the bodies of the requests for an answer so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// Asked gets a value for each request.
func (s *Server) Asked() <-chan struct{} { return s.seen }

type tool struct {
	Name     string `json:"name"`
	Tools    []tool `json:"tools"` // of a namespace
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Declarations []tool `json:"functionDeclarations"`
}

// A request is any of the protocols'.
type request struct {
	Model    string            `json:"model"`
	Input    []json.RawMessage `json:"input"`    // Responses
	Messages []json.RawMessage `json:"messages"` // chat completions and Messages
	Contents []json.RawMessage `json:"contents"` // Gemini
	Tools    []tool            `json:"tools"`
	Stream   bool              `json:"stream"`
}

// at counts the answers that the conversation has already.
func (r *request) at() int {
	n := 0
	for _, list := range [][]json.RawMessage{r.Input, r.Messages, r.Contents} {
		for _, raw := range list {
			var m struct{ Type, Role string }
			if json.Unmarshal(raw, &m) == nil && (m.Role == "assistant" || m.Role == "model" || strings.HasSuffix(m.Type, "function_call") || m.Type == "local_shell_call") {
				n++
			}
		}
	}
	return n
}

// shell returns the tool that runs commands, and its arguments for command.
func (r *request) shell(command string) (name string, args any) {
	have := map[string]bool{}
	for _, t := range r.Tools {
		have[t.Name], have[t.Function.Name] = true, true
		for _, d := range t.Declarations {
			have[d.Name] = true
		}
	}
	say := "run it"
	switch {
	case have["exec_command"]:
		return "exec_command", map[string]any{"cmd": command}
	case have["shell_command"]:
		return "shell_command", map[string]any{"command": command}
	case have["shell"]:
		return "shell", map[string]any{"command": []string{"bash", "-lc", command}}
	case have["bash"]:
		return "bash", map[string]any{"command": command, "description": say}
	case have["Bash"]:
		return "Bash", map[string]any{"command": command, "description": say}
	case have["run_shell_command"]:
		return "run_shell_command", map[string]any{"command": command, "description": say}
	}
	return "no_shell_is_offered", map[string]any{"command": command}
}

// tool returns the full name of an MCP server's tool, and its namespace if the program has
// namespaces.
func (r *request) tool(end string) (name, namespace string) {
	for _, t := range r.Tools {
		for _, name := range []string{t.Name, t.Function.Name} {
			if strings.HasSuffix(name, "_"+end) {
				return name, ""
			}
		}
		for _, below := range t.Tools {
			if below.Name == end {
				return end, t.Name
			}
		}
	}
	return "no_such_tool_is_offered", ""
}

func (s *Server) answer(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var r request
	path := req.URL.Path
	asks := strings.HasSuffix(path, "/responses") || strings.HasSuffix(path, "/chat/completions") || strings.HasSuffix(path, "/messages") || strings.Contains(path, "enerateContent")
	if err != nil || !asks || json.Unmarshal(body, &r) != nil {
		http.Error(w, `{"error":{"message":"not scripted"}}`, http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.paths = append(s.paths, path)
	s.mu.Unlock()
	select {
	case s.seen <- struct{}{}:
	default:
	}
	t := s.turns[min(r.at(), len(s.turns)-1)]
	switch {
	case t.Hang:
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		select {
		case <-s.quit:
		case <-req.Context().Done():
		}
		return
	case t.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(t.Status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","message":"bad key (scripted)","code":%d,"status":"UNAUTHENTICATED"}}`, t.Status)
		return
	}
	name, namespace, args := "", "", any(nil)
	switch {
	case t.Run != "":
		name, args = r.shell(t.Run)
	case t.Tool != "":
		name, namespace = r.tool(t.Tool)
		args = t.Args
	}
	id := fmt.Sprintf("call_%d", r.at()+1)
	switch {
	case strings.HasSuffix(path, "/responses"):
		responses(w, t, id, name, namespace, args)
	case strings.HasSuffix(path, "/messages"):
		messages(w, t, r.Model, id, name, args)
	case strings.HasSuffix(path, "/chat/completions"):
		chat(w, t, r.Model, id, name, args)
	default:
		gemini(w, t, name, args)
	}
}

type object = map[string]any

func event(w io.Writer, kind string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // a literal of ours
	}
	if kind != "" {
		fmt.Fprintf(w, "event: %s\n", kind)
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
}

func stream(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// responses implements OpenAI's Responses API. Each answer takes 100 tokens in, 40 of them cached,
// and 20 out.
func responses(w http.ResponseWriter, t Turn, id, name, namespace string, args any) {
	stream(w)
	event(w, "response.created", object{"type": "response.created", "response": object{"id": "resp_" + id}})
	item := object{"type": "message", "role": "assistant", "id": "msg_" + id, "content": []object{{"type": "output_text", "text": t.Say}}}
	if name != "" {
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": name, "arguments": encoded(args)}
		if namespace != "" {
			item["namespace"] = namespace
		}
	}
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", object{"type": "response.completed", "response": object{"id": "resp_" + id, "usage": object{
		"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 40}, "output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 5}, "total_tokens": 120}}})
}

func chat(w http.ResponseWriter, t Turn, model, id, name string, args any) {
	stream(w)
	delta, reason := object{"role": "assistant", "content": t.Say}, "stop"
	if name != "" {
		delta = object{"role": "assistant", "tool_calls": []object{{"index": 0, "id": id, "type": "function", "function": object{"name": name, "arguments": encoded(args)}}}}
		reason = "tool_calls"
	}
	chunk := func(d object, reason any) object {
		return object{"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": model, "choices": []object{{"index": 0, "delta": d, "finish_reason": reason}}}
	}
	event(w, "", chunk(delta, nil))
	end := chunk(object{}, reason)
	end["usage"] = object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "prompt_tokens_details": object{"cached_tokens": 40}}
	event(w, "", end)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func messages(w http.ResponseWriter, t Turn, model, id, name string, args any) {
	stream(w)
	usage := object{"input_tokens": 60, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 40, "output_tokens": 1}
	event(w, "message_start", object{"type": "message_start", "message": object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": model, "content": []object{}, "usage": usage}})
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.Say}, "end_turn"
	if name != "" {
		block, delta, reason = object{"type": "tool_use", "id": "toolu_" + id, "name": name, "input": object{}}, object{"type": "input_json_delta", "partial_json": encoded(args)}, "tool_use"
	}
	event(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	event(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	event(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
	event(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason}, "usage": object{"output_tokens": 20}})
	event(w, "message_stop", object{"type": "message_stop"})
}

func gemini(w http.ResponseWriter, t Turn, name string, args any) {
	stream(w)
	part := object{"text": t.Say}
	if name != "" {
		part = object{"functionCall": object{"name": name, "args": args}}
	}
	event(w, "", object{
		"candidates":    []object{{"content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120, "cachedContentTokenCount": 40},
	})
}
