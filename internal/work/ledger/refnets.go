package ledger

import (
	"context"
	"slices"
	"strings"
)

// A refNet is what the moves of a part come to for one reference.
type refNet struct {
	git, name    string
	orig, last   RefMove
	step         string // of last
	why          string // it is not moved back; "": it is
	any, foreign bool
}

// refNets is what the moves of the part come to, in the order of names, and the
// uncertain ones that it leaves alone.
func (p Selection) refNets() (nets []*refNet, doubtful []Change) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	at := map[[2]string]*refNet{}
	for i, m := range p.l.moves {
		key := [2]string{m.git, string(m.Name)}
		n := at[key]
		if n == nil {
			n = &refNet{git: m.git, name: string(m.Name)}
			at[key] = n
			nets = append(nets, n)
		}
		mine := p.takeMove(i, m)
		if mine && m.Uncertain && !p.uncertain {
			doubtful = append(doubtful, refChange(n.name, m.Before, m.After, m.step, true))
		}
		switch {
		case !mine || m.Uncertain && !p.uncertain:
			if n.any && n.why == "" {
				n.foreign = true
				n.why = "step " + m.step + " moved it later"
				if mine {
					n.why = doubt(m.step) + includeIt
				}
			}
			continue
		case !n.any:
			n.any, n.orig = true, m.RefMove
		case n.last.After != m.Before && n.why == "":
			n.why = "somebody else moved it between two steps"
		}
		n.last, n.step = m.RefMove, m.step
	}
	nets = slices.DeleteFunc(nets, func(n *refNet) bool { return !n.any || n.orig.Before == n.last.After })
	slices.SortFunc(nets, func(a, b *refNet) int { return strings.Compare(a.name+"\x00"+a.git, b.name+"\x00"+b.git) })
	return nets, doubtful
}

// refChange is a change of a reference as one that a caller gets: its path is the name, and
// Before and After are values.
func refChange(name, before, after, step string, uncertain bool) Change {
	c := Change{Path: name, Kind: Modified, Before: before, After: after, Step: step, Uncertain: uncertain}
	switch {
	case before == "":
		c.Kind = Created
	case after == "":
		c.Kind = Deleted
	}
	return c
}

// RecordsRefs reports whether the job moved references and they are noted, as older
// versions did not.
func (l *Ledger) RecordsRefs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.moves) > 0
}

// Refs returns what the part did to references, by name.
func (p Selection) Refs(ctx context.Context) ([]Change, error) {
	if err := p.l.peek(ctx); err != nil {
		return nil, err
	}
	nets, doubtful := p.refNets()
	var out []Change
	for _, n := range nets {
		out = append(out, refChange(n.name, n.orig.Before, n.last.After, n.step, false))
	}
	return append(out, doubtful...), nil
}
