package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/llm"
)

const constrainedInstructions = `Answer with one JSON object and nothing else. Its list has what comes next.
To call tools, in this order: {"next": [{"tool": "tool_name", "arguments": {"key": "value"}}]}
The results come with the next message.
When all is done: {"next": [{"answer": "what you have to say"}]}`

// maxNext bounds the list of an answer: a model that repeats itself would fill its room.
const maxNext = 16

// AnswerSchema returns the schema of a constrained answer: a list of calls of offered tools with
// their arguments, and of the final answer. The list is inside of an object because some servers
// want an object at the root. The same tools always give the same bytes. must leaves out the final
// answer.
func AnswerSchema(offered []llm.ToolSpec, output json.RawMessage, must bool) (json.RawMessage, error) {
	if len(output) == 0 {
		output = json.RawMessage(`{"type":"string"}`)
	}
	b := []byte(`{"type":"object","properties":{"next":{"type":"array","items":{"anyOf":[`)
	for i, t := range offered {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		input := t.Input
		if len(input) == 0 {
			input = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
		}
		b = fmt.Appendf(b, `{"type":"object","properties":{"tool":{"type":"string","const":%s},"arguments":%s},"required":["tool","arguments"]}`, name, input)
	}
	if len(offered) > 0 && !must {
		b = append(b, ',')
	}
	if len(offered) == 0 || !must {
		b = fmt.Appendf(b, `{"type":"object","properties":{"answer":%s},"required":["answer"]}`, output)
	}
	b = fmt.Appendf(b, `]},"minItems":1,"maxItems":%d}},"required":["next"],"additionalProperties":false}`, maxNext)
	if !json.Valid(b) {
		return nil, fmt.Errorf("the schema of the answer is not valid JSON: %.200s", b)
	}
	return b, nil
}

// constrainedForm converts an answer that the model gave in another mode to the constrained form.
func constrainedForm(m llm.Message) string {
	var list []string
	for _, c := range m.Calls {
		list = append(list, fmt.Sprintf(`{"tool":%s,"arguments":%s}`, jsontext.Quote(c.Name), c.Args))
	}
	if m.Text != "" || len(list) == 0 {
		value := m.Text
		if t := strings.TrimSpace(value); !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") || !json.Valid([]byte(value)) {
			value = string(jsontext.Quote(value))
		}
		list = append(list, `{"answer":`+value+`}`)
	}
	return `{"next":[` + strings.Join(list, ",") + `]}`
}

const (
	notConstrainedNote = "the server did not hold the model to the form of its answer"
	shorterPrompt      = "Your last answer was cut off because it was too long. Answer again in the same form, with one smaller step: write less at once."
	shorterNote        = "the answer reached its token limit within the form; it was asked for again, shorter"
)

// Overrun is the kind of the error of an answer held to a form that reached its token
// limit before it was complete.
const Overrun llm.ErrorKind = "overrun"

