package host

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

type describe func(s flow.Step, out json.RawMessage) (string, json.RawMessage)

// An eventCost is what the data of a step's event reports of its cost.
type eventCost struct {
	Model string               `json:"model,omitempty"` // of a compaction
	Usage *llm.Usage           `json:"usage,omitempty"`
	Spent []executor.ModelCost `json:"spent,omitempty"`
	Work  *llm.Work            `json:"work,omitempty"`
	Asks  bool                 `json:"asks,omitempty"`
	Cost  float64              `json:"cost_usd,omitempty"`
}

// withCost adds to the description of a step what it cost.
func (h Host) withCost(tell describe) describe {
	if h.Rate == nil {
		return tell
	}
	return func(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
		text, data := tell(s, out)
		var d eventCost
		if json.Unmarshal(data, &d) != nil {
			return text, data
		}
		usd := 0.0
		if d.Usage != nil {
			model := d.Model
			if model == "" {
				model = s.Name
			}
			if usd = h.Rate(model, *d.Usage); usd == 0 && d.Work != nil {
				usd = d.Work.CostUSD
			}
		}
		for _, x := range d.Spent {
			usd += h.Rate(x.Model, x.Usage)
		}
		var all map[string]json.RawMessage
		if usd == 0 || json.Unmarshal(data, &all) != nil {
			return text, data
		}
		all["cost_usd"], _ = json.Marshal(usd) // a finite number
		if more, err := json.Marshal(all); err == nil {
			data = more
		}
		return text, data
	}
}

// recountCost is the part of a step's description that has its cost.
func recountCost(tell describe) func(flow.Step, json.RawMessage) json.RawMessage {
	return func(s flow.Step, out json.RawMessage) json.RawMessage {
		_, data := tell(s, out)
		var d eventCost
		if json.Unmarshal(data, &d) != nil {
			return nil
		}
		short, err := json.Marshal(d)
		if err != nil {
			return nil
		}
		return short // {} too: a tool call that cost nothing is counted
	}
}

// estimateUsage is what a request of the executor may have cost at most when nobody
// has counted: a token of English has more than three bytes.
func estimateUsage(req *llm.Request, streamed int) llm.Usage {
	n := 0
	for i := range req.Messages {
		m := &req.Messages[i]
		n += len(m.Text) + 16
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args) + 16
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return llm.Usage{In: (n + 2) / 3, Out: (streamed + 2) / 3}
}
