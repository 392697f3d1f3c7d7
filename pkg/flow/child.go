package flow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/adroit-run/adroit/pkg/event"
)

// With makes workflows known to r, so that what runs in it may have them run
// as parts of it: see [Child].
func (r *Run) With(known ...Workflow) *Run {
	own := *r
	own.known = slices.Concat(r.known, known)
	return &own
}

// A Spawn is the input of a step that begins a child.
type Spawn struct {
	Workflow string          `json:"workflow"`
	About    string          `json:"about,omitempty"` // in a line, for those who watch
	Input    json.RawMessage `json:"input"`
}

// Child runs a workflow that is known by name as part of this one, in its own
// path scope: a sub-agent. Its events carry label, the input's About() string, if
// it has that method, and at its end what report returns for its output. Its
// errors are those of the workflow: the caller decides whether they end this one.
//
// [Pull] does not run children: a child is a step of kind [Spawn], answered
// with its output.
func Child(r *Run, label, workflow string, input any, report func(out json.RawMessage, err error) (string, any)) (json.RawMessage, error) {
	i := slices.IndexFunc(r.known, func(w Workflow) bool { return w.Name == workflow })
	_, pulled := r.engine.(*pull)
	if i < 0 && !pulled {
		return nil, fmt.Errorf("%s: this program has no workflow %q", label, workflow)
	}
	in, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("%s: encoding its input: %w", label, err)
	}
	about := ""
	if in, ok := input.(interface{ About() string }); ok {
		about = in.About()
	}
	scope := r.scope + strconv.Itoa(r.next) + "."
	out, err := Do[json.RawMessage](r, KindSpawn, label, Spawn{workflow, about, in})
	if err != nil || pulled {
		return out, err
	}
	out, err = r.known[i].Run(&Run{job: r.job, engine: r.engine, scope: scope, known: r.known, bound: r.bound}, in)
	var end returnInput
	end.Text, end.Data = report(out, err)
	if _, ended := Do[struct{}](r, Return, label, end); ended != nil {
		return out, ended
	}
	return out, err
}

// returnInput is the input of a step that ends a child.
type returnInput struct {
	Text string `json:"text,omitempty"`
	Data any    `json:"data,omitempty"`
}

// ownEvent is the event of a step that engines perform themselves.
func (s Step) ownEvent() (event.Event, bool) {
	switch s.Kind {
	case Note:
		return s.note(), true
	case KindSpawn:
		var child Spawn
		if json.Unmarshal(s.Input, &child) != nil {
			return event.Event{}, false
		}
		return event.Event{Kind: event.AgentStarted, Text: child.About}, true
	case Return:
		var end struct {
			Text string
			Data json.RawMessage
		}
		if json.Unmarshal(s.Input, &end) != nil {
			return event.Event{}, false
		}
		return event.Event{Kind: event.AgentFinished, Text: end.Text, Data: end.Data}, true
	}
	return event.Event{}, false
}
