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
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Host is what the steps of one job are performed with. It holds the keys,
// files and processes that steps only name.
type Host struct {
	// Models finds the model of a provider/model name and the name to send.
	Models func(ctx context.Context, name string) (llm.Model, string, error)
	// Tools has the bodies of the tools that tasks may name.
	Tools *tools.Set
	// Env gives what tools may touch, in the job's directory or, where at names
	// one, in the worktree of a sub-agent; each call gets the part that it needs.
	Env func(ctx context.Context, job, at string) (*tools.Env, error)
	// Middleware wraps every tool call: each may inspect a call, change it, answer
	// it itself or work on its result. The first is outermost.
	Middleware []func(next ToolHandler) ToolHandler
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
	// Rate is what a model costs, in USD, for events to say. May be nil.
	Rate func(model string, u llm.Usage) float64
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
	m := &models{Host: h, convs: map[string]*conversation{}}
	return flow.Mux{
		executor.ModelStep: {Handler: m.serve, Timeout: max(h.ModelTimeout, executor.AgentTimeout), Attempts: attempts, Safe: repeatableModel, Describe: h.withCost(describeModel), Recount: recountCost(h.withCost(describeModel))},
		executor.ToolStep:  {Handler: h.tool, Timeout: 2 * time.Hour, Safe: h.repeatable, Settle: h.revertInterrupted, Describe: h.withCost(describeTool), Recount: recountCost(h.withCost(describeTool))},

		executor.WorktreeStep: h.trees(),
		executor.CompactStep:  {Handler: m.compact, Timeout: h.ModelTimeout, Attempts: 2, Safe: flow.Always, Describe: h.withCost(describeCompact), Recount: recountCost(h.withCost(describeCompact))},
	}
}

func (h Host) repeatable(s flow.Step) bool {
	t, ok := h.Tools.Lookup(s.Name)
	return ok && (t.Safe() != tools.Unsafe || h.idle(s, t))
}

// revertInterrupted takes back what an interrupted edit has done: the ledger knows. What
// commands have done, or calls to elsewhere, nobody knows.
func (h Host) revertInterrupted(_ context.Context, s flow.Step) (bool, error) {
	var use executor.ToolCall
	t, ok := h.Tools.Lookup(s.Name)
	if !ok || h.Revert == nil || t.Needs&^(tools.Read|tools.Write|tools.Think) != 0 || json.Unmarshal(s.Input, &use) != nil {
		return false, nil
	}
	return h.Revert(s.Job, use.At, s.Path)
}

