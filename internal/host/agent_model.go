package host

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// recordTimeout bounds the time to record a model's changes after it has ended.
const recordTimeout = time.Minute

// repeatableModel reports whether an interrupted model step may be performed again: not
// if the model works on its own.
func repeatableModel(s flow.Step) bool { return !extagent.IsAgent(s.Name) }

// modelTimeout bounds the answer of a model that only answers, as the engine
// would: the step's own time is for those that work.
func (h Host) modelTimeout(ctx context.Context) (context.Context, context.CancelFunc, time.Duration) {
	d := h.ModelTimeout
	if d == 0 {
		d = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	return ctx, cancel, d
}

// timeoutFailure returns err, or the failure of an answer that took longer than it may.
func timeoutFailure(outer, inner context.Context, d time.Duration, err error) error {
	if err == nil || inner.Err() == nil || outer.Err() != nil {
		return err
	}
	return &flow.Failure{Code: flow.TimedOut, Message: fmt.Sprintf("timed out after %s", d), Retryable: true}
}

// runAgentModel runs an external agent in the job's directory for its answer. Its changes there
// are recorded under the step, whatever the outcome.
func (m *models) runAgentModel(ctx context.Context, s flow.Step, model extagent.Model, name string, c *conversation, a turn.ModelRequest, emit event.Sink) (*turn.ModelResponse, error) {
	if a.Grant == nil || m.Env == nil {
		return nil, fmt.Errorf("model %s works on its own, and this step gives it no place to", s.Name)
	}
	env, err := m.Env(ctx, s.Job, a.At)
	if err != nil {
		return nil, err
	}
	if env.Files == nil {
		return nil, fmt.Errorf("model %s works on its own, and the job has no directory", s.Name)
	}
	files := env.Files.At(s.Path)
	before, err := files.Watch(ctx)
	if before != nil && err == nil {
		err = before.KeepIgnored(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("noting the files before %s works: %w", s.Name, err)
	}
	place := extagent.Session{Dir: files.Dir(), Access: a.Grant.Rights, Limits: a.Grant.Bounds}
	place.Approve = m.approver(ctx, *a.Grant, &tools.Env{Files: files}, a)
	req := &llm.Request{Model: name, Messages: c.msgs, Output: a.Output, Options: a.Options}
	start := time.Now()
	resp, err := model.Open(place).Generate(ctx, req, func(d llm.Delta) { emit(deltaEvent(d)) })

	var changed []string
	var partial string
	if before != nil {
		// The files are as they are, also if the run is being stopped.
		settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		var noted error
		// The program lists the files that it edits but not the changes of its commands: all
		// changes are evidence that it worked, and none of them is certain.
		changed, noted = before.Record(settle, ".")
		cancel()
		if partial = before.Partial; noted != nil {
			partial = "what it changed could not be recorded and cannot be undone: " + noted.Error()
		}
	}
	if partial != "" {
		emit(event.Event{Kind: event.Note, Text: s.Name + ": " + partial})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := m.fault(s.Job, a.At); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, modelFailure(err)
	}
	answer := &turn.ModelResponse{Response: *resp, Changed: changed, Took: time.Since(start)}
	answer.Message.Calls = nil // it has no tools of ours
	if answer.Work == nil {
		answer.Work = new(llm.Work)
	}
	if m.Bind != nil && (place.Access.Write || len(changed) > 0) {
		var res tools.Result
		t := tools.Tool{Metadata: tools.Metadata{Name: s.Name, Needs: tools.Write}}
		if err := m.Bind(ctx, s.Job, a.At, t, &res); err != nil {
			return nil, err
		}
		answer.Artifacts = res.Artifacts
	}
	if m.Record != nil {
		emit(event.Event{Kind: event.Note, Text: "not recorded: " + s.Name + " works on its own, and a recording could not play what it did"})
	}
	return answer, nil
}

// thinkingData marks the deltas that are pieces of a model's thinking, waitingData those that
// report the server's activity before it answers.
var (
	thinkingData = json.RawMessage(`{"thinking":true}`)
	waitingData  = json.RawMessage(`{"waiting":true}`)
)

// deltaEvent converts a piece of a model's output, thinking or activity to an event.
func deltaEvent(d llm.Delta) event.Event {
	switch {
	case d.Waiting != "":
		return event.Event{Kind: event.Delta, Text: d.Waiting, Data: waitingData}
	case d.Activity == nil && d.Thinking != "":
		return event.Event{Kind: event.Delta, Text: d.Thinking, Data: thinkingData}
	case d.Activity == nil:
		return event.Event{Kind: event.Delta, Text: d.Text}
	}
	data, err := json.Marshal(d.Activity)
	if err != nil {
		data = nil
	}
	return event.Event{Kind: event.Activity, Text: extagent.Text(*d.Activity), Data: data}
}

// approver answers an external agent's requests for permission. The job cannot be parked while a
// process waits: rules and the approval mode decide, then a person if one is there; otherwise the
// answer is no.
func (m *models) approver(ctx context.Context, st turn.AgentGrant, env *tools.Env, a turn.ModelRequest) extagent.ApproveFunc {
	return func(p extagent.PermissionRequest) string {
		may := turn.PermissionContext{}
		if st.Permit != nil {
			may = *st.Permit
		}
		t, args := asTool(p)
		has := st.Needs | tools.Read | tools.Think
		if has&tools.Exec != 0 {
			has |= tools.Shell
		}
		if lacks := t.Needs &^ has; lacks != 0 {
			return "the agent has no tool that needs " + lacks.String()
		}
		perf := Invocation{At: a.At, Tool: t, Env: env, Args: args}
		for _, path := range callPaths(perf, map[string]json.RawMessage{"paths": raw(p.Paths)}, args) {
			if path == ".." || strings.HasPrefix(path, "../") || filepath.IsAbs(path) {
				return path + " is outside of the workspace"
			}
		}
		v, _ := verdict(may, perf, unconfined, nil, m.policy(ctx, "", perf))
		switch {
		case v.Do == permit.Allow, v.Do == permit.Ask && executor.Approve(may.Approve) == executor.ApproveAll:
			return ""
		case v.Do == permit.Deny:
			return v.Why
		case executor.Approve(may.Approve) == executor.ApproveNone || m.Person == nil:
			return "a person would have to approve it, and nobody can be asked while it works; a rule under permissions: or --approve all allows it"
		}
		q, err := m.question(perf, may, nil, v, false)
		if err != nil {
			return err.Error()
		}
		no, err := m.Person(ctx, *q)
		if err != nil {
			return "nobody answered: " + err.Error()
		}
		return no
	}
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// asTool translates an external agent's request for permission into a call of one of our tools, so
// that the same rules judge both.
func asTool(p extagent.PermissionRequest) (tools.Tool, json.RawMessage) {
	m := tools.Metadata{Name: "shell", Needs: tools.Shell}
	if p.Command != "" { // rules cannot judge a command that is not given
		m.Command = "command"
	}
	switch p.Kind {
	case "read", "search":
		m = tools.Metadata{Name: "read_file", Needs: tools.Read}
	case "think":
		m = tools.Metadata{Name: "think", Needs: tools.Think}
	case "edit", "delete", "move":
		m = tools.Metadata{Name: "edit_file", Needs: tools.Write}
	case "fetch":
		m = tools.Metadata{Name: "web_fetch", Needs: tools.Net}
	}
	if len(p.Paths) > 0 {
		m.Paths = []string{"paths"}
	}
	args := raw(struct {
		Command string   `json:"command,omitempty"`
		Paths   []string `json:"paths,omitempty"`
		Title   string   `json:"title,omitempty"`
	}{p.Command, p.Paths, p.Title})
	return tools.Tool{Metadata: m}, args
}
