package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// unbound is the note on an answer that is no JSON although a schema was sent
// for it: models that think are sometimes not held to it.
const unbound = "the server did not hold the model to the output schema"

// A line is one line of an answer, or a whole one, as servers of this protocol send it.
// Arguments stay as they came: the library's type rounds large numbers, refuses what is no
// object, and loses a line whose date is in another form.
type line struct {
	Model   transport.Scalar `json:"model"`
	Message transport.Lenient[struct {
		Content  transport.Text      `json:"content"`
		Thinking transport.Text      `json:"thinking"`
		Calls    transport.ToolCalls `json:"tool_calls"`
	}] `json:"message"`
	Done   transport.Scalar `json:"done"`
	Reason transport.Scalar `json:"done_reason"`
	In     transport.Count  `json:"prompt_eval_count"`
	Out    transport.Count  `json:"eval_count"`
	Cached transport.Count  `json:"prompt_eval_cached_count"`
}

// Calls reports whether there is a call.
func (l *line) Calls() bool { return len(l.Message.V.Calls) > 0 }

// answer collects the lines of an answer.
type answer struct {
	*transport.Answer
	end    *transport.Endpoint
	req    *llm.Request
	window int // that the model was loaded with, 0 if unknown
	last   line
	order  int // of the last call
}

// read reads lines up to the one that says done. An answer in one piece is
// one such line.
func (a *answer) read(reply *transport.Reply) error { return a.Missed(a.lines(reply)) }

func (a *answer) lines(reply *transport.Reply) error {
	lines := transport.NewLines(reply, reply.Watch.Touch)
	any := false
	for {
		raw, err := lines.Next()
		switch {
		case err == io.EOF && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", reply.Type))
		case err == io.EOF:
			return a.end.Error(llm.Cut, "the answer ended before it was done, after "+a.Had())
		case err != nil:
			return reply.Broken(err, a.Had())
		}
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		if err := a.end.ErrorIn(raw); err != nil {
			return err
		}
		var l line
		if ok, err := a.Decode(raw, &l); err != nil {
			return err
		} else if !ok {
			continue
		}
		any = true
		a.add(&l)
		if l.Done == "true" {
			a.last = l
			return nil
		}
	}
}

func (a *answer) add(l *line) {
	a.Chunk(l.Done == "true")
	m := &l.Message.V
	a.Add(m.Content.Text, m.Thinking.Text+m.Content.Thought)
	for _, p := range m.Calls.Pieces() {
		a.order++ // the server hands over calls whole
		p.Index = strconv.Itoa(a.order)
		a.Calls.Add(p)
	}
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	if err := a.silentCut(); err != nil {
		return nil, err
	}
	a.Model, a.Usage = string(a.last.Model), llm.Usage{In: a.last.In.N, Out: a.last.Out.N, Cached: a.last.Cached.N}
	r := a.Response(a.last.Reason == "length")
	if err := a.Whole(r, a.last.Reason == "tool_calls"); err != nil {
		return nil, err
	}
	if len(a.req.Tools) > 0 && len(r.Message.Calls) == 0 && a.last.Out.N > 0 && strings.TrimSpace(r.Message.Text) == "" && r.Message.Thinking == "" {
		r.Message.Text, r.UnreadCall = "", ""
		r.Notes = append(r.Notes, llm.DroppedCall)
	}
	if len(a.req.Output) > 0 && len(a.req.Tools) == 0 && r.Stop != llm.StopLength && !json.Valid([]byte(r.Message.Text)) {
		r.Notes = append(r.Notes, unbound)
	}
	return r, nil
}

// minBytesPerToken: with more bytes of a request than this for each token that
// the server counted, it truncated the prompt. Prose has four bytes a token,
// indented code up to eight.
const minBytesPerToken = 12

// silentCut detects a prompt that the server truncated, as servers do that do
// not know the truncate field.
func (a *answer) silentCut() error {
	window := a.window
	if window <= 0 || a.last.In.N <= 0 {
		return nil
	}
	var why string
	switch in := a.last.In.N; {
	case in >= window-1 && a.Sent > window:
		why = fmt.Sprintf("the prompt filled the window of %d tokens to the last one", window)
	case in < window && a.Sent/minBytesPerToken > window:
		why = fmt.Sprintf("%d bytes were sent and the server read %d tokens of them, with a window of %d", a.Sent, in, window)
	default:
		return nil
	}
	return a.end.Error(llm.TooLong, why+", so part of it was cut off without a word")
}
