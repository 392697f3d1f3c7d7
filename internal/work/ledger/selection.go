package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A Selection is some of the changes in a ledger: all of them, those of a step, or
// those since a step. It is a view: changes that are made later and belong to
// it are in it too.
//
// A change that was found by comparing the tree before and after a command is
// uncertain: the command, a person or another job made it. Changes lists it as
// such, Diff leaves it out and Undo leaves it alone, unless the part is one of
// IncludeUncertain.
type Selection struct {
	l         *Ledger
	take      func(i int, e entry) bool
	takeMove  func(i int, m moveEntry) bool
	whole     bool
	uncertain bool
	reported  bool
	patch     bool
}

// IncludeUncertain is the part with what may be somebody else's as its own.
func (p Selection) IncludeUncertain() Selection {
	p.uncertain = true
	return p
}

// IncludeReported is the part with the uncertain changes that the program which
// made them reported.
func (p Selection) IncludeReported() Selection {
	p.reported = true
	return p
}

// Patch is the part whose Diff git apply takes whole: names are from the top of
// the repository, as git has them, and binary and large files are in it.
func (p Selection) Patch() Selection {
	p.patch = true
	return p
}

func (p Selection) certain(e entry) bool {
	return !e.Uncertain || p.uncertain || p.reported && e.Reported
}

// nets is what the changes of the part come to.
func (p Selection) nets() []net {
	return p.l.nets(func(i int, e entry) bool { return p.take(i, e) && p.certain(e) })
}

// doubtful is what the changes come to that the part leaves alone.
func (p Selection) doubtful() []net {
	return p.l.nets(func(i int, e entry) bool { return p.take(i, e) && !p.certain(e) })
}

// All is everything the job changed.
func (l *Ledger) All() Selection {
	return Selection{l: l, take: func(int, entry) bool { return true }, takeMove: func(int, moveEntry) bool { return true }, whole: true}
}

// Step is what the step with this path changed, and the steps below it. It is
// an error if there is no such step in the ledger.
func (l *Ledger) Step(ctx context.Context, path string) (Selection, error) {
	if _, err := l.begun(ctx, path); err != nil {
		return Selection{}, err
	}
	p := Selection{l: l, take: func(_ int, e entry) bool { return below(e.step, path) }, takeMove: func(_ int, m moveEntry) bool { return below(m.step, path) }}
	p.uncertain = strings.HasPrefix(path, undoStep) // that we made it is certain
	return p, nil
}

// From is what that step and everything after it changed. An undo of what was
// before is not in it, unless the step is an undo itself: else undoing it would
// bring back what an undo took away.
func (l *Ledger) From(ctx context.Context, path string) (Selection, error) {
	first, err := l.begun(ctx, path)
	if err != nil {
		return Selection{}, err
	}
	if strings.HasPrefix(path, undoStep) {
		return Selection{l: l, take: func(_ int, e entry) bool { return e.record >= first }, takeMove: func(_ int, m moveEntry) bool { return m.record >= first }}, nil
	}
	var last int
	var between map[string][]rootfs.State // that a path had since the step
	take := func(i int, e entry) bool {
		if between == nil || i <= last { // another pass over the ledger
			between = map[string][]rootfs.State{}
		}
		last = i
		p := string(e.Path)
		if e.record < first || strings.HasPrefix(e.step, undoStep) && !slices.ContainsFunc(between[p], e.After.Equal) {
			return false
		}
		between[p] = append(between[p], e.Before, e.After)
		return true
	}
	passed := -1
	var values map[string][]string
	takeMove := func(i int, m moveEntry) bool {
		if values == nil || i <= passed {
			values = map[string][]string{}
		}
		passed = i
		name := m.git + "\x00" + string(m.Name)
		if m.record < first || strings.HasPrefix(m.step, undoStep) && !slices.Contains(values[name], m.After) {
			return false
		}
		values[name] = append(values[name], m.Before, m.After)
		return true
	}
	return Selection{l: l, take: take, takeMove: takeMove}, nil
}

func below(step, path string) bool { return step == path || strings.HasPrefix(step, path+".") }

// begun is the number of a step's first record.
func (l *Ledger) begun(ctx context.Context, path string) (int, error) {
	if err := l.peek(ctx); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first := 0
	for _, e := range l.entries {
		if path != "" && below(e.step, path) {
			first = e.record
			break
		}
	}
	for _, m := range l.moves {
		if path != "" && below(m.step, path) && (first == 0 || m.record < first) {
			first = m.record
			break
		}
	}
	if first == 0 {
		return 0, &StepError{Step: path}
	}
	return first, nil
}

// A StepError is a step that changed nothing, or does not exist.
type StepError struct{ Step string }

func (e *StepError) Error() string {
	return fmt.Sprintf("no step %q of this job changed a file or moved a branch", e.Step)
}

// includeIt is what to do about a path that is left alone for a doubt.
const includeIt = "; --include-uncertain takes that back too"

// doubt is the reason of an uncertain change.
func doubt(step string) string {
	if step == "" {
		return "it changed while a command ran, perhaps by somebody else"
	}
	return "it changed while step " + step + " ran, perhaps by somebody else"
}
