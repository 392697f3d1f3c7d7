package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
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

// PromptSection returns the part of the system prompt that describes the tools and how to call
// them. If it would take too much of the window, it is the short form; the refusal of wrong
// arguments then describes what a tool wants.
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

// named lists the tools with the parts of a native definition besides the arguments, which are in
// the form.
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
			out.Text = constrainedForm(m)
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

// A Mode is a way to have a model call tools. Above all of them is the same
// loop.
type Mode string

const (
	// Auto takes the first way that works; the default.
	Auto Mode = "auto"
	// Native leaves it to the server: it describes the tools to the model
	// in the form it was trained for, and reads its calls.
	Native Mode = "native"
	// Constrained describes the tools in the prompt and has the server hold
	// each answer to a schema that allows one call or the final answer.
	Constrained Mode = "constrained"
	// Text describes the tools in the prompt and reads calls from the model's text.
	Text Mode = "text"
)

// Modes lists the valid values of Mode.
var Modes = []Mode{Auto, Native, Constrained, Text}

// Known reports whether m is one of [Modes].
func (m Mode) Known() bool { return slices.Contains(Modes, m) }

// Preference are tried in this order.
var Preference = []Mode{Native, Constrained, Text}

// A ModeFailure is a way that did not work out.
type ModeFailure struct {
	Mode Mode   `json:"way"`
	Why  string `json:"why"`
}

// Form describes to a model, in a few words, how it calls a tool.
func (m Mode) Form() string {
	switch m {
	case Text:
		return `as <tool_call>{"name": "tool_name", "arguments": {"key": "value"}}</tool_call> on a line of its own, with nothing behind it`
	case Constrained:
		return `as {"next": [{"tool": "tool_name", "arguments": {"key": "value"}}]} and nothing else`
	}
	return "through the interface for tools and not in the text of your answer"
}

// Meant returns the offered tool that an unknown name stands for.
func Meant(name string, offered []llm.ToolSpec) (string, bool) { return textcall.Meant(name, offered) }

// BareName strips from a tool's name what models add to it.
func BareName(name string) string { return textcall.BareName(name) }

// RepairArguments repairs, in place, arguments that are not quite JSON, where they have one
// meaning, and reports its changes. cut reports that the answer ran out of room: the missing part
// of its last call is not made up.
func RepairArguments(calls []llm.Call, cut bool) (notes []string) {
	for i := range calls {
		c := &calls[i]
		if c.Malformed == "" || c.Name == "" || c.Raw == "" || cut && i == len(calls)-1 {
			continue
		}
		if args, note, ok := textcall.Arguments(c.Raw); ok {
			c.Args, c.Malformed, c.Raw = args, "", ""
			notes = append(notes, note)
		}
	}
	return notes
}

// Synonyms returns the names that other programs have for tools.
func Synonyms() map[string]string { return textcall.Synonyms }

// MaxMalformed is the number of consecutive answers with malformed tool calls after which their
// mode counts as failed.
const MaxMalformed = 2

// FlatSchema converts an output schema to the form that servers accept: without references.
func FlatSchema(output json.RawMessage) (json.RawMessage, error) {
	if len(output) == 0 {
		return nil, nil
	}
	s, err := schema.Compile(output)
	if err != nil {
		return nil, fmt.Errorf("the output schema cannot be used: %w", err)
	}
	return s.JSON(), nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}
