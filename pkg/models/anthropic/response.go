package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Where signed thinking is kept in a message, see [llm.ProviderState].
const (
	stateDialect = "anthropic"
	stateField   = "thinking"
)

// A thought is a thinking block as it is sent back. Data is the content of a redacted
// one.
type thought struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

// An event is a piece of an answer as servers of this protocol send it, with values of
// any type. Its type may be missing where the event has it as its name.
type event struct {
	Type    transport.Scalar `json:"type"`
	Index   transport.Scalar `json:"index"`
	Message transport.Lenient[struct {
		Model transport.Scalar         `json:"model"`
		Usage transport.Lenient[usage] `json:"usage"`
	}] `json:"message"`
	Block transport.Lenient[block] `json:"content_block"`
	Delta transport.Lenient[struct {
		Text      transport.Text   `json:"text"`
		Thinking  transport.Text   `json:"thinking"`
		Signature string           `json:"signature"`
		Args      transport.Args   `json:"partial_json"`
		Stop      transport.Scalar `json:"stop_reason"`
	}] `json:"delta"`
	Usage transport.Lenient[usage] `json:"usage"`

	Choices json.RawMessage `json:"choices"` // of OpenAI's protocol
}

// Calls reports whether a call, or a piece of one, is in the event.
func (e *event) Calls() bool { return e.Block.V.Type == "tool_use" || e.Delta.V.Args != "" }

// A block is a part of an answer, or the beginning of one.
type block struct {
	Type      transport.Scalar `json:"type"`
	Text      transport.Text   `json:"text"`
	Thinking  transport.Text   `json:"thinking"`
	Signature string           `json:"signature"`
	Data      string           `json:"data"`
	ID        transport.Scalar `json:"id"`
	Name      transport.Scalar `json:"name"`
	Input     transport.Args   `json:"input"`
}

type usage struct {
	In      transport.Count `json:"input_tokens"`
	Written transport.Count `json:"cache_creation_input_tokens"`
	Read    transport.Count `json:"cache_read_input_tokens"`
	Out     transport.Count `json:"output_tokens"`
}

// An answer collects the events of an answer.
type answer struct {
	*transport.Answer
	end   *transport.Endpoint
	body  []byte // that was sent
	reply *transport.Reply

	thoughts map[transport.Scalar]*thought         // by index of the block
	types    map[transport.Scalar]transport.Scalar // of blocks
	order    []transport.Scalar
	early    strings.Builder  // arguments of a block that has not begun
	earlyOf  transport.Scalar // its index
	blocks   int              // that have begun
	again    bool             // the message began again, and no block of it yet
	stop     string
	ended    bool
}

// read reads events until the answer is complete.
func (a *answer) read() error { return a.Missed(a.events()) }

func (a *answer) events() error {
	if stream, err := a.reply.Events(true); err != nil {
		return err
	} else if !stream {
		return a.whole()
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
		if ev.Done() { // as in another protocol
			a.ended = a.stop != "" || a.Complete()
			continue
		}
		var e event
		if ok, err := a.Decode(ev.Data, &e); err != nil {
			return err
		} else if !ok {
			continue
		}
		if e.Type == "" && e.Choices != nil {
			return a.end.Foreign("OpenAI's chat completions", "the Messages API")
		}
		e.Type = cmp.Or(e.Type, transport.Scalar(ev.Name))
		a.add(&e)
		if a.stop != "" {
			a.reply.Watch.Finish()
		}
	}
	return nil
}

// whole reads an answer in one piece, from a server that does not stream.
func (a *answer) whole() error {
	b, err := a.reply.All()
	if err != nil {
		return err
	}
	if err := a.end.ErrorIn(b); err != nil {
		return err
	}
	var m struct {
		Model   transport.Scalar           `json:"model"`
		Choices json.RawMessage            `json:"choices"`
		Content []transport.Lenient[block] `json:"content"`
		Stop    string                     `json:"stop_reason"`
		Usage   transport.Lenient[usage]   `json:"usage"`
	}
	if json.Unmarshal(transport.Halves(b), &m) != nil || m.Content == nil {
		if m.Choices != nil {
			return a.end.Foreign("OpenAI's chat completions", "the Messages API")
		}
		return a.end.Error(llm.Garbled, "the answer is not what the protocol says: "+string(b[:min(len(b), 200)]))
	}
	a.Sent, a.Model, a.stop = len(a.body), string(m.Model), m.Stop
	a.count(m.Usage.V)
	for i := range m.Content {
		a.begin(transport.Scalar(strconv.Itoa(i)), &m.Content[i].V)
	}
	return nil
}

