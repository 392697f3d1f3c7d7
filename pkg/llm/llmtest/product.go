package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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

// A rule is what a product refuses, "" for nothing.
type rule func(a *Asked) (status int, says string)

// products has the rules of each; every one also has those in common.
var products = map[string][]rule{
	"openai": {noNewField("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
		noNewField("temperature", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."),
		noOldField("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort"),
		onlyFields("stream", "stream_options", "temperature", "max_tokens", "max_completion_tokens", "parallel_tool_calls", "reasoning_effort", "response_format", "tools", "tool_choice"), strictSchema},
	"azure": {azure, noNewField("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), strictSchema},
	"openrouter": {strictSchema, func(a *Asked) (int, string) {
		for _, m := range a.Messages {
			if len(m.Calls) > 0 && m.Details == nil {
				return 400, "reasoning_details must be passed back with tool calls"
			}
		}
		return 0, ""
	}},
	"mistral": {onlyFields("stream", "temperature", "max_tokens", "parallel_tool_calls", "response_format", "tools", "tool_choice"), nineLetters, mistralOrder, strictSchema},
	"groq":    {notBoth("json_schema response format is not supported with tools"), onlyMessageFields("role", "content", "tool_calls", "tool_call_id", "name")},
	"deepseek": {func(a *Asked) (int, string) {
		if a.Schema != nil {
			return 400, "This response_format type is unavailable now"
		}
		if a.Body["response_format"] != nil && !strings.Contains(strings.ToLower(a.Text()), "json") {
			return 400, "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
		}
		for _, m := range a.Messages {
			if len(m.Calls) > 0 && m.Reasoning == nil {
				return 400, "Missing `reasoning_content` field in the assistant message"
			}
		}
		return 0, ""
	}},
	"gemini": {func(a *Asked) (int, string) {
		for _, m := range a.Messages {
			if len(m.Calls) > 0 && m.Calls[0].Extra.Google.Signature != "c2lnbmVk" {
				return 400, "Function call is missing a thought_signature in functionCall parts."
			}
		}
		return 0, ""
	}},
	"ollama":   {objectArguments, noBooleanSchemas},
	"llamacpp": {objectArguments},
	"vllm":     {},
	"vllm without a parser": {func(a *Asked) (int, string) {
		if len(a.Tools) > 0 {
			return 400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`
		}
		return 0, ""
	}},
	"lmstudio": {func(a *Asked) (int, string) {
		if f := a.Body["response_format"]; f != nil && a.Schema == nil {
			return 400, "'response_format.type' must be 'json_schema' or 'text'"
		}
		return 0, ""
	}},
	"compatible": {},
}

// newModel names models as products do that have newer and older ones.
func newModel(name string) bool {
	return strings.HasPrefix(name, "gpt-5") || strings.HasPrefix(name, "o3")
}

func noNewField(field, says string) rule {
	return func(a *Asked) (int, string) {
		if newModel(a.Model) && a.Body[field] != nil {
			return 400, says
		}
		return 0, ""
	}
}

func noOldField(field, says string) rule {
	return func(a *Asked) (int, string) {
		if !newModel(a.Model) && a.Body[field] != nil {
			return 400, says
		}
		return 0, ""
	}
}

func onlyFields(known ...string) rule {
	known = append(known, "model", "messages")
	return func(a *Asked) (int, string) {
		for field := range a.Body {
			if !slices.Contains(known, field) {
				return 422, fmt.Sprintf("Extra inputs are not permitted: body.%s", field)
			}
		}
		return 0, ""
	}
}

func onlyMessageFields(known ...string) rule {
	return func(a *Asked) (int, string) {
		var list []map[string]json.RawMessage
		json.Unmarshal(a.Body["messages"], &list)
		for i, m := range list {
			for field := range m {
				if !slices.Contains(known, field) {
					return 400, fmt.Sprintf("'messages.%d' : property '%s' is unsupported", i, field)
				}
			}
		}
		return 0, ""
	}
}

func notBoth(says string) rule {
	return func(a *Asked) (int, string) {
		if a.Schema != nil && len(a.Tools) > 0 {
			return 400, says
		}
		return 0, ""
	}
}

func azure(a *Asked) (int, string) {
	m := regexp.MustCompile(`^/openai/deployments/([^/]+)/chat/completions$`).FindStringSubmatch(a.Path)
	switch {
	case a.Header.Get("Api-Key") != Key || a.Header.Get("Authorization") != "":
		return 401, "Access denied due to invalid subscription key"
	case m == nil || m[1] != a.Model || !strings.HasPrefix(a.Query, "api-version=20"):
		return 404, "Resource not found"
	}
	return 0, ""
}

func nineLetters(a *Asked) (int, string) {
	id := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	for _, m := range a.Messages {
		ids := []string{}
		for _, c := range m.Calls {
			ids = append(ids, c.ID)
		}
		if m.Role == "tool" {
			ids = append(ids, m.CallID)
		}
		for _, v := range ids {
			if !id.MatchString(v) {
				return 400, fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", v)
			}
		}
	}
	return 0, ""
}

func mistralOrder(a *Asked) (int, string) {
	for i := 1; i < len(a.Messages); i++ {
		if a.Messages[i].Role == "user" && a.Messages[i-1].Role == "tool" {
			return 400, "Unexpected role 'user' after role 'tool'"
		}
	}
	if last := a.Messages[len(a.Messages)-1].Role; last != "user" && last != "tool" {
		return 400, "Expected last role User or Tool (or Assistant with prefix True) for serving but got " + last
	}
	return 0, ""
}

func objectArguments(a *Asked) (int, string) {
	for _, m := range a.Messages {
		for _, c := range m.Calls {
			var o map[string]any
			if json.Unmarshal([]byte(c.Function.Arguments), &o) != nil || o == nil {
				return 400, "invalid tool call arguments"
			}
		}
	}
	return 0, ""
}

func noBooleanSchemas(a *Asked) (int, string) {
	for _, t := range a.Tools {
		if strings.Contains(string(t.Function.Parameters), `:true`) {
			return 400, "json: cannot unmarshal bool into Go struct field ToolProperty"
		}
	}
	return 0, ""
}

// strictSchema holds a strict schema to what strict servers demand of it.
func strictSchema(a *Asked) (int, string) {
	for _, t := range a.Tools {
		var root any
		json.Unmarshal(t.Function.Parameters, &root)
		why := faultless(root)
		if o, ok := root.(map[string]any); !ok || o["type"] != "object" || o["anyOf"] != nil {
			why = "schema must be an object"
		}
		if t.Function.Strict && why != "" {
			return 400, "Invalid schema for function '" + t.Function.Name + "': " + why
		}
	}
	if a.Schema == nil {
		return 0, ""
	}
	var root any
	json.Unmarshal(a.Schema, &root)
	if o, ok := root.(map[string]any); !ok || o["type"] != "object" || o["anyOf"] != nil {
		return 400, "Invalid schema for response_format 'answer': schema must be an object"
	}
	if why := faultless(root); why != "" {
		return 400, "Invalid schema for response_format 'answer': " + why
	}
	return 0, ""
}

// faultless says what a strict server finds wrong with a schema.
func faultless(v any) string {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprintf("%v is not a schema", v)
	}
	for _, key := range []string{"oneOf", "allOf", "not", "if", "patternProperties", "$ref", "default", "minLength", "maxLength", "uniqueItems"} {
		if _, ok := s[key]; ok {
			return "'" + key + "' is not permitted"
		}
	}
	props, ok := s["properties"].(map[string]any)
	if ok || strings.Contains(fmt.Sprint(s["type"]), "object") {
		required, _ := s["required"].([]any)
		if len(required) > len(props) {
			return "'required' has a name that is no property"
		}
		if s["additionalProperties"] != false {
			return "'additionalProperties' is required to be supplied and to be false"
		}
		for name, p := range props {
			if !slices.Contains(required, any(name)) {
				return "'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'"
			}
			if why := faultless(p); why != "" {
				return why
			}
		}
	}
	for _, kid := range append(list(s["anyOf"]), list(s["items"])...) {
		if why := faultless(kid); why != "" {
			return why
		}
	}
	return ""
}

func list(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		return []any{v}
	}
	return nil
}

// common is what nearly every server demands: each call has its result, each
// result a text.
func common(a *Asked) (int, string) {
	open := map[string]bool{}
	for i, m := range a.Messages {
		if m.Content == nil || *m.Content == "" && m.Role == "tool" {
			return 400, fmt.Sprintf("messages[%d]: content is missing", i)
		}
		if m.Role == "tool" {
			if !open[m.CallID] {
				return 400, fmt.Sprintf("messages[%d]: no call has the id %q", i, m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			return 400, fmt.Sprintf("messages[%d]: a call has no result", i)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	return 0, ""
}

func (p *Product) serve(w http.ResponseWriter, r *http.Request) {
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
