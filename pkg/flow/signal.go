package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

// A Signal is a named message to a waiting job.
type Signal struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	// Question is the path of the awaiting step that it is meant for, for a store: it
	// refuses an answer to one that has an answer. It is not kept.
	Question string `json:"-"`
	// Log, if not nil, is appended to the event log of the job together with the signal.
	Log *event.Event `json:"-"`
}

// A SignalError reports a signal whose value is not of the type that the step
// awaits. It was discarded; the step still waits.
type SignalError struct {
	Signal Signal
	Err    error
}

func (e *SignalError) Error() string {
	return fmt.Sprintf("the signal %s was refused: %s; send it again with another value", e.Signal.Name, e.Err)
}

func (e *SignalError) Unwrap() error { return e.Err }

// A Wait is the input of an awaiting step: the signals to wait for, and for how long.
// About describes the question to the person who answers.
type Wait struct {
	Signals []string        `json:"signals"`
	About   json.RawMessage `json:"about,omitempty"`
	Timeout time.Duration   `json:"timeout,omitempty"` // zero waits for ever, negative not at all
	// Type is the JSON type of the value: string, boolean, number, array or object. Empty
	// means any. It does not identify the step.
	Type string `json:"type,omitempty"`
}

// noWait is the Timeout of a Wait for signals that were sent before it.
const noWait time.Duration = -1

// Accepts reports why a value cannot be sent to w, nil if its type permits it.
// No value at all is accepted.
func (w Wait) Accepts(value json.RawMessage) error {
	if got := jsonType(value); got != "" && got != "null" && w.Type != "" && got != w.Type {
		return fmt.Errorf("%s is of type %s, and type %s is awaited", value, got, w.Type)
	}
	return nil
}

// jsonType is the JSON type of a value, empty if there is none.
func jsonType(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return ""
	}
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// typeOf is the JSON type that values of t have, empty if they may have several.
func typeOf(t reflect.Type) string {
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return ""
}

// Accepts reports why s cannot have sig as its outcome, nil if it can. A
// [Journal] discards a signal that is not accepted.
func (s Step) Accepts(sig Signal) error {
	if s.accept == nil || len(sig.Value) == 0 {
		return nil
	}
	if err := s.accept(sig.Value); err != nil {
		return &SignalError{sig, err}
	}
	return nil
}

// Await waits until someone signals the job by that name. Signals queue by name and each
// is consumed once, in the order sent. A signal whose value does not decode to Out is
// refused, and Await goes on waiting. A timeout is a *StepError with code TimedOut; a
// timeout of zero waits for ever. about describes the question to the person who answers,
// in one value or several.
func Await[Out any](r *Run, signal string, timeout time.Duration, about ...any) (Out, error) {
	var out Out
	w := Wait{Signals: []string{signal}, Timeout: timeout, Type: typeOf(reflect.TypeFor[Out]())}
	if len(about) > 0 {
		var question any = about
		if len(about) == 1 {
			question = about[0]
		}
		b, err := json.Marshal(question)
		if err != nil {
			return out, fmt.Errorf("await %s: encoding question: %w", signal, err)
		}
		w.About = b
	}
	s, err := await(r, w, func(value json.RawMessage) error {
		if err := w.Accepts(value); err != nil {
			return err
		}
		return json.Unmarshal(value, new(Out))
	})
	if err != nil || len(s.Value) == 0 {
		return out, err
	}
	if err := json.Unmarshal(s.Value, &out); err != nil {
		return out, fmt.Errorf("signal %s: decoding value: %w", signal, err)
	}
	return out, nil
}

// AwaitAny waits for the first signal that has one of the names. about describes the
// question to the person who answers.
func AwaitAny(r *Run, about any, timeout time.Duration, names ...string) (Signal, error) {
	w := Wait{Signals: names, Timeout: timeout}
	if about != nil {
		b, err := json.Marshal(about)
		if err != nil {
			return Signal{}, fmt.Errorf("await %v: encoding question: %w", names, err)
		}
		w.About = b
	}
	return await(r, w, nil)
}

func await(r *Run, w Wait, accept func(json.RawMessage) error) (Signal, error) {
	s := Step{Kind: KindAwait, Name: strings.Join(w.Signals, "|"), Keep: w.Timeout >= 0, accept: accept}
	s, err := r.step(s, w)
	if err == nil {
		err = s.untyped(w)
	}
	if err != nil {
		return Signal{}, err
	}
	res, err := r.engine.Do(s)
	return output[Signal](s, res, err)
}

// untyped gives s, which waits for w, the sum that it has without the type of the value: a
// journal from before there were types knows the step without it.
func (s *Step) untyped(w Wait) error {
	if w.Type == "" {
		return nil
	}
	w.Type = ""
	b, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("await %v: encoding: %w", w.Signals, err)
	}
	s.sum = Step{Kind: s.Kind, Name: s.Name, Input: b}.Sum()
	return nil
}

// Drain takes all signals with a name that were sent already. It asks within the
// scope of the step that comes next, which must have none of its own: steps have
// the same paths whether there are signals or not. taken is how many were taken there
// before: a workflow that makes a checkpoint between two calls keeps the number in it, so
// that no two signals have one path.
func Drain(r *Run, name string, taken int) ([]Signal, error) {
	within := &Run{job: r.job, engine: r.engine, scope: r.Next() + ".", next: taken, known: r.known, bound: r.bound}
	var all []Signal
	for {
		s, ok, err := Poll(within, name)
		if err != nil || !ok {
			return all, err
		}
		all = append(all, s)
	}
}

// Poll takes a signal with one of the names that was sent already, and does not
// wait for one. A workflow asks between two pieces of work whether it is to go
// on.
func Poll(r *Run, names ...string) (s Signal, ok bool, err error) {
	s, err = AwaitAny(r, nil, noWait, names...)
	if se, ok := errors.AsType[*StepError](err); ok && se.Code == TimedOut {
		return Signal{}, false, nil
	}
	return s, err == nil, err
}
