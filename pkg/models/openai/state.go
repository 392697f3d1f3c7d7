package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/llm"
)

// details puts reasoning_details together, which come in pieces: what has the
// same type and index is one.
type details []map[string]json.RawMessage

func (d *details) add(pieces []map[string]json.RawMessage) {
next:
	for _, p := range pieces {
		for _, had := range *d {
			if p["index"] == nil || !bytes.Equal(had["index"], p["index"]) || !bytes.Equal(had["type"], p["type"]) {
				continue
			}
			for key, v := range p {
				switch key {
				case "text", "summary", "data":
					var a, b string
					if (had[key] == nil || json.Unmarshal(had[key], &a) == nil) && json.Unmarshal(v, &b) == nil {
						had[key] = jsontext.Quote(a + b)
					}
				default:
					if string(v) != "null" {
						had[key] = v
					}
				}
			}
			continue next
		}
		*d = append(*d, p)
	}
}

// extraContent is the field of a call in which Gemini signs its thought. A
// conversation in which a signature is missing is refused.
const extraContent = "extra_content"

// signCalls puts what came with calls back into an encoded message.
func signCalls(message, signed json.RawMessage) (json.RawMessage, error) {
	var fields, extra map[string]json.RawMessage
	var calls []map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(message, &fields), json.Unmarshal(fields["tool_calls"], &calls), json.Unmarshal(signed, &extra)); err != nil {
		return nil, err
	}
	for i := range calls {
		if x, ok := extra[strconv.Itoa(i)]; ok {
			calls[i][extraContent] = x
		}
	}
	var err error
	if fields["tool_calls"], err = json.Marshal(calls); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// reasoningContent is the field in which several servers send reasoning and want it back. It is
// kept for those too of which that is not known: the first refusal shows it.
const reasoningContent = "reasoning_content"

// state is what the server wants back with an answer, nil for nothing: only an
// answer with calls goes on in the same thought.
func (a *answer) state(calls int) *llm.ProviderState {
	d := &a.m.dialect
	s := &llm.ProviderState{Dialect: d.Name, Field: d.state}
	switch {
	case calls > 0 && (d.state == reasoningContent || d.state == "") && a.Thinking() != "":
		s.Field, s.Value = reasoningContent, jsontext.Quote(a.Thinking())
	case calls > 0 && d.state == "reasoning_details" && len(a.details) > 0:
		s.Value, _ = json.Marshal(a.details) // raw JSON, which was valid
	case calls > 0 && d.state == extraContent && len(a.Calls.Extra()) > 0:
		s.Value, _ = json.Marshal(a.Calls.Extra())
	default:
		return nil
	}
	return s
}
