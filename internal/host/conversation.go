package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// models serves model steps and keeps the conversations of its job, so that a
// turn costs what is new in it.
type models struct {
	Host
	mu    sync.Mutex
	convs map[string]*conversation // that no request uses now, by digest of the last request
	blind map[string]string        // models that refused images, with what they said
}

// A conversation is a transcript as it stood when an Ask was made.
type conversation struct {
	msgs  []llm.Message
	tools []llm.ToolSpec
	wire  *llm.EncodedHistory

	asText       *textTranscript // the same for a model that is not called natively
	modeFailures []turn.ModeFailure
	cuts         int // constrained answers that ended before they were done
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

// forget drops what is kept of conversations: after a compaction nobody asks
// for the old one, and another agent's is read again.
func (m *models) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.convs)
}

// modelFailure makes what a model did wrong data for the journal.
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

// unexplained is modelFailure, but for a refusal of unknown cause a code of its own: the loop
// may find that the request was too long. So has one for its bytes, of which the window is not learned.
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

// storageFailure is a failure to read a transcript: one that is there and cannot be
// read is the store's.
func storageFailure(err error) error {
	if errors.Is(err, flow.ErrNoBlob) {
		return err
	}
	return &flow.InfrastructureError{Err: err}
}