func (a *answer) add(e *event) {
	d := &e.Delta.V
	if e.Type == "content_block_start" {
		if a.again {
			a.Restart()
			a.thoughts, a.types, a.order, a.blocks = nil, nil, nil, 0
			a.early.Reset()
		}
		a.blocks++
	}
	a.again = e.Type == "message_start" && a.blocks > 0
	// Blocks come one after the other, so that one without an index is known.
	e.Index = cmp.Or(e.Index, transport.Scalar(fmt.Sprint("block ", a.blocks)))
	a.Chunk(e.Type == "message_delta" && d.Stop != "")
	switch e.Type {
	case "message_start":
		a.Model = string(e.Message.V.Model)
		a.count(e.Message.V.Usage.V)
	case "content_block_start":
		a.begin(e.Index, &e.Block.V)
	case "content_block_delta":
		if t := a.thoughts[e.Index]; t != nil {
			t.Thinking += d.Thinking.Text
			t.Signature += d.Signature
		}
		a.Add(d.Text.Text, d.Thinking.Text)
		kind := a.types[e.Index]
		if kind == "" && a.Calls.Done() {
			if e.Index != a.earlyOf {
				a.late()
			}
			a.earlyOf = e.Index
			a.early.WriteString(string(d.Args))
			break
		}
		if kind != "tool_use" && a.Calls.Len() > 0 {
			e.Index = "" // which is no call's: the last one goes on
		}
		if d.Args != "" && !strings.HasSuffix(string(kind), "_tool_use") { // a call of the server's own tools
			a.Calls.Add(transport.Piece{Index: string(e.Index), Args: string(d.Args)})
		}
	case "message_delta":
		a.stop = cmp.Or(string(d.Stop), a.stop)
		a.count(e.Usage.V)
	case "message_stop":
		a.ended = a.stop != "" || a.Complete() // the end is the reason
	}
}

// count takes numbers of tokens. The server counts what it read from its cache,
// or wrote to it, apart from the rest of the prompt, and reports totals so far.
func (a *answer) count(n usage) {
	u := &a.Usage
	u.In, u.Out, u.Cached = max(u.In, n.In.N+n.Written.N+n.Read.N), max(u.Out, n.Out.N), max(u.Cached, n.Read.N)
}

func (a *answer) begin(index transport.Scalar, b *block) {
	if a.types == nil {
		a.types, a.thoughts = map[transport.Scalar]transport.Scalar{}, map[transport.Scalar]*thought{}
	}
	a.types[index] = b.Type
	switch b.Type {
	case "text":
		a.Add(b.Text.Text, "")
	case "thinking", "redacted_thinking":
		if a.thoughts[index] != nil {
			return // the block begins again
		}
		a.thoughts[index] = &thought{Thinking: b.Thinking.Text, Signature: b.Signature, Data: b.Data}
		a.order = append(a.order, index)
		a.Add("", b.Thinking.Text)
	case "tool_use":
		args := string(b.Input) // if the server does not stream them
		if strings.Join(strings.Fields(args), "") == "{}" {
			args = ""
		}
		if index != a.earlyOf {
			a.late()
		}
		a.Calls.Add(transport.Piece{Index: string(index), ID: string(b.ID), Name: string(b.Name), Args: args})
		a.late()
	}
}

// late gives the last call the arguments that came before it, or for which no block came.
func (a *answer) late() {
	a.Calls.Add(transport.Piece{Args: a.early.String()})
	a.early.Reset()
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	a.late()
	cut := a.stop == "max_tokens" || a.stop == "model_context_window_exceeded"
	r := a.Response(cut)
	if err := a.Whole(r, a.stop == "tool_use"); err != nil {
		return nil, err
	}
	if a.stop == "tool_use" && len(r.Message.Calls) == 0 && r.UnreadCall == "" {
		r.Notes = append(r.Notes, llm.DroppedCall)
	}
	if a.stop == "refusal" {
		// The partial output of a refused answer is not a call of the model.
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
