package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A History is the journal of a run that ended: its steps, without their outputs, and its
// checkpoints by scope.
type History struct {
	Steps  []Record
	States map[string]State
	// Stopped reports that the run did not end, but was stopped.
	Stopped bool
	// Unknown has the paths of steps of which an earlier attempt was reopened without
	// anybody knowing whether it happened.
	Unknown map[string]bool
	// Output reads the output of one of the steps.
	Output func(path string) (json.RawMessage, error)
}

// A Reopening lists the changes of a journal that let an ended run go on: steps that are
// performed anew, others that are open again, and checkpoints that it replaces. The
// outcomes that steps had are kept beside the journal.
type Reopening struct {
	Forget []string
	// Again are steps with an unknown effect. They are open like interrupted ones: a
	// person is asked about those that are not safe to perform again.
	Again  []string
	States map[string]State
}

// A Reopener decides what of an ended run is tried again, as CI systems re-run
// failed jobs: the step that failed last, and what depends on it. Its functions
// know the workflow's data; each may be nil, which means no.
type Reopener struct {
	// Failed reports whether a step that has an output is a failure to the
	// workflow, as a command with another exit code than 0.
	Failed func(rec Record, output json.RawMessage) bool
	// Unknown reports whether nobody knows if a step that failed has happened; output is
	// nil if it has none.
	Unknown func(rec Record, output json.RawMessage) bool
	// Asked reports whether a step only asked a person. It is performed again with the
	// approved step, so that an approval covers one call.
	Asked func(rec Record, output json.RawMessage) bool
	// Denied reports whether what a person answered was a no: a failure that is tried
	// again by asking again.
	Denied func(answer json.RawMessage) bool
	// Repeat reports whether a finished step may be performed again where it
	// depends on a repeated one.
	Repeat func(rec Record) bool
	// RepeatScope is Repeat for a scope that has only a checkpoint left.
	RepeatScope func(state json.RawMessage) bool
	// Ended reports whether a checkpoint belongs to a scope that ended and can continue.
	// Revive returns the checkpoint with which it continues, as one of n.
	Ended  func(scope string, state json.RawMessage) bool
	Revive func(state json.RawMessage, n int) (json.RawMessage, error)
	// Raise returns the new data of the last part of a run that a limit of its own has
	// ended between two steps, so that the part goes on; nil means no change. state is
	// the part's data so far, at the path from which it behaves differently: see
	// [Run.Peek].
	Raise func(state json.RawMessage, at string) (json.RawMessage, error)

	// Send is a signal that is sent in the transaction of the reopening. With one a
	// job that is done or was cancelled goes on, too.
	Send *Signal
	// Redo reports whether a step is forgotten so that the signal comes before it,
	// although it may be finished; output is nil if it is not.
	Redo func(rec Record, output json.RawMessage) bool
}

// Plan finds the failed leaves of a run: the last step in a scope that is not
// just a note, or the ones in all branches of a fork. What comes after them in
// their scopes, and in those around, depends on them. Nothing is reopened that
// lies before a step which succeeded and may not be performed again. Of a run that
// was stopped it plans how what is sent reaches it.
func (o Reopener) Plan(h History) (Reopening, error) {
	if h.Stopped {
		return o.redirect(h)
	}
	p := &reopening{Reopener: o, h: h, root: &stepTree{}}
	for i := range h.Steps {
		p.root.at(h.Steps[i].Path).rec = &h.Steps[i]
	}
	for scope, st := range h.States {
		p.root.at(strings.TrimSuffix(scope, ".")).state = &st
	}
	found, err := p.scope(p.root, "")
	if err != nil {
		return Reopening{}, err
	}
	states, err := p.raise(found)
	if err != nil {
		return Reopening{}, err
	}
	out := Reopening{Forget: p.forget, Again: p.again, States: states}
	slices.SortFunc(out.Forget, Compare)
	slices.SortFunc(out.Again, Compare)
	for _, scope := range p.revive {
		st := h.States[scope]
		value, err := o.Revive(st.Value, len(p.revive))
		if err != nil {
			return Reopening{}, err
		}
		if out.States == nil {
			out.States = map[string]State{}
		}
		out.States[scope] = State{Next: st.Next, Value: value}
	}
	return out, nil
}

