// Package host performs the steps that the agent loop of pkg/executor asks for: it asks models,
// runs tools under permissions, compacts conversations, reads attachments and copies work trees.
// Everything that does I/O for the loop is here.
//
//	mux := host.Guard(host.Serve(host.Host{Models: models, Tools: set, Env: env, Blobs: blobs}), redactor)
//
// It decides nothing about the course of a job: that is left to the loop, which is replayed and
// cannot see files, clocks or the network.
package host

import (
	"encoding/json"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

func describeModel(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
	var a struct {
		turn.ModelResponse
		Message struct { // of its calls the names only
			Text  string                  `json:"text"`
			Calls []struct{ Name string } `json:"calls"`
		} `json:"message"`
	}
	if json.Unmarshal(out, &a) != nil {
		return "", nil
	}
	var calls []string
	for _, c := range a.Message.Calls {
		calls = append(calls, c.Name)
	}
	way, why := a.CallMode, a.ModeReason
	if way == turn.Native {
		way = "" // the usual
	}
	data, _ := json.Marshal(struct {
		Calling turn.Mode            `json:"calling,omitempty"`
		Calls   []string             `json:"calls"`
		Notes   []string             `json:"notes"`
		Stop    llm.Stop             `json:"stop"`
		Text    string               `json:"text"`
		Usage   llm.Usage            `json:"usage"`
		Why     string               `json:"why,omitempty"`
		Spent   []executor.ModelCost `json:"spent,omitempty"`
		Work    *llm.Work            `json:"work,omitempty"`
		Changed []string             `json:"changed,omitempty"`
	}{way, calls, a.Notes, a.Stop, a.Message.Text, a.Usage, why, a.ModelCosts, a.Work, a.Changed})
	return spelling.FirstLine(a.Message.Text), data
}

func describeTool(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
	var use struct { // not all of turn.ToolCall: rules and artifacts can be long
		Args json.RawMessage `json:"args"`
	}
	var r executor.ToolResult
	if json.Unmarshal(s.Input, &use) != nil || json.Unmarshal(out, &r) != nil {
		return "", nil
	}
	if r.Question != nil {
		data, _ := json.Marshal(map[string]any{"args": r.Question.Args, "asks": true})
		return "asks first", data
	}
	if q := r.UserQuestion; q != nil {
		data, _ := json.Marshal(map[string]any{"args": use.Args, "asks_user": q.Question})
		return "asks the user", data
	}
	if r.Unchecked != nil {
		data, _ := json.Marshal(map[string]any{"args": use.Args, "asks": true})
		return "is checked first", data
	}
	text := r.Summary
	if text == "" {
		text = spelling.FirstLine(r.Text)
	}
	data, _ := json.Marshal(struct {
		Args    json.RawMessage      `json:"args"`
		Failed  bool                 `json:"failed"`
		Refused bool                 `json:"refused,omitempty"`
		Sandbox string               `json:"sandbox,omitempty"`
		Spent   []executor.ModelCost `json:"spent,omitempty"`
		Text    string               `json:"text"`
		Diff    string               `json:"diff,omitempty"`
	}{use.Args, r.Failed, r.Refused, r.Sandbox, r.ModelCosts, turn.Excerpt(r.Text), r.Diff})
	return text, data
}

type describe func(s flow.Step, out json.RawMessage) (string, json.RawMessage)

// An eventCost is the part of a step's event that reports its cost.
type eventCost struct {
	Model string               `json:"model,omitempty"` // of a compaction
	Usage *llm.Usage           `json:"usage,omitempty"`
	Spent []executor.ModelCost `json:"spent,omitempty"`
	Work  *llm.Work            `json:"work,omitempty"`
	Asks  bool                 `json:"asks,omitempty"`
	Cost  float64              `json:"cost_usd,omitempty"`
}

// withCost adds the cost of a step to its description.
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

// recountCost returns the part of a step's description with its cost.
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

// estimateUsage returns an upper bound of the usage of a request whose server reported none: a
// token of English has more than three bytes.
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

// Serve returns the handlers of the steps that Loop asks for: "model", "tool"
// and "compact".
func Serve(h Host) flow.Mux {
	attempts := h.Attempts
	if attempts == 0 {
		attempts = 5
	}
	m := &models{Host: h, convs: map[string]*conversation{}, blind: map[string]string{}, asked: map[string]bool{}, calls: map[string]bool{}}
	return flow.Mux{
		turn.ModelStep: {Handler: m.serve, Timeout: max(h.ModelTimeout, turn.AgentTimeout), Attempts: attempts, Patience: h.Patience, Safe: repeatableModel, Describe: h.withCost(describeModel), Recount: recountCost(h.withCost(describeModel))},
		turn.ToolStep:  {Handler: h.tool, Timeout: 2 * time.Hour, Safe: h.repeatable, Settle: h.revertInterrupted, New: h.checkNew, Describe: h.withCost(describeTool), Recount: recountCost(h.withCost(describeTool))},

		turn.WorktreeStep: h.trees(),
		turn.CompactStep:  {Handler: m.compact, Timeout: h.ModelTimeout, Attempts: 2, Patience: h.Patience, Safe: flow.Always, Describe: h.withCost(describeCompact), Recount: recountCost(h.withCost(describeCompact))},
	}
}
