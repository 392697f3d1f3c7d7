package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A rule returns the error with which a product refuses a request; says is "" if it
// accepts.
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
	"mistral": {onlyFields("stream", "temperature", "max_tokens", "parallel_tool_calls", "response_format", "tools", "tool_choice"), nineCharIDs, mistralOrder, strictSchema},
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
	"ollama":                {objectArguments, noBooleanSchemas},
	"llamacpp":              {objectArguments},
	"vllm":                  {},
	"vllm without a parser": {noTools(400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`)},
	"without words":         {noTools(400, "E1723")},
	"without a status":      {noTools(500, "internal template failure")},
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

func noTools(status int, says string) rule {
	return func(a *Asked) (int, string) {
		if len(a.Tools) > 0 {
			return status, says
		}
		return 0, ""
	}
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

func nineCharIDs(a *Asked) (int, string) {
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

// faultless returns the fault that a strict server finds in a schema, "" if there is
// none.
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

// common has the rules of nearly every server: each call has its result, each result a
// text.
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
