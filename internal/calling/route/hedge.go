package route

import (
	"context"
	"sync"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// An Attempt is one way to get an answer.
type Attempt func(ctx context.Context, emit func(llm.Delta)) (*llm.Response, error)

// A Lost is the request of a hedge that was not needed. Response is nil if it
// was cancelled; Streamed is then how many bytes of an answer had come.
type Lost struct {
	Second   bool // it was the second that lost
	Response *llm.Response
	Streamed int
}

// Hedge makes the attempt and, if nothing of an answer has come after wait,
// makes a second one beside it. The first answer wins; the other is cancelled
// and waited for, because it is paid for too: see lost, nil if there was one
// request only. If both fail the error is the first one's. What is shown is
// one answer's pieces: of the attempt that spoke first.
func Hedge(ctx context.Context, wait time.Duration, first, second Attempt, emit func(llm.Delta)) (resp *llm.Response, lost *Lost, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h := &hedge{spoke: make(chan struct{}), shown: -1, emit: emit}
	done := make(chan ended, 2)
	start := func(i int, a Attempt) {
		resp, err := a(ctx, func(d llm.Delta) { h.delta(i, d) })
		done <- ended{i, resp, err}
	}
	go start(0, first)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case e := <-done:
		return e.resp, nil, e.err
	case <-h.spoke:
		e := <-done
		return e.resp, nil, e.err
	case <-t.C:
	}
	go start(1, second)
	won := <-done
	if won.err == nil {
		stop()
	}
	other := <-done
	if won.err != nil && (other.err == nil || won.i == 1) {
		won, other = other, won
	}
	return won.resp, &Lost{Second: other.i == 1, Response: other.resp, Streamed: h.streamed(other.i)}, won.err
}

type ended struct {
	i    int
	resp *llm.Response
	err  error
}

// A hedge keeps the pieces of two answers apart.
type hedge struct {
	mu    sync.Mutex
	bytes [2]int
	shown int // whose pieces are shown; -1 before the first piece
	spoke chan struct{}
	emit  func(llm.Delta)
}

func (h *hedge) delta(i int, d llm.Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.Waiting != "" { // nothing of an answer yet
		if h.shown < 0 && h.emit != nil {
			h.emit(d)
		}
		return
	}
	h.bytes[i] += len(d.Text) + len(d.Thinking)
	if h.shown < 0 {
		h.shown = i
		close(h.spoke)
	}
	if h.shown == i && h.emit != nil {
		h.emit(d)
	}
}

func (h *hedge) streamed(i int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes[i]
}
