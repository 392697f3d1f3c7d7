package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
)

// tool performs a tool step. What goes wrong inside the tool is its result;
// an error is for the operator.
func (h Host) tool(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var use turn.ToolCall
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
			return nil, exhausted(err, tools.Tool{}, false)
		}
	}
	call := h.callEnv(env, s, use, emit)
	call.Secrets, _ = t.LookupSecrets(os.LookupEnv)
	ctx = atStep(ctx, &call, s.Path)
	var think *toolModel
	if call.Model = nil; use.Think != nil {
		think = &toolModel{think: *use.Think, models: h.Models, record: h.Record, emit: emit}
		call.Model = think
	}
	// Innermost: a call is judged in the form that the wrappers give it.
	perform := h.permitted(use, emit)
	for _, wrap := range slices.Backward(h.Middleware) {
		perform = wrap(perform)
	}
	// Before anything judges the call: a rule must see the path that is meant.
	args, repairs := t.Input.Repair(use.Args)
	if !use.Whole { // or a workflow filled them in, from texts: nobody wrote them in another form
		note(emit, t.Name, repairs)
	}
	p := Invocation{Step: s, At: use.At, Tool: t, Env: &call, Args: args}
	if no := h.refuses(p); no != nil {
		perform = func(context.Context, Invocation) (tools.Result, error) { return *no, nil }
	}
	start := time.Now()
	ctx, hold := process.WithHold(ctx)
	ctx, begun := exhaustion.Watch(ctx)
	res, err := perform(h.context(withAnswers(ctx, use), p), p)
	if ctx.Err() != nil {
		// An interrupted tool has not reported what it did: the step stays open, since half an
		// outcome must not be recorded.
		think.reportUnbilled(emit)
		return nil, ctx.Err()
	}
	if err := h.fault(s.Job, use.At); err != nil {
		think.reportUnbilled(emit)
		return nil, exhausted(err, t, begun())
	}
	if first := questionOutput(p, err); first != nil {
		return json.Marshal(first)
	}
	if stop := new(flow.InfrastructureError); errors.As(err, &stop) {
		think.reportUnbilled(emit)
		return nil, err
	}
	spent := think.bill()
	if err != nil && (spent == nil || exhaustion.Of(err) != "") {
		return nil, exhausted(err, t, begun())
	}
	if err != nil {
		// A failure carries no cost: it is kept with the text.
		res = tools.Result{Failed: true, Text: fmt.Sprintf("%s could not be run: %s", s.Name, err)}
	}
	kept, err := h.complete(ctx, s, use, t, &res, emit)
	if err != nil {
		return nil, err
	}
	reply := executor.ToolResult{Result: res, Kept: kept, Took: time.Since(start), Sandbox: sandboxLevel(t, env), ModelCosts: spent, Repairs: repairs}
	files := hold.Files()
	if reply.Held, err = encodeHeld(files); err != nil {
		return nil, err
	}
	reply.Summary += heldBack(files)
	return json.Marshal(reply)
}

// note emits what was repaired in a call's arguments.
func note(emit event.Sink, tool string, repairs []string) {
	for _, text := range repairs {
		emit(event.Event{Kind: event.Note, Text: tool + ": " + text})
	}
}

// refuses returns the result of a call that no approval can permit; nil for any other.
func (h Host) refuses(p Invocation) *tools.Result {
	if why := overwritesSecret(h.Secrets, p); why != "" {
		return &tools.Result{Failed: true, Text: why}
	}
	if _, unset := p.Tool.LookupSecrets(os.LookupEnv); unset != nil {
		no := denied(fmt.Sprintf("the operator has not set %s; tell the user", strings.Join(unset, ", ")))
		return &no
	}
	return nil
}

// complete does the work that follows a completed call. Where the host is exhausted it waits
// instead of making the call again.
func (h Host) complete(ctx context.Context, s flow.Step, use turn.ToolCall, t tools.Tool, res *tools.Result, emit event.Sink) (keptResult, error) {
	err := exhaustion.Retry(ctx, func() error {
		if h.Bind == nil {
			return nil
		}
		err := h.Bind(ctx, s.Job, use.At, t, res)
		if err != nil {
			err = errors.Join(h.fault(s.Job, use.At), err)
		}
		return err
	})
	if err == nil {
		err = exhaustion.Retry(ctx, func() error { return h.keepImages(res) })
	}
	if err != nil {
		return nil, err
	}
	return h.bound(ctx, s, use, res, emit), nil
}

