package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Call implements [toolserver.Servers]. A server that is gone is started once
// more; a call that it died in is repeated only if that does no harm. A call that
// asks the user something waits in this process for the answer.
func (p *Pool) Call(ctx context.Context, in toolserver.Scope, t toolserver.Tool, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	s, err := p.entry(in, t.Server)
	if err != nil {
		return failed("%s", err), nil
	}
	said := toolserver.SaidTo(ctx)
	o, gone := p.waitsFor(said, env)
	if gone && t.Safe() == tools.Unsafe {
		return failed("%s was interrupted while the user was asked: it may or may not have happened. Look before you repeat it.", t.Name), nil
	}
	l := p.slot(in, t.Server, s)
	for again := false; ; again = true {
		if o == nil {
			c, err := p.session(ctx, l)
			if err != nil {
				return p.lost(ctx, err)
			}
			if why, err := p.changed(ctx, l, c, t, said); errors.As(err, new(*toolserver.Changed)) {
				return tools.Result{}, err
			} else if err != nil {
				return p.lost(ctx, err)
			} else if why != "" {
				return failed("%s", why), nil
			}
			o = c.begin(ctx, t, env, args, said)
		}
		r, err := o.follow(ctx)
		if err == nil {
			p.noteUse(l)
			return p.withoutTokens(t.Server, s, result(t.Name, r)), nil
		}
		if errors.As(err, new(*toolserver.Asking)) {
			p.park(o)
			return tools.Result{}, err
		}
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		c := o.c
		if o = nil; c.soon() {
			return failed("%s was not done by the MCP server %s: %s", t.Tool, t.Server, line(err.Error())), nil
		}
		if again || t.Safe() == tools.Unsafe {
			return failed("The MCP server %s %s, in the middle of the call; whether %s was done is not known.", t.Server, c.err, t.Tool), nil
		}
	}
}

func failed(format string, args ...any) tools.Result {
	return tools.Result{Failed: true, Text: fmt.Sprintf(format, args...), Artifacts: map[string]json.RawMessage{}}
}

// lost is the result of a call whose server could not be had.
func (p *Pool) lost(ctx context.Context, err error) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	return failed("%s. Go on without it, or tell the user.", err), nil
}

// changed says why a tool is not what the job was given, "" if it is, or if a
// person has accepted what it is now; else the error is a *toolserver.Changed. A
// server that has announced other tools is asked for them first.
func (p *Pool) changed(ctx context.Context, l *slot, c *session, t toolserver.Tool, said toolserver.Said) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == c && c.stale.Swap(false) {
		if _, err := p.relist(ctx, l, false); err != nil {
			return "", err
		}
	}
	digest, ok := l.tools[t.Tool]
	if !ok {
		return fmt.Sprintf("The MCP server %s does not have the tool %s any more. Go on without it.", t.Server, t.Tool), nil
	}
	if digest == t.Digest {
		return "", nil
	}
	r, err := p.record(l.name, l.s)
	if err != nil {
		return "", err
	}
	now := r.now(t.Tool)
	switch {
	case now.accepted == digest:
		return "", nil
	case said.Accepted == digest:
		r.accept(t.Tool)
		return "", r.save(p.o.Dir, l.s)
	case said.Nobody:
		return fmt.Sprintf("The MCP server %s has changed its tool %s since it was accepted, so that it was not called; adroit mcp check %s --accept accepts it.", t.Server, t.Tool, t.Server), nil
	}
	return "", &toolserver.Changed{Server: t.Server, Tool: t.Tool, Digest: digest, Text: now.description + "\n" + string(now.input)}
}

// noteUse remembers that a server was used, once a process.
func (p *Pool) noteUse(l *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used {
		return
	}
	l.used = true
	r, err := p.record(l.name, l.s)
	if err == nil {
		r.Used = time.Now().UTC().Truncate(time.Second)
		err = r.save(p.o.Dir, l.s)
	}
	if err != nil {
		p.warn("remembering the MCP server %s: %v", l.name, err)
	}
}
