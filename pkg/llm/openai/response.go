package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
	"github.com/adroit-run/adroit/pkg/llm/textcall"
)

// chunk is a piece of a stream or a whole answer. It is wider than
// go-openai's: both spellings of reasoning, arguments as an object, content
// in parts, and counts that are no numbers are all met in the wild.
type chunk struct {
	Model   string   `json:"model"`
	Object  string   `json:"object"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Groq    *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	// Timings are llama.cpp's, where usage is missing.
	Timings *struct {
		Prompt    transport.Count `json:"prompt_n"`
		Predicted transport.Count `json:"predicted_n"`
		Cached    transport.Count `json:"cache_n"`
	} `json:"timings"`
	Error json.RawMessage `json:"error"`
}

// usage has the names that servers give to counts.
type usage struct {
	Prompt     transport.Count `json:"prompt_tokens"`
	Completion transport.Count `json:"completion_tokens"`
	Input      transport.Count `json:"input_tokens"`
	Output     transport.Count `json:"output_tokens"`
	Hit        transport.Count `json:"prompt_cache_hit_tokens"`
	Details    *struct {
		Cached transport.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (a *answer) count(u *usage) {
	if u == nil {
		return
	}
	a.in, a.out = a.in.Larger(u.Prompt).Larger(u.Input), a.out.Larger(u.Completion).Larger(u.Output)
	a.cached = a.cached.Larger(u.Hit)
	if u.Details != nil {
		a.cached = a.cached.Larger(u.Details.Cached)
	}
}

type choice struct {
	Index   int                   `json:"index"`
	Delta   *part                 `json:"delta"`
	Message *part                 `json:"message"`
	Finish  goopenai.FinishReason `json:"finish_reason"`
}

type part struct {
	Content          words `json:"content"`
	Reasoning        words `json:"reasoning"`
	ReasoningContent words `json:"reasoning_content"`
	Thinking         words `json:"thinking"`
	Refusal          words `json:"refusal"`

	Details   []map[string]json.RawMessage `json:"reasoning_details"`
	ToolCalls []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments args   `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// words is text that may come as a string, as null, or as a list of parts,
// some of which may be thoughts.
type words struct{ text, thought string }

func (w *words) UnmarshalJSON(b []byte) error {
	var s string
	if transport.String(b, &s) {
		w.text = s
		return nil
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking words  `json:"thinking"`
	}
	if json.Unmarshal(b, &parts) == nil {
		for _, p := range parts {
			w.text += p.Text
			w.thought += p.Thinking.text + p.Thinking.thought
		}
	}
	return nil
}

// args is JSON inside a string, as it should be, or JSON itself.
type args string

func (a *args) UnmarshalJSON(b []byte) error {
	var s string
	if transport.String(b, &s) {
		*a = args(s)
		return nil
	}
	*a = args(b)
	return nil
}

// answer gathers what a server says.
type answer struct {
	end  *transport.Endpoint
	req  *llm.Request
	emit func(llm.Delta)
	sent int

	dialect *Dialect
	details details
	notes   []string

	reader          *textcall.Reader
	text, thinking  strings.Builder
	calls           transport.Calls
	list            []llm.Call // of an answer in one piece, where nothing is to be put together
	finish          goopenai.FinishReason
	model           string
	in, out, cached transport.Count
}

// stream reads server-sent events until the answer is complete.
func (a *answer) stream(reply *transport.Reply) error {
	events := transport.NewEvents(reply, reply.Watch.Touch)
	any := false
	for {
		ev, err := events.Next()
		switch {
		case err != nil && a.finish != "":
			return nil // only the tail is missing
		case err == io.EOF && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", reply.Type))
		case err != nil:
			return reply.Broken(err, a.had())
		}
		data := bytes.TrimSpace(ev.Data)
		if string(data) == "[DONE]" {
			break
		}
		if ev.Name == "error" {
			return a.end.Reported(data)
		}
		if len(data) == 0 {
			continue
		}
		any = true
		if err := a.take(data, events.Ended()); err != nil {
			return err
		}
		if a.finish != "" {
			reply.Watch.Finish()
		}
	}
	if a.finish == "" {
		return a.end.Error(llm.Cut, "the answer ended without a finish reason after "+a.had())
	}
	return nil
}

// whole reads an answer in one piece.
func (a *answer) whole(reply *transport.Reply) error {
	b, err := reply.All()
	if err != nil {
		return err
	}
	if b = bytes.TrimSpace(b); b[0] != '{' {
		return a.end.Error(llm.Garbled, "the answer is not JSON: "+string(b[:min(len(b), 200)]))
	}
	if err := a.take(b, false); err != nil {
		return err
	}
	if a.finish == "" {
		return a.end.Error(llm.Cut, "the answer came without a finish reason, with "+a.had())
	}
	return nil
}

// take adds one chunk. last says that the stream ended with it, so that a
// broken one was cut rather than garbled.
func (a *answer) take(data []byte, last bool) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if last || transport.Ends(err) {
			return a.end.Error(llm.Cut, "the answer ended inside a chunk after "+a.had())
		}
		return a.end.Error(llm.Garbled, "a chunk is not what the protocol says: "+err.Error())
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || c.Object == "error" {
		return a.end.Reported(data)
	}
	if c.Model != "" {
		a.model = c.Model
	}
	a.count(c.Usage)
	if c.Groq != nil {
		a.count(c.Groq.Usage)
	}
	if t := c.Timings; t != nil && c.Usage == nil && !a.in.Known {
		a.in, a.out, a.cached = t.Prompt, t.Predicted, t.Cached
		a.in.N += t.Cached.N // what was cached was not read again
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		if ch.Delta != nil {
			a.add(ch.Delta, false)
		}
		if ch.Message != nil {
			a.add(ch.Message, true)
		}
		if ch.Finish != "" && ch.Finish != goopenai.FinishReasonNull {
			a.finish = ch.Finish
		}
	}
	return nil
}

