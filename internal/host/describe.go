package host

import (
	"encoding/json"

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
	}{use.Args, r.Failed, r.Refused, r.Sandbox, r.ModelCosts, turn.Excerpt(r.Text)})
	return text, data
}
