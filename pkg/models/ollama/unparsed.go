package ollama

import (
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// unparsed answers an error. The server reports a tool call that its own
// parser could not read as an internal error and puts what the model wrote
// into the words; our parsers often can read it. If not, the answer is one
// with [llm.DroppedCall]: asking again the same way would fail again.
func (a *answer) unparsed(err error) (*llm.Response, error) {
	var said transport.ErrorText
	if len(a.req.Tools) == 0 || !errors.As(err, &said) {
		return nil, err
	}
	raw, ok := rawCall(string(said))
	if !ok {
		return nil, err
	}
	found := a.Close(false)
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: transport.Join(a.Thinking(), found.Thinking)},
		Stop:    llm.StopCalls,
		Model:   a.req.Model,
		Notes:   append(a.Notes, "the server could not parse a tool call and reported an error; its text was read from there"),
	}
	received := a.Received() + len(raw)
	had := a.Calls.List()
	calls := slices.Clip(had)
	if again := textcall.Read(raw, textcall.Options{Offered: a.req.Tools}); len(again.Calls) > 0 {
		calls = append(calls, again.Calls...)
		r.Notes, r.Repairs = append(r.Notes, again.Notes...), again.Notes
	} else if call, note, ok := textcall.Whose(raw, a.req.Tools); ok {
		calls = append(calls, call)
		if r.Notes = append(r.Notes, "its name was lost; "+call.Name+" is the only tool that takes its arguments"); note != "" {
			r.Notes, r.Repairs = append(r.Notes, note), []string{note}
		}
	}
	if len(calls) == len(had) {
		r.Notes = append(a.Notes, llm.DroppedCall)
		if len(calls) == 0 {
			r.Stop = llm.StopEnd
		}
	}
	r.Message.Calls = transport.Tidy(calls, a.req.Messages, false)
	var note string
	r.Usage, note = transport.Usage(llm.Usage{}, a.Sent, received)
	r.Notes = append(r.Notes, note)
	return r, nil
}

// rawCall takes what the model wrote out of the server's words.
func rawCall(said string) (string, bool) {
	_, raw, ok := strings.Cut(said, "error parsing tool call:")
	if !ok {
		return "", false
	}
	if _, inside, ok := strings.Cut(raw, "raw='"); ok {
		if n := strings.LastIndex(inside, "', err="); n >= 0 {
			inside = inside[:n]
		}
		return inside, true
	}
	return strings.TrimSpace(raw), true
}
