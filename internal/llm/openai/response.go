package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/adroit-run/adroit/internal/llm/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// answer collects the chunks of an answer.
type answer struct {
	*call
	*transport.Answer
	end     *transport.Endpoint
	details details
	signed  map[int]json.RawMessage // extra_content, by position of the call
	finish  goopenai.FinishReason
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
			return a.end.Error(llm.Cut, "the answer ended without a finish reason after "+a.Had())
		case errors.Is(err, errNotDone) && !any:
			return a.end.Error(llm.Garbled, fmt.Sprintf("the answer (content type %q) holds no data", a.reply.Type))
		case err != nil:
			return a.reply.Broken(err, a.Had())
		}
		c, err := a.decode(raw)
		if transport.Ends(err) {
			return a.end.Error(llm.Cut, "the answer ended inside a chunk after "+a.Had())
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
	a.Model = cmp.Or(c.Model, a.Model)
	if u := c.Usage; u != nil {
		// Servers that report usage more than once mean the largest.
		a.Usage.In, a.Usage.Out = max(a.Usage.In, u.PromptTokens), max(a.Usage.Out, u.CompletionTokens)
		if a.m.dialect.thoughtsInTotal {
			a.Usage.Out = max(a.Usage.Out, u.TotalTokens-u.PromptTokens)
		}
		if u.PromptTokensDetails != nil {
			a.Usage.Cached = max(a.Usage.Cached, u.PromptTokensDetails.CachedTokens)
		}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		a.Add(cmp.Or(ch.Delta.Content, ch.Delta.Refusal), ch.Delta.ReasoningContent)
		for _, t := range ch.Delta.ToolCalls {
			a.Calls.Add(t.Index, t.ID, t.Function.Name, t.Function.Arguments)
		}
		if ch.FinishReason != goopenai.FinishReasonNull {
			a.finish = cmp.Or(ch.FinishReason, a.finish)
		}
	}
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	switch a.finish {
	case "error", "insufficient_system_resource", "abort", "aborted", "cancelled":
		return nil, a.end.Error(llm.Overloaded, fmt.Sprintf("the server gave up with finish reason %q after %s", a.finish, a.Had()))
	}
	cut := slices.Contains([]goopenai.FinishReason{goopenai.FinishReasonLength, "model_length", "max_tokens", "MAX_TOKENS"}, a.finish)
	a.Sent = a.sent
	r := a.Response(cut)
	r.Message.State = a.state(len(r.Message.Calls))
	if a.finish == goopenai.FinishReasonContentFilter {
		// What a filter interrupted is not what the model meant to do.
		r.Stop, r.Message.Calls = llm.StopFilter, nil
	}
	return r, nil
}
