package tools

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/event"
)

// Only returns a copy of e with nothing but what c grants. Job, Key, Artifacts,
// Result, MaxResultBytes and Emit are always there. A nil e is an Env that grants nothing.
func (e *Env) Only(c Caps) *Env {
	var cut Env
	if e != nil {
		cut = *e
	}
	if c&(Read|Write) == 0 {
		cut.Files = nil
	}
	if c&(Exec|Shell) == 0 {
		cut.Exec = nil
	}
	if c&Read == 0 || c&(Exec|Shell) == 0 {
		cut.Code = nil // servers read everything and are commands
	}
	if c&Net == 0 {
		cut.HTTP = nil
	}
	if c&Think == 0 {
		cut.Model = nil
	}
	if cut.Artifacts == nil {
		cut.Artifacts = noArtifacts{}
	}
	if cut.Emit == nil {
		cut.Emit = func(event.Event) {}
	}
	return &cut
}

// Progress shows whoever watches what the call is doing, in a line. It is not kept
// and may be lost.
func (e *Env) Progress(text string) {
	if e.Emit != nil {
		e.Emit(event.Event{Kind: event.Delta, Text: text + "\n"})
	}
}

// lacks returns the part of c for which e has nothing to give.
func (e *Env) lacks(c Caps) Caps {
	var missing Caps
	if e.Files == nil {
		missing |= c & (Read | Write)
	}
	if e.Exec == nil {
		missing |= c & (Exec | Shell)
	}
	if e.HTTP == nil {
		missing |= c & Net
	}
	if e.Model == nil {
		missing |= c & Think
	}
	return missing
}

type noArtifacts struct{}

func (noArtifacts) Value(string) json.RawMessage { return nil }
func (noArtifacts) Names() []string              { return nil }