// redirect plans what a run that was stopped between two checkpoints forgets so
// that a signal reaches it before it does more: the steps since the last
// checkpoint of its last part, if all of them may be redone. Signals that were
// received within steps stay, and what was done before them.
func (o Reopener) redirect(h History) (Reopening, error) {
	part := ""
	for _, rec := range h.Steps {
		if rec.Kind == KindCall && !strings.Contains(rec.Path, ".") && Compare(rec.Path, part) > 0 {
			part = rec.Path
		}
	}
	last := "" // the step before which such a signal was received last: this one comes behind it
	for _, rec := range h.Steps {
		i := strings.LastIndex(rec.Path, ".")
		if rec.Kind == KindAwait && rec.Name == o.Send.Name && rec.Done && rec.Failure == nil && strings.HasPrefix(rec.Path, part+".") && Compare(rec.Path[:i], last) > 0 {
			last = rec.Path[:i]
		}
	}
	var forget []string
	for _, rec := range h.Steps {
		within, ok := strings.CutPrefix(rec.Path, part+".")
		received := rec.Kind == KindAwait && rec.Done && rec.Failure == nil
		if !ok || received && strings.Contains(within, ".") || last != "" && Compare(rec.Path, last) < 0 {
			continue
		}
		if redo, err := o.redo(h, rec); err != nil || !redo || received {
			return Reopening{}, err
		}
		forget = append(forget, rec.Path)
	}
	slices.SortFunc(forget, Compare)
	return Reopening{Forget: forget}, nil
}

func (o Reopener) redo(h History, rec Record) (bool, error) {
	if rec.Kind == KindAwait || rec.Kind == Note {
		return true, nil
	}
	if o.Redo == nil {
		return false, nil
	}
	var out json.RawMessage
	if rec.Done && rec.Failure == nil {
		var err error
		if out, err = h.Output(rec.Path); err != nil {
			return false, err
		}
	}
	return o.Redo(rec, out), nil
}

// Empty reports whether a reopening changes nothing.
func (r Reopening) Empty() bool {
	return len(r.Forget) == 0 && len(r.Again) == 0 && len(r.States) == 0
}

// A reopening is one Plan under way.
type reopening struct {
	Reopener
	h      History
	root   *stepTree
	forget []string
	again  []string
	revive []string // scopes
}

// dropLeaf has a step that failed performed again at the same path: anew, or as one that
// was interrupted if an attempt may have happened. Signals that were received within it
// stay with the run.
func (p *reopening) dropLeaf(t *stepTree, output json.RawMessage) {
	if p.h.Unknown[t.rec.Path] || p.Unknown != nil && p.Unknown(*t.rec, output) {
		p.again = append(p.again, t.rec.Path)
	} else {
		p.forget = append(p.forget, t.rec.Path)
	}
	for _, k := range t.kids {
		if k.rec == nil || k.rec.Kind != KindAwait || k.rec.Failure != nil {
			p.drop(k)
		}
	}
}

func (p *reopening) drop(t *stepTree) {
	if t.rec != nil {
		p.forget = append(p.forget, t.rec.Path)
	}
	for _, k := range t.kids {
		p.drop(k)
	}
}

// scope reopens what a scope ended with. It reports whether there was anything.
func (p *reopening) scope(t *stepTree, scope string) (bool, error) {
	if t.state != nil && p.Ended != nil && p.Ended(scope, t.state.Value) {
		p.revive = append(p.revive, scope)
		for _, k := range t.kids {
			p.drop(k)
		}
		return true, nil
	}
	var after []*stepTree // depends on what comes before
	unanswered := 0       // how many of them go if all that failed is the last await
	at := slices.Sorted(maps.Keys(t.kids))
back:
	for i, n := range slices.Backward(at) {
		k := t.kids[n]
		found, err := p.step(k, scope+strconv.Itoa(n))
		if err != nil {
			return false, err
		}
		if found {
			for _, k := range after {
				p.drop(k)
			}
			return true, p.dropAsked(t, at[:i+1])
		}
		free, err := p.repeatable(k)
		switch {
		case err != nil:
			return false, err
		case free:
			after = append(after, k)
			if k.rec != nil && k.rec.Kind == KindAwait && unanswered == 0 {
				unanswered = len(after)
			}
		case k.fork() && i > 0 && t.kids[at[i-1]].fork():
			// Branches that were run in portions do not depend on each other.
		default:
			break back
		}
	}
	for _, k := range after[:unanswered] {
		p.drop(k)
	}
	return unanswered > 0, nil
}

