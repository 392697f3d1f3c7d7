package transport

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Chunk is a piece of an answer in the form of a protocol.
type Chunk interface {
	Calls() bool // whether a call, or a piece of one, is in it
}

// Decode reads a piece of the answer. It is to be passed over if ok is false, which is not
// done with what may have been of a call: nobody runs what was read in part.
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

// unreadable is the error for a piece that is not what the protocol says.
func (a *Answer) unreadable(raw []byte) error {
	return a.end.Error(llm.Garbled, fmt.Sprintf("%s sent a chunk of an answer that is not what the protocol says: %s", a.end.host(), raw[:min(len(raw), 200)]))
}

// Missed is the error of an answer that did not come to its end: the piece that was passed
// over, if there is one, may have been the end.
func (a *Answer) Missed(err error) error {
	var e *llm.Error
	if errors.As(err, &e) && (e.Kind == llm.Cut || e.Kind == llm.Garbled) && a.missed != nil {
		return a.missed
	}
	return err
}

// Whole is the error of an answer that is of no use without what was passed over, and else
// puts it into the notes. called is whether the server says that the answer ends in calls.
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
