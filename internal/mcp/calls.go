package mcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/pkg/tools"
)

// calls are those that a connection is at. It is safe for concurrent use.
type calls struct {
	mu   sync.Mutex
	next int
	open map[string]*openCall // by progress token
}

// An openCall is one that waits for its result.
type openCall struct {
	env   *tools.Env
	shown time.Time // when progress was shown
}

// progressEvery is how often progress of a call is shown at most.
const progressEvery = 200 * time.Millisecond

func newCalls() *calls { return &calls{open: map[string]*openCall{}} }

// begin gives a call its token; end forgets it.
func (c *calls) begin(env *tools.Env) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	token = fmt.Sprintf("call-%d", c.next)
	c.open[token] = &openCall{env: env}
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, token)
	}
}

// progress shows a notice of a call that is open; others, and too many, are dropped.
func (c *calls) progress(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	c.mu.Lock()
	call, ok := c.open[token]
	if !ok || time.Since(call.shown) < progressEvery {
		c.mu.Unlock()
		return
	}
	call.shown = time.Now()
	env := call.env
	c.mu.Unlock()
	text := fmt.Sprintf("%g", r.Params.Progress)
	if r.Params.Total > 0 {
		text += fmt.Sprintf(" of %g", r.Params.Total)
	}
	if m := line(r.Params.Message); m != "" {
		text += ": " + m
	}
	env.Progress(text)
}

// elicit answers a server that asks the user something in the middle of a call:
// nobody is asked here, so that it is declined, which the protocol has a word for.
func (c *calls) elicit(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return &sdk.ElicitResult{Action: "decline"}, nil
}
