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
// path scope: a sub-agent. label says who it is, to those who watch, and a
// method About() string of the input what it is to do; tell makes of its output
// what they are told at its end. Its errors are those of the
// workflow: whether they end this one is for the caller to say.
//
// [Pull] does not run children: a child is a step of kind [Spawning], answered
// with its output.
func Child(r *Run, label, workflow string, input any, tell func(out json.RawMessage, err error) (string, any)) (json.RawMessage, error) {
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
	if says, ok := input.(interface{ About() string }); ok {
		about = says.About()
	}
	scope := r.scope + strconv.Itoa(r.next) + "."
	out, err := Do[json.RawMessage](r, Spawning, label, Spawn{workflow, about, in})
	if err != nil || pulled {
		return out, err
	}
	out, err = r.known[i].Run(&Run{job: r.job, engine: r.engine, scope: scope, known: r.known, bound: r.bound}, in)
	var end returned
	end.Text, end.Data = tell(out, err)
	if _, ended := Do[struct{}](r, Returning, label, end); ended != nil {
		return out, ended
	}
	return out, err
}

// A returned is the input of a step that ends a child.
type returned struct {
	Text string `json:"text,omitempty"`
	Data any    `json:"data,omitempty"`
}

// news is what watchers are told of a step that engines perform themselves.
func (s Step) news() (event.Event, bool) {
	switch s.Kind {
	case Noting:
		return s.note(), true
	case Spawning:
		var child Spawn
		if json.Unmarshal(s.Input, &child) != nil {
			return event.Event{}, false
		}
		return event.Event{Kind: event.AgentStarted, Text: child.About}, true
	case Returning:
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
