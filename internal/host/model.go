package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

func (m *models) serve(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var a turn.ModelRequest
	if err := json.Unmarshal(s.Input, &a); err != nil {
		return nil, fmt.Errorf("model %s: decoding input: %w", s.Name, err)
	}
	c, err := m.takeConversation(ctx, s.Digest(), a)
	if err != nil {
		return nil, storageFailure(fmt.Errorf("model %s: reading the transcript: %w", s.Name, err))
	}
	defer m.keepConversation(s.Digest(), c)
	if why := m.noImages(ctx, a.Model); why != "" && showsImages(c.msgs) {
		seen := c
		c = c.withoutImages(a.Model, why)
		defer func() { seen.modeFailures, seen.cuts = c.modeFailures, c.cuts }()
	}
	model, name, err := m.Models(ctx, a.Model)
	if err != nil {
		return nil, modelFailure(err)
	}
	if a.Output, err = turn.FlatSchema(a.Output); err != nil {
		return nil, fmt.Errorf("model %s: %w", s.Name, err)
	}
	if own, ok := model.(extagent.Model); ok {
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
	show := func(d llm.Delta) {
		if d.Waiting != "" {
			emit(deltaEvent(llm.Delta{Waiting: d.Waiting}))
		}
		if d.Thinking != "" {
			emit(deltaEvent(llm.Delta{Thinking: d.Thinking}))
		}
		if d.Text != "" {
			emit(deltaEvent(llm.Delta{Text: d.Text}))
		}
	}
	if a.Hedge > 0 {
		model = hedge
	}
	answer, err := m.generate(ctx, model, c, a, req, show)
	if why := refusesImages(err, c.msgs); why != "" {
		m.learnBlind(a.Model, why)
		emit(event.Event{Kind: event.Note, Text: a.Model + " takes no images, and is asked without them: " + why})
		c = c.withoutImages(a.Model, why)
		req.Messages, req.History = c.msgs, c.wire
		answer, err = m.generate(ctx, model, c, a, req, show)
	}
	if err != nil {
		if e := new(llm.Error); m.Record != nil && errors.As(err, &e) && e.Kind == llm.TooLong {
			if err := m.Record(req, nil); err != nil {
				return nil, err
			}
		}
		return nil, timeoutFailure(outer, ctx, most, finalIfBacked(a.Chain, unexplained(err)))
	}
	repairCalls(&answer.Response)
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
func repairCalls(r *llm.Response) {
	for i := range r.Message.Calls {
		c := &r.Message.Calls[i]
		if len(c.Args) == 0 {
			c.Args = json.RawMessage("{}")
		}
		if !json.Valid(c.Args) {
			c.Malformed, c.Raw, c.Args = "the arguments are not valid JSON", string(c.Args), json.RawMessage("{}")
		}
	}
	if notes := turn.RepairArguments(r.Message.Calls, r.Stop == llm.StopLength); notes != nil {
		r.Notes, r.Repairs = append(r.Notes, notes...), append(r.Repairs, notes...)
	}
}

// takeConversation returns the transcript up to and including a, from memory or,
// in a process that has just taken the job over, from the blob store. It is the
// caller's own until keepConversation: agents that were given the same words have
// transcripts of the same digest, and one may be ahead of the other.
func (m *models) takeConversation(ctx context.Context, digest string, a turn.ModelRequest) (*conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.convs[digest]; ok { // asked again after a failure
		delete(m.convs, digest)
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
	delete(m.convs, a.Head)
	c.add(a)
	return c, m.loadImages(c)
}
