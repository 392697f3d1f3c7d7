package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Call implements [toolserver.Servers]. A server that is gone is started once
// more; a call that it died in is repeated only if that does no harm.
func (p *Pool) Call(ctx context.Context, in toolserver.Scope, t toolserver.Tool, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	s, err := p.entry(in, t.Server)
	if err != nil {
		return failed("%s", err), nil
	}
	l := p.slot(in, t.Server, s)
	for again := false; ; again = true {
		c, err := p.session(ctx, l)
		if err != nil {
			return p.lost(ctx, err)
		}
		if why, err := p.changed(ctx, l, c, t); err != nil {
			return p.lost(ctx, err)
		} else if why != "" {
			return failed("%s", why), nil
		}
		r, err := c.call(ctx, t, env, args)
		if err == nil {
			p.noteUse(l)
			return r, nil
		}
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if c.soon() {
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

// changed says why a tool is not what the job was given, "" if it is. A server that
// has announced other tools is asked for them first.
func (p *Pool) changed(ctx context.Context, l *slot, c *session, t toolserver.Tool) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == c && c.stale.Swap(false) {
		if _, err := p.relist(ctx, l, false); err != nil {
			return "", err
		}
	}
	switch digest, ok := l.tools[t.Tool]; {
	case !ok:
		return fmt.Sprintf("The MCP server %s does not have the tool %s any more. Go on without it.", t.Server, t.Tool), nil
	case digest != t.Digest:
		return fmt.Sprintf("The MCP server %s has changed its tool %s since this job was given it, so that it was not called. A person can look at it with: adroit mcp check %s, and accept it for new jobs with --accept.", t.Server, t.Tool, t.Server), nil
	}
	return "", nil
}

// call makes one call on a connection.
func (c *session) call(ctx context.Context, t toolserver.Tool, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	token, end := c.calls.begin(env)
	defer end()
	params := &sdk.CallToolParams{Name: t.Tool, Arguments: args}
	params.SetProgressToken(token)
	r, err := c.cs.CallTool(ctx, params)
	switch {
	case err != nil:
		return tools.Result{}, err
	case r == nil:
		return tools.Result{}, errors.New("it answered nothing")
	}
	return result(t.Name, r), nil
}

// noteUse remembers that a server was used, once a process.
func (p *Pool) noteUse(l *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used {
		return
	}
	l.used = true
	r, err := loadRecord(p.o.Dir, l.name, l.s)
	if err == nil {
		r.Used = time.Now().UTC().Truncate(time.Second)
		err = r.save(p.o.Dir, l.s)
	}
	if err != nil {
		p.warn("remembering the MCP server %s: %v", l.name, err)
	}
}