// tool performs a tool step. What goes wrong inside the tool is its result;
// an error is for the operator.
func (h Host) tool(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var use executor.ToolCall
	if err := json.Unmarshal(s.Input, &use); err != nil {
		return nil, fmt.Errorf("tool %s: decoding input: %w", s.Name, err)
	}
	t, ok := h.Tools.Lookup(s.Name)
	if !ok {
		return nil, fmt.Errorf("tool %s is not part of this program any more", s.Name)
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
	call.MaxResultBytes = use.MaxResultBytes
	if h.Results != nil {
		call.Results = h.Results
	}
	if call.Files != nil {
		call.Files = call.Files.At(s.Path) // so that a step can be undone
		ctx = call.Files.Context(ctx)      // by its commands, too
	}
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
	p := Invocation{Step: s, At: use.At, Tool: t, Env: &call, Args: use.Args}
	if why := overwritesSecret(h.Secrets, p); why != "" {
		perform = func(context.Context, Invocation) (tools.Result, error) {
			return tools.Result{Failed: true, Text: why}, nil
		}
	}
	start := time.Now()
	res, err := perform(ctx, p)
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
	if ask := new(approvalError); errors.As(err, &ask) {
		return json.Marshal(executor.ToolResult{Question: &ask.Question})
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
	h.bound(ctx, s, use.MaxResultBytes, &res, emit)
	reply := executor.ToolResult{Result: res, Took: time.Since(start), Sandbox: sandboxLevel(t, env), ModelCosts: spent}
	return json.Marshal(reply)
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

// models serves model steps and keeps the conversations of its job, so that a
// turn costs what is new in it.
type models struct {
	Host
	mu    sync.Mutex
	convs map[string]*conversation // by digest of the last Ask
}

// A conversation is a transcript as it stood when an Ask was made.
type conversation struct {
	msgs  []llm.Message
	tools []llm.ToolSpec
	wire  *llm.EncodedHistory

	asText       *textTranscript // the same for a model that is not called natively
	modeFailures []toolcall.ModeFailure
	cuts         int // constrained answers that ended before they were done
}

func (m *models) serve(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var a executor.ModelRequest
	if err := json.Unmarshal(s.Input, &a); err != nil {
		return nil, fmt.Errorf("model %s: decoding input: %w", s.Name, err)
	}
	c, err := m.conv(ctx, s.Digest(), a)
	if err != nil {
		return nil, storageFailure(fmt.Errorf("model %s: reading the transcript: %w", s.Name, err))
	}
	model, name, err := m.Models(ctx, a.Model)
	if err != nil {
		return nil, modelFailure(err)
	}
	if a.Output, err = toolcall.FlatSchema(a.Output); err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if own, ok := model.(llm.AgentModel); ok {
		answer, err := m.runAgentModel(ctx, s, own, name, c, a, emit)
		if err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	}
	outer := ctx
	ctx, cancel, most := m.modelTimeout(ctx)
	defer cancel()
	hedge := &hedger{Model: model, ref: a.Model, wait: a.Hedge}
	req := &llm.Request{Model: name, Messages: c.msgs, Tools: c.tools, Output: a.Output, Options: a.Options, History: c.wire}
	req.RequireCall, req.Compacted = a.RequireCall, a.Compacted
	if a.HideTools {
		req.Tools, req.HiddenTools = nil, c.tools
	}
	start := time.Now()
	show := func(d llm.Delta) { emit(event.Event{Kind: event.Delta, Text: d.Text}) }
	if a.Hedge > 0 {
		model = hedge
	}
	answer, err := m.generate(ctx, model, c, a, req, show)
	if e := new(llm.Error); m.Record != nil && errors.As(err, &e) && e.Kind == llm.TooLong {
		if err := m.Record(req, nil); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, timeoutFailure(outer, ctx, most, finalIfBacked(a.Chain, modelFailure(err)))
	}
	repairCalls(answer.Message.Calls)
	if m.Record != nil {
		if err := m.Record(req, &answer.Response); err != nil {
			return nil, err
		}
	}
	answer.Took, answer.ModelCosts = time.Since(start), hedge.spent
	return json.Marshal(answer)
}

// repairCalls makes the arguments of every call valid JSON, whatever the adapter
// let through: one bad call must not spoil the history of a job.
func repairCalls(calls []llm.Call) {
	for i := range calls {
		c := &calls[i]
		if len(c.Args) == 0 {
			c.Args = json.RawMessage("{}")
		}
		if !json.Valid(c.Args) {
			c.Malformed, c.Raw, c.Args = "the arguments are not valid JSON", string(c.Args), json.RawMessage("{}")
		}
	}
}

// conv gives the transcript up to and including a, from memory or, in a
// process that has just taken the job over, from the blob store.
func (m *models) conv(ctx context.Context, digest string, a executor.ModelRequest) (*conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.convs[digest]; ok {
		return c, nil
	}
	c, ok := m.convs[a.Head]
	switch {
	case a.Head == "":
		c = &conversation{wire: new(llm.EncodedHistory)}
	case !ok:
		chain, err := m.chain(ctx, a.Head)
		if err != nil {
			return nil, err
		}
		c = &conversation{wire: new(llm.EncodedHistory)}
		for i := len(chain) - 1; i >= 0; i-- {
			c.add(chain[i])
		}
	}
	c.add(a)
	delete(m.convs, a.Head)
	m.convs[digest] = c
	return c, nil
}

// storageFailure is a failure to read a transcript: one that is there and cannot be
// read is the store's.
func storageFailure(err error) error {
	if errors.Is(err, flow.ErrNoBlob) {
		return err
	}
	return &flow.InfrastructureError{Err: err}
}

// chain reads the asks that lead up to head, the last first.
func (m *models) chain(ctx context.Context, head string) ([]executor.ModelRequest, error) {
	var chain []executor.ModelRequest
	for ; head != ""; head = chain[len(chain)-1].Head {
		b, err := m.Blobs.Blob(ctx, head)
		if err != nil {
			return nil, err
		}
		var prev executor.ModelRequest
		if err := json.Unmarshal(b, &prev); err != nil {
			return nil, err
		}
		chain = append(chain, prev)
	}
	return chain, nil
}

// forget drops what is kept of conversations: after a compaction nobody asks
// for the old one, and another agent's is read again.
func (m *models) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.convs)
}

func (c *conversation) add(a executor.ModelRequest) {
	c.msgs = append(c.msgs, a.New...)
	if a.Tools != nil {
		c.tools = a.Tools
	}
}

// modelFailure makes what a model did wrong data for the journal.
func modelFailure(err error) error {
	var le *llm.Error
	if !errors.As(err, &le) {
		return err
	}
	msg := le.Error()
	if le.Hint != "" {
		msg += "; " + le.Hint
	}
	return &flow.Failure{Code: "model." + string(le.Kind), Message: msg, Retryable: le.Retryable(), After: le.RetryAfter}
}

func describeModel(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
	var a executor.ModelResponse
	if json.Unmarshal(out, &a) != nil {
		return "", nil
	}
	var calls []string
	for _, c := range a.Message.Calls {
		calls = append(calls, c.Name)
	}
	way, why := a.CallMode, a.ModeReason
	if way == toolcall.Native {
		way = "" // the usual
	}
	data, _ := json.Marshal(struct {
		Calling toolcall.Mode        `json:"calling,omitempty"`
		Calls   []string             `json:"calls"`
		Notes   []string             `json:"notes"`
		Stop    llm.Stop             `json:"stop"`
		Text    string               `json:"text"`
		Usage   llm.Usage            `json:"usage"`
		Why     string               `json:"why,omitempty"`
		Spent   []executor.ModelCost `json:"spent,omitempty"`
		Work    *llm.Work            `json:"work,omitempty"`
		Changed []string             `json:"changed,omitempty"`
	}{way, calls, a.Notes, a.Stop, a.Message.Text, a.Usage, why, a.ModelCosts, a.Work, a.Changed})
	return compaction.FirstLine(a.Message.Text), data
}

func describeTool(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
	var use executor.ToolCall
	var r executor.ToolResult
	if json.Unmarshal(s.Input, &use) != nil || json.Unmarshal(out, &r) != nil {
		return "", nil
	}
	if r.Question != nil {
		data, _ := json.Marshal(map[string]any{"args": r.Question.Args, "asks": true})
		return "asks first", data
	}
	text := r.Summary
	if text == "" {
		text = compaction.FirstLine(r.Text)
	}
	data, _ := json.Marshal(struct {
		Args    json.RawMessage      `json:"args"`
		Failed  bool                 `json:"failed"`
		Sandbox string               `json:"sandbox,omitempty"`
		Spent   []executor.ModelCost `json:"spent,omitempty"`
		Text    string               `json:"text"`
	}{use.Args, r.Failed, r.Sandbox, r.ModelCosts, compaction.Excerpt(r.Text)})
	return text, data
}
