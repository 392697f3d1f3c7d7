package textcall

import (
	"encoding/json"
	"strings"
)

// A shape is the part of a tool's schema that is needed to give types to values that a model wrote
// without.
type shape struct {
	Type       types            `json:"type"`
	Properties map[string]shape `json:"properties"`
	AnyOf      []shape          `json:"anyOf"`
	OneOf      []shape          `json:"oneOf"`
	AllOf      []shape          `json:"allOf"`
	Enum       []any            `json:"enum"`
	Const      any              `json:"const"`
	Required   []string         `json:"required"`
	Items      *shape           `json:"items"`
}

type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	var list []string
	_ = json.Unmarshal(b, &list) // a type that is neither is no type
	*t = list
	return nil
}

func (s *shape) UnmarshalJSON(b []byte) error {
	type plain shape
	if t := strings.TrimSpace(string(b)); !strings.HasPrefix(t, "{") {
		*s = shape{}
		return nil
	}
	return json.Unmarshal(b, (*plain)(s))
}

// typeSynonyms maps other names of types, which people write into schemas, to those of JSON Schema.
var typeSynonyms = map[string]string{"float": "number", "double": "number", "int": "integer", "bool": "boolean", "str": "string", "dict": "object", "list": "array"}

// allows collects the types that a value may have; none means any.
func (s shape) allows(into map[string]bool) {
	for _, t := range s.Type {
		if real, ok := typeSynonyms[t]; ok {
			t = real
		}
		into[t] = true
	}
	for _, list := range [][]shape{s.AnyOf, s.OneOf, s.AllOf} {
		for _, kid := range list {
			kid.allows(into)
		}
	}
	if len(s.Type) > 0 {
		return
	}
	for _, v := range append(s.Enum, s.Const) {
		switch v.(type) {
		case string:
			into["string"] = true
		case float64:
			into["number"] = true
		case bool:
			into["boolean"] = true
		}
	}
}

// coerce gives text the type that the schema wants. What does not fit stays
// a string, for validation to complain about.
func (k *kit) coerce(tool, name, text string) *value {
	prop, known := k.shape(tool).Properties[name]
	return k.typed(prop, known, text)
}

func (k *kit) typed(prop shape, known bool, text string) *value {
	asText := &value{Kind: '"', Text: text}
	if !known {
		return asText
	}
	want := map[string]bool{}
	prop.allows(want)
	trimmed := strings.TrimSpace(text)
	if want["null"] && (trimmed == "null" || trimmed == "None") {
		return &value{Kind: 'n'}
	}
	if want["string"] {
		return asText
	}
	switch {
	case trimmed == "" && want["array"]:
		return &value{Kind: '['}
	case trimmed == "" && want["object"]:
		return &value{Kind: '{'}
	}
	v, fixed, err := parseLenient(trimmed)
	if err != nil || len(want) == 0 && fixed != 0 {
		switch lower := strings.ToLower(trimmed); {
		case want["boolean"] && (lower == "true" || lower == "false"):
			return &value{Kind: 't', Yes: lower == "true"}
		}
		return asText
	}
	kinds := map[byte][]string{'{': {"object"}, '[': {"array"}, '0': {"number", "integer"}, 't': {"boolean"}, 'n': {"null"}, '"': {"string"}}
	for _, t := range kinds[v.Kind] {
		if len(want) == 0 || want[t] {
			k.fixed |= fixed
			return v
		}
	}
	return asText
}

func (k *kit) shape(tool string) shape {
	if s, ok := k.shapes[tool]; ok {
		return s
	}
	var s shape
	for _, t := range k.Offered {
		if t.Name == tool && len(t.Input) > 0 {
			_ = json.Unmarshal(t.Input, &s) // a schema that cannot be read gives no types
		}
	}
	k.shapes[tool] = s
	return s
}
