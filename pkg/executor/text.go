package executor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/textcall"
	"github.com/adroit-run/adroit/pkg/tools"
)

// asText asks a model that has no native tools: the tools are described in
// the system prompt, calls and results are written out, and calls are read
// from the answer's text.
func asText(ctx context.Context, model llm.Model, all *tools.Set, req *llm.Request, show func(llm.Delta)) (*llm.Response, error) {
	plain := *req
	plain.Tools, plain.Wire, plain.Messages = nil, nil, nil
	var section string
	if len(req.Tools) > 0 {
		names := make([]string, len(req.Tools))
		for i, t := range req.Tools {
			names[i] = t.Name
		}
		set, err := all.Only(names...)
		if err != nil {
			return nil, err
		}
		section = "\n\n" + tools.Section(set, tools.Full) + "\n" + howToCall
	}
	for _, m := range req.Messages {
		if m.Role == llm.System {
			m.Text += section
			section = ""
		}
		plain.Messages = append(plain.Messages, written(m))
	}
	resp, err := model.Generate(ctx, &plain, show)
	if err != nil {
		return nil, err
	}
	if found, ok := textcall.Recover(resp.Message.Text, req.Tools); ok {
		resp.Message.Text, resp.Message.Calls, resp.Stop = found.Text, found.Calls, llm.StopCalls
	}
	return resp, nil
}

const howToCall = `To call a tool, write on lines of their own:
<tool_call>{"name": "tool_name", "arguments": {"key": "value"}}</tool_call>
You may write several. Stop after them: the results come with the next message.`

// written puts the calls and results of m into its text.
func written(m llm.Message) llm.Message {
	out := llm.Message{Role: m.Role, Text: m.Text}
	for _, c := range m.Calls {
		b, err := json.Marshal(struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		}{c.Name, c.Args})
		if err == nil {
			out.Text += fmt.Sprintf("\n<tool_call>%s</tool_call>", b)
		}
	}
	if m.Role == llm.Tool {
		out.Role = llm.User
		out.Text = fmt.Sprintf("<tool_response name=%q>\n%s\n</tool_response>", m.Name, m.Text)
	}
	return out
}
