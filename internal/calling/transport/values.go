package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types below are parts of an answer as servers send them in any protocol: with another type
// than documented, in a list or without one.

// unquote returns the value of a string, "" for null, and whether b is one of them. Answers consist of
// thousands of short ones, most without escapes: json.Unmarshal allocates five times for each.
func unquote(b []byte) (s string, ok bool) {
	switch {
	case string(b) == "null":
		return "", true
	case len(b) < 2 || b[0] != '"':
		return "", false
	case bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b):
		return string(b[1 : len(b)-1]), true
	}
	return s, json.Unmarshal(b, &s) == nil
}

// Lenient is a value that counts as missing if it is of another type.
type Lenient[T any] struct{ V T }

// UnmarshalJSON never fails.
func (l *Lenient[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		l.V = *new(T)
		return nil
	}
	var v T
	if json.Unmarshal(b, &v) == nil {
		l.V = v
	}
	return nil
}

// Scalar is a string, or a number or truth in the same form, "" for null.
type Scalar string

// UnmarshalJSON never fails.
func (s *Scalar) UnmarshalJSON(b []byte) error {
	if text, ok := unquote(b); ok {
		if b[0] == '"' {
			*s = Scalar(strings.TrimSpace(text))
		}
		return nil
	}
	*s = Scalar(b)
	if f, err := strconv.ParseFloat(string(b), 64); err == nil {
		*s = Scalar(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return nil
}

// Text may come as a string, as null, as a part or as a list of parts, some of which may
// be thoughts.
type Text struct{ Text, Thought string }

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(b []byte) error {
	if text, ok := unquote(b); ok {
		if b[0] == '"' {
			t.Text = text
		}
		return nil
	}
	type piece struct {
		Text     string `json:"text"`
		Thinking Text   `json:"thinking"`
	}
	var parts []piece
	if bytes.HasPrefix(b, []byte("{")) {
		parts = make([]piece, 1)
		_ = json.Unmarshal(b, &parts[0]) // what is no part says nothing
	} else if json.Unmarshal(b, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		t.Text += p.Text
		t.Thought += p.Thinking.Text + p.Thinking.Thought
	}
	return nil
}

// Args are JSON inside a string, as it should be, or JSON itself.
type Args string

// UnmarshalJSON never fails.
func (a *Args) UnmarshalJSON(b []byte) error {
	if text, ok := unquote(b); !ok {
		*a = Args(b)
	} else if b[0] == '"' {
		*a = Args(text)
	}
	return nil
}

// A Function is the function of a call, with its arguments.
type Function struct {
	Index Scalar `json:"index"`
	Name  Scalar `json:"name"`
	Args  Args   `json:"arguments"`

	Parameters Args `json:"parameters"` // in their place
	Input      Args `json:"input"`
}

func (f Function) args() Args { return cmp.Or(f.Args, f.Parameters, f.Input) }

// ToolCalls is a list of calls, or of pieces of them, or the only element of one.
type ToolCalls []toolCall

type toolCall struct {
	ID       Scalar            `json:"id"`
	Function Lenient[Function] `json:"function"`
	Custom   Lenient[Function] `json:"custom"`
	Extra    json.RawMessage   `json:"extra_content"`
	flat                       // some servers leave out the object around it
}

type flat Function

// UnmarshalJSON never fails.
func (t *ToolCalls) UnmarshalJSON(b []byte) error {
	var one toolCall
	if json.Unmarshal(b, (*[]toolCall)(t)) != nil && json.Unmarshal(b, &one) == nil {
		*t = ToolCalls{one}
	}
	return nil
}

// Pieces converts the calls for [Calls].
func (t ToolCalls) Pieces() (list []Piece) {
	for _, c := range t {
		f, custom, bare := c.Function.V, c.Custom.V, Function(c.flat)
		p := Piece{Index: string(cmp.Or(bare.Index, f.Index)), ID: string(c.ID), Name: string(cmp.Or(f.Name, custom.Name, bare.Name)),
			Args: string(cmp.Or(f.args(), custom.args(), bare.args()))}
		if string(c.Extra) != "null" {
			p.Extra = c.Extra
		}
		list = append(list, p)
	}
	return list
}
