package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/adroit-run/adroit/internal/llm/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Where signed thinking is kept in a message, see [llm.ProviderState].
const (
	stateDialect = "anthropic"
	stateField   = "thinking"
)

// A thought is a thinking block as it is sent back. Data is that of a redacted
// one.
type thought struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

// An answer collects the events of an answer.
type answer struct {
	*transport.Answer
	end   *transport.Endpoint
	body  []byte // that was sent
	reply *transport.Reply

	thoughts map[int64]*thought // by index of the block
	calls    map[int64]bool     // blocks that are calls of our tools, not of the server's
	order    []int64
	stop     sdk.StopReason
	ended    bool
}

// read reads events until the answer is complete.
func (a *answer) read() error {
	switch a.reply.Type {
	case "text/event-stream", "application/json", "":
		if !a.reply.Events(a.reply.Type != "application/json") {
			return a.whole()
		}
	default:
		return a.end.WrongType(a.reply.Type, "text/event-stream")
	}
	a.Sent = len(a.body)
	events := transport.NewEvents(a.reply, a.reply.Watch.Touch)
	for any := false; !a.ended; any = true {
		ev, err := events.Next()
		switch {
		case err != nil && a.stop != "":
			return nil // only the tail is missing
		case err == io.EOF && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", a.reply.Type))
		case err == io.EOF:
			return a.end.Error(llm.Cut, "the answer ended without a stop reason after "+a.Had())
		case err != nil:
			return a.reply.Broken(err, a.Had())
		}
		if err := a.end.ErrorIn(ev.Data); err != nil {
			return err
		}
		e, err := decode(ev.Data)
		if transport.Ends(err) {
			return a.end.Error(llm.Cut, "the answer ended inside an event after "+a.Had())
		}
		if err != nil {
			return a.end.Error(llm.Garbled, "an event is not what the protocol says: "+err.Error())
		}
		a.add(&e)
		if a.stop != "" {
			a.reply.Watch.Finish()
		}
	}
	return nil
}

// whole is the error of an answer in one piece, which was not asked for.
func (a *answer) whole() error {
	b, err := a.reply.All()
	if err != nil {
		return err
	}
	if err := a.end.ErrorIn(b); err != nil {
		return err
	}
	return a.end.Error(llm.Garbled, "the answer is no stream: "+string(b[:min(len(b), 200)]))
}

func (a *answer) add(e *sdk.MessageStreamEventUnion) {
	a.Chunk(e.Type == "message_delta" && e.Delta.StopReason != "")
	switch e.Type {
	case "message_start":
		a.Model = string(e.Message.Model)
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens)
	case "content_block_start":
		a.begin(e.Index, &e.ContentBlock)
	case "content_block_delta":
		a.extend(e.Index, &e.Delta)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		u := e.Usage
		a.count(u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens)
	case "message_stop":
		a.ended = a.stop != "" || a.Complete() // the end is the reason
	}
}

// count takes numbers of tokens. The server counts what it read from its cache,
// or wrote to it, apart from the rest of the prompt, and reports totals so far.
func (a *answer) count(in, written, read, out int64) {
	u := &a.Usage
	if in < 0 || written < 0 || read < 0 || out < 0 {
		return // what is no count is estimated
	}
	u.In, u.Out, u.Cached = max(u.In, int(in+written+read)), max(u.Out, int(out)), max(u.Cached, int(read))
}

func (a *answer) begin(index int64, b *sdk.ContentBlockStartEventContentBlockUnion) {
	switch b.Type {
	case "text":
		a.Add(b.Text, "")
	case "thinking", "redacted_thinking":
		if a.thoughts == nil {
			a.thoughts = map[int64]*thought{}
		}
		if a.thoughts[index] != nil {
			return // the block begins again
		}
		a.thoughts[index] = &thought{Thinking: b.Thinking, Signature: b.Signature, Data: b.Data}
		a.order = append(a.order, index)
		a.Add("", b.Thinking)
	case "tool_use":
		args := ""
		if in, ok := b.Input.(map[string]any); ok && len(in) > 0 { // servers that do not stream arguments
			args = b.JSON.Input.Raw()
		}
		if a.calls == nil {
			a.calls = map[int64]bool{}
		}
		a.calls[index] = true
		a.Calls.Add(transport.Piece{Index: strconv.FormatInt(index, 10), ID: b.ID, Name: b.Name, Args: args})
	}
}

func (a *answer) extend(index int64, d *sdk.MessageStreamEventUnionDelta) {
	switch d.Type {
	case "text_delta":
		a.Add(d.Text, "")
	case "thinking_delta":
		if t := a.thoughts[index]; t != nil {
			t.Thinking += d.Thinking
		}
		a.Add("", d.Thinking)
	case "signature_delta":
		if t := a.thoughts[index]; t != nil {
			t.Signature += d.Signature
		}
	case "input_json_delta":
		if a.calls[index] {
			a.Calls.Add(transport.Piece{Index: strconv.FormatInt(index, 10), Args: d.PartialJSON})
		}
	}
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	cut := a.stop == sdk.StopReasonMaxTokens || a.stop == sdk.StopReasonModelContextWindowExceeded
	r := a.Response(cut)
	if a.stop == sdk.StopReasonRefusal {
		// What was refused is not what the model meant to do.
		r.Stop, r.Message.Calls = llm.StopFilter, nil
	}
	if len(r.Message.Calls) == 0 {
		return r, nil // only an answer with calls goes on in the same thought
	}
	var list []*thought
	for _, i := range a.order {
		if t := a.thoughts[i]; t.Signature != "" || t.Data != "" {
			list = append(list, t)
		}
	}
	if len(list) > 0 {
		value, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		r.Message.State = &llm.ProviderState{Dialect: stateDialect, Field: stateField, Value: value}
	}
	return r, nil
}

// decode reads one event into the SDK's type.
func decode(data []byte) (ev sdk.MessageStreamEventUnion, err error) {
	return ev, json.Unmarshal(transport.Halves(data), &ev)
}
