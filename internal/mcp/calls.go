package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// calls are the open calls of a connection. It is safe for concurrent use.
type calls struct {
	server string
	mu     sync.Mutex
	open   map[string]*openCall // by id, which is the progress token, too
}

// An openCall waits for its result. It outlives the step that began it while the user is asked
// something.
type openCall struct {
	id     string
	tool   string
	c      *session
	cancel context.CancelFunc
	asks   chan *question
	done   chan struct{}
	moved  chan struct{}       // has room for one; it has reported progress
	limit  time.Duration       // without progress
	r      *sdk.CallToolResult // set before done is closed
	err    error

	mu     sync.Mutex
	way    delivery
	env    *tools.Env    // of the step that waits; nil for none
	said   []turn.Answer // before it was made again
	asking *question     // what the user is asked
	shown  time.Time     // when progress was shown
}

// A question is a server's question in a call.
type question struct {
	turn.Asking
	reply chan turn.Answer
}

// progressEvery is the minimum time between two progress reports of a call.
const progressEvery = 200 * time.Millisecond

func newCalls(server string) *calls { return &calls{server: server, open: map[string]*openCall{}} }

type openKey struct{}

// begin makes a call. said has the answers from an earlier attempt; with Nobody the server gets a
// no to every question.
func (c *session) begin(ctx context.Context, t turn.Tool, env *tools.Env, args json.RawMessage, said turn.Said) *openCall {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	o := &openCall{id: strings.ToLower(rand.Text()), tool: t.Tool, c: c, cancel: cancel, asks: make(chan *question), done: make(chan struct{}), moved: make(chan struct{}, 1), limit: t.Timeout, env: env, said: said.Answers}
	if said.Nobody {
		o.asks = nil
	}
	c.calls.mu.Lock()
	c.calls.open[o.id] = o
	c.calls.mu.Unlock()
	params := &sdk.CallToolParams{Name: t.Tool, Arguments: args}
	params.SetProgressToken(o.id)
	go func() { // ends with the answer, the connection or cancel
		defer close(o.done)
		defer cancel()
		o.r, o.err = c.cs.CallTool(context.WithValue(life, openKey{}, o), params)
		if o.err == nil && o.r == nil {
			o.err = errors.New("it answered nothing")
		}
		c.calls.mu.Lock()
		defer c.calls.mu.Unlock()
		delete(c.calls.open, o.id)
	}()
	return o
}

// follow waits for the outcome of a call. If the call waits for an answer, the error is a
// *turn.Asking; the end of ctx cancels it at the server.
func (o *openCall) follow(ctx context.Context) (*sdk.CallToolResult, error) {
	limit := cmp.Or(o.limit, defaultCallTime)
	late, most := time.NewTimer(limit), time.After(max(limit, mostCallTime))
	defer late.Stop()
	for {
		select {
		case <-o.moved: // it is at work
			late.Reset(limit)
			continue
		case <-late.C:
			o.end()
			return nil, errLate
		case <-most:
			o.end()
			return nil, errLate
		case <-o.done:
			return o.r, o.err
		case q := <-o.asks:
			o.mu.Lock()
			defer o.mu.Unlock()
			o.asking, o.env = q, nil
			return nil, &q.Asking
		case <-ctx.Done():
			o.end()
			return nil, ctx.Err()
		}
	}
}

// How long a call may take whose entry has no timeout, from its start or from when it
// last reported progress; and in all, if the timeout of its entry is not longer.
const (
	defaultCallTime = 2 * time.Minute
	mostCallTime    = time.Hour
)

// errLate is of a call that has taken too long.
var errLate = errors.New("took too long")

// end cancels a call at its server and waits until the server has been notified.
func (o *openCall) end() {
	late := time.After(endWait)
	select {
	case <-o.done:
		return // it has ended
	default:
		o.c.ending.Add(1)
		defer o.c.ending.Add(-1)
		o.cancel()
	}
	select {
	case <-o.done:
	case <-late:
		return
	}
	if !errors.Is(o.err, context.Canceled) {
		return // it had ended in this moment
	}
	select {
	case <-o.c.cancels:
	case <-o.c.dead:
	case <-late:
	}
}

// resume hands a call the answer that it waits for.
func (o *openCall) resume(env *tools.Env, a turn.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.env = env
	if q := o.asking; q != nil {
		o.asking = nil
		q.reply <- a // it has room for one
	}
}

// saidBefore returns the answer to a question that was given when the call was made before; each
// answer is used once.
func (o *openCall) saidBefore(id string) (turn.Answer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, a := range o.said {
		if a.ID == id {
			o.said = append(o.said[:i:i], o.said[i+1:]...)
			return a, true
		}
	}
	return turn.Answer{}, false
}

