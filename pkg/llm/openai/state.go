package openai

import (
	"bytes"
	"encoding/json"

	"github.com/adroit-run/adroit/internal/jsontext"
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

// state is what the server wants back with an answer, nil for nothing: only an
// answer with calls goes on in the same thought.
func (a *answer) state(calls int) *llm.ProviderState {
	d := &a.m.dialect
	s := &llm.ProviderState{Dialect: d.Name, Field: d.state}
	switch {
	case calls > 0 && d.state == "reasoning_content" && a.Thinking() != "":
		s.Value = jsontext.Quote(a.Thinking())
	case calls > 0 && d.state == "reasoning_details" && len(a.details) > 0:
		s.Value, _ = json.Marshal(a.details) // raw JSON, which was valid
	default:
		return nil
	}
	return s
}
