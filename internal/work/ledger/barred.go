package ledger

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A Denied is a path that commands must not change: a glob, as in a rule about paths, and
// the rule in words.
type Denied struct {
	Path string `json:"path"`
	Rule string `json:"rule"`
	// Ask has a person asked about the command's version.
	Ask bool `json:"ask,omitempty"`
}

// DenialOf returns the denial that keeps commands from a path of the workspace, nil if nothing
// does. One that asks comes after all others.
func DenialOf(all []Denied, path string) *Denied {
	var asks *Denied
	for i, d := range all {
		switch {
		case d.Ask && asks != nil || !match.Covers(d.Path, path, true):
		case d.Ask:
			asks = &all[i]
		default:
			return &all[i]
		}
	}
	return asks
}

type barredKey struct{}

// Barring returns a context whose snapshots take back, as they are recorded, what was created in
// the meantime under a denied name. What was there before and has changed stays as it is, because
// nothing shows that no person changed it. Both are in [Snapshot.Barred], also after a kill.
func Barring(ctx context.Context, denied []Denied) context.Context {
	return context.WithValue(ctx, barredKey{}, denied)
}

// Barred describes what happened to denied names between a snapshot and its record, "" if nothing
// did.
func (s *Snapshot) Barred() string {
	var out []string
	add := func(what string, list []Skipped) {
		var words []string
		for i, l := range list {
			if i == maxBarredNamed {
				words = append(words, "and more")
				break
			}
			words = append(words, spelling.PathLine(l.Path)+" ("+l.Reason+")")
		}
		if len(words) > 0 {
			out = append(out, what+strings.Join(words, ", "))
		}
	}
	add("taken back, since a rule is about it: ", s.takenBack)
	add("changed although a rule is about it, and left as it is, since a person may have changed it: ", s.left)
	return strings.Join(out, "; ")
}

const maxBarredNamed = 20

// takeBack undoes what the step of s created under denied names, and returns these names. It may
// be called again.
func (s *Snapshot) takeBack(ctx context.Context) (back []string, err error) {
	l := s.Ledger
	if len(s.barred) == 0 || s.follows || l.StepPath == "" || !l.changedBy(l.StepPath) {
		return nil, nil
	}
	all, err := l.Step(ctx, l.StepPath)
	if err != nil {
		return nil, err
	}
	all = all.IncludeUncertain()
	changes, err := all.Changes(ctx)
	if err != nil {
		return nil, err
	}
	dirs, err := all.directories(ctx, false)
	if err != nil {
		return nil, err
	}
	t, err := rootfs.Open(s.Root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s.takenBack, s.left = nil, nil
	for _, c := range slices.Concat(changes, dirs) {
		rule := DenialOf(s.barred, c.Path)
		if rule == nil || c.Kind != Created && c.Kind != Renamed {
			s.leave(c.Path, rule)
			if c.From != "" {
				s.leave(c.From, DenialOf(s.barred, c.From))
			}
			continue
		}
		s.takenBack = append(s.takenBack, Skipped{Path: c.Path, Reason: rule.Rule})
		if _, err := t.Stat(c.Path); err != nil {
			continue // an earlier attempt has removed it
		}
		if back = append(back, c.Path); c.From != "" {
			back = append(back, c.From) // which has its content
		}
	}
	if len(back) == 0 {
		return nil, nil
	}
	undone, err := all.Only(back).Undo(ctx, s.Root)
	for _, k := range undone.Skipped {
		s.takenBack = slices.DeleteFunc(s.takenBack, func(b Skipped) bool { return b.Path == k.Path })
		s.left = append(s.left, k)
	}
	return back, err
}

// leave notes that a name which a rule is about stays as it is; nil is none.
func (s *Snapshot) leave(name string, rule *Denied) {
	if rule != nil {
		s.left = append(s.left, Skipped{Path: name, Reason: rule.Rule})
	}
}

// nameBarred notes the changes that are about denied names, where none is taken back: after a
// kill, and between calls, most of the time is a person's.
func (s *Snapshot) nameBarred(changes []PathChange) {
	for _, c := range changes {
		s.leave(string(c.Path), DenialOf(s.barred, string(c.Path)))
	}
}

// Follow keeps a snapshot of root open until the next Settle, for work that goes on between two
// records: that of a server. It replaces no snapshot that is open.
func (l *Ledger) Follow(ctx context.Context, root string) error {
	s, err := l.snapshot(ctx, root, true)
	if err != nil {
		return err
	}
	l.mu.Lock()
	before := l.followed
	l.followed = s
	l.mu.Unlock()
	if before != nil { // of a call at the same time
		_, err = before.Record(ctx)
	}
	return err
}

// Settle records what has changed since Follow and is in no other record, as uncertain changes of
// the step that followed: a server that this step called, a person or another program made them.
// It returns a nil Snapshot where nothing is followed.
func (l *Ledger) Settle(ctx context.Context) (s *Snapshot, changed []string, err error) {
	l.mu.Lock()
	s, l.followed = l.followed, nil
	l.mu.Unlock()
	if s == nil {
		return nil, nil, nil
	}
	changed, err = s.Record(ctx)
	return s, changed, err
}

// temporary reports whether a name is one that only adroit's tools give.
func temporary(p string) bool {
	ok, _ := path.Match(".adroit-*", path.Base(p))
	return ok
}
