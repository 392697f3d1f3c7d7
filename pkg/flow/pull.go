package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

// Pull drives wf by hand, one step at a time, like a generator: for tests of
// workflows that need no model and no journal. The caller answers each step by
// calling reply before asking for the next. Branches run one after the other.
func Pull(wf Workflow, input json.RawMessage) (next func() (s Step, reply func(any, error), ok bool), stop func(), result func() (json.RawMessage, error)) {
	var out json.RawMessage
	var werr error
	n, s := iter.Pull2(func(yield func(Step, func(any, error)) bool) {
		out, werr = wf.Run(NewRun("pull", &pull{yield: yield}), input)
	})
	return n, s, func() (json.RawMessage, error) { return out, werr }
}

type pull struct {
	yield   func(Step, func(any, error)) bool
	stopped bool
}

var errStopped = errors.New("flow: pull stopped")

func (p *pull) Do(s Step) (res json.RawMessage, err error) {
	switch s.Kind {
	case KindCall, Note, Return:
		return json.RawMessage("{}"), nil
	case checkpoint, restore:
		return nil, nil
	}
	if p.stopped {
		return nil, errStopped
	}
	err = errors.New("flow: the step was not answered")
	if !p.yield(s, func(v any, rerr error) {
		if rerr != nil {
			res, err = nil, &StepError{s.Path, s.Kind, s.Name, *asFailure(rerr)}
			return
		}
		res, err = json.Marshal(v)
	}) {
		p.stopped = true
		return nil, errStopped
	}
	return res, err
}

func (p *pull) Fork(n int, branch func(int, Engine)) {
	for i := range n {
		branch(i, p)
	}
}

const (
	KindSleep  = "sleep"
	KindAwait  = "await"
	KindCall   = "call"
	Note       = "note"
	KindSpawn  = "spawn"  // a child begins
	Return     = "return" // a child has ended
	checkpoint = "checkpoint"
	restore    = "restore"
)

// A role classifies how an engine handles steps of a kind. The zero value is for kinds
// that a handler performs.
type role int

const (
	roleHandled  role = iota
	roleMark          // journals that the run came by, and nothing else
	rolePause         // waits for a time
	roleQuestion      // waits for a signal
	roleState         // keeps or gives a state; it is not journaled as a step
)

// roles has every kind that engines perform themselves: what they have in common is
// decided by it, and a kind that is missing is refused for lack of a handler.
var roles = map[string]role{
	KindSleep: rolePause, KindAwait: roleQuestion, KindCall: roleMark, Note: roleMark, KindSpawn: roleMark, Return: roleMark, checkpoint: roleState, restore: roleState,
}

// EngineOwn reports whether engines perform steps of a kind themselves, without a handler.
func EngineOwn(kind string) bool { return roles[kind] != roleHandled }

// SameJSON reports whether two values are the same but for blanks.
func SameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

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
	About    string          `json:"about,omitempty"` // in a line, for watchers
	Input    json.RawMessage `json:"input"`
}

// Child runs a workflow that is known by name as part of this one, in its own path scope:
// a sub-agent. Its events carry label, the input's About() string, if it has that method,
// and at its end the values that report returns for its output. It returns the workflow's
// errors: the caller decides whether they end this one.
//
// [Pull] does not run children: a child is a step of kind [Spawn], answered with its
// output.
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
	if sp, ok := r.engine.(Spawner); ok {
		out, err = sp.Spawn(label, scope, r.known[i], in, r.bound.least())
	} else {
		out, err = r.known[i].Run(&Run{job: r.job, engine: r.engine, scope: scope, known: r.known, bound: r.bound}, in)
	}
	var end returnInput
	end.Text, end.Data = report(out, err)
	if _, ended := Do[struct{}](r, Return, label, end); ended != nil {
		return out, ended
	}
	return out, err
}

// A Spawner is an [Engine] that runs children as executions of their own, which survive
// their parent's, in place of calling their functions.
type Spawner interface {
	// Spawn runs wf for the child whose steps have paths in scope, as in "3.1.", and waits
	// for it. within bounds the time of each of its steps; zero is no bound. The error is
	// the workflow's: one with a Status and a Reason has both. An error without an outcome
	// ends the run, as that of Engine.Do.
	Spawn(label, scope string, wf Workflow, in json.RawMessage, within time.Duration) (json.RawMessage, error)
}

// NewChild starts the run of a child that a [Spawner] runs: its steps have paths in scope,
// and each may take no more than within, unless that is zero.
func NewChild(job, scope string, e Engine, within time.Duration) *Run {
	r := &Run{job: job, engine: e, scope: scope}
	if within > 0 {
		r.bound = &bound{d: within}
	}
	return r
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

// Note emits a note for watchers, once.
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

// A stepTree is a step, or a branch of a fork, with the steps in its scope.
type stepTree struct {
	rec   *Record
	state *State
	kids  map[int]*stepTree
}

// at is the tree at a path, which is made if it is not there.
func (t *stepTree) at(path string) *stepTree {
	if path == "" {
		return t
	}
	for part := range strings.SplitSeq(path, ".") {
		n, _ := strconv.Atoi(part) // paths of workflows' steps are numbers
		if t.kids == nil {
			t.kids = map[int]*stepTree{}
		}
		if t.kids[n] == nil {
			t.kids[n] = &stepTree{}
		}
		t = t.kids[n]
	}
	return t
}

// fork reports whether t is the node of a Map: its branches are not steps.
func (t *stepTree) fork() bool { return t != nil && t.rec == nil && len(t.kids) > 0 }

// lastPart is the last part of a run, nil if it has none.
func (t *stepTree) lastPart() *stepTree {
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(t.kids))) {
		if k := t.kids[n]; k.rec != nil && k.rec.Kind == KindCall {
			return k
		}
	}
	return nil
}

// end returns the path at which a scope, or the last part within it, has stopped: the one
// after its last step but the notes, whose paths it returns, too. A fork of which nothing
// is left has no record.
func (t *stepTree) end(scope string) (at string, notes []string) {
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(t.kids))) {
		switch k := t.kids[n]; {
		case k.rec == nil:
			return scope + strconv.Itoa(n+1), notes
		case k.rec.Kind == Note || k.rec.Kind == KindAwait && k.rec.Failure != nil:
			notes = append(notes, k.rec.Path)
		case k.rec.Kind == KindCall && k.state == nil:
			at, more := k.end(k.rec.Path + ".")
			return at, append(notes, more...)
		default:
			return scope + strconv.Itoa(n+1), notes
		}
	}
	return scope + "0", notes
}
