// Package cliagent drives command-line agents as models: codex, claude, gemini,
// opencode, any program that writes its progress as lines of JSON, and those
// that speak the Agent Client Protocol.
//
//	agent, err := cliagent.New(cliagent.Config{Name: "codex"})
//	resp, err := agent.In(extagent.Session{Dir: dir, Access: extagent.Access{Write: true}}).Generate(ctx, req, emit)
//
// Such a program is a [extagent.Model]: it works in a directory with tools of its
// own until it has an answer. What it streams is read into one form, whatever
// program it is; a stream without an end is an error of kind no_result, because
// an exit code of 0 proves nothing. Limits that most of these programs lack
// (time, silence, turns, repeated calls) are enforced here.
//
// It is no sandbox: the program runs as we do, with its own login and network.
// Its own flags restrict it; docs/cli-agents.md lists what each program makes of
// them.
package cliagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config says which program is run and how its stream is read.
type Config struct {
	Name    string   // cli/NAME
	Command []string // the program and its first arguments; empty is the format's own
	Format  string   // codex, claude, gemini, opencode, jsonl or acp; empty is Name
	Env     []string // names of our variables that it gets besides those every such program gets
	// Args, Fields and Types describe a program of format jsonl.
	Args   Args
	Fields map[string]string
	Types  map[string]string
	// Limits apply where the session sets none.
	Limits extagent.Limits
	// Grace is how long the program may take to exit after the end of its
	// stream; zero is three seconds.
	Grace  time.Duration
	Getenv func(string) string // nil is os.Getenv
}

// An Agent is a configured program. It is safe for concurrent use: each request
// is a process of its own.
type Agent struct {
	Config
	kind   kind
	format format // nil where a protocol is used instead
	stream int64  // bytes that a run may write; zero is maxStream
}

var _ extagent.Model = (*Agent)(nil)

// defaults are the limits where nothing else is set.
var defaults = extagent.Limits{Turns: 200, Tokens: -1, CostUSD: -1, Wall: time.Hour, Idle: 10 * time.Minute, SameCalls: 12}

// New checks a configuration. It does not look whether the program is there:
// see [Agent.Find].
func New(c Config) (*Agent, error) {
	a := &Agent{Config: c}
	name := cmp.Or(c.Format, c.Name)
	f, ok := formatNamed(name)
	if !ok {
		return nil, fmt.Errorf("cli %s: there is no format %q; it is one of %v", c.Name, name, formatNames())
	}
	a.kind = f
	if f.read != nil {
		var err error
		if a.format, err = f.read(c); err != nil {
			return nil, fmt.Errorf("cli %s: %w", c.Name, err)
		}
	}
	if a.Format = name; len(a.Command) == 0 {
		if f.pkg == "" {
			return nil, fmt.Errorf("cli %s: command is missing; name the program and its arguments", c.Name)
		}
		a.Command = []string{name}
	}
	if a.Command[0] == "" {
		return nil, fmt.Errorf("cli %s: command begins with an empty word; name the program", c.Name)
	}
	if a.Getenv == nil {
		a.Getenv = os.Getenv
	}
	a.Grace = cmp.Or(a.Grace, 3*time.Second)
	return a, nil
}

// Open implements [extagent.Model].
func (a *Agent) Open(p extagent.Session) llm.Model { return &opened{a, p} }

// Generate asks the program where there is nothing to touch: in an empty
// directory, with no rights.
func (a *Agent) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	dir, err := os.MkdirTemp("", "adroit-cli-")
	if err != nil {
		return nil, fmt.Errorf("cli %s: %w", a.Name, err)
	}
	defer os.RemoveAll(dir)
	p := extagent.Session{Dir: dir, Limits: extagent.Limits{Turns: 20, Wall: 5 * time.Minute}}
	return a.Open(p).Generate(ctx, req, emit)
}

// An opened agent has a session.
type opened struct {
	*Agent
	at extagent.Session
}

// Generate implements [llm.Model]: it takes up the session of the conversation
// if there is one, and begins anew if the program does not know it any more.
func (r *opened) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if emit == nil {
		emit = func(llm.Delta) {}
	}
	if r.at.Access.SandboxedOnly && !r.kind.confines {
		r.at.Access.Run = false // nothing confines its commands
	}
	talk := r.input(req)
	resp, err := r.once(ctx, req, talk, emit)
	if lost := new(lostSession); talk.session.ID != "" && errors.As(err, &lost) {
		words := "the session " + talk.session.ID + " is not known any more; began a new one with the whole conversation"
		emit(llm.Delta{Activity: &llm.Activity{Kind: extagent.Warned, ID: talk.session.ID, Text: words}})
		if resp, err = r.once(ctx, req, r.newSession(req), emit); err == nil {
			resp.Notes = append(resp.Notes, words)
		}
	}
	return resp, err
}

// once runs the program for one answer.
func (r *opened) once(ctx context.Context, req *llm.Request, t turnInput, emit func(llm.Delta)) (*llm.Response, error) {
	scratch, err := os.MkdirTemp("", "adroit-cli-")
	if err != nil {
		return nil, fmt.Errorf("cli %s: %w", r.Name, err)
	}
	defer os.RemoveAll(scratch)
	o := invocation{Model: req.Model, Prompt: t.prompt, System: t.system, Session: t.session.ID, Dir: r.at.Dir, Scratch: scratch,
		Access: r.at.Access, Limits: mergeLimits(r.at.Limits, r.Limits), Effort: req.Options.Effort, Getenv: r.Getenv}
	s := &run{emit: emit, limits: o.Limits, usageBefore: t.session.Total, began: t.session.ID}
	var e ending
	if r.format == nil {
		e, err = r.runACP(ctx, o, s)
	} else {
		e, err = r.runProgram(ctx, o, s)
	}
	if err != nil {
		return nil, err
	}
	return r.answer(s, e, req.Model)
}

// mergeLimits takes each limit from the first of list, then the defaults, that
// sets it.
func mergeLimits(list ...extagent.Limits) extagent.Limits {
	var b extagent.Limits
	for _, d := range append(list, defaults) {
		b.Turns, b.Tokens, b.CostUSD = cmp.Or(b.Turns, d.Turns), cmp.Or(b.Tokens, d.Tokens), cmp.Or(b.CostUSD, d.CostUSD)
		b.Wall, b.Idle, b.SameCalls = cmp.Or(b.Wall, d.Wall), cmp.Or(b.Idle, d.Idle), cmp.Or(b.SameCalls, d.SameCalls)
	}
	return b
}
