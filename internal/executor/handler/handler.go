// Package handler performs the steps that the agent loop of pkg/executor asks
// for: it asks models, runs tools under permissions, compacts conversations and
// copies work trees. Everything that does I/O for the loop is here.
//
//	mux := handler.Guard(handler.Serve(handler.Host{Models: models, Tools: set, Env: env, Blobs: blobs}), redactor)
//
// It decides nothing about the course of a job: that is the loop's, which is
// replayed and cannot see files, clocks or the network.
package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Host is what the steps of one job are performed with. It holds the keys,
// files and processes that steps only name.
type Host struct {
	// Models finds the model of a provider/model name and the name to send.
	Models func(ctx context.Context, name string) (llm.Model, string, error)
	// Tools has the bodies of the tools that tasks may name.
	Tools *tools.Set
	// ServerTool has the bodies of those that tool servers have, and of those
	// that reach them; it comes before Tools. May be nil.
	ServerTool func(name string) (tools.Tool, bool)
	// Env gives what tools may touch, in the job's directory or, where at names
	// one, in the worktree of a sub-agent; each call gets the part that it needs.
	Env func(ctx context.Context, job, at string) (*tools.Env, error)
	// Middleware wraps every tool call: each may inspect a call, change it, answer
	// it itself or work on its result. The first is outermost.
	Middleware []func(next ToolHandler) ToolHandler
	// Context adds what a tool finds in the context of its call. May be nil.
	Context func(context.Context, Invocation) context.Context
	// Secrets are not overwritten by calls with what replaced them in the text
	// that the model was shown. May be nil.
	Secrets *secret.Redactor
	// Bind adds the artifacts that the host rather than the tool produces,
	// such as the diff of what the job has changed. May be nil.
	Bind func(ctx context.Context, job, at string, t tools.Tool, res *tools.Result) error
	// Fault returns the storage failure that calls there have met, nil for none.
	// It ends the run, whatever the tool made of it. May be nil.
	Fault func(job, at string) error
	// Revert takes back what the step at path has changed of files there, so
	// that it can be performed again; false if it cannot. May be nil.
	Revert func(job, at, path string) (bool, error)
	// Worktrees makes copies of the work tree for sub-agents. May be nil.
	Worktrees Worktrees
	// Confinement is the sandbox around commands here; approval prompts show it.
	Confinement Confinement
	// CallModes knows how models call tools. May be nil: then all modes are tried.
	CallModes CallModes
	// Record keeps what models have answered to what, nil for what was too long
	// for one; an error of it fails the step. It may be called from several goroutines. May be nil.
	Record func(*llm.Request, *llm.Response) error
	// Blobs has the transcripts.
	Blobs flow.Blobs
	// Images reads an image of the job's messages by its digest. May be nil.
	Images func(digest string) ([]byte, error)
	// KeepImage keeps an image that a tool has returned, durably. Nil: models learn of
	// such images by their text only.
	KeepImage func(i *llm.Image) error
	// NoImages returns why a model is sure to take no images, "" if it takes them or
	// nobody knows. May be nil.
	NoImages func(ctx context.Context, model string) string
	// Person asks whoever is there whether something may happen that a model is
	// about to do on its own; no is the reason if not. Nil: nobody is there.
	Person func(ctx context.Context, q executor.Question) (no string, err error)
	// Results stores the results that models see in part. May be nil.
	Results *ResultStore
	// ModelTimeout bounds one attempt of a model call; zero means ten
	// minutes. Attempts is how often a failed model call is tried; zero means
	// five.
	ModelTimeout time.Duration
	Attempts     int
	// Patience is how long a model is waited for whose server is busy: it loads the
	// model or limits the rate. Zero: as long as Attempts take.
	Patience time.Duration
	// Rate is what a model costs, in USD, for events to say. May be nil.
	Rate func(model string, u llm.Usage) float64
}

func (h Host) context(ctx context.Context, p Invocation) context.Context {
	if h.Context == nil {
		return ctx
	}
	return h.Context(ctx, p)
}

// A Invocation is one call of a tool about to happen: the step, the tool with
// its body, what it may touch (not yet cut down to its needs) and the
// arguments (not yet validated).
type Invocation struct {
	Step flow.Step
	At   string // the worktree it happens in; empty is the job's directory
	Tool tools.Tool
	Env  *tools.Env
	Args json.RawMessage
}

// A ToolHandler performs a call. Its errors are those of [tools.Tool.Run]. It
// may be called from several goroutines.
type ToolHandler func(ctx context.Context, p Invocation) (tools.Result, error)

// Serve returns the handlers of the steps that Loop asks for: "model", "tool"
// and "compact".
func Serve(h Host) flow.Mux {
	attempts := h.Attempts
	if attempts == 0 {
		attempts = 5
	}
	m := &models{Host: h, convs: map[string]*conversation{}, blind: map[string]string{}}
	return flow.Mux{
		stepio.ModelStep: {Handler: m.serve, Timeout: max(h.ModelTimeout, stepio.AgentTimeout), Attempts: attempts, Patience: h.Patience, Safe: repeatableModel, Describe: h.withCost(describeModel), Recount: recountCost(h.withCost(describeModel))},
		stepio.ToolStep:  {Handler: h.tool, Timeout: 2 * time.Hour, Safe: h.repeatable, Settle: h.revertInterrupted, Describe: h.withCost(describeTool), Recount: recountCost(h.withCost(describeTool))},

		stepio.WorktreeStep: h.trees(),
		stepio.CompactStep:  {Handler: m.compact, Timeout: h.ModelTimeout, Attempts: 2, Patience: h.Patience, Safe: flow.Always, Describe: h.withCost(describeCompact), Recount: recountCost(h.withCost(describeCompact))},
	}
}