// callEnv restricts env to what one call may touch, and bounds its result.
func (h Host) callEnv(env *tools.Env, s flow.Step, use turn.ToolCall, emit event.Sink) tools.Env {
	call := *env
	call.Job, call.Key, call.Emit = s.Job, s.Key(), emit
	call.Artifacts = artifacts(use.Artifacts)
	call.MaxResultBytes, call.PlainText = use.MaxResultBytes, use.PlainText
	if use.Whole {
		call.MaxValueBytes = turn.MaxValue
	}
	if h.Results != nil {
		call.Result = h.Results.Result
	}
	return call
}

// keptResult is [executor.ToolResult].Kept.
type keptResult = *struct {
	ID    string `json:"id"` // for read_result
	Bytes int    `json:"bytes"`
}

// bound cuts the result of a tool to the size that the model may be shown at once, and keeps the
// whole result also where the loop may show less of it. The whole is redacted first, since a cut
// through a secret would hide it from a later search.
func (h Host) bound(ctx context.Context, s flow.Step, use turn.ToolCall, res *tools.Result, emit event.Sink) keptResult {
	room := use.MaxResultBytes
	over := room > 0 && len(res.Text) > room
	if !over && (use.Share <= 0 || len(res.Text) <= use.Share) {
		return nil
	}
	text, _ := secret.From(ctx).String(res.Text)
	if secret.Sure(text) {
		res.Taint |= tools.Secret
	}
	if !over {
		res.Text = text
	}
	var kept keptResult
	handle := " Ask for fewer lines."
	if s.Name != turn.ReadResult && (over || res.Page == nil) {
		id, err := h.put(ctx, text)
		if err == nil {
			kept = &struct {
				ID    string `json:"id"` // for read_result
				Bytes int    `json:"bytes"`
			}{id, len(text)}
			handle = fmt.Sprintf(" "+turn.HandleFormat, turn.ReadResult, id)
		} else {
			emit(event.Event{Kind: event.Note, Text: "a result of " + s.Name + " is not kept in whole", Error: err.Error()})
			handle = " The rest is not kept: call it again and ask for less."
		}
	}
	if over {
		res.Page = nil
		res.Summary = cmp.Or(res.Summary, turn.OneLine(text, 200))
		space := max(room-markerBytes, room/2)
		res.Text = turn.HeadAndTail(text, space*3/5, space*2/5, handle)
	}
	return kept
}

// put keeps a text among the results.
func (h Host) put(ctx context.Context, text string) (id string, err error) {
	err = exhaustion.Retry(ctx, func() error { id, err = h.Results.Put(text); return err })
	return id, err
}

func (h Host) repeatable(s flow.Step) bool {
	t, ok := h.lookup(s.Name)
	return ok && (t.Safe() != tools.Unsafe || h.idle(s, t))
}

// revertInterrupted reverts the changes of an interrupted edit, which the ledger has recorded. The
// effects of commands, or of calls to elsewhere, are unknown, and an unsafe tool that needs no
// files has an effect that its needs do not show.
func (h Host) revertInterrupted(_ context.Context, s flow.Step) (bool, error) {
	var use turn.ToolCall
	t, ok := h.lookup(s.Name)
	if !ok || h.Revert == nil || t.Needs&tools.Write == 0 || t.Needs&^(tools.Read|tools.Write|tools.Think) != 0 || json.Unmarshal(s.Input, &use) != nil {
		return false, nil
	}
	return h.Revert(s.Job, use.At, s.Path)
}

// checkNew returns an error if a step that the journal has never seen has been performed.
func (h Host) checkNew(ctx context.Context, s flow.Step) error {
	var use turn.ToolCall
	if h.New == nil || json.Unmarshal(s.Input, &use) != nil {
		return nil
	}
	return h.New(ctx, s.Job, use.At, s.Path)
}

type artifacts map[string]json.RawMessage

func (g artifacts) Value(name string) json.RawMessage { return g[name] }

func (g artifacts) Names() []string { return slices.Sorted(maps.Keys(g)) }

// atStep records the changes of a call under its step, including those of its commands, so that
// they can be undone.
func atStep(ctx context.Context, env *tools.Env, path string) context.Context {
	if env.Files == nil {
		return ctx
	}
	env.Files = env.Files.At(path)
	return env.Files.Context(ctx)
}

// sandboxLevel returns the level at which a tool's commands ran, since the record must show what
// was enforced. It is empty for tools that run none.
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