// GenerateConstrained asks for an answer in the form. An answer that ran out of room
// is asked for once more, shorter; if that is cut as well, the error is of
// kind [Overrun].
func GenerateConstrained(ctx context.Context, model llm.Model, req *llm.Request, form json.RawMessage, offered []llm.ToolSpec, typed bool, show func(llm.Delta)) (*llm.Response, string, error) {
	req.Output = form
	thought := func(d llm.Delta) {
		if d.Thinking != "" || d.Waiting != "" {
			show(llm.Delta{Thinking: d.Thinking, Waiting: d.Waiting})
		}
	}
	resp, err := model.Generate(ctx, req, thought)
	if err != nil {
		return nil, "", err
	}
	if _, ok := decide(resp.Message.Text, typed); !ok && resp.Stop == llm.StopLength {
		spent := resp.Usage
		again := *req
		again.History = nil // the extra message is not part of the transcript
		again.Messages = append(append([]llm.Message(nil), req.Messages...), llm.Message{Role: llm.User, Text: shorterPrompt})
		if resp, err = model.Generate(ctx, &again, thought); err != nil {
			return nil, "", err
		}
		resp.Usage = resp.Usage.Add(spent)
		resp.Notes = append(resp.Notes, shorterNote)
		if _, ok := decide(resp.Message.Text, typed); !ok && resp.Stop == llm.StopLength {
			return nil, "", &llm.Error{Kind: Overrun, Provider: "adroit",
				Message: "the model's answer reached its token limit twice while it was held to a form",
				Hint:    "allow longer answers with max_tokens, or use --calling text"}
		}
	}
	d, ok := decide(resp.Message.Text, typed)
	if !ok && resp.Stop != llm.StopLength {
		if form, note, read := textcall.Arguments(string(unfenced(resp.Message.Text))); read {
			if d, ok = decide(string(form), typed); ok {
				resp.Notes, resp.Repairs = append(resp.Notes, note), append(resp.Repairs, note)
			}
		}
	}
	if !ok {
		// The model may have called a tool in its own form.
		found := textcall.Read(resp.Message.Text, textcall.Options{Family: textcall.Detect("", req.Model, ""), Offered: offered, Cut: resp.Stop == llm.StopLength})
		called := len(found.Calls) > 0
		resp.Notes = append(resp.Notes, notConstrainedNote)
		resp.Message.Text = found.Text
		if called {
			resp.Message.Calls, resp.Stop = found.Calls, llm.StopCalls
			resp.Notes, resp.Repairs = append(resp.Notes, found.Notes...), found.Notes
		} else if found.UnreadCall != "" {
			resp.UnreadCall, resp.Notes = found.UnreadCall, append(resp.Notes, found.UnreadCall)
		}
		show(llm.Delta{Text: found.Text})
		return resp, "the answer was not in the form that was asked for", nil
	}
	resp.Message.Written = resp.Message.Text
	resp.Message.Text, resp.Message.Calls = d.text, nil
	if resp.Stop != llm.StopFilter {
		resp.Stop = llm.StopEnd
	}
	for i, call := range d.calls {
		call.ID = fmt.Sprintf("call_%d", i+1)
		for _, t := range offered {
			if t.Name == call.Name {
				call.Args = schema.Raise(t.Input, call.Args)
			}
		}
		resp.Message.Calls, resp.Stop = append(resp.Message.Calls, call), llm.StopCalls
	}
	show(llm.Delta{Text: d.text})
	return resp, "", nil
}

// A decision is the content of a constrained answer.
type decision struct {
	calls []llm.Call
	text  string
}

// A part is one member of the list of a constrained answer.
type part struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Answer    json.RawMessage `json:"answer"`
}

// parts is the list, or its only member without one.
type parts []part

// UnmarshalJSON reads both.
func (p *parts) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		b = slices.Concat([]byte("["), b, []byte("]"))
	}
	return json.Unmarshal(b, (*[]part)(p))
}

// decide reads an answer in the form. Some models write the objects one after the other.
func decide(text string, typed bool) (d decision, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(unfenced(text)))
	for {
		var said struct {
			Next parts `json:"next"`
		}
		if err := dec.Decode(&said); errors.Is(err, io.EOF) {
			return d, ok
		} else if err != nil || len(said.Next) == 0 {
			return decision{}, false
		}
		for _, n := range said.Next {
			switch {
			case n.Tool != "" && len(n.Arguments) == 0:
				d.calls = append(d.calls, llm.Call{Name: n.Tool, Args: json.RawMessage("{}")})
			case n.Tool != "":
				d.calls = append(d.calls, llm.Call{Name: n.Tool, Args: n.Arguments})
			case len(n.Answer) == 0:
				return decision{}, false
			default:
				var s string
				if typed || json.Unmarshal(n.Answer, &s) != nil {
					s = string(n.Answer)
				}
				d.text = join(d.text, s)
			}
			ok = true
		}
	}
}

// Conform brings a typed answer into the form that was asked for, as far as
// that does not change its meaning.
func Conform(output json.RawMessage, text string) json.RawMessage {
	full, err := FlatSchema(output)
	if err != nil {
		return json.RawMessage(text)
	}
	return schema.Raise(full, unfenced(text))
}

// unfenced returns the JSON in an answer that may stand in a fenced code block.
func unfenced(text string) []byte {
	b := bytes.TrimSpace([]byte(text))
	if rest, ok := bytes.CutPrefix(b, []byte("```")); ok {
		if _, body, ok := bytes.Cut(rest, []byte("\n")); ok {
			if body, ok := bytes.CutSuffix(bytes.TrimSpace(body), []byte("```")); ok {
				return bytes.TrimSpace(body)
			}
		}
	}
	return b
}
