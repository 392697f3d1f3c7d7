package llmtest

import (
	"fmt"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Behaviour answers one chat request.
type Behaviour func(x *Exchange)

// A Protocol is a supported protocol, by its path.
type Protocol string

// The protocols of a [Server].
const (
	OpenAI    Protocol = "/v1/chat/completions"
	Ollama    Protocol = "/api/chat"
	Anthropic Protocol = "/v1/messages"
)

// An Exchange is one chat request being answered.
type Exchange struct {
	W        http.ResponseWriter
	R        *http.Request
	Protocol Protocol
	Stream   bool
	stopped  chan struct{}
}

// A Turn is an answer. Arguments of calls go out as they are.
type Turn struct {
	Text     string
	Thinking string
	Calls    []llm.Call
	Finish   string     // default: what the protocol says for such an answer
	Usage    *llm.Usage // nil: none is reported
}

// Shapes are the ways in which small models print a call that they should
// have made, by name, each as a format of the tool's name and its arguments.
// Those in Unclear are not to be run but asked about.
var (
	Shapes = map[string]string{
		"below a sentence":            "Sure, I'll do that.\n{\"name\": \"%s\", \"arguments\": %s}",
		"in a fence below a sentence": "I will do that first.\n```json\n{\"name\": \"%s\", \"arguments\": %s}\n```",
		"in tags below a sentence":    "Let me look.\n<tool_call>{\"name\": \"%s\", \"arguments\": %s}</tool_call>",
		"by an action":                "Thought: I need it.\nAction: %s\nAction Input: %s",
		"by an action in an object":   "{\"action\": \"%s\", \"action_input\": %s}",
		"behind the end of a thought": "Hm, that it is.</think><tool_call>{\"name\": \"%s\", \"arguments\": %s}</tool_call>",
	}
	Unclear = map[string]string{
		"within a sentence":  "I call {\"name\": \"%s\", \"arguments\": %s} now.",
		"in tags of its own": "<use_tool>\n<tool>%s</tool>\n<input>%s</input>\n</use_tool>",
		"before more text":   "I do that.\n```json\n{\"name\": \"%s\", \"arguments\": %s}\n```\nThen I go on.",
	}
)

// Print is an answer whose text has a call in one of the shapes.
func Print(shape string, c llm.Call) Turn {
	return Turn{Text: fmt.Sprintf(shape, c.Name, c.Args)}
}

// Say answers well.
func Say(t Turn) Behaviour {
	return func(x *Exchange) {
		chunks := x.Chunks(t) // before the headers, with which the idle limit starts
		x.Start()
		for _, c := range chunks {
			x.Send(c)
		}
	}
}

// Fail answers with a status and a body. headers are names and values in
// turn.
func Fail(status int, body string, headers ...string) Behaviour {
	return func(x *Exchange) {
		x.W.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			x.W.Header().Set(headers[i], headers[i+1])
		}
		x.W.WriteHeader(status)
		fmt.Fprint(x.W, body)
	}
}

// Raw answers with status 200 and these bytes, whatever was asked.
func Raw(media, body string) Behaviour {
	return func(x *Exchange) {
		x.W.Header()["Content-Type"] = nil // no guessing
		if media != "" {
			x.W.Header().Set("Content-Type", media)
		}
		fmt.Fprint(x.W, body)
	}
}

// CutAt sends the first n chunks and ends as if all were said; an answer in
// one piece ends in the middle.
func CutAt(t Turn, n int) Behaviour {
	return func(x *Exchange) { x.part(t, n) }
}

