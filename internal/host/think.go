package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
)

const (
	thinkAnswer   = 2048
	thinkRequests = 16
)

// A toolModel is the model of one call of a tool. It asks the task's model for thinking unless the
// tool names another, within the remaining limits, and counts the cost. It is safe for concurrent
// use.
type toolModel struct {
	think  turn.Think
	models func(ctx context.Context, name string) (llm.Model, string, error)
	record func(*llm.Request, *llm.Response) error
	emit   event.Sink

	mu    sync.Mutex
	asked int
	spent []executor.ModelCost
}

// Generate implements [llm.Model].
func (k *toolModel) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	refs := k.think.Refs()
	for i, ref := range refs {
		ask := k.ask
		if i == len(refs)-1 { // nobody else can answer
			ask = k.generateWithRetry
		}
		resp, err := ask(ctx, i, ref, req, emit)
		if err == nil || i == len(refs)-1 || ctx.Err() != nil || !route.Passes(err) {
			return resp, err
		}
		k.emit(event.Event{Kind: event.Note, Text: fmt.Sprintf("%s cannot be used now (%s); going on with %s", ref, spelling.FirstLine(err.Error()), refs[i+1])})
	}
	return nil, ctx.Err() // there is always one to ask
}

const (
	thinkAttempts = 4 // of a request that fails and may succeed later
	firstPause    = time.Second
	longestPause  = 30 * time.Second
)

// generateWithRetry repeats a request that may succeed later: a few times, and as long as
// the tool may take where the server is busy. It shows that it waits.
func (k *toolModel) generateWithRetry(ctx context.Context, i int, ref string, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	pause := firstPause
	for try := 1; ; try++ {
		resp, err := k.ask(ctx, i, ref, req, emit)
		var e *llm.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &e) || !e.Retryable() || !e.Busy() && try == thinkAttempts {
			return resp, err
		}
		wait := min(cmp.Or(e.RetryAfter, pause), longestPause)
		if end, ok := ctx.Deadline(); ok && time.Until(end) < 2*wait {
			return resp, err // the tool would be stopped for its time
		}
		k.emit(event.Event{Kind: event.Note, Text: fmt.Sprintf("%s; asked again in %s", spelling.FirstLine(err.Error()), wait.Round(time.Millisecond))})
		k.forgive()
		select {
		case <-ctx.Done():
			return resp, err
		case <-time.After(wait):
		}
		pause = min(2*pause, longestPause)
	}
}

// forgive takes a request that has failed off the count of those a call may make.
func (k *toolModel) forgive() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked--
}

func (k *toolModel) ask(ctx context.Context, i int, ref string, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if err := k.admit(); err != nil {
		return nil, err
	}
	model, name, err := k.models(ctx, ref)
	if err != nil {
		return nil, err
	}
	own := *req
	own.Model, own.History = name, nil
	own.Options.Window = k.think.Window
	if i > 0 {
		own.Options.Window = k.think.Fallbacks[i-1].Window
	}
	most := cmp.Or(k.think.MaxTokens, thinkAnswer)
	if own.Options.MaxTokens <= 0 || own.Options.MaxTokens > most {
		own.Options.MaxTokens = most
	}
	streamed := 0
	resp, err := model.Generate(ctx, &own, func(d llm.Delta) {
		streamed += len(d.Text) + len(d.Thinking)
		if emit != nil {
			emit(d)
		}
	})
	switch {
	case err == nil:
		k.pay(executor.ModelCost{Model: ref, Usage: resp.Usage, Requests: 1})
		if k.record != nil {
			err = k.record(&own, resp)
		}
	case streamed > 0 || ctx.Err() != nil:
		// It was at work already, and is paid for that.
		k.pay(executor.ModelCost{Model: ref, Usage: estimateUsage(&own, streamed), Requests: 1, Estimated: true})
	}
	return resp, err
}

// admit lets another request through if the job has something left for it.
func (k *toolModel) admit() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	tokens, usd := 0, 0.0
	for _, s := range k.spent {
		tokens += s.Usage.In + s.Usage.Out
		price, _ := k.think.Prices.Of(s.Model)
		usd += price.Cost(s.Usage)
	}
	no := func(format string, args ...any) error {
		return &llm.Error{Kind: llm.BadRequest, Provider: "adroit", Message: fmt.Sprintf(format, args...)}
	}
	switch most := cmp.Or(k.think.Requests, thinkRequests); {
	case k.asked >= most:
		return no("one call of a tool may ask a model %d times", most)
	case k.think.Tokens >= 0 && tokens >= k.think.Tokens:
		return no("the tokens that this job may use are used up")
	case k.think.USD >= 0 && usd >= k.think.USD:
		return no("the money that this job may spend is spent")
	}
	k.asked++
	return nil
}

func (k *toolModel) pay(s executor.ModelCost) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.spent {
		if x := &k.spent[i]; x.Model == s.Model {
			x.Usage, x.Requests, x.Estimated = x.Usage.Add(s.Usage), x.Requests+1, x.Estimated || s.Estimated
			return
		}
	}
	k.spent = append(k.spent, s)
}

// bill returns the costs so far. k may be nil, for a tool without a model.
func (k *toolModel) bill() []executor.ModelCost {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.spent)
}

// reportUnbilled reports that a call was stopped after it had paid: when it is repeated,
// it pays again.
func (k *toolModel) reportUnbilled(emit event.Sink) {
	for _, s := range k.bill() {
		emit(event.Event{Kind: event.Note, Text: fmt.Sprintf("stopped after it had asked %s %d times, for %d tokens in and %d out; that is not among the job's figures, and is paid again when the call is repeated",
			s.Model, s.Requests, s.Usage.In, s.Usage.Out)})
	}
}