// questionOutput returns the output of a step that has to ask a person first, or nil if err is
// another error.
func questionOutput(p Invocation, err error) *executor.ToolResult {
	if err == nil {
		return nil
	}
	approval, unchecked, user, changed := new(approvalError), new(uncheckedError), new(turn.Asking), new(turn.Changed)
	switch {
	case errors.As(err, &approval):
		return &executor.ToolResult{Question: &approval.Question}
	case errors.As(err, &unchecked):
		raw, err := json.Marshal(unchecked.Unchecked)
		if err != nil {
			return nil // it stays the error of the step
		}
		return &executor.ToolResult{Unchecked: raw}
	case errors.As(err, &user):
		return &executor.ToolResult{UserQuestion: &executor.UserQuestion{
			ID: user.ID, Call: user.Call, Server: user.Server, Tool: user.Tool, Question: user.Message, Schema: user.Schema, URL: user.URL, Fault: user.Fault,
		}}
	case errors.As(err, &changed):
		return &executor.ToolResult{Question: &executor.Question{
			Tool: p.Tool.Name, Args: p.Args, Needs: shownNeeds(p.Tool), Preview: changed.Text, Changed: true, Digest: changed.Digest,
			Why: changed.Why(),
		}}
	}
	return nil
}

// withAnswers passes people's earlier answers to a call.
func withAnswers(ctx context.Context, use turn.ToolCall) context.Context {
	if use.Accepted == "" && len(use.Answers) == 0 {
		return ctx
	}
	said := turn.Said{Accepted: use.Accepted}
	for _, a := range use.Answers {
		said.Answers = append(said.Answers, turn.Answer(a))
	}
	return turn.WithSaid(ctx, said)
}

// noSuchTool returns the output of a step whose tool does not exist. The model may have made up
// the name of a server's tool.
func noSuchTool(name string) (json.RawMessage, error) {
	if !strings.HasPrefix(name, turn.Prefix("")) {
		return nil, fmt.Errorf("tool %s is not part of this program any more", name)
	}
	return json.Marshal(executor.ToolResult{Result: tools.Result{Failed: true, Text: fmt.Sprintf("There is no tool %s; %s finds tools.", name, turn.DescribeTool)}})
}

// A ResultStore keeps whole results of which a model is shown a part, each
// under its digest, in a directory of the job: equal texts are stored once, and a
// repeated step finds its own. It is safe for concurrent use. A nil ResultStore
// stores nothing.
type ResultStore struct {
	Dir string // made when there is something to keep

	mu   sync.Mutex
	size int64 // of what is kept; -1 once it is full
	seen bool
}

const (
	maxKept     = 8 << 20   // bytes of one text
	maxStored   = 256 << 20 // of all
	markerBytes = 120       // for the line that states what is left out
)

var resultID = lazyregexp.New(`^[0-9a-f]{12}$`)

// errFull reports that the job has kept as much as it may.
var errFull = errors.New("the job has kept as many results as it may")

// Put keeps text and returns its id. What is beyond 8 MB of one text or 256 MB
// of all is not kept.
func (s *ResultStore) Put(text string) (string, error) {
	if s == nil {
		return "", errFull
	}
	if len(text) > maxKept {
		text = turn.TrimRunes(text[:maxKept]) + fmt.Sprintf("\n[cut here: it had %d bytes]\n", len(text))
	}
	id := flow.Digest([]byte(text))[:12]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.scan(); err != nil {
		return "", err
	}
	file := filepath.Join(s.Dir, id)
	if _, err := os.Stat(file); err == nil {
		return id, nil
	}
	if s.size+int64(len(text)) > maxStored {
		return "", errFull
	}
	if err := rootfs.WriteFile(file, []byte(text)); err != nil {
		return "", fmt.Errorf("keeping a result: %w", err)
	}
	s.size += int64(len(text))
	return id, nil
}

// scan finds the results that an earlier process has left.
func (s *ResultStore) scan() error {
	if s.seen {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			s.size += info.Size()
		}
	}
	s.seen = true
	return nil
}

// Result gives a text back.
func (s *ResultStore) Result(id string) (string, error) {
	if s == nil || !resultID.MatchString(id) {
		return "", fs.ErrNotExist
	}
	b, err := os.ReadFile(filepath.Join(s.Dir, id))
	return string(b), err
}

// heldBack names files that wait for an answer, for the line of the step.
func heldBack(files []process.Held) string {
	words := ""
	for i, f := range files {
		if i == 3 {
			return words + fmt.Sprintf(" and %d more", len(files)-i)
		}
		words += []string{"; not in the workspace without an answer: ", ", "}[min(i, 1)] + spelling.PathLine(f.Path)
	}
	return words
}