// ResetAt sends the first n chunks, or half of an answer in one piece, and
// resets the connection.
func ResetAt(t Turn, n int) Behaviour {
	return func(x *Exchange) {
		x.part(t, n)
		conn, _, err := x.W.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// SilentAt sends the first n chunks, or half of an answer in one piece, and
// nothing more until the client leaves.
func SilentAt(t Turn, n int) Behaviour {
	return func(x *Exchange) {
		x.part(t, n)
		x.wait()
	}
}

// Forever repeats piece until the client leaves.
func Forever(piece func(Protocol) string) Behaviour {
	return func(x *Exchange) {
		x.Start()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			x.Send(piece(x.Protocol))
			select {
			case <-tick.C:
			case <-x.R.Context().Done():
				return
			case <-x.stopped:
				return
			}
		}
	}
}

// ErrorInside sends the first n chunks of t and then an error with status 200.
func ErrorInside(t Turn, n int, message string) Behaviour {
	return func(x *Exchange) {
		x.Start()
		if x.Stream {
			for _, c := range x.Chunks(t)[:n] {
				x.Send(c)
			}
		}
		switch {
		case x.Protocol == Ollama:
			x.Send(marshal(object{"error": message}) + "\n")
		case x.Protocol == Anthropic:
			x.Send(named("error", object{"error": object{"type": "api_error", "message": message}}))
		case x.Stream:
			x.Send("data: " + marshal(object{"error": object{"message": message}}) + "\n\n")
		default:
			x.Send(marshal(object{"error": object{"message": message}}))
		}
	}
}

// Start sends the headers of a good answer.
func (x *Exchange) Start() {
	media := "application/json"
	switch {
	case x.Stream && x.Protocol == Ollama:
		media = "application/x-ndjson"
	case x.Stream:
		media = "text/event-stream"
	}
	x.W.Header().Set("Content-Type", media)
	x.W.WriteHeader(http.StatusOK)
	x.W.(http.Flusher).Flush()
}

// Send sends s at once.
func (x *Exchange) Send(s string) {
	fmt.Fprint(x.W, s)
	x.W.(http.Flusher).Flush()
}

func (x *Exchange) part(t Turn, n int) {
	x.Start()
	chunks := x.Chunks(t)
	if !x.Stream {
		x.Send(chunks[0][:len(chunks[0])/2])
		return
	}
	for _, c := range chunks[:n] {
		x.Send(c)
	}
}

func (x *Exchange) wait() {
	select {
	case <-x.R.Context().Done():
	case <-x.stopped:
	}
}

// Chunks is t as the protocol sends it, piece by piece; an answer that is not
// streamed is one piece.
func (x *Exchange) Chunks(t Turn) []string {
	switch {
	case x.Protocol == Ollama:
		return native(t, x.Stream)
	case x.Protocol == Anthropic:
		return blocks(t)
	case x.Stream:
		return events(t)
	}
	return []string{whole(t)}
}

func native(t Turn, stream bool) []string {
	calls := []object{}
	for i, c := range t.Calls {
		f := object{"index": i, "name": c.Name}
		if c.Args != nil {
			f["arguments"] = c.Args
		}
		calls = append(calls, object{"id": c.ID, "function": f})
	}
	end := object{"model": "m", "done": true, "done_reason": "stop", "message": object{"role": "assistant", "content": ""}}
	if t.Finish != "" {
		end["done_reason"] = t.Finish
	}
	if u := t.Usage; u != nil {
		end["prompt_eval_count"], end["eval_count"] = u.In, u.Out
	}
	if !stream {
		end["message"] = object{"role": "assistant", "content": t.Text, "thinking": t.Thinking, "tool_calls": calls}
		return []string{marshal(end) + "\n"}
	}
	var out []string
	add := func(m object) {
		m["role"] = "assistant"
		out = append(out, marshal(object{"model": "m", "done": false, "message": m})+"\n")
	}
	for _, s := range pieces(t.Thinking) {
		add(object{"content": "", "thinking": s})
	}
	for _, s := range pieces(t.Text) {
		add(object{"content": s})
	}
	for _, c := range calls {
		add(object{"content": "", "tool_calls": []object{c}})
	}
	return append(out, marshal(end)+"\n")
}

func events(t Turn) []string {
	var out []string
	add := func(o object) { out = append(out, "data: "+marshal(o)+"\n\n") }
	delta := func(d object, finish any) {
		add(object{"model": "m", "choices": []object{{"index": 0, "delta": d, "finish_reason": finish}}})
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, s := range pieces(t.Thinking) {
		delta(object{"reasoning": s}, nil)
	}
	for _, s := range pieces(t.Text) {
		delta(object{"content": s}, nil)
	}
	for i, c := range t.Calls {
		args := string(c.Args)
		delta(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": args[:len(args)/2]}}}}, nil)
		delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": args[len(args)/2:]}}}}, nil)
	}
	delta(object{}, t.finish())
	if t.Usage != nil {
		add(object{"model": "m", "choices": []object{}, "usage": t.usage()})
	}
	return append(out, "data: [DONE]\n\n")
}

// blocks is t as Anthropic's protocol streams it.
func blocks(t Turn) []string {
	usage := object{}
	if u := t.Usage; u != nil {
		usage["input_tokens"], usage["cache_read_input_tokens"] = u.In-u.Cached, u.Cached
	}
	out := []string{named("message_start", object{"message": object{"type": "message", "role": "assistant", "model": "m", "content": []object{}, "usage": usage}})}
	index := 0
	add := func(begin object, deltas ...object) {
		out = append(out, named("content_block_start", object{"index": index, "content_block": begin}))
		for _, d := range deltas {
			out = append(out, named("content_block_delta", object{"index": index, "delta": d}))
		}
		out = append(out, named("content_block_stop", object{"index": index}))
		index++
	}
	if t.Thinking != "" {
		deltas := []object{}
		for _, s := range pieces(t.Thinking) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": s})
		}
		add(object{"type": "thinking", "thinking": ""}, append(deltas, object{"type": "signature_delta", "signature": "c2ln"})...)
	}
	deltas := []object{}
	for _, s := range pieces(t.Text) {
		deltas = append(deltas, object{"type": "text_delta", "text": s})
	}
	if len(deltas) > 0 {
		add(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range t.Calls {
		args := string(c.Args)
		add(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": args[:len(args)/2]}, object{"type": "input_json_delta", "partial_json": args[len(args)/2:]})
	}
	stop := t.finish()
	if as, ok := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}[stop]; ok {
		stop = as
	}
	end := object{"delta": object{"stop_reason": stop}, "usage": object{}}
	if t.Usage != nil {
		end["usage"] = object{"output_tokens": t.Usage.Out}
	}
	return append(out, named("message_delta", end), named("message_stop", object{}))
}

// named is an event with a name, which its data repeats.
func named(name string, o object) string {
	o["type"] = name
	return "event: " + name + "\ndata: " + marshal(o) + "\n\n"
}

func whole(t Turn) string {
	calls := []object{}
	for _, c := range t.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Args)}})
	}
	o := object{"model": "m", "choices": []object{{"index": 0, "finish_reason": t.finish(),
		"message": object{"role": "assistant", "content": t.Text, "reasoning": t.Thinking, "tool_calls": calls}}}}
	if t.Usage != nil {
		o["usage"] = t.usage()
	}
	return marshal(o)
}

func (t Turn) finish() string {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (t Turn) usage() object {
	return object{"prompt_tokens": t.Usage.In, "completion_tokens": t.Usage.Out,
		"prompt_tokens_details": object{"cached_tokens": t.Usage.Cached}}
}

// pieces cuts s into pieces of a few characters, as a model would.
func pieces(s string) []string {
	var out []string
	for s != "" {
		n := min(len(s), 7)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

func marshal(v any) string {
	b, err := jsontext.Marshal(v)
	if err != nil {
		panic(err) // a test wrote arguments that are not JSON for a protocol that cannot carry them
	}
	return string(b)
}
