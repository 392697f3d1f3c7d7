package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
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
		defer func() { seen.modeFailures, seen.cuts, seen.failures = c.modeFailures, c.cuts, c.failures }()
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
		for _, part := range []llm.Delta{{Waiting: d.Waiting}, {Thinking: d.Thinking}, {Text: d.Text}} {
			if part != (llm.Delta{}) {
				emit(deltaEvent(part))
			}
		}
	}
	if a.Hedge > 0 {
		model = hedge
	}
	answer, err := m.generate(ctx, model, c, a, req, show)
	if why, sure := refusesImages(err, c.msgs); why != "" {
		blind, was := c.withoutImages(a.Model, why), *req
		req.Messages, req.History = blind.msgs, blind.wire
		if again, failed := m.generate(ctx, model, blind, a, req, show); sure || failed == nil {
			m.learnBlind(a.Model, why)
			emit(event.Event{Kind: event.Note, Text: a.Model + " takes no images, and is asked without them: " + why})
			answer, err = again, failed
		} else {
			*req = was
		}
	}
	if err != nil {
		if e := new(llm.Error); m.Record != nil && errors.As(err, &e) && e.Kind == llm.TooLong {
			if err := m.Record(req, nil); err != nil {
				return nil, err
			}
		}
		return nil, timeoutFailure(outer, ctx, most, m.finalIfBacked(a.Chain, unexplained(err)))
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

// repairCalls makes the arguments of every call valid JSON, whatever the adapter returned: one bad
// call must not spoil the history of a job.
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

// models serves model steps and keeps the conversations of its job, so that the cost of a turn
// depends only on its new messages.
type models struct {
	Host
	mu    sync.Mutex
	convs map[string]*conversation // that no request uses now, by digest of the last request
	blind map[string]string        // models that refused images, with what they said
	asked map[string]bool          // models asked in each way to call tools after a refusal for an unknown reason, in vain
	calls map[string]bool          // models that have answered to the result of a native call
}

// A conversation is a transcript as it stood when an Ask was made.
type conversation struct {
	msgs  []llm.Message
	tools []llm.ToolSpec
	wire  *llm.EncodedHistory

	asText       *textTranscript // the same for a model that is not called natively
	modeFailures []turn.ModeFailure
	cuts         int // constrained answers that ended before they were done
	failures     int // of the server, asked natively
}

// A textTranscript is a transcript as a model reads it that does not know of tools:
// they, the calls and the results are written out. It grows with the
// conversation, so that its beginning stays the same for the server.
type textTranscript struct {
	way   turn.Mode
	names string
	form  json.RawMessage // what a constrained answer satisfies
	from  int             // how much of the conversation is in it
	msgs  []llm.Message
	wire  *llm.EncodedHistory
}

func (c *conversation) add(a turn.ModelRequest) {
	for _, m := range a.New {
		m.Thinking = "" // it is kept for people: a model goes on without its thoughts of the past
		c.msgs = append(c.msgs, m)
	}
	if a.Tools != nil {
		c.tools = a.Tools
	}
}

// keepConversation keeps a transcript for the next request of its agent.
func (m *models) keepConversation(digest string, c *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.convs[digest] = c
}

// chain reads the asks that lead up to head, the last first.
func (m *models) chain(ctx context.Context, head string) ([]turn.ModelRequest, error) {
	var chain []turn.ModelRequest
	for ; head != ""; head = chain[len(chain)-1].Head {
		b, err := m.Blobs.Blob(ctx, head)
		if err != nil {
			return nil, err
		}
		var prev turn.ModelRequest
		if err := stored.Decode(b, &prev); err != nil {
			return nil, err
		}
		chain = append(chain, prev)
	}
	return chain, nil
}

// forget drops cached conversations: after a compaction nobody asks for the old one, and another
// agent's is read again.
func (m *models) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.convs)
}

// modelFailure turns a model's error into data for the journal.
func modelFailure(err error) error {
	var le *llm.Error
	if !errors.As(err, &le) || exhaustion.Of(err) != "" && !le.Acted {
		return err // that of an exhausted host stays whole: see flow
	}
	msg := le.Error()
	if le.Hint != "" {
		msg += "; " + le.Hint
	}
	if le.Busy() && le.RetryAfter > 0 {
		msg += fmt.Sprintf("; it asks to wait %s", le.RetryAfter.Round(time.Second))
	}
	return &flow.Failure{Code: "model." + string(le.Kind), Message: msg, Retryable: le.Retryable(), After: le.RetryAfter, Busy: le.Busy(), Limit: le.Window}
}

// unexplained is like modelFailure, but gives a refusal of unknown cause a code of its own: the
// loop may find that the request was too long. A refusal for the size in bytes also has its own,
// since the window cannot be learned from it.
func unexplained(err error) error {
	out := modelFailure(err)
	f, le := new(flow.Failure), new(llm.Error)
	switch {
	case !errors.As(err, &le) || !errors.As(out, &f):
	case le.Kind == llm.BadRequest && le.Status >= 400 && le.Status != 404 && le.Status != 405:
		f.Code = turn.Unexplained
	case errors.As(err, new(interface{ InBytes() })):
		f.Code = turn.TooManyBytes
	}
	return out
}

// storageFailure returns the failure to read a transcript: a transcript that exists and cannot be
// read is the store's failure.
func storageFailure(err error) error {
	if errors.Is(err, flow.ErrNoBlob) {
		return err
	}
	return &flow.InfrastructureError{Err: err}
}

// maxBackedWait is the longest time between two attempts of a request that has fallbacks.
const maxBackedWait = 2 * time.Minute

// finalIfBacked makes a failure final that another model can make good at once: nobody answers, or
// the server wants more time than a request waits. Asked earlier, it would only refuse again.
func (m *models) finalIfBacked(c turn.Chain, err error) error {
	var f *flow.Failure
	if !c.Backed || !errors.As(err, &f) {
		return err
	}
	now := *f
	now.Busy = false // the next model is asked instead of waiting
	if f.Code == "model."+string(llm.Unreachable) || f.Busy && f.After > min(cmp.Or(m.Patience, maxBackedWait), maxBackedWait) {
		now.Retryable = false
	}
	return &now
}

// A hedger is a model that is asked once more if nothing comes in time. It
// serves one step.
type hedger struct {
	llm.Model
	ref   string
	wait  time.Duration
	spent []executor.ModelCost // what the losers cost
}

// Generate implements [llm.Model].
func (h *hedger) Generate(ctx context.Context, req *llm.Request, show func(llm.Delta)) (*llm.Response, error) {
	again := *req
	again.History = nil // the first may still be writing to it
	resp, lost, err := route.Hedge(ctx, h.wait,
		func(ctx context.Context, emit func(llm.Delta)) (*llm.Response, error) {
			return h.Model.Generate(ctx, req, emit)
		},
		func(ctx context.Context, emit func(llm.Delta)) (*llm.Response, error) {
			return h.Model.Generate(ctx, &again, emit)
		}, show)
	if lost == nil || err != nil {
		return resp, err
	}
	s := executor.ModelCost{Model: h.ref, Requests: 1}
	if lost.Response != nil {
		s.Usage = lost.Response.Usage
	} else {
		s.Usage, s.Estimated = estimateUsage(req, lost.Streamed), true
	}
	h.spent = append(h.spent, s)
	resp.Notes = append(resp.Notes, fmt.Sprintf("nothing came within %s, so that it was asked twice; both are paid for", h.wait))
	return resp, nil
}