func (a *answer) add(p *part, whole bool) {
	// A server that sends several spellings sends the same words each time.
	d := llm.Delta{Text: p.Content.text, Thinking: cmp.Or(p.Reasoning.text, p.ReasoningContent.text, p.Thinking.text, p.Content.thought)}
	if d.Text == "" {
		d.Text = p.Refusal.text
	}
	a.details.add(p.Details)
	a.text.WriteString(d.Text)
	a.thinking.WriteString(d.Thinking)
	shown := a.reader.Write(d.Text)
	shown.Thinking = d.Thinking + shown.Thinking
	a.show(shown)
	for _, t := range p.ToolCalls {
		if whole {
			a.list = append(a.list, llm.Call{ID: t.ID, Name: t.Function.Name, Args: json.RawMessage(t.Function.Arguments)})
			continue
		}
		a.calls.Add(t.Index, t.ID, t.Function.Name, string(t.Function.Arguments))
	}
}

func (a *answer) show(d llm.Delta) {
	if a.emit != nil && d != (llm.Delta{}) {
		a.emit(d)
	}
}

// had says in words how far the answer got.
func (a *answer) had() string {
	return fmt.Sprintf("%d bytes of text and %d unfinished calls", a.text.Len()+a.thinking.Len(), a.calls.Len()+len(a.list))
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	switch a.finish {
	case "error", "insufficient_system_resource", "abort", "aborted", "cancelled":
		return nil, a.end.Error(llm.Overloaded, fmt.Sprintf("the server gave up with finish reason %q after %s", a.finish, a.had()))
	}
	cut := slices.Contains([]goopenai.FinishReason{goopenai.FinishReasonLength, "model_length", "max_tokens", "MAX_TOKENS"}, a.finish)
	found, rest := a.reader.Close(cut)
	a.show(rest)
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: transport.Join(a.thinking.String(), found.Thinking)},
		Stop:    llm.StopEnd,
		Model:   a.model,
		Notes:   a.notes,
	}
	calls := append(a.calls.List(), a.list...)
	received := a.text.Len() + a.thinking.Len()
	for _, c := range calls {
		received += len(c.Name) + len(c.Args)
	}
	if len(calls) == 0 && len(a.req.Tools) > 0 {
		if a.thinking.Len() > 0 && strings.TrimSpace(found.Text) == "" && len(found.Calls) == 0 {
			// The server told the thinking apart and found nothing behind it: a
			// call that ends it was not closed off.
			if in := a.reader.Thought(a.thinking.String(), cut); len(in.Calls) > 0 {
				found, r.Message.Thinking = in, in.Thinking
			}
		}
		switch {
		case len(found.Calls) > 0:
			calls = found.Calls
			r.Notes = append(append(r.Notes, "the server returned a tool call as text; it was read from there"), found.Notes...)
			r.Repairs = found.Notes
		case found.UnreadCall != "":
			r.UnreadCall, r.Notes = found.UnreadCall, append(r.Notes, found.UnreadCall)
		}
	}
	r.Message.Calls = transport.Tidy(calls, a.req.Messages, cut)
	r.Message.State = a.echo(len(r.Message.Calls))
	switch {
	case a.finish == goopenai.FinishReasonContentFilter:
		// What a filter interrupted is not what the model meant to do.
		r.Stop, r.Message.Calls = llm.StopFilter, nil
	case cut:
		r.Stop = llm.StopLength
	case len(calls) > 0:
		r.Stop = llm.StopCalls
	}
	var note string
	if r.Usage, note = transport.Usage(a.in, a.out, a.cached, a.sent, received); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}
