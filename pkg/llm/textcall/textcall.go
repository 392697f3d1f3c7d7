// Package textcall finds a tool call that a server handed over as plain text,
// because a template, a model or a parser let it through.
//
// It is strict on purpose: an answer that talks about a call is not a call.
// It reads the Hermes form (<tool_call>{…}</tool_call>) and bare or fenced
// JSON; the formats of other model families are not its business.
package textcall

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

const (
	open  = "<tool_call>"
	close = "</tool_call>"
)

// A Found is an answer read again: what it said before the calls, what it
// thought, and the calls, without ids.
type Found struct {
	Text     string
	Thinking string
	Calls    []llm.Call
}

// Recover reads text as tool calls. It finds none unless all of text, besides
// thinking at its start and words before the first tag, are calls of offered
// tools. Text that stops inside a call is no call.
func Recover(text string, offered []llm.ToolSpec) (Found, bool) {
	rest, thinking, ok := think(strings.TrimSpace(text))
	if !ok {
		return Found{}, false
	}
	f := Found{Thinking: thinking}
	if i := strings.Index(rest, open); i >= 0 {
		f.Text = strings.TrimSpace(rest[:i])
		if f.Calls, ok = tagged(rest[i:]); !ok {
			return Found{}, false
		}
	} else if f.Calls, ok = objects(unfence(rest)); !ok {
		return Found{}, false
	}
	for _, c := range f.Calls {
		if !knows(offered, c.Name) {
			return Found{}, false
		}
	}
	return f, len(f.Calls) > 0
}

// think splits off thinking parts at the start. ok is false if one is open
// to the end.
func think(s string) (rest, thinking string, ok bool) {
	var parts []string
	for strings.HasPrefix(s, "<think>") {
		inside, after, closed := strings.Cut(s[len("<think>"):], "</think>")
		if !closed {
			return "", "", false
		}
		parts = append(parts, strings.TrimSpace(inside))
		s = strings.TrimSpace(after)
	}
	return s, strings.Join(parts, "\n"), true
}

// tagged reads calls in tags with nothing but space between and after them.
func tagged(s string) ([]llm.Call, bool) {
	var calls []llm.Call
	for s != "" {
		after, ok := strings.CutPrefix(s, open)
		if !ok {
			return nil, false
		}
		// Arguments may speak of tags too, so the JSON says where the call
		// ends, not the next closing tag.
		dec := json.NewDecoder(strings.NewReader(after))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return nil, false
		}
		s, ok = strings.CutPrefix(strings.TrimSpace(after[dec.InputOffset():]), close)
		// Small models forget the last closing tag.
		if !ok && s != "" {
			return nil, false
		}
		s = strings.TrimSpace(s)
		c, ok := call(raw)
		if !ok {
			return nil, false
		}
		calls = append(calls, c)
	}
	return calls, true
}

// unfence takes s out of one Markdown fence around all of it.
func unfence(s string) string {
	inside, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	if inside, ok = strings.CutSuffix(inside, "```"); !ok {
		return s
	}
	language, body, ok := strings.Cut(inside, "\n")
	switch strings.TrimSpace(language) {
	case "", "json", "tool_call":
		if ok && !strings.Contains(body, "```") {
			return strings.TrimSpace(body)
		}
	}
	return s
}

// objects reads one call, an array of calls, or calls one after the other.
func objects(s string) ([]llm.Call, bool) {
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(s))
	var calls []llm.Call
	for {
		var raw json.RawMessage
		switch err := dec.Decode(&raw); {
		case err == io.EOF:
			return calls, true
		case err != nil:
			return nil, false
		}
		list := []json.RawMessage{raw}
		if raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
			return nil, false
		}
		for _, r := range list {
			c, ok := call(r)
			if !ok {
				return nil, false
			}
			calls = append(calls, c)
		}
	}
}

// call reads an object of a name and arguments and nothing else.
func call(raw json.RawMessage) (llm.Call, bool) {
	var o struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
		Type       string          `json:"type"`
		ID         string          `json:"id"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&o) != nil || o.Name == "" {
		return llm.Call{}, false
	}
	args := o.Arguments
	if args == nil {
		args = o.Parameters
	}
	// Without arguments it is as likely to be an answer about a thing that
	// has a name.
	if args == nil || o.Arguments != nil && o.Parameters != nil {
		return llm.Call{}, false
	}
	var s string
	if json.Unmarshal(args, &s) == nil && args[0] == '"' {
		args = json.RawMessage(s)
	}
	if args = bytes.TrimSpace(args); len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return llm.Call{}, false
	}
	return llm.Call{ID: o.ID, Name: o.Name, Args: args}, true
}

func knows(offered []llm.ToolSpec, name string) bool {
	for _, t := range offered {
		if t.Name == name {
			return true
		}
	}
	return false
}
