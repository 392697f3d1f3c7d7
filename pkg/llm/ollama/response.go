package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
	"github.com/adroit-run/adroit/pkg/llm/textcall"
)

// Dropped is the note on an answer for which the model wrote something and
// the server passed on nothing: a call of an unknown tool, or one it could
// not parse. What was written cannot be had any more; telling the model helps.
const Dropped = "the server dropped a malformed tool call"

// line is one line of an answer. Arguments stay as they came.
type line struct {
	Model   string `json:"model"`
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done   bool            `json:"done"`
	Reason string          `json:"done_reason"`
	In     transport.Count `json:"prompt_eval_count"`
	Out    transport.Count `json:"eval_count"`
	Cached transport.Count `json:"prompt_eval_cached_count"`
	Error  json.RawMessage `json:"error"`
}

// answer gathers what the server says.
type answer struct {
	end  *transport.Endpoint
	req  *llm.Request
	emit func(llm.Delta)
	sent int

	text, thinking strings.Builder
	calls          []llm.Call
	last           line
	notes          []string
}

// read reads lines up to the one that says done. An answer in one piece is
// one such line.
func (a *answer) read(reply *transport.Reply) error {
	lines := transport.NewLines(reply, reply.Watch.Touch)
	any := false
	for {
		raw, err := lines.Next()
		switch {
		case err == io.EOF && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", reply.Type))
		case err == io.EOF:
			return a.end.Error(llm.Cut, "the answer ended before it was done, after "+a.had())
		case err != nil:
			return reply.Broken(err, a.had())
		}
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			start := string(raw[:min(len(raw), 200)])
			_, next := lines.Next()
			switch {
			case transport.Ends(err), any && next != nil:
				return a.end.Error(llm.Cut, "the answer ended inside a line after "+a.had())
			case !any:
				return a.end.Error(llm.Garbled, "the answer is not what the protocol says: "+start)
			}
			return a.end.Error(llm.Garbled, "a line is not what the protocol says: "+err.Error())
		}
		any = true
		if len(l.Error) > 0 && string(l.Error) != "null" {
			return a.end.Reported(raw)
		}
		a.add(&l)
		if l.Done {
			a.last = l
			return nil
		}
	}
}

func (a *answer) add(l *line) {
	d := llm.Delta{Text: l.Message.Content, Thinking: l.Message.Thinking}
	a.text.WriteString(d.Text)
	a.thinking.WriteString(d.Thinking)
	if a.emit != nil && d != (llm.Delta{}) {
		a.emit(d)
	}
	for _, t := range l.Message.ToolCalls {
		a.calls = append(a.calls, llm.Call{ID: t.ID, Name: t.Function.Name, Args: t.Function.Arguments})
	}
}

// had says in words how far the answer got.
func (a *answer) had() string {
	return fmt.Sprintf("%d bytes of text and %d calls", a.text.Len()+a.thinking.Len(), len(a.calls))
}

// response is the complete answer.
func (a *answer) response() *llm.Response {
	cut := a.last.Reason == "length"
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: a.text.String(), Thinking: a.thinking.String()},
		Stop:    llm.StopEnd,
		Model:   a.last.Model,
		Notes:   a.notes,
	}
	received := a.text.Len() + a.thinking.Len()
	for _, c := range a.calls {
		received += len(c.Name) + len(c.Args)
	}
	calls := a.calls
	if len(calls) == 0 && len(a.req.Tools) > 0 {
		f, ok := textcall.Recover(r.Message.Text, a.req.Tools)
		switch {
		case ok:
			calls, r.Message.Text = f.Calls, f.Text
			if r.Message.Thinking == "" {
				r.Message.Thinking = f.Thinking
			}
			r.Notes = append(r.Notes, "the server returned a tool call as text; it was read from there")
		case a.last.Out.N > 0 && strings.TrimSpace(r.Message.Text) == "" && r.Message.Thinking == "":
			r.Message.Text = ""
			r.Notes = append(r.Notes, Dropped)
		}
	}
	// The server hands over calls whole, so none of them is cut.
	r.Message.Calls = transport.Tidy(calls, a.req.Messages, false)
	switch {
	case cut:
		r.Stop = llm.StopLength
	case len(calls) > 0:
		r.Stop = llm.StopCalls
	}
	var note string
	if r.Usage, note = transport.Usage(a.last.In, a.last.Out, a.last.Cached, a.sent, received); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}
