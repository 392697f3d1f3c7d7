// Package jsontext writes JSON for models and for people: without the escapes
// that encoding/json makes of <, > and &, which a model would repeat.
package jsontext

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Names returns the names of an object's members in their order, each once, none of other JSON.
func Names(object json.RawMessage) (names []string) {
	seen := map[string]bool{}
	in := json.NewDecoder(bytes.NewReader(object))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for in.More() {
		name, err := in.Token()
		if err == nil {
			err = in.Decode(new(json.RawMessage))
		}
		if err != nil {
			return nil
		}
		if n := name.(string); !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
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

// Lines reads messages of JSON-RPC, one a line. It answers and skips a line that is not a
// message, so that the connection survives it and the client does not wait for ever.
type Lines struct {
	R      *bufio.Reader
	Max    int                // bytes of a message
	Check  func([]byte) error // what else is wrong with a message; may be nil
	Answer func([]byte) error // writes the answer to a line that is not one
}

// Next returns the next message with its line end, and nil for a line that has none.
func (l *Lines) Next() ([]byte, error) {
	var line []byte
	size := 0
	for more := true; more; {
		part, err := l.R.ReadSlice('\n')
		size += len(part)
		line = append(line, part[:min(len(part), max(0, l.Max-len(line)))]...)
		more = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && (!errors.Is(err, io.EOF) || size == 0) {
			return nil, err
		}
	}
	if size <= l.Max {
		line = bytes.TrimSpace(line)
	}
	if len(line) == 0 {
		return nil, nil
	}
	code, fault := l.fault(line, size)
	if fault == "" {
		return append(line, '\n'), nil
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": fault}}
	if id := rpcID(line); code != parseError && id != nil {
		answer["id"] = id
	}
	b, err := Marshal(answer)
	if err != nil {
		return nil, err
	}
	return nil, l.Answer(append(b, '\n'))
}

// Codes of JSON-RPC.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// fault returns why a line of so many bytes is not a message, if it is not.
func (l *Lines) fault(line []byte, size int) (int, string) {
	var fields map[string]json.RawMessage
	var method string
	switch {
	case size > l.Max:
		return invalidRequest, fmt.Sprintf("the message is longer than %d MiB", l.Max>>20)
	case !json.Valid(line):
		return parseError, "the line is not one JSON value"
	case json.Unmarshal(line, &fields) != nil || fields == nil:
		return invalidRequest, "the line is not one JSON object"
	case fields["method"] == nil && fields["result"] == nil && fields["error"] == nil:
		return invalidRequest, "the message has no method, no result and no error"
	case fields["method"] != nil && (json.Unmarshal(fields["method"], &method) != nil || method == ""):
		return invalidRequest, "the method is not a name"
	case fields["id"] != nil && string(fields["id"]) != "null" && rpcID(line) == nil:
		return invalidRequest, "the id is neither text nor a number"
	}
	if l.Check != nil {
		if err := l.Check(line); err != nil {
			return invalidRequest, err.Error()
		}
	}
	return 0, ""
}

// rpcID returns the id of a message, also of one that is cut off behind it; nil if that is
// neither text nor a number.
func rpcID(line []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var last json.RawMessage // of several, the last counts
	for d.More() {
		var value json.RawMessage
		key, err := d.Token()
		if err != nil || d.Decode(&value) != nil {
			break
		}
		if key == "id" {
			last = value
		}
	}
	if len(last) == 0 || bytes.ContainsRune([]byte("{[tfn"), rune(last[0])) {
		return nil
	}
	return last
}