// dropAsked forgets the questions about the step at the last of the numbers, which is
// performed anew, and their answers.
func (p *reopening) dropAsked(t *stepTree, at []int) error {
	i := len(at) - 1
	leaf := t.kids[at[i]].rec
	if p.Asked == nil || leaf == nil || !slices.Contains(p.forget, leaf.Path) {
		return nil
	}
	if leaf.Kind != KindAwait {
		i-- // the answer to the last question
	}
	for ; i > 0; i -= 2 {
		answer, asked := t.kids[at[i]], t.kids[at[i-1]]
		if answer.rec == nil || answer.rec.Kind != KindAwait || asked.rec == nil || !asked.rec.Done || asked.rec.Failure != nil {
			return nil
		}
		out, err := p.h.Output(asked.rec.Path)
		if err != nil || !p.Asked(*asked.rec, out) {
			return err
		}
		if p.drop(asked); answer.rec != leaf {
			p.drop(answer)
		}
	}
	return nil
}

// raise has the last part of the run go on past a limit of its own. found reports
// whether a step is tried again anyway.
func (p *reopening) raise(found bool) (map[string]State, error) {
	part := p.root.lastPart()
	if p.Raise == nil || part == nil {
		return nil, nil
	}
	scope, st := part.rec.Path+".", State{}
	if part.state != nil {
		st = *part.state
	}
	at, notes := part.end(scope)
	for _, path := range p.forget {
		if strings.HasPrefix(path, scope) && Compare(path, at) < 0 {
			at = path
		}
	}
	value, err := p.Raise(st.Value, at)
	if err != nil || value == nil {
		return nil, err
	}
	if !found {
		p.forget = append(p.forget, notes...)
	}
	st.Value = value
	return map[string]State{scope: st}, nil
}

// step reopens a step that failed, or what lies in its scope.
func (p *reopening) step(t *stepTree, path string) (bool, error) {
	rec := t.rec
	switch {
	case rec == nil: // a fork: each branch that failed
		any := false
		for n, k := range t.kids {
			found, err := p.scope(k, path+"."+strconv.Itoa(n)+".")
			if err != nil {
				return false, err
			}
			any = any || found
		}
		return any, nil
	case rec.Kind == KindSpawn || rec.Kind == KindCall:
		return p.scope(t, path+".")
	case !rec.Done:
		return true, nil // it goes on there by itself
	case rec.Kind == KindAwait && (rec.Failure != nil || p.Denied == nil):
		return false, nil // see free: one that was not answered may be a poll
	case rec.Kind == KindAwait:
		answer, err := p.h.Output(rec.Path)
		if err != nil || !p.Denied(answer) {
			return false, err
		}
		p.drop(t)
		return true, nil
	case rec.Failure != nil:
		p.dropLeaf(t, nil)
		return true, nil
	case p.Failed == nil || rec.Kind == Note || rec.Kind == Return || rec.Kind == KindSleep:
		return false, nil
	}
	out, err := p.h.Output(rec.Path)
	if err != nil || !p.Failed(*rec, out) {
		return false, err
	}
	p.dropLeaf(t, out)
	return true, nil
}

// repeatable reports whether a step that succeeded, and all in its scope, may be
// performed again.
func (p *reopening) repeatable(t *stepTree) (bool, error) {
	if t.state != nil && (p.RepeatScope == nil || !p.RepeatScope(t.state.Value)) {
		return false, nil
	}
	if rec := t.rec; rec != nil {
		switch roles[rec.Kind] {
		case roleMark, rolePause:
		case roleQuestion:
			if rec.Failure == nil {
				return false, nil // somebody has answered
			}
		default:
			if p.Repeat == nil || !p.Repeat(*rec) {
				return false, nil
			}
		}
	}
	for _, k := range t.kids {
		if ok, err := p.repeatable(k); err != nil || !ok {
			return ok, err
		}
	}
	return true, nil
}
