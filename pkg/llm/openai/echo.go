package openai

import (
	"bytes"
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
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
					if transport.String(had[key], &a) && transport.String(v, &b) || had[key] == nil && transport.String(v, &b) {
						had[key] = transport.AppendString(nil, a+b)
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

// echo is what the server wants back with an answer, nil for nothing: only an
// answer with calls goes on in the same thought.
func (a *answer) echo(calls int) *llm.ProviderState {
	if calls == 0 {
		return nil
	}
	var value json.RawMessage
	switch a.dialect.Echo {
	case "reasoning_content":
		if a.thinking.Len() == 0 {
			return nil
		}
		value = transport.AppendString(nil, a.thinking.String())
	case "reasoning_details":
		if len(a.details) == 0 {
			return nil
		}
		b, err := json.Marshal(a.details)
		if err != nil {
			return nil
		}
		value = b
	default:
		return nil
	}
	return &llm.ProviderState{Dialect: a.dialect.Name, Field: a.dialect.Echo, Value: value}
}
