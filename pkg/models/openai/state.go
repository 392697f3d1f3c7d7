package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/llm"
	goopenai "github.com/sashabaranov/go-openai"
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

// state returns the data that the server requires back with an answer, nil for none: only
// an answer with calls continues the same thought.
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

// answer collects the chunks of an answer.
type answer struct {
	*call
	*transport.Answer
	end     *transport.Endpoint
	details details
	finish  string
	refused bool             // it came, or some of it, in the field for refusals
	began   bool             // a piece of it was read
	other   []choice         // pieces of a choice with another index than 0, which may be the only one
	choice  transport.Scalar // its index, once it is the answer
	counted bool             // the last chunk had nothing but counts, as the last one has
}

// read reads a stream until the answer is complete.
func (a *answer) read(s *goopenai.ChatCompletionStream) error { return a.Missed(a.chunks(s)) }

func (a *answer) chunks(s *goopenai.ChatCompletionStream) error {
	for any := false; ; any = true {
		raw, err := s.RecvRaw()
		if err != nil {
			a.take()
		}
		var e *llm.Error
		switch {
		case errors.As(err, &e):
			return err
		case err != nil && a.finish != "":
			return nil // only the tail is missing
		case (err == io.EOF || errors.Is(err, errNotDone) && a.counted) && a.Complete():
			return nil // the end is the reason
		case errors.Is(err, errNotDone) && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", a.reply.Type))
		case err == io.EOF, errors.Is(err, errNotDone):
			return a.end.Error(llm.Cut, "the answer ended without a finish reason after "+a.Had())
		case err != nil:
			return a.reply.Broken(err, a.Had())
		}
		var c chunk
		if ok, err := a.Decode(raw, &c); err != nil {
			return err
		} else if !ok {
			continue
		}
		if form := c.foreign(); form != "" && !a.Complete() {
			return a.end.Foreign(form, "chat completions")
		}
		a.add(&c)
		if a.finish != "" {
			a.reply.Watch.Finish()
		}
	}
}

func (a *answer) add(c *chunk) {
	a.Model = cmp.Or(string(c.Model), a.Model)
	for _, u := range []*usage{c.Usage.V, c.Groq.V.Usage.V} {
		if u == nil {
			continue
		}
		// Servers that report usage more than once mean the largest.
		in := max(u.Prompt.N, u.Input.N)
		a.Usage.In, a.Usage.Out = max(a.Usage.In, in), max(a.Usage.Out, u.Completion.N, u.Output.N)
		a.Usage.Cached = max(a.Usage.Cached, u.Hit.N, u.Details.V.Cached.N)
		if a.m.dialect.thoughtsInTotal {
			a.Usage.Out = max(a.Usage.Out, u.Total.N-in)
		}
	}
	if c.Done != "" {
		a.Usage.In, a.Usage.Out = max(a.Usage.In, c.In.N), max(a.Usage.Out, c.Out.N)
	}
	if t := c.Timings.V; t != nil && c.Usage.V == nil {
		// What was cached was not read again.
		a.Usage.In, a.Usage.Out, a.Usage.Cached = max(a.Usage.In, t.Prompt.N+t.Cached.N), max(a.Usage.Out, t.Predicted.N), max(a.Usage.Cached, t.Cached.N)
	}
	a.counted = c.Usage.V != nil && len(c.Choices) == 0
	for _, ch := range c.choices() {
		switch {
		case ch.first() && a.choice == "":
			a.began, a.other = true, nil
			a.piece(&ch)
		case !a.began && (a.other == nil || a.other[0].Index == ch.Index):
			a.other = append(a.other, ch)
		}
	}
	if n := len(a.other); n > 0 && a.other[n-1].finish() != "" {
		a.take()
	}
}

// take makes the answer of the choice that there is, where the server has numbered it other than 0:
// only one was asked for.
func (a *answer) take() {
	for i := range a.other {
		a.began, a.choice = true, a.other[i].Index
		a.piece(&a.other[i])
	}
	a.other = nil
}

// piece takes a piece of the answer.
func (a *answer) piece(ch *choice) {
	finish := ch.finish()
	a.Chunk(finish != "")
	if d := ch.Delta.V; d != nil {
		a.details.add(d.Details.V)
		a.refused = a.refused || d.Refusal.Text != ""
		a.Add(d.texts())
		for _, k := range d.pieces() {
			a.Calls.Add(k)
		}
	}
	if m := ch.Message.V; m != nil {
		if len(a.details) == 0 {
			a.details.add(m.Details.V)
		}
		a.refused = a.refused || m.Refusal.Text != ""
		a.AddWhole(m.texts())
		a.Calls.AddWhole(m.pieces())
	}
	if ch.Delta.V == nil && ch.Message.V == nil {
		a.Add(ch.Text.Text, ch.Text.Thought)
	}
	a.finish = cmp.Or(finish, a.finish)
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	switch a.finish {
	case "error", "insufficient_system_resource", "abort", "aborted", "cancelled":
		return nil, a.end.Error(llm.Overloaded, fmt.Sprintf("the server gave up with finish reason %q after %s", a.finish, a.Had()))
	}
	cut := slices.Contains([]string{string(goopenai.FinishReasonLength), "model_length", "max_tokens", "MAX_TOKENS"}, a.finish)
	a.Sent = a.sent
	r := a.Response(cut)
	if err := a.Whole(r, a.finish == string(goopenai.FinishReasonToolCalls) || a.finish == string(goopenai.FinishReasonFunctionCall)); err != nil {
		return nil, err
	}
	r.Message.State = a.state(len(r.Message.Calls))
	if a.refused || a.finish == string(goopenai.FinishReasonContentFilter) {
		// The partial output of a filtered answer is not a call of the model.
		r.Stop, r.Message.Calls = llm.StopFilter, nil
	}
	return r, nil
}

