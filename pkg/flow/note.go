package flow

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/event"
)

// Note emits a note for people who watch, once.
func (r *Run) Note(format string, args ...any) error {
	_, err := Do[struct{}](r, Note, fmt.Sprintf(format, args...), nil)
	return err
}

// Report is Note with data for programs that watch.
func (r *Run) Report(data any, format string, args ...any) error {
	_, err := Do[struct{}](r, Note, fmt.Sprintf(format, args...), data)
	return err
}

// Emit emits an event of this kind, once. data is encoded as JSON.
func (r *Run) Emit(kind event.Kind, text string, data any) error {
	_, err := Do[struct{}](r, Note, text, noteInput{kind, data})
	return err
}

// noteInput is the input of a note that is an event of a kind of its own.
type noteInput struct {
	Kind event.Kind `json:"kind"`
	Data any        `json:"data,omitempty"`
}

// note is the event of a step of kind Note.
func (s Step) note() event.Event {
	var t struct {
		Kind event.Kind
		Data json.RawMessage
	}
	if json.Unmarshal(s.Input, &t) != nil || t.Kind == "" {
		ev := event.Event{Kind: event.Note, Text: s.Name}
		if string(s.Input) != "null" {
			ev.Data = s.Input
		}
		return ev
	}
	return event.Event{Kind: t.Kind, Text: s.Name, Data: t.Data}
}
