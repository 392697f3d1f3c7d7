package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Asked is a chat request as a product reads it.
type Asked struct {
	Path, Query string
	Header      http.Header
	Model       string
	Messages    []AskedMessage
	Tools       []AskedTool
	Schema      json.RawMessage // of response_format, nil if none
	Body        map[string]json.RawMessage
}

// An AskedMessage is a message of a request.
type AskedMessage struct {
	Role      string          `json:"role"`
	Content   *string         `json:"content"`
	CallID    string          `json:"tool_call_id"`
	Reasoning *string         `json:"reasoning_content"`
	Details   json.RawMessage `json:"reasoning_details"`
	Calls     []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
		Extra struct {
			Google struct {
				Signature string `json:"thought_signature"`
			} `json:"google"`
		} `json:"extra_content"`
	} `json:"tool_calls"`
}

// An AskedTool is a tool of a request.
type AskedTool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
		Strict     bool            `json:"strict"`
	} `json:"function"`
}

// Text is the text of all messages.
func (a *Asked) Text() string {
	var b strings.Builder
	for _, m := range a.Messages {
		if m.Content != nil {
			b.WriteString(*m.Content + "\n")
		}
	}
	return b.String()
}

// A Product is a server that behaves as one with a name is documented to: it
// refuses what that refuses, in its words, and streams as that streams. It is
// safe for concurrent use.
type Product struct {
	URL string // without a path

	name   string
	answer func(Asked) Turn
	mu     sync.Mutex
	asked  []Asked
	no     []string // what was refused, in words
}

// NewProduct starts one that answers as answer says.
func NewProduct(t testing.TB, name string, answer func(Asked) Turn) *Product {
	if _, ok := products[name]; !ok {
		t.Fatalf("llmtest: no product %q", name)
	}
	p := &Product{name: name, answer: answer}
	s := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Asked returns the requests that were answered, Refused why others were not.
func (p *Product) Asked() []Asked    { p.mu.Lock(); defer p.mu.Unlock(); return slices.Clone(p.asked) }
func (p *Product) Refused() []string { p.mu.Lock(); defer p.mu.Unlock(); return slices.Clone(p.no) }

func (p *Product) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || strings.HasPrefix(r.URL.Path, "/api/") { // what the models are is not asked here
		http.NotFound(w, r)
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a := Asked{Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone()}
	var f struct {
		Model    string         `json:"model"`
		Messages []AskedMessage `json:"messages"`
		Tools    []AskedTool    `json:"tools"`
		Stream   bool           `json:"stream"`
		Format   struct {
			Schema *struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	status, says := 0, ""
	if json.Unmarshal(b, &a.Body) != nil || json.Unmarshal(b, &f) != nil || len(f.Messages) == 0 {
		status, says = 400, "the body is not valid: "+string(b[:min(len(b), 200)])
	} else {
		a.Model, a.Messages, a.Tools = f.Model, f.Messages, f.Tools
		if f.Format.Schema != nil {
			a.Schema = f.Format.Schema.Schema
		}
		for _, rule := range append([]rule{common}, products[p.name]...) {
			if status, says = rule(&a); status != 0 {
				break
			}
		}
	}
	if status != 0 {
		p.mu.Lock()
		p.no = append(p.no, says)
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		refusal := object{"error": object{"message": says, "type": "invalid_request_error", "code": nil}}
		if p.name == "gemini" {
			respondBody(w, []object{refusal})
			return
		}
		respondBody(w, refusal)
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, a)
	p.mu.Unlock()
	turn := p.answer(a)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range p.chunks(turn) {
		fmt.Fprint(w, chunk)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func respondBody(w io.Writer, v any) { json.NewEncoder(w).Encode(v) }

// chunks is a turn as the product streams it.
func (p *Product) chunks(t Turn) []string {
	var out []string
	event := func(v object) {
		b, _ := json.Marshal(v) // made of what can be encoded
		out = append(out, "data: "+string(b)+"\n\n")
	}
	delta := func(d object) { event(object{"choices": []object{{"index": 0, "delta": d}}}) }
	finish, usage := "stop", object{"prompt_tokens": 100, "completion_tokens": 10}
	if len(t.Calls) > 0 {
		finish = "tool_calls"
	}
	if t.Finish != "" {
		finish = t.Finish
	}
	thinking := "reasoning_content"
	switch p.name {
	case "azure":
		event(object{"choices": []object{}, "prompt_filter_results": []object{{"prompt_index": 0}}})
	case "openrouter":
		out = append(out, ": OPENROUTER PROCESSING\n\n", ": OPENROUTER PROCESSING\n\n")
		thinking = "reasoning"
	case "deepseek":
		out = append(out, ": keep-alive\n\n")
	case "llamacpp":
		delta(object{"role": "assistant", "content": nil})
	case "ollama", "groq", "vllm":
		thinking = "reasoning"
	}
	if t.Thinking != "" {
		half := len(t.Thinking) / 2
		for _, piece := range []string{t.Thinking[:half], t.Thinking[half:]} {
			switch p.name {
			case "mistral":
				delta(object{"content": []object{{"type": "thinking", "thinking": []object{{"type": "text", "text": piece}}}}})
			case "openrouter":
				delta(object{thinking: piece, "reasoning_details": []object{{"type": "reasoning.text", "index": 0, "text": piece, "signature": nil}}})
			default:
				delta(object{thinking: piece})
			}
		}
	}
	if t.Text != "" {
		delta(object{"content": t.Text})
	}
	for i, c := range t.Calls {
		f, call := object{"name": c.Name, "arguments": string(c.Args)}, object{"id": c.ID, "index": i, "type": "function"}
		call["function"] = f
		switch p.name {
		case "lmstudio":
			delete(call, "index")
		case "gemini":
			if i == 0 { // the first of an answer alone is signed
				call["extra_content"] = object{"google": object{"thought_signature": "c2lnbmVk"}}
			}
		case "groq":
			call["index"] = 0 // every call has the same one
		case "compatible":
			f["arguments"] = c.Args // JSON itself
		case "openai", "azure", "llamacpp", "vllm":
			f["arguments"] = ""
			delta(object{"tool_calls": []object{call}})
			for _, piece := range []string{string(c.Args[:1]), string(c.Args[1:])} {
				delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}})
			}
			continue
		}
		delta(object{"tool_calls": []object{call}})
	}
	end := object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": finish}}}
	switch p.name {
	case "vllm", "vllm without a parser":
		// It says either whatever the answer was.
		end = object{"choices": []object{{"index": 0, "delta": object{"tool_calls": []object{}}, "finish_reason": map[bool]string{true: "stop", false: "tool_calls"}[len(t.Calls) > 0]}}}
		event(end)
		event(object{"choices": []object{}, "usage": usage})
	case "groq":
		end["x_groq"] = object{"usage": usage}
		event(end)
	case "deepseek":
		usage["prompt_cache_hit_tokens"] = 64
		end["usage"] = usage
		event(end)
	case "llamacpp":
		end["timings"] = object{"prompt_n": 36, "cache_n": 64, "predicted_n": 10}
		event(end)
	case "mistral":
		end["usage"] = usage
		event(end)
	default:
		event(end)
		event(object{"choices": []object{}, "usage": usage})
	}
	return out
}