// A chunk is a piece of an answer, or a whole answer, as servers send it: all
// spellings of reasoning, arguments as an object, content in parts, a message in place of a
// delta, and indexes, ids and counts of any type are met in the wild.
type chunk struct {
	Model   transport.Scalar          `json:"model"`
	Choices []choice                  `json:"choices"`
	Usage   transport.Lenient[*usage] `json:"usage"`
	Groq    transport.Lenient[struct {
		Usage transport.Lenient[*usage] `json:"usage"`
	}] `json:"x_groq"`
	native
	// What other protocols have.
	Type       transport.Scalar `json:"type"`
	Object     transport.Scalar `json:"object"`
	Content    json.RawMessage  `json:"content"`
	Candidates json.RawMessage  `json:"candidates"`
	// Timings are llama.cpp's, where usage is missing.
	Timings transport.Lenient[*struct {
		Prompt    transport.Count `json:"prompt_n"`
		Predicted transport.Count `json:"predicted_n"`
		Cached    transport.Count `json:"cache_n"`
	}] `json:"timings"`
}

// A choice is a piece of one answer.
type choice struct {
	Index   transport.Scalar         `json:"index"`
	Delta   transport.Lenient[*part] `json:"delta"`
	Message transport.Lenient[*part] `json:"message"`
	Text    transport.Text           `json:"text"` // of completions
	Finish  transport.Scalar         `json:"finish_reason"`
}

func (ch *choice) first() bool { return ch.Index == "" || ch.Index == "0" }

// finish returns the reason for the end of the answer, "" before it.
func (ch *choice) finish() string {
	if ch.Finish == transport.Scalar(goopenai.FinishReasonNull) {
		return ""
	}
	return string(ch.Finish)
}

// usage has the names that servers give to counts.
type usage struct {
	Prompt     transport.Count `json:"prompt_tokens"`
	Completion transport.Count `json:"completion_tokens"`
	Input      transport.Count `json:"input_tokens"`
	Output     transport.Count `json:"output_tokens"`
	Total      transport.Count `json:"total_tokens"`
	Hit        transport.Count `json:"prompt_cache_hit_tokens"`
	Details    transport.Lenient[struct {
		Cached transport.Count `json:"cached_tokens"`
	}] `json:"prompt_tokens_details"`
}

// part is a delta or a message.
type part struct {
	Content          transport.Text `json:"content"`
	Reasoning        transport.Text `json:"reasoning"`
	ReasoningContent transport.Text `json:"reasoning_content"`
	Thinking         transport.Text `json:"thinking"`
	Refusal          transport.Text `json:"refusal"`

	Details   transport.Lenient[[]map[string]json.RawMessage] `json:"reasoning_details"`
	ToolCalls transport.ToolCalls                             `json:"tool_calls"`
	// Function is the only call of an answer in the form before tool_calls.
	Function transport.Lenient[*transport.Function] `json:"function_call"`
}

// pieces are the calls of a delta or message.
func (p *part) pieces() (list []transport.Piece) {
	list = p.ToolCalls.Pieces()
	if f := p.Function.V; f != nil && len(p.ToolCalls) == 0 {
		list = append(list, transport.Piece{Index: "function_call", Name: string(f.Name), Args: string(f.Args)})
	}
	return list
}

// Calls reports whether there is a piece of a call.
func (c *chunk) Calls() bool {
	for _, ch := range c.choices() {
		for _, p := range []*part{ch.Delta.V, ch.Message.V} {
			if p != nil && len(p.pieces()) > 0 {
				return true
			}
		}
	}
	return false
}

// texts returns the text and the reasoning of the part. A server that sends several
// spellings of reasoning sends the same words in each.
func (p *part) texts() (said, thought string) {
	return cmp.Or(p.Content.Text, p.Refusal.Text), cmp.Or(p.Reasoning.Text, p.ReasoningContent.Text, p.Thinking.Text, p.Content.Thought)
}

// A native is a line of Ollama's own protocol, which servers and proxies send behind the path of
// chat completions, too.
type native struct {
	Message  transport.Lenient[*part] `json:"message"`
	Response transport.Text           `json:"response"`
	Done     transport.Scalar         `json:"done"`
	Reason   transport.Scalar         `json:"done_reason"`
	In       transport.Count          `json:"prompt_eval_count"`
	Out      transport.Count          `json:"eval_count"`
}

// choices are the choices of a chunk, or the line of Ollama's that it is.
func (c *chunk) choices() []choice {
	if c.Choices != nil || c.Done == "" {
		return c.Choices
	}
	ch := choice{Delta: c.Message, Text: c.Response}
	if c.Done == "true" {
		ch.Finish = cmp.Or(c.Reason, transport.Scalar(goopenai.FinishReasonStop))
	}
	return []choice{ch}
}

// foreign names the protocol that a chunk is of, "" if it may be one of ours.
func (c *chunk) foreign() string {
	switch {
	case c.Choices != nil || c.Done != "":
	case c.Type == "message_start" || c.Type == "message" && c.Content != nil:
		return "Anthropic's Messages API"
	case c.Object == "response" || strings.HasPrefix(string(c.Type), "response."):
		return "OpenAI's Responses API"
	case c.Candidates != nil:
		return "Gemini's own API"
	}
	return ""
}
