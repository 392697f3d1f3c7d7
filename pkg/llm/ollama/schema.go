package ollama

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/pkg/llm"
)

// tool describes a tool as far as the server can keep it. Its own type for a
// property knows type, description, enum, anyOf, items, properties and
// required; the rest of a JSON Schema would be lost on arrival, and `true` in
// place of a schema would be an error. So alternatives become anyOf, a
// constant becomes an enum of one, and bounds become words.
func tool(s llm.ToolSpec) (api.Tool, error) {
	t := api.Tool{Type: "function", Function: api.ToolFunction{Name: s.Name, Description: s.Description}}
	p := &t.Function.Parameters
	p.Type, p.Properties = "object", api.NewToolPropertiesMap()
	if len(s.Input) == 0 {
		return t, nil
	}
	var root schema
	if err := json.Unmarshal(s.Input, &root); err != nil {
		return t, err
	}
	p.Required = root.Required
	return t, properties(p.Properties, root.Properties)
}

// schema is what is read of a JSON Schema. true and false read as no
// restriction at all: a false property is one the tool will refuse.
type schema struct {
	Type        api.PropertyType  `json:"type"`
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Const       any               `json:"const"`
	Default     any               `json:"default"`
	Format      string            `json:"format"`
	Pattern     string            `json:"pattern"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
	AllOf       []json.RawMessage `json:"allOf"`
	Items       json.RawMessage   `json:"items"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`

	Minimum          *json.Number `json:"minimum"`
	Maximum          *json.Number `json:"maximum"`
	ExclusiveMinimum *json.Number `json:"exclusiveMinimum"`
	ExclusiveMaximum *json.Number `json:"exclusiveMaximum"`
	MinLength        *json.Number `json:"minLength"`
	MaxLength        *json.Number `json:"maxLength"`
	MinItems         *json.Number `json:"minItems"`
	MaxItems         *json.Number `json:"maxItems"`
}

func (s *schema) UnmarshalJSON(b []byte) error {
	if t := strings.TrimSpace(string(b)); t == "true" || t == "false" {
		*s = schema{}
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}

// properties copies the properties of an object in the order given.
func properties(into *api.ToolPropertiesMap, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("properties are no object: %s", raw)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		p, err := property(value)
		if err != nil {
			return fmt.Errorf("property %v: %w", name, err)
		}
		into.Set(name.(string), p)
	}
	return nil
}

func property(raw json.RawMessage) (api.ToolProperty, error) {
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return api.ToolProperty{}, err
	}
	p := api.ToolProperty{Type: s.Type, Enum: s.Enum, Required: s.Required}
	if s.Const != nil {
		p.Enum = []any{s.Const}
	}
	for _, list := range [][]json.RawMessage{s.AnyOf, s.OneOf} {
		for _, alternative := range list {
			a, err := property(alternative)
			if err != nil {
				return p, err
			}
			p.AnyOf = append(p.AnyOf, a)
		}
	}
	if len(s.AllOf) == 1 && len(p.Type) == 0 {
		inner, err := property(s.AllOf[0])
		if err != nil {
			return p, err
		}
		inner.Description = strings.TrimSpace(s.Description + " " + inner.Description)
		return inner, nil
	}
	// Below items the server keeps everything, except that it wants an object.
	if len(s.Items) > 0 && s.Items[0] == '{' {
		p.Items = s.Items
	} else if len(s.Items) > 0 {
		p.Items = json.RawMessage(`{}`)
	}
	if len(s.Properties) > 0 {
		p.Properties = api.NewToolPropertiesMap()
		if err := properties(p.Properties, s.Properties); err != nil {
			return p, err
		}
	}
	p.Description = s.words()
	return p, nil
}

// words is the description with the bounds added.
func (s *schema) words() string {
	var more []string
	number := func(words string, n *json.Number) {
		if n != nil {
			more = append(more, words+" "+n.String())
		}
	}
	number("at least", s.Minimum)
	number("more than", s.ExclusiveMinimum)
	number("at most", s.Maximum)
	number("less than", s.ExclusiveMaximum)
	number("characters at least", s.MinLength)
	number("characters at most", s.MaxLength)
	number("items at least", s.MinItems)
	number("items at most", s.MaxItems)
	if s.Format != "" {
		more = append(more, "format "+s.Format)
	}
	if s.Pattern != "" {
		more = append(more, "matching "+s.Pattern)
	}
	if s.Default != nil {
		if b, err := json.Marshal(s.Default); err == nil {
			more = append(more, "default "+string(b))
		}
	}
	if len(more) == 0 {
		return s.Description
	}
	return strings.TrimSpace(s.Description + " (" + strings.Join(more, ", ") + ")")
}