// lookup finds a tool with its body.
func (h Host) lookup(name string) (tools.Tool, bool) {
	if h.ServerTool != nil {
		if t, ok := h.ServerTool(name); ok {
			return t, true
		}
	}
	return h.Tools.Lookup(name)
}

func (h Host) repeatable(s flow.Step) bool {
	t, ok := h.lookup(s.Name)
	return ok && (t.Safe() != tools.Unsafe || h.idle(s, t))
}

// revertInterrupted takes back what an interrupted edit has done: the ledger knows. What
// commands have done, or calls to elsewhere, nobody knows.
func (h Host) revertInterrupted(_ context.Context, s flow.Step) (bool, error) {
	var use stepio.ToolCall
	t, ok := h.lookup(s.Name)
	if !ok || h.Revert == nil || t.Needs&^(tools.Read|tools.Write|tools.Think) != 0 || json.Unmarshal(s.Input, &use) != nil {
		return false, nil
	}
	return h.Revert(s.Job, use.At, s.Path)
}

// tool performs a tool step. What goes wrong inside the tool is its result;
// an error is for the operator.
func (h Host) tool(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var use stepio.ToolCall
	if err := json.Unmarshal(s.Input, &use); err != nil {
		return nil, fmt.Errorf("tool %s: decoding input: %w", s.Name, err)
	}
	t, ok := h.lookup(s.Name)
	if !ok {
		return noSuchTool(s.Name)
	}
	env := new(tools.Env)
	if h.Env != nil {
		var err error
		if env, err = h.Env(ctx, s.Job, use.At); err != nil {
			return nil, err
		}
	}
	call := *env
	call.Job, call.Key, call.Emit = s.Job, s.Key(), emit
	call.Artifacts = artifacts(use.Artifacts)
	call.MaxResultBytes, call.PlainText = use.MaxResultBytes, use.PlainText
	if h.Results != nil {
		call.Result = h.Results.Result
	}
	ctx = atStep(ctx, &call, s.Path)
	var think *toolModel
	if call.Model = nil; use.Think != nil {
		think = &toolModel{think: *use.Think, models: h.Models, record: h.Record, emit: emit}
		call.Model = think
	}
	// Innermost: what the wrappers make of a call is what is judged.
	perform := h.permitted(use, emit)
	for _, wrap := range slices.Backward(h.Middleware) {
		perform = wrap(perform)
	}
	// Before anything judges the call: a rule must see the path that is meant.
	args, repairs := t.Input.Repair(use.Args)
	for _, note := range repairs {
		emit(event.Event{Kind: event.Note, Text: t.Name + ": " + note})
	}
	p := Invocation{Step: s, At: use.At, Tool: t, Env: &call, Args: args}
	if why := overwritesSecret(h.Secrets, p); why != "" {
		perform = func(context.Context, Invocation) (tools.Result, error) {
			return tools.Result{Failed: true, Text: why}, nil
		}
	}
	start := time.Now()
	res, err := perform(h.context(withSaid(ctx, use), p), p)
	if ctx.Err() != nil {
		// A tool that was stopped has not reported what it did: the step stays
		// open rather than to record half an outcome.
		think.reportUnbilled(emit)
		return nil, ctx.Err()
	}
	if err := h.fault(s.Job, use.At); err != nil {
		think.reportUnbilled(emit)
		return nil, err
	}
	if first := asked(p, err); first != nil {
		return json.Marshal(first)
	}
	spent := think.bill()
	if err != nil && spent == nil {
		return nil, err
	}
	if err != nil {
		// A failure has no bill: what was paid for is kept with the words.
		res = tools.Result{Failed: true, Text: fmt.Sprintf("%s could not be run: %s", s.Name, err)}
	}
	if h.Bind != nil {
		if err := h.Bind(ctx, s.Job, use.At, t, &res); err != nil {
			return nil, errors.Join(h.fault(s.Job, use.At), err)
		}
	}
	if err := h.keepImages(&res); err != nil {
		return nil, err
	}
	h.bound(ctx, s, use.MaxResultBytes, &res, emit)
	reply := executor.ToolResult{Result: res, Took: time.Since(start), Sandbox: sandboxLevel(t, env), ModelCosts: spent, Repairs: repairs}
	return json.Marshal(reply)
}

// atStep notes what a call changes under its step, so that it can be undone: what its
// commands do, too.
func atStep(ctx context.Context, env *tools.Env, path string) context.Context {
	if env.Files == nil {
		return ctx
	}
	env.Files = env.Files.At(path)
	return env.Files.Context(ctx)
}

// fault returns the storage failure that calls at a worktree have met, as what
// ends the run.
func (h Host) fault(job, at string) error {
	if h.Fault == nil {
		return nil
	}
	if err := h.Fault(job, at); err != nil {
		return &flow.InfrastructureError{Err: err}
	}
	return nil
}

// sandboxLevel is the level at which a tool's commands ran, as the record must
// tell what was enforced. It is empty for tools that run none.
func sandboxLevel(t tools.Tool, env *tools.Env) string {
	if t.Needs&(tools.Exec|tools.Shell) == 0 {
		return ""
	}
	if c, ok := env.Exec.(interface{ Sandbox() string }); ok {
		level := c.Sandbox()
		if t.Needs&tools.Net != 0 && level != "off" && level != "refused" && !strings.HasSuffix(level, "network open") {
			level += ", network open" // for programs of its own: see process.Cmd
		}
		return level
	}
	return ""
}

type artifacts map[string]json.RawMessage

func (g artifacts) Value(name string) json.RawMessage { return g[name] }
func (g artifacts) Names() []string                   { return slices.Sorted(maps.Keys(g)) }
