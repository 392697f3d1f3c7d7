package transport

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/llm/textcall"
	"github.com/adroit-run/adroit/pkg/llm"
)

// An Answer collects the pieces of an answer, shows them as they come, and
// reads calls and thinking that the server left in the text. Make it with
// [NewAnswer]. It is not safe for concurrent use.
type Answer struct {
	Calls Calls
	Model string    // as the server names it
	Usage llm.Usage // as the server reports it
	Sent  int       // bytes of the request
	Notes []string

	end            *Endpoint
	req            *llm.Request
	emit           func(llm.Delta)
	reader         *textcall.Reader
	text, thinking strings.Builder
}

// NewAnswer returns an answer to req. emit may be nil.
func NewAnswer(e *Endpoint, req *llm.Request, emit func(llm.Delta)) *Answer {
	return &Answer{end: e, req: req, emit: emit,
		reader: textcall.New(textcall.Options{Family: textcall.Detect("", req.Model, ""), Offered: req.Tools})}
}

// Add takes the next piece of text, of thinking, or of both.
func (a *Answer) Add(text, thinking string) {
	a.text.WriteString(text)
	a.thinking.WriteString(thinking)
	shown := a.reader.Write(text)
	shown.Thinking = thinking + shown.Thinking
	a.show(shown)
}

func (a *Answer) show(d llm.Delta) {
	if a.emit != nil && d != (llm.Delta{}) {
		a.emit(d)
	}
}

// Thinking is what came as thinking so far.
func (a *Answer) Thinking() string { return a.thinking.String() }

// Had is how far the answer got, for errors.
func (a *Answer) Had() string {
	return fmt.Sprintf("%d bytes of text and %d unfinished calls", a.text.Len()+a.thinking.Len(), a.Calls.Len())
}

// Response is the complete answer. cut says that it ran out of room.
func (a *Answer) Response(cut bool) *llm.Response {
	found, rest := a.reader.Close(cut)
	a.show(rest)
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: Join(a.thinking.String(), found.Thinking)},
		Stop:    llm.StopEnd,
		Model:   a.Model,
		Notes:   a.Notes,
	}
	calls := a.Calls.List()
	received := a.text.Len() + a.thinking.Len()
	for _, c := range calls {
		received += len(c.Name) + len(c.Args)
	}
	if len(calls) == 0 && len(a.req.Tools) > 0 {
		if a.thinking.Len() > 0 && strings.TrimSpace(found.Text) == "" && len(found.Calls) == 0 {
			// The server separated the thinking and found nothing behind it: a
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
	r.Message.Calls = Tidy(calls, a.req.Messages, cut)
	switch {
	case cut:
		r.Stop = llm.StopLength
	case len(calls) > 0:
		r.Stop = llm.StopCalls
	}
	var note string
	if r.Usage, note = Usage(a.Usage, a.Sent, received); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

// CallName makes a name that a model invented acceptable: OpenAI and Anthropic
// refuse a whole conversation for one name with a space in it.
func CallName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}
