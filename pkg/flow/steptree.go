package flow

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A stepTree is a step, or a branch of a fork, with what lies in its scope.
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

// fork reports whether t is that of a Map: its branches are no steps.
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

// end is where a scope, or the last part within it, has stopped: after its last step
// but the notes, which are returned. A fork of which nothing is left has no record.
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
