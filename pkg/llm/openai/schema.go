package openai

import (
	"bytes"
	"encoding/json"
)

// loosen replaces properties whose schema is `true` by the same thing spelled
// {}: Ollama refuses the request otherwise. Order and all else stay.
func loosen(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte("true")) {
		return schema
	}
	return walk(schema, false)
}

// walk copies a value; properties says that it is an object of properties
// rather than a schema.
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
		inside := false
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
			inside = key == "properties" && !properties
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return value // not JSON: encoding the request will say so
		}
		if properties && string(v) == "true" {
			v = json.RawMessage("{}")
		}
		out = append(out, walk(v, inside)...)
	}
	return append(out, value[len(value)-1])
}
