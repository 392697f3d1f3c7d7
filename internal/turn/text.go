package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// GenerateText asks a model whose calls are read from its answer's text.
func GenerateText(ctx context.Context, model llm.Model, req *llm.Request, offered []llm.ToolSpec, show func(llm.Delta)) (*llm.Response, error) {
	o := textcall.Options{Family: textcall.Detect("", req.Model, ""), Offered: offered}
	reader := textcall.New(o)
	resp, err := model.Generate(ctx, req, func(d llm.Delta) {
		now := reader.Write(d.Text)
		now.Thinking, now.Waiting = d.Thinking+now.Thinking, d.Waiting
		if now != (llm.Delta{}) {
			show(now)
		}
	})
	if err != nil {
		return nil, err
	}
	o.Cut = resp.Stop == llm.StopLength
	found := textcall.Read(resp.Message.Text, o)
	resp.Message.Text = found.Text
	if resp.Message.Thinking == "" {
		resp.Message.Thinking = found.Thinking
	}
	resp.Notes, resp.Repairs = append(resp.Notes, found.Notes...), found.Notes
	switch {
	case len(found.Calls) > 0:
		resp.Message.Calls = found.Calls
		if resp.Stop != llm.StopLength {
			resp.Stop = llm.StopCalls
		}
	case found.UnreadCall != "":
		resp.UnreadCall, resp.Notes = found.UnreadCall, append(resp.Notes, found.UnreadCall)
	}
	return resp, nil
}

const textInstructions = `To call a tool, write on lines of their own:
<tool_call>{"name": "tool_name", "arguments": {"key": "value"}}</tool_call>
You may write several. Stop after them: the results come with the next message.`

// PromptSection is the part of the system prompt that describes the tools and how to
// call them. A window it would take too much of gets the short form; what a
// tool wants is then in its refusal of wrong arguments.
func PromptSection(all *tools.Set, specs []llm.ToolSpec, way Mode, window int) (string, error) {
	var names []string
	brief := map[string]bool{}
	for _, t := range specs {
		names = append(names, t.Name)
		if t.Brief {
			brief[t.Name] = true
		}
	}
	set, err := all.Only(names...)
	if err != nil {
		return "", err
	}
	const share, bytes = 4, 3                                           // a quarter of the window, three bytes a token
	text := set.Describe(func(name string) bool { return brief[name] }) // as the task has settled
	how := textInstructions
	if way == Constrained {
		text, how = named(specs), constrainedInstructions
	}
	if len(brief) == 0 && window > 0 && len(text) > window*bytes/share {
		text = set.Describe(func(string) bool { return true })
	}
	return text + "\n" + how, nil
}

// named lists the tools with what a native call has of them beside their arguments, which are
// in the form.
func named(specs []llm.ToolSpec) string {
	var b strings.Builder
	for _, spec := range specs {
		fmt.Fprintf(&b, "- %s: %s\n", spec.Name, strings.Join(strings.Fields(spec.Description), " "))
	}
	return b.String()
}

// AsText puts the calls and results of m into its text, in the form in which
// the model is asked to write them. What it wrote in that form stays as it was.
func AsText(m llm.Message, way Mode) llm.Message {
	out := llm.Message{Role: m.Role, Text: m.Text, Images: m.Images}
	if way == Constrained && m.Role == llm.Assistant {
		if out.Text = m.Written; out.Text == "" {
			out.Text = inForm(m)
		}
		return out
	}
	for _, c := range m.Calls {
		b, err := json.Marshal(struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		}{c.Name, c.Args})
		if err == nil {
			out.Text = join(out.Text, fmt.Sprintf("<tool_call>%s</tool_call>", b))
		}
	}
	if m.Role == llm.Tool {
		out.Role = llm.User
		out.Text = fmt.Sprintf("<tool_response name=%q>\n%s\n</tool_response>", m.Name, m.Text)
	}
	return out
}
