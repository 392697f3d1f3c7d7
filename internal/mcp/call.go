package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Call implements [turn.Servers]. A server that is gone is started once
// more; a call that it died in is repeated only if that does no harm. A call that
// asks the user something waits in this process for the answer.
func (p *Pool) Call(ctx context.Context, in turn.Scope, t turn.Tool, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	s, err := p.entry(in, t.Server)
	if err != nil {
		return failed("%s", err), nil
	}
	l := p.slot(ctx, in, t.Server, s)
	return p.recorded(ctx, l, t, env, func() (tools.Result, error) { return p.call(ctx, l, t, env, args) })
}

func (p *Pool) call(ctx context.Context, l *slot, t turn.Tool, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	said := turn.SaidTo(ctx)
	if n := len(said.Answers); n > 0 && said.Answers[n-1].ID == askScopes && said.Answers[n-1].Action != "accept" {
		return failed("%s was not done by the MCP server %s: it wants more rights than its login has, and the user has said no.", t.Tool, t.Server), nil
	}
	o, gone := p.resumeCall(said, env)
	if gone && t.Safe() == tools.Unsafe {
		r := failed("%s was interrupted while the user was asked: it may or may not have happened. Look before you repeat it.", t.Name)
		r.Undecided = true
		return r, nil
	}
	for again := false; ; again = true {
		if o == nil {
			c, err := p.session(ctx, l, said.Accepted)
			if changed := new(turn.Changed); errors.As(err, &changed) && !said.Nobody {
				return tools.Result{}, err
			}
			if err != nil {
				return p.lost(ctx, err)
			}
			if why, err := p.changed(ctx, l, c, t, said); errors.As(err, new(*turn.Changed)) {
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
			out := p.withoutTokens(t.Server, l.s, result(t.Name, r, o.delivery().structured))
			if o.delivery().unreadable {
				out.Failed, out.Undecided = true, t.Safe() == tools.Unsafe
				out.Text = fmt.Sprintf("The answer of the MCP server %s cannot be understood; whether %s was done is not known. It is:\n%s", t.Server, t.Tool, out.Text)
			}
			return out, nil
		}
		if errors.As(err, new(*turn.Asking)) {
			p.park(o)
			return tools.Result{}, err
		}
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		c, way := o.c, o.delivery()
		if lacks := new(scopesLacking); errors.As(err, &lacks) && way.undone() {
			return p.askForScopes(t, o.id, lacks, said)
		}
		if errors.Is(err, errLate) {
			return unknown(t, fmt.Sprintf("did not answer within %s, and the call was cancelled", cmp.Or(o.limit, defaultCallTime))), nil
		}
		o = nil
		gone := !way.failed && !c.soon() // who answers with an error is there
		if way.forgotten() && c.cs.ID() != "" && !again {
			l.leave(c)
			gone = true
		}
		switch {
		case gone && !again && (way.undone() || t.Safe() != tools.Unsafe):
			continue
		case way.undone():
			return failed("%s was not done by the MCP server %s: it %s", t.Tool, t.Server, cmp.Or(way.words(), c.why(err))), nil
		}
		return unknown(t, cmp.Or(way.words(), c.why(err))), nil
	}
}

// leave ends a connection, so that the next call makes another.
func (l *slot) leave(c *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == c {
		c.end()
		l.live = nil
	}
}

// askScopes is the id of the question for more rights. The server asks none of that id: its
// ids are of requests.
const askScopes = "adroit:scopes"

// askForScopes asks the user to log in again for the scopes that a call lacks. The server has
// refused the call before it began, so it is made anew with the answer; the question is asked
// once.
func (p *Pool) askForScopes(t turn.Tool, id string, lacks *scopesLacking, said turn.Said) (tools.Result, error) {
	asked := slices.ContainsFunc(said.Answers, func(a turn.Answer) bool { return a.ID == askScopes })
	if asked || said.Nobody {
		return failed("%s was not done by the MCP server %s: %s.", t.Tool, t.Server, lacks), nil
	}
	if err := rootfs.WriteFile(p.cancelledFile(id), nil); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{}, &turn.Asking{ID: askScopes, Call: id, Server: t.Server, Tool: t.Tool, Message: fmt.Sprintf("%s. Run that first; yes makes the call again.", lacks)}
}

// why explains why there is no answer, as the end of a sentence.
func (c *session) why(err error) string {
	if !c.alive() {
		return c.err.Error() + ", in the middle of the call"
	}
	if lost := new(url.Error); errors.As(err, &lost) {
		err = lost.Err
	}
	return "gave no answer: " + line(strings.TrimPrefix(err.Error(), `calling "tools/call": `))
}

// unknown returns the result of a call of which nobody knows whether it was done.
func unknown(t turn.Tool, what string) tools.Result {
	r := failed("The MCP server %s %s; whether %s was done is not known.", t.Server, what, t.Tool)
	if r.Undecided = t.Safe() == tools.Unsafe; r.Undecided {
		r.Text += " Find out before you call it again."
	}
	return r
}

func failed(format string, args ...any) tools.Result {
	return tools.Result{Failed: true, Text: fmt.Sprintf(format, args...), Artifacts: map[string]json.RawMessage{}}
}

// lost returns the result of a call whose server is not available.
func (p *Pool) lost(ctx context.Context, err error) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	if changed := new(turn.Changed); errors.As(err, &changed) {
		return failed("%s\n%s. Go on without it, or tell the user.", strings.TrimSpace(err.Error()), changed.Hint()), nil
	}
	return failed("%s. Go on without it, or tell the user.", err), nil
}

