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
// Its own flags restrict it; docs/models.md lists what each program makes of
// them.
package cliagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Config selects the program to run and how its stream is read.
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
	// Grace is the time in which the program may exit after the end of its stream; zero
	// means three seconds.
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

// A session identifies the program's own conversation. An answer carries it.
type session struct {
	ID string `json:"id"`
	// Total is its usage so far, for programs that report usage per session.
	Total llm.Usage `json:"total,omitzero"`
}

// A turnInput is the input of one run of the program.
type turnInput struct {
	session session
	system  string
	prompt  string
}

// input resumes the session of the program's own last answer with the messages
// since then.
func (r *opened) input(req *llm.Request) turnInput {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if m.Role != llm.Assistant {
			continue
		}
		var was session
		if m.State == nil || m.State.Dialect != "cli/"+r.Name || json.Unmarshal(m.State.Value, &was) != nil || was.ID == "" {
			break // the last answer is another model's
		}
		return turnInput{session: was, prompt: prompt(req.Messages[i+1:], req.Output)}
	}
	return r.newSession(req)
}

// newSession is the whole conversation as the input of a new session.
func (r *opened) newSession(req *llm.Request) turnInput {
	var system []string
	var rest []llm.Message
	for _, m := range req.Messages {
		if m.Role == llm.System {
			system = append(system, m.Text)
		} else {
			rest = append(rest, m)
		}
	}
	system = append(system, fmt.Sprintf(headlessNote, r.at.Access.List()))
	return turnInput{system: strings.TrimSpace(strings.Join(system, "\n\n")), prompt: prompt(rest, req.Output)}
}

const headlessNote = `You are run by a program, and nobody can answer questions while you work: decide yourself, or end and say what you need. Work with the tools that you have; a tool that is named above and that you do not have is not there. In the current directory you may: %s. Leave everything outside of it alone. When you are done, end with a short message that says what you did.`

// prompt writes messages out as one text.
func prompt(msgs []llm.Message, output json.RawMessage) string {
	alone := true // there are only user messages
	for _, m := range msgs {
		alone = alone && m.Role == llm.User
	}
	var parts []string
	for i, m := range msgs {
		text := strings.TrimSpace(m.Text)
		switch {
		case alone:
		case m.Role == llm.Tool:
			text = fmt.Sprintf("[result of %s]\n%s", m.Name, text)
		case m.Role == llm.Assistant:
			for _, c := range m.Calls {
				text += fmt.Sprintf("\n[called %s %s]", c.Name, c.Args)
			}
			text = "[an assistant before you]\n" + strings.TrimSpace(text)
		case i > 0:
			text = "[user]\n" + text
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	if len(output) > 0 {
		parts = append(parts, "End with JSON that satisfies this schema, and nothing else:\n"+string(output))
	}
	return strings.Join(parts, "\n\n")
}

// Programs are the models of the provider cli for a Go program: a request names
// one of them, and after a colon the model that it shall use.
//
//	programs, err := cliagent.Open()
//	rt, err := adroit.Open(adroit.Options{Models: map[string]llm.Model{"cli": programs}})
type Programs map[string]*Agent

var _ extagent.Model = Programs(nil)

// Open returns the known programs and the configured ones, which replace known ones of
// the same name. It does not check that they are installed.
func Open(more ...Config) (Programs, error) {
	ps := Programs{}
	for _, name := range Known() {
		more = append([]Config{{Name: name}}, more...)
	}
	for _, c := range more {
		a, err := New(c)
		if err != nil {
			return nil, err
		}
		ps[c.Name] = a
	}
	return ps, nil
}

// Open implements [extagent.Model].
func (ps Programs) Open(p extagent.Session) llm.Model {
	return llm.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
		a, own, err := ps.pick(req)
		if err != nil {
			return nil, err
		}
		return a.Open(p).Generate(ctx, own, emit)
	})
}

// Generate implements [llm.Model].
func (ps Programs) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	a, own, err := ps.pick(req)
	if err != nil {
		return nil, err
	}
	return a.Generate(ctx, own, emit)
}

func (ps Programs) pick(req *llm.Request) (*Agent, *llm.Request, error) {
	name, model, _ := strings.Cut(req.Model, ":")
	a := ps[name]
	if a == nil {
		return nil, nil, &llm.Error{Kind: llm.NoModel, Provider: "cli", Message: fmt.Sprintf("there is no command-line agent %q", name),
			Hint: "there are " + strings.Join(slices.Sorted(maps.Keys(ps)), ", ")}
	}
	own := *req
	own.Model = model
	return a, &own, nil
}
