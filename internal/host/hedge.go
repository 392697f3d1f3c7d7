package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// finalIfBacked makes a failure final that another model can make good at once.
func finalIfBacked(c turn.Chain, err error) error {
	var f *flow.Failure
	if !c.Backed || !errors.As(err, &f) {
		return err
	}
	now := *f
	now.Busy = false // the next model is asked instead of waiting
	if f.Code == "model."+string(llm.Unreachable) {
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
