package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/llm/textcall"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/internal/transport"
)

// answer collects the chunks of an answer.
type answer struct {
	*call
	end  *transport.Endpoint
	emit func(llm.Delta)

	details details
	notes   []string

	reader         *textcall.Reader
	text, thinking strings.Builder
	calls          transport.Calls
	finish         goopenai.FinishReason
	model          string
	usage          llm.Usage
}

// read reads a stream until the answer is complete.
func (a *answer) read(s *goopenai.ChatCompletionStream) error {
	for any := false; ; any = true {
		raw, err := s.RecvRaw()
		var e *llm.Error
		switch {
		case errors.As(err, &e):
			return err
		case err != nil && a.finish != "":
			return nil // only the tail is missing
		case err == io.EOF:
			return a.end.Error(llm.Cut, "the answer ended without a finish reason after "+a.had())
		case errors.Is(err, errNotDone) && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", a.reply.Type))
		case err != nil:
			return a.reply.Broken(err, a.had())
		}
		c, err := a.decode(raw)
		if transport.Ends(err) {
			return a.end.Error(llm.Cut, "the answer ended inside a chunk after "+a.had())
		}
		if err != nil {
			return a.end.Error(llm.Garbled, "a chunk is not what the protocol says: "+err.Error())
		}
		a.add(&c)
		if a.finish != "" {
			a.reply.Watch.Finish()
		}
	}
}

func (a *answer) add(c *goopenai.ChatCompletionStreamResponse) {
	a.model = cmp.Or(c.Model, a.model)
	if u := c.Usage; u != nil {
		// Servers that report usage more than once mean the largest.
		a.usage.In, a.usage.Out = max(a.usage.In, u.PromptTokens), max(a.usage.Out, u.CompletionTokens)
		if u.PromptTokensDetails != nil {
			a.usage.Cached = max(a.usage.Cached, u.PromptTokensDetails.CachedTokens)
		}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		d := llm.Delta{Text: cmp.Or(ch.Delta.Content, ch.Delta.Refusal), Thinking: ch.Delta.ReasoningContent}
		a.text.WriteString(d.Text)
		a.thinking.WriteString(d.Thinking)
		shown := a.reader.Write(d.Text)
		shown.Thinking = d.Thinking + shown.Thinking
		a.show(shown)
		for _, t := range ch.Delta.ToolCalls {
			a.calls.Add(t.Index, t.ID, t.Function.Name, t.Function.Arguments)
		}
		if ch.FinishReason != goopenai.FinishReasonNull {
			a.finish = cmp.Or(ch.FinishReason, a.finish)
		}
	}
}

func (a *answer) show(d llm.Delta) {
	if a.emit != nil && d != (llm.Delta{}) {
		a.emit(d)
	}
}

// had is how far the answer got, for errors.
func (a *answer) had() string {
	return fmt.Sprintf("%d bytes of text and %d unfinished calls", a.text.Len()+a.thinking.Len(), a.calls.Len())
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	switch a.finish {
	case "error", "insufficient_system_resource", "abort", "aborted", "cancelled":
		return nil, a.end.Error(llm.Overloaded, fmt.Sprintf("the server gave up with finish reason %q after %s", a.finish, a.had()))
	}
	cut := slices.Contains([]goopenai.FinishReason{goopenai.FinishReasonLength, "model_length", "max_tokens", "MAX_TOKENS"}, a.finish)
	found, rest := a.reader.Close(cut)
	a.show(rest)
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: transport.Join(a.thinking.String(), found.Thinking)},
		Stop:    llm.StopEnd,
		Model:   a.model,
		Notes:   a.notes,
	}
	calls := a.calls.List()
	received := a.text.Len() + a.thinking.Len()
	for _, c := range calls {
		received += len(c.Name) + len(c.Args)
	}
	if len(calls) == 0 && len(a.req.Tools) > 0 {
		if a.thinking.Len() > 0 && strings.TrimSpace(found.Text) == "" && len(found.Calls) == 0 {
			// The server separated the thinking and found nothing behind it: a
			// call that ends it was not closed off.
			if in := a.reader.Thought(a.thinking.String(), cut); len(in.Calls) > 0 {
				found, r.Message.Thinking = in, in.Thinking
			}
		}
		switch {
		case len(found.Calls) > 0:
			calls = found.Calls
			r.Notes = append(append(r.Notes, "the server returned a tool call as text; it was read from there"), found.Notes...)
			r.Repairs = found.Notes
		case found.UnreadCall != "":
			r.UnreadCall, r.Notes = found.UnreadCall, append(r.Notes, found.UnreadCall)
		}
	}
	r.Message.Calls = transport.Tidy(calls, a.req.Messages, cut)
	r.Message.State = a.state(len(r.Message.Calls))
	switch {
	case a.finish == goopenai.FinishReasonContentFilter:
		// What a filter interrupted is not what the model meant to do.
		r.Stop, r.Message.Calls = llm.StopFilter, nil
	case cut:
		r.Stop = llm.StopLength
	case len(calls) > 0:
		r.Stop = llm.StopCalls
	}
	var note string
	if r.Usage, note = transport.Usage(a.usage, a.sent, received); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, nil
}
