package mcp

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
)

// List implements [turn.Servers].
func (p *Pool) List(in turn.Scope) ([]turn.Info, error) {
	all, err := p.entries(in)
	if err != nil {
		return nil, err
	}
	out := []turn.Info{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		r, err := p.record(name, s)
		if err != nil {
			return nil, err
		}
		i := info(name, s, r)
		if g, err := p.grant(name, s); err == nil && g != nil {
			i.LoggedIn = true
		}
		out = append(out, i)
	}
	return out, nil
}

// info describes a server from its entry and its record.
func info(name string, s Server, r *record) turn.Info {
	i := turn.Info{Name: name, Transport: s.transport(), Target: s.Target(), State: "configured", Source: "user", Agents: s.Agents, Tools: len(r.offered()), Pending: len(r.Pending), Resources: r.Resources, Prompts: r.Prompts, Seen: r.Seen, Used: r.Used}
	if r.SSE {
		i.Transport = "sse"
	}
	switch {
	case s.Disabled:
		i.State, i.Tools = "disabled", 0
	case !r.Used.IsZero():
		i.State = "used"
	case !r.Seen.IsZero():
		i.State = "started"
	}
	switch {
	case s.wanted:
		i.Source = turn.OfClient
	case s.source != sourceUser:
		i.Source = string(s.source)
	}
	return i
}

// Check implements [turn.Servers]: it lists the tools of the server, which is started for it unless
// it runs. One that may write the workspace is started without that grant: nothing that a check
// leaves behind is recorded, so no undo would take it back.
func (p *Pool) Check(ctx context.Context, in turn.Scope, name string, accept bool) (*turn.Report, error) {
	s, err := p.entry(in, name)
	if err != nil {
		return nil, err
	}
	l := p.reading(ctx, in, name, s)
	if l.s.listing {
		defer p.restart(l) // the next call starts it as it is granted
	}
	accepted := ""
	if accept {
		accepted = anyContent
	}
	if _, err := p.session(ctx, l, accepted); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, err := p.record(name, s)
	if err != nil {
		return nil, err
	}
	r, err := p.relist(ctx, l, accept)
	if err != nil {
		return nil, err
	}
	out := &turn.Report{Info: info(name, s, r), Version: r.Version, Protocol: r.Protocol, Items: []turn.Item{}, Unusable: r.reasons(), Gone: r.Gone, More: r.More}
	for _, f := range l.pin.Files {
		out.Compared = append(out.Compared, f.Name)
	}
	add := func(d definition, state string) {
		t := d.tool(plainName(toolID{name, d.Name}), name, s)
		item := turn.Item{Name: d.Name, Description: d.Description, Input: d.Input, State: state, Effect: string(t.Safe()), Asks: t.Asks != "", Unchecked: d.Unchecked}
		for _, was := range before.Tools {
			if was.Name == d.Name && was.Digest != d.Digest {
				item.Accepted = &turn.Accepted{Description: was.Description, Input: was.Input}
			}
		}
		out.Items = append(out.Items, item)
	}
	for _, d := range r.offered() {
		add(d, "offered")
	}
	for _, d := range r.Pending {
		state := "new"
		if slices.ContainsFunc(r.Tools, func(t definition) bool { return t.Name == d.Name }) {
			state = "changed"
		}
		add(d, state)
	}
	return out, nil
}

// maxToolName is the longest tool name, in bytes, that all providers accept.
const maxToolName = 64

// A toolID is a tool of a server by the names that both have there.
type toolID struct{ server, tool string }

// plainName returns mcp__SERVER__TOOL in the letters that tools may have here.
func plainName(id toolID) string {
	safe := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '_'
		}, s)
	}
	return turn.Prefix(id.server) + safe(id.tool)
}

// toolNames gives each tool a name of its own: the plain one where that is short
// and no other tool's differs from it in case and underscores only, else one that
// ends in a hash of both names. A tool whose name is another's all the same, which
// takes a server that looks for such names, has none.
func toolNames(ids []toolID) map[toolID]string {
	names := map[toolID]string{}
	hashed := map[toolID]bool{}
	for again := true; again; {
		again = false
		count := map[string]int{}
		for _, id := range ids {
			names[id] = plainName(id)
			if len(names[id]) > maxToolName || hashed[id] {
				names[id] = hashedName(id)
			}
			count[spelling.Fold(names[id])]++
		}
		for _, id := range ids {
			if count[spelling.Fold(names[id])] > 1 && !hashed[id] {
				hashed[id], again = true, true
			}
		}
	}
	taken := map[string]bool{}
	for _, id := range ids {
		if f := spelling.Fold(names[id]); taken[f] {
			delete(names, id)
		} else {
			taken[f] = true
		}
	}
	return names
}

// hashedName returns the plain name, cut if need be, with a hash of both names.
func hashedName(id toolID) string {
	hash := "_" + digest([]byte(id.server + "\x00" + id.tool))[:8]
	name := plainName(id)
	return name[:min(len(name), maxToolName-len(hash))] + hash
}