// changed explains why a tool differs from the one that the job was given, or returns "" if it
// does not, or if a person has accepted the current one; else the error is a *turn.Changed. A
// server that has announced other tools is asked for them first.
func (p *Pool) changed(ctx context.Context, l *slot, c *session, t turn.Tool, said turn.Said) (string, error) {
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
	now := r.currentState(t.Tool)
	switch {
	case now.accepted == digest:
		return "", nil
	case said.Accepted == digest:
		r.accept(t.Tool)
		return "", r.save(p.o.Dir, l.s)
	case said.Nobody:
		return fmt.Sprintf("The MCP server %s has changed its tool %s since it was accepted, so that it was not called; %s accepts it.", t.Server, t.Tool, hint.Command("mcp check %s --accept", t.Server)), nil
	}
	return "", &turn.Changed{Server: t.Server, Tool: t.Tool, Digest: digest, Text: now.description + "\n" + string(now.input), Reach: l.s.describeReach()}
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

// maxWait bounds the time for which a call waits at its server for the user. After that, and when
// the process ends, the call is cancelled; an answer makes it anew.
const maxWait = time.Hour

// park keeps a call that waits for the user.
func (p *Pool) park(o *openCall) {
	p.mu.Lock()
	p.waiting[o.id] = o
	p.mu.Unlock()
	time.AfterFunc(maxWait, func() {
		if p.unpark(o.id) != nil {
			p.cancelled(o)
		}
	})
}

func (p *Pool) unpark(id string) *openCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.waiting[id]
	delete(p.waiting, id)
	return o
}

// resumeCall passes the last answer to the call that waits for it, and returns that call. If there
// is none, gone reports that its fate is unknown because the process that had it was killed.
func (p *Pool) resumeCall(said turn.Said, env *tools.Env) (o *openCall, gone bool) {
	if len(said.Answers) == 0 {
		return nil, false
	}
	last := said.Answers[len(said.Answers)-1]
	if o = p.unpark(last.Call); o != nil {
		o.resume(env, last)
		return o, false
	}
	return nil, os.Remove(p.cancelledFile(last.Call)) != nil
}

// cancelledFile returns the file that exists for a call that was cancelled while the user was
// asked.
func (p *Pool) cancelledFile(id string) string {
	return filepath.Join(p.o.Dir, "cancelled-"+filepath.Base(id))
}

// cancelled cancels a call that waits for the user and remembers that, so that it
// may be made anew.
func (p *Pool) cancelled(o *openCall) {
	o.end()
	if err := rootfs.WriteFile(p.cancelledFile(o.id), nil); err != nil {
		p.warn("remembering a call that was cancelled: %v", err)
	}
}
