package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/internal/llm/textcall"
	"github.com/adroit-run/adroit/internal/llm/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// unbound is the note on an answer that is no JSON although a schema was sent
// for it: models that think are sometimes not held to it.
const unbound = "the server did not hold the model to the output schema"

// A line is one line of an answer. Arguments stay as they came: the library's
// type rounds large numbers and refuses what is no object.
type line struct {
	api.ChatResponse
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
	Cached transport.Count `json:"prompt_eval_cached_count"`
}

// answer collects the lines of an answer.
type answer struct {
	end    *transport.Endpoint
	req    *llm.Request
	emit   func(llm.Delta)
	window int // that the model was loaded with, 0 if unknown
	// unopened says that the prompt opened the thought of the answer.
	unopened bool
	sent     int

	reader         *textcall.Reader
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
		if err := a.end.ErrorIn(raw); err != nil {
			return err
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
		a.add(&l)
		if l.Done {
			a.last = l
			return nil
		}
	}
}

func (a *answer) add(l *line) {
	a.text.WriteString(l.Message.Content)
	a.thinking.WriteString(l.Message.Thinking)
	d := a.reader.Write(l.Message.Content)
	d.Thinking = l.Message.Thinking + d.Thinking
	a.show(d)
	for _, t := range l.Message.ToolCalls {
		a.calls = append(a.calls, llm.Call{ID: t.ID, Name: t.Function.Name, Args: t.Function.Arguments})
	}
}

func (a *answer) show(d llm.Delta) {
	if a.emit != nil && d != (llm.Delta{}) {
		a.emit(d)
	}
}

// had is how far the answer got, for errors.
func (a *answer) had() string {
	return fmt.Sprintf("%d bytes of text and %d calls", a.text.Len()+a.thinking.Len(), len(a.calls))
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	cut := a.last.DoneReason == "length"
	if err := a.silentCut(); err != nil {
		return nil, err
	}
	found, rest := a.reader.Close(cut)
	a.show(rest)
	a.unopened = found.Unopened
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: transport.Join(a.thinking.String(), found.Thinking)},
		Stop:    llm.StopEnd,
		Model:   a.last.Model,
		Notes:   a.notes,
	}
	received := a.text.Len() + a.thinking.Len()
	for _, c := range a.calls {
		received += len(c.Name) + len(c.Args)
	}
	calls := a.calls
	switch {
	case len(calls) > 0 || len(a.req.Tools) == 0:
	case len(found.Calls) > 0:
		calls = found.Calls
		r.Notes = append(append(r.Notes, "the server returned a tool call as text; it was read from there"), found.Notes...)
		r.Repairs = found.Notes
	case a.last.EvalCount > 0 && strings.TrimSpace(found.Text) == "" && r.Message.Thinking == "":
		r.Message.Text = ""
		r.Notes = append(r.Notes, llm.DroppedCall)
	case found.UnreadCall != "":
		r.UnreadCall, r.Notes = found.UnreadCall, append(r.Notes, found.UnreadCall)
	}
	// The server hands over calls whole, so none of them is cut; what was
	// read from text says so itself.
	r.Message.Calls = transport.Tidy(calls, a.req.Messages, false)
	switch {
	case cut:
		r.Stop = llm.StopLength
	case len(calls) > 0:
		r.Stop = llm.StopCalls
	}
	if len(a.req.Output) > 0 && len(a.req.Tools) == 0 && !cut && !json.Valid([]byte(r.Message.Text)) {
		r.Notes = append(r.Notes, unbound)
	}
	var note string
	if r.Usage, note = transport.Usage(llm.Usage{In: a.last.PromptEvalCount, Out: a.last.EvalCount, Cached: a.last.Cached.N}, a.sent, received); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}

// minBytesPerToken: with more bytes of a request than this for each token that
// the server counted, it truncated the prompt. Prose has four bytes a token,
// indented code up to eight.
const minBytesPerToken = 12

// silentCut detects a prompt that the server truncated, as servers do that do
// not know the truncate field.
func (a *answer) silentCut() error {
	window := a.window
	if window <= 0 || a.last.PromptEvalCount <= 0 {
		return nil
	}
	var why string
	switch in := a.last.PromptEvalCount; {
	case in >= window-1 && a.sent > window:
		why = fmt.Sprintf("the prompt filled the window of %d tokens to the last one", window)
	case in < window && a.sent/minBytesPerToken > window:
		why = fmt.Sprintf("%d bytes were sent and the server read %d tokens of them, with a window of %d", a.sent, in, window)
	default:
		return nil
	}
	return a.end.Error(llm.TooLong, why+", so part of it was cut off without a word")
}
