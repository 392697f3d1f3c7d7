package transport

import (
	"errors"
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
	// Unopened reports whether the prompt turned out to have opened the thought of the answer.
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

// Restart forgets what came of the answer, which the server begins again.
func (a *Answer) Restart() {
	fresh := NewAnswer(a.end, a.req, a.emit, "")
	fresh.Model, fresh.Usage, fresh.Sent = a.Model, a.Usage, a.Sent
	*a = *fresh
}

// Chunk begins a chunk of the answer. last reports that the server announces the end in it: later
// chunks repeat what is there already.
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

// AddWhole takes the text and the thinking of a message that contains all text received so far, or
// a part of it.
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

// Thinking returns the thinking received so far.
func (a *Answer) Thinking() string { return a.thinking.all.String() }

// Complete reports whether the answer can be whole although nothing said why it ended: it
// has a text or calls, and no call waits for more.
func (a *Answer) Complete() bool {
	return (strings.TrimSpace(a.text.all.String()) != "" || a.Calls.Len() > 0) && a.Calls.complete()
}

// Had describes how far the answer got, for errors.
func (a *Answer) Had() string {
	return fmt.Sprintf("%d bytes of text and %d unfinished calls", a.text.all.Len()+a.thinking.all.Len(), a.Calls.Len())
}

// Close ends the text and returns what was read in it. cut reports that it ran out of room.
func (a *Answer) Close(cut bool) textcall.Found {
	a.write(a.text.close(), a.thinking.close())
	found, rest := a.reader.Close(cut)
	a.show(rest)
	a.Unopened = found.Unopened
	return found
}

// Received returns the number of bytes received so far.
func (a *Answer) Received() int {
	n := a.text.all.Len() + a.thinking.all.Len()
	for _, c := range a.Calls.List() {
		n += len(c.Name) + len(c.Args)
	}
	return n
}

// Response returns the complete answer. cut reports that it ran out of room.
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

// A Chunk is a piece of an answer in the form of a protocol.
type Chunk interface {
	Calls() bool // whether a call, or a piece of one, is in it
}

// Decode reads a piece of the answer. If ok is false, the caller skips it. A piece that may belong
// to a call is never skipped: a call that was read in part must not run.
func (a *Answer) Decode(raw []byte, into Chunk) (ok bool, err error) {
	repaired, err := decode(raw, into)
	switch {
	case err == nil && !(repaired && into.Calls()):
		return true, nil
	case Ends(err):
		return false, a.end.Error(llm.Cut, "the answer ended inside a chunk after "+a.Had())
	}
	bad := a.unreadable(raw)
	if err == nil || reason(raw).has("tool_", "function", "arguments", "input_json") {
		return false, bad
	}
	a.missed = bad
	return false, nil
}

// unreadable returns the error for a piece that violates the protocol.
func (a *Answer) unreadable(raw []byte) error {
	return a.end.Error(llm.Garbled, fmt.Sprintf("%s sent a chunk of an answer that is not what the protocol says: %s", a.end.host(), raw[:min(len(raw), 200)]))
}

// Missed returns the error of an answer that did not reach its end: if a piece was skipped, that
// may have been the end, and its error is returned instead of err.
func (a *Answer) Missed(err error) error {
	var e *llm.Error
	if errors.As(err, &e) && (e.Kind == llm.Cut || e.Kind == llm.Garbled) && a.missed != nil {
		return a.missed
	}
	return err
}

// Whole returns an error if the answer is of no use without the piece that was skipped; otherwise
// it adds the error to the notes. called reports whether the server announced that the answer ends
// in calls.
func (a *Answer) Whole(r *llm.Response, called bool) error {
	if a.missed == nil {
		return nil
	}
	// It may have been of a call, or of a value that a program reads.
	if called || len(r.Message.Calls) > 0 || r.UnreadCall != "" || len(a.req.Output) > 0 || strings.TrimSpace(r.Message.Text) == "" {
		return a.missed
	}
	r.Notes = append(r.Notes, "a chunk of the answer could not be read and was left out")
	return nil
}

// A text puts a text together from the pieces of a stream. Servers that send all so
// far in each piece, or all of it again in the last, are seen through.
type text struct {
	all    strings.Builder
	pieces int
	half   string // the beginning of a character
	// held is a second piece that begins with the first. If the third begins with it in turn, each
	// piece contains the whole text so far.
	held  string
	grows bool
	added bool // by pieces, not by wholes
}

// certain is the length from which on a text does not come twice by chance.
const certain = 8

// add takes a piece of a stream in the given phase, and returns the new part of it.
func (t *text) add(piece string, now phase) string {
	t.added = t.added || piece != ""
	out := ""
	if held := t.held; held != "" && (piece != "" || now != going) {
		t.held = ""
		whole, _ := join(held)
		if t.grows = piece != "" && strings.HasPrefix(piece, whole) || piece == "" && t.all.Len() >= certain; t.grows {
			held, t.half = held[t.all.Len():], ""
		}
		out = t.keep(held)
	}
	had := t.all.String()
	whole, tail := join(piece)
	longer := had != "" && len(piece) > len(had) && strings.HasPrefix(whole, had)
	switch {
	case piece == "":
		return out
	case t.grows && !longer && strings.HasPrefix(had, whole):
		return out
	case t.grows && longer, t.pieces == 1 && longer && now != going && len(had) >= certain:
		t.half = ""
		return out + t.keep(whole[len(had):]+tail)
	case now != going && had != "" && strings.TrimSpace(whole) == strings.TrimSpace(had) && (now == ended || t.pieces > 2 || len(had) >= certain):
		return out
	case t.pieces == 1 && longer && strings.Trim(whole, whole[:1]) != "":
		t.held = piece
		return out
	}
	return out + t.keep(piece)
}

// keep appends a new piece.
func (t *text) keep(piece string) string {
	if piece == "" {
		return ""
	}
	t.pieces++
	piece, t.half = join(t.half + piece)
	t.all.WriteString(piece)
	return piece
}

// addWhole takes the whole text so far, or a part of it, and returns the new part.
func (t *text) addWhole(s string) string {
	s = joined(s)
	out := t.flush(s)
	had := t.all.String()
	switch {
	case strings.HasPrefix(s, had):
		return out + t.keep(s[len(had):])
	case t.added || strings.HasPrefix(had, s):
		return out
	}
	return out + t.keep(s)
}

// flush returns the text held back. all is the whole text so far as the server reports it, or "".
func (t *text) flush(all string) string {
	held, had := t.held, t.all.String()
	if t.held = ""; held == "" {
		return ""
	}
	whole, _ := join(held)
	t.grows = all == "" && len(had) >= certain || all != "" && !strings.HasPrefix(all, had+whole) && strings.HasPrefix(all, whole)
	if t.grows {
		held, t.half = held[len(had):], ""
	}
	return t.keep(held)
}

// close returns the rest at the end.
func (t *text) close() string {
	out := t.flush("")
	if t.half != "" {
		last := joined(t.half)
		t.half = ""
		t.all.WriteString(last)
		out += last
	}
	return out
}