// byID returns the open call with an ID, or nil.
func (c *calls) byID(id string) *openCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// progress shows a notice of a call that is open; others, and too many, are dropped.
func (c *calls) progress(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	o := c.byID(token)
	if o == nil {
		return
	}
	select {
	case o.moved <- struct{}{}:
	default:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.env == nil || time.Since(o.shown) < progressEvery {
		return
	}
	o.shown = time.Now()
	text := fmt.Sprintf("%g", r.Params.Progress)
	if r.Params.Total > 0 {
		text += fmt.Sprintf(" of %g", r.Params.Total)
	}
	if m := line(r.Params.Message); m != "" {
		text += ": " + m
	}
	o.env.Progress(text)
}

// askingCall returns the call in which a server asks: the one whose request it is part of, or the
// only open one. With several, nobody knows whom to ask.
func (c *calls) askingCall(ctx context.Context) *openCall {
	if o, ok := ctx.Value(openKey{}).(*openCall); ok {
		return o
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) != 1 {
		return nil
	}
	for _, o := range c.open {
		return o
	}
	return nil
}

// Bounds of a server's question to the user.
const (
	maxQuestion       = 4 << 10
	maxQuestionSchema = 16 << 10
)

// elicit asks the user a server's question in the middle of a call, and declines if nobody can be
// asked.
func (c *calls) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	o := c.askingCall(ctx)
	if o == nil || o.asks == nil {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	ask := turn.Asking{Call: o.id, Server: c.server, Tool: o.tool, Message: spelling.Clip(rootfs.Visible(r.Params.Message), maxQuestion), URL: line(r.Params.URL)}
	var same []byte // whatever the order of its members: the question of a call that is made again has the answer of the first
	if r.Params.RequestedSchema != nil {
		same, _ = json.Marshal(r.Params.RequestedSchema) // what was read can be written
		text, ordered := r.Params.Meta[schemaMeta].(string)
		if ask.Schema = json.RawMessage(text); !ordered {
			ask.Schema = same
		}
		if len(ask.Schema) > maxQuestionSchema {
			return nil, errors.New("the schema of the question is too long")
		}
	}
	ask.ID = digest([]byte(ask.Message + "\x00" + ask.URL + "\x00" + string(same)))[:16]
	a, known := o.saidBefore(ask.ID)
	for {
		if !known {
			q := &question{Asking: ask, reply: make(chan turn.Answer, 1)}
			select {
			case o.asks <- q:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			select {
			case a = <-q.reply:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		content, fault := answerContent(ask.Schema, a)
		if fault == "" {
			return &sdk.ElicitResult{Action: a.Action, Content: content}, nil
		}
		ask.Fault = fault
		a, known = o.saidBefore(ask.ID) // the one that was given instead
	}
}

// answerContent returns an answer in the form of its schema: fields, or the value of the only one.
// fault describes what is wrong with it.
func answerContent(raw json.RawMessage, a turn.Answer) (content map[string]any, fault string) {
	if a.Action != "accept" || raw == nil {
		return nil, ""
	}
	want, err := schema.Compile(raw)
	if err == nil {
		want, err = want.ForArguments()
	}
	if err != nil {
		return nil, "" // the library has looked at it; what it cannot check the server does
	}
	value := a.Content
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		var props struct{ Properties map[string]json.RawMessage }
		if json.Unmarshal(raw, &props) != nil || len(props.Properties) != 1 || len(value) == 0 {
			value = json.RawMessage("{}")
		} else {
			for name := range props.Properties {
				fields = map[string]json.RawMessage{name: value}
			}
			if value, err = json.Marshal(fields); err != nil {
				return nil, err.Error()
			}
		}
	}
	value, _ = want.Repair(withDefaults(raw, value))
	if faults := want.Validate(value); faults != nil {
		return nil, schema.FaultText(faults)
	}
	if err := json.Unmarshal(value, &content); err != nil {
		return nil, err.Error()
	}
	return content, ""
}

// withDefaults adds to an answer the defaults of the fields that it leaves out.
func withDefaults(raw, value json.RawMessage) json.RawMessage {
	var props struct {
		Properties map[string]struct{ Default json.RawMessage }
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &props) != nil || json.Unmarshal(value, &fields) != nil || fields == nil {
		return value
	}
	for name, p := range props.Properties {
		if _, ok := fields[name]; !ok && p.Default != nil {
			fields[name] = p.Default
		}
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return value
	}
	return b
}
