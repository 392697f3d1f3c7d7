package openai

import (
	"bytes"
	"encoding/json"
)

// loosen replaces properties and alternatives whose schema is `true` by the same thing spelled
// {}: Ollama refuses the request otherwise. Order and all else stay.
func loosen(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte("true")) {
		return schema
	}
	return walk(schema, false)
}

// walk copies a value; properties says that it holds schemas, by name or as
// alternatives, rather than being one.
func walk(value json.RawMessage, properties bool) json.RawMessage {
	if value = bytes.TrimSpace(value); len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return value
	}
	object := value[0] == '{'
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.Token() // the bracket
	out := []byte{value[0]}
	for dec.More() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		inside, data := false, false
		if object {
			key, err := dec.Token()
			if err != nil {
				return value
			}
			name, err := json.Marshal(key)
			if err != nil {
				return value
			}
			out = append(append(out, name...), ':')
			if !properties {
				inside = key == "properties" || key == "anyOf"
				data = key == "const" || key == "default" || key == "enum" || key == "examples"
			}
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return value // not JSON: encoding the request will say so
		}
		if properties && string(v) == "true" {
			v = json.RawMessage("{}")
		}
		if !data {
			v = walk(v, inside)
		}
		out = append(out, v...)
	}
	return append(out, value[len(value)-1])
}
