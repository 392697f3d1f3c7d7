package transport

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/textcall"
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
	// Unopened is whether the prompt turned out to have opened the thought of the answer.
	Unopened bool

	end            *Endpoint
	req            *llm.Request
	emit           func(llm.Delta)
	reader         *textcall.Reader
	text, thinking text
	missed         error // of a piece that was passed over
}

// NewAnswer returns an answer to req. emit may be nil; opened is the end tag of a thought that
// the prompt has opened already, "" for none.
func NewAnswer(e *Endpoint, req *llm.Request, emit func(llm.Delta), opened string) *Answer {
	return &Answer{end: e, req: req, emit: emit,
		reader: textcall.New(textcall.Options{Family: textcall.Detect("", req.Model, ""), Offered: req.Tools, Opened: opened})}
}

// Chunk begins a chunk of the answer. last is whether the server says in it that the answer
// ends: what comes from then on repeats what is there already.
func (a *Answer) Chunk(last bool) {
	switch {
	case a.Calls.phase != going:
		a.Calls.phase = ended
	case last:
		a.Calls.phase = ending
	}
}

// Add takes the next piece of text, of thinking, or of both.
func (a *Answer) Add(text, thinking string) {
	a.write(a.text.add(text, a.Calls.phase), a.thinking.add(thinking, a.Calls.phase))
}

// AddWhole takes the text and the thinking of a message that holds all that came so far,
// or a part of it.
func (a *Answer) AddWhole(text, thinking string) {
	a.write(a.text.addWhole(text), a.thinking.addWhole(thinking))
}

func (a *Answer) write(text, thinking string) {
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
func (a *Answer) Thinking() string { return a.thinking.all.String() }

// Complete reports whether the answer can be whole although nothing said why it ended: it
// has a text or calls, and no call waits for more.
func (a *Answer) Complete() bool {
	return (strings.TrimSpace(a.text.all.String()) != "" || a.Calls.Len() > 0) && a.Calls.complete()
}

// Had is how far the answer got, for errors.
func (a *Answer) Had() string {
	return fmt.Sprintf("%d bytes of text and %d unfinished calls", a.text.all.Len()+a.thinking.all.Len(), a.Calls.Len())
}

// Close ends the text and returns what was read in it. cut says that it ran out of room.
func (a *Answer) Close(cut bool) textcall.Found {
	a.write(a.text.close(), a.thinking.close())
	found, rest := a.reader.Close(cut)
	a.show(rest)
	a.Unopened = found.Unopened
	return found
}

// Received is the size of what came so far.
func (a *Answer) Received() int {
	n := a.text.all.Len() + a.thinking.all.Len()
	for _, c := range a.Calls.List() {
		n += len(c.Name) + len(c.Args)
	}
	return n
}

// Response is the complete answer. cut says that it ran out of room.
func (a *Answer) Response(cut bool) *llm.Response {
	found := a.Close(cut)
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: Join(a.Thinking(), found.Thinking)},
		Stop:    llm.StopEnd,
		Model:   a.Model,
		Notes:   a.Notes,
	}
	calls := a.Calls.List()
	if len(calls) == 0 && len(a.req.Tools) > 0 {
		if a.Thinking() != "" && strings.TrimSpace(found.Text) == "" && len(found.Calls) == 0 {
			// The server separated the thinking and found nothing behind it: a
			// call that ends it was not closed off.
			if in := a.reader.Thought(a.Thinking(), cut); len(in.Calls) > 0 {
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
	if r.Usage, note = Usage(a.Usage, a.Sent, a.Received()); note != "" {
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
