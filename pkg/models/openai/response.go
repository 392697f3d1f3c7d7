package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// answer collects the chunks of an answer.
type answer struct {
	*call
	*transport.Answer
	end     *transport.Endpoint
	details details
	finish  string
	refused bool // it came, or some of it, in the field for refusals
	counted bool // the last chunk had nothing but counts, as the last one has
}

// read reads a stream until the answer is complete.
func (a *answer) read(s *goopenai.ChatCompletionStream) error { return a.Missed(a.chunks(s)) }

func (a *answer) chunks(s *goopenai.ChatCompletionStream) error {
	for any := false; ; any = true {
		raw, err := s.RecvRaw()
		var e *llm.Error
		switch {
		case errors.As(err, &e):
			return err
		case err != nil && a.finish != "":
			return nil // only the tail is missing
		case (err == io.EOF || errors.Is(err, errNotDone) && a.counted) && a.Complete():
			return nil // the end is the reason
		case err == io.EOF:
			return a.end.Error(llm.Cut, "the answer ended without a finish reason after "+a.Had())
		case errors.Is(err, errNotDone) && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", a.reply.Type))
		case err != nil:
			return a.reply.Broken(err, a.Had())
		}
		var c chunk
		if ok, err := a.Decode(raw, &c); err != nil {
			return err
		} else if !ok {
			continue
		}
		a.add(&c)
		if a.finish != "" {
			a.reply.Watch.Finish()
		}
	}
}

func (a *answer) add(c *chunk) {
	a.Model = cmp.Or(string(c.Model), a.Model)
	for _, u := range []*usage{c.Usage.V, c.Groq.V.Usage.V} {
		if u == nil {
			continue
		}
		// Servers that report usage more than once mean the largest.
		in := max(u.Prompt.N, u.Input.N)
		a.Usage.In, a.Usage.Out = max(a.Usage.In, in), max(a.Usage.Out, u.Completion.N, u.Output.N)
		a.Usage.Cached = max(a.Usage.Cached, u.Hit.N, u.Details.V.Cached.N)
		if a.m.dialect.thoughtsInTotal {
			a.Usage.Out = max(a.Usage.Out, u.Total.N-in)
		}
	}
	if t := c.Timings.V; t != nil && c.Usage.V == nil {
		// What was cached was not read again.
		a.Usage.In, a.Usage.Out, a.Usage.Cached = max(a.Usage.In, t.Prompt.N+t.Cached.N), max(a.Usage.Out, t.Predicted.N), max(a.Usage.Cached, t.Cached.N)
	}
	a.counted = c.Usage.V != nil && len(c.Choices) == 0
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != "" && ch.Index != "0" {
			continue
		}
		finish := string(ch.Finish)
		if finish == string(goopenai.FinishReasonNull) {
			finish = ""
		}
		a.Chunk(finish != "")
		if d := ch.Delta.V; d != nil {
			a.details.add(d.Details.V)
			a.refused = a.refused || d.Refusal.Text != ""
			a.Add(d.texts())
			for _, k := range d.pieces() {
				a.Calls.Add(k)
			}
		}
		if m := ch.Message.V; m != nil {
			if len(a.details) == 0 {
				a.details.add(m.Details.V)
			}
			a.refused = a.refused || m.Refusal.Text != ""
			a.AddWhole(m.texts())
			a.Calls.AddWhole(m.pieces())
		}
		a.finish = cmp.Or(finish, a.finish)
	}
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	switch a.finish {
	case "error", "insufficient_system_resource", "abort", "aborted", "cancelled":
		return nil, a.end.Error(llm.Overloaded, fmt.Sprintf("the server gave up with finish reason %q after %s", a.finish, a.Had()))
	}
	cut := slices.Contains([]string{string(goopenai.FinishReasonLength), "model_length", "max_tokens", "MAX_TOKENS"}, a.finish)
	a.Sent = a.sent
	r := a.Response(cut)
	if err := a.Whole(r, a.finish == string(goopenai.FinishReasonToolCalls) || a.finish == string(goopenai.FinishReasonFunctionCall)); err != nil {
		return nil, err
	}
	r.Message.State = a.state(len(r.Message.Calls))
	if a.refused || a.finish == string(goopenai.FinishReasonContentFilter) {
		// What a filter interrupted is not what the model meant to do.
		r.Stop, r.Message.Calls = llm.StopFilter, nil
	}
	return r, nil
}
