package transport

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// maxRaw bounds the size that is kept of unreadable arguments.
const maxRaw = 64 << 10

// numbered is a tool's name as the id of a call, which servers of Kimi put in its place.
var numbered = lazyregexp.New(`^functions\.(.+):\d+$`)

// Tidy makes calls fit for a transcript: every ID is there and unique in the conversation,
// arguments are valid JSON or the call is marked Malformed. cut reports that the answer ran out of
// room.
func Tidy(calls []llm.Call, before []llm.Message, cut bool) []llm.Call {
	n := 0
	for i := range before {
		n += len(before[i].Calls)
	}
	taken := func(id string, upto int) bool {
		for _, c := range calls[:upto] {
			if c.ID == id {
				return true
			}
		}
		for i := range before {
			for _, c := range before[i].Calls {
				if c.ID == id {
					return true
				}
			}
		}
		return false
	}
	for i := range calls {
		c := &calls[i]
		if m := numbered.FindStringSubmatch(c.Name); m != nil {
			c.Name = m[1]
		}
		arguments(c, cut && i == len(calls)-1)
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", n+i+1)
		}
		for id, k := c.ID, 2; taken(c.ID, i); k++ {
			c.ID = fmt.Sprintf("%s_%d", id, k)
		}
	}
	return calls
}

func arguments(c *llm.Call, cut bool) {
	raw := bare(strings.TrimSpace(string(c.Args)))
	malformed := func(why string) {
		c.Malformed = why
		c.Args = json.RawMessage("{}")
		c.Raw = raw
		if len(raw) > maxRaw {
			c.Raw = strings.ToValidUTF8(raw[:maxRaw], "")
		}
	}
	var err error
	if !json.Valid([]byte(raw)) {
		var any json.RawMessage
		err = json.Unmarshal([]byte(raw), &any)
	}
	switch {
	case cut && (raw == "" || err != nil):
		malformed("the answer reached its token limit before the arguments were complete; send fewer or shorter arguments")
	case strings.TrimSpace(c.Name) == "":
		malformed("the call names no tool")
	case raw == "" || raw == "null":
		c.Args = json.RawMessage("{}")
	case err != nil:
		malformed("the arguments are not valid JSON: " + err.Error())
	default:
		c.Args = json.RawMessage(raw)
		// Some models write the object into a string.
		var s string
		if raw[0] == '"' && json.Unmarshal([]byte(raw), &s) == nil {
			if s = strings.TrimSpace(s); strings.HasPrefix(s, "{") && json.Valid([]byte(s)) {
				c.Args = json.RawMessage(s)
			}
		}
	}
}

// marks matches the remains that a server's parser may leave behind arguments: tokens and tags
// that end a call in the model's own form, and the fence around code.
var marks = lazyregexp.New("^(?:\\s|<\\|[^<>|\\s]{1,40}\\|>|</?[A-Za-z_:]{1,40}>|```)*$")

// bare returns arguments without marks around them. It leaves alone what is not one whole object
// with marks: anything else is for the model to write again.
func bare(raw string) string {
	const fence = "```"
	inside := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(raw, fence), "json"))
	if !strings.HasPrefix(raw, fence) {
		inside = raw
	}
	if !strings.HasPrefix(inside, "{") {
		return raw
	}
	dec, v := json.NewDecoder(strings.NewReader(inside)), json.RawMessage(nil)
	if dec.Decode(&v) != nil || !marks.MatchString(inside[dec.InputOffset():]) {
		return raw
	}
	return string(v)
}

// Object returns args if any server can take them as a call's arguments in
// the history, else "{}": one call that a strict server cannot read would
// make it refuse the whole conversation from then on.
func Object(args json.RawMessage) json.RawMessage {
	const depth = 200
	if ordinary(args) && deep(args) <= depth {
		return args
	}
	var m map[string]any
	if json.Unmarshal(args, &m) != nil || m == nil || deep(args) > depth {
		return json.RawMessage("{}")
	}
	return args
}

// ordinary reports whether args are an object without a number that may be
// too large to be read.
func ordinary(args json.RawMessage) bool {
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return false
	}
	quoted, digits := false, 0
	for i := 0; i < len(args); i++ {
		c := args[i]
		switch {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			quoted = !quoted
		case quoted:
		case c >= '0' && c <= '9':
			if digits++; digits > 100 {
				return false
			}
			continue
		case digits > 0 && (c == 'e' || c == 'E'):
			return false
		}
		digits = 0
	}
	return true
}

// deep returns the nesting depth of valid JSON.
func deep(b []byte) int {
	now, most, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}
