// Package jsontext writes JSON for models and for people: without the escapes
// that encoding/json makes of <, > and &, which a model would repeat.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Marshal is [json.Marshal] without escapes for HTML. Values that escape themselves, with a
// MarshalJSON of their own, keep their escapes.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	b, err := Marshal(s)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return b
}

// Text returns a string without its quotes, and other JSON as it is.
func Text(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Spaced adds a blank after each colon and comma of JSON without blanks.
func Spaced(compact []byte) json.RawMessage {
	out := make(json.RawMessage, 0, len(compact)+len(compact)/8)
	quoted := false
	for i := 0; i < len(compact); i++ {
		ch := compact[i]
		out = append(out, ch)
		switch {
		case quoted && ch == '\\':
			i++
			out = append(out, compact[i])
		case ch == '"':
			quoted = !quoted
		case !quoted && (ch == ':' || ch == ','):
			out = append(out, ' ')
		}
	}
	return out
}
