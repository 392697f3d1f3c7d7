package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/internal/llm/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// unbound is the note on an answer that is no JSON although a schema was sent
// for it: models that think are sometimes not held to it.
const unbound = "the server did not hold the model to the output schema"

// A line is one line of an answer. Arguments stay as they came: the library's
// type rounds large numbers and refuses what is no object.
type line struct {
	api.ChatResponse
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Cached transport.Count `json:"prompt_eval_cached_count"`
}

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
func (a *answer) read(reply *transport.Reply) error {
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
		if err := json.Unmarshal(transport.Halves(raw), &l); err != nil {
			start := string(raw[:min(len(raw), 200)])
			_, next := lines.Next()
			switch {
			case transport.Ends(err), any && next != nil:
				return a.end.Error(llm.Cut, "the answer ended inside a line after "+a.Had())
			case !any:
				return a.end.Error(llm.Garbled, "the answer is not what the protocol says: "+start)
			}
			return a.end.Error(llm.Garbled, "a line is not what the protocol says: "+err.Error())
		}
		any = true
		a.add(&l)
		if l.Done {
			a.last = l
			return nil
		}
	}
}

func (a *answer) add(l *line) {
	a.Chunk(l.Done)
	a.Add(l.Message.Content, l.Message.Thinking)
	for _, t := range l.Message.ToolCalls {
		a.order++ // the server hands over calls whole
		a.Calls.Add(transport.Piece{Index: strconv.Itoa(a.order), ID: t.ID, Name: t.Function.Name, Args: string(t.Function.Arguments)})
	}
}

// response is the complete answer.
func (a *answer) response() (*llm.Response, error) {
	if err := a.silentCut(); err != nil {
		return nil, err
	}
	a.Model, a.Usage = a.last.Model, llm.Usage{In: a.last.PromptEvalCount, Out: a.last.EvalCount, Cached: a.last.Cached.N}
	r := a.Response(a.last.DoneReason == "length")
	if len(a.req.Tools) > 0 && len(r.Message.Calls) == 0 && a.last.EvalCount > 0 && strings.TrimSpace(r.Message.Text) == "" && r.Message.Thinking == "" {
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
	if window <= 0 || a.last.PromptEvalCount <= 0 {
		return nil
	}
	var why string
	switch in := a.last.PromptEvalCount; {
	case in >= window-1 && a.Sent > window:
		why = fmt.Sprintf("the prompt filled the window of %d tokens to the last one", window)
	case in < window && a.Sent/minBytesPerToken > window:
		why = fmt.Sprintf("%d bytes were sent and the server read %d tokens of them, with a window of %d", a.Sent, in, window)
	default:
		return nil
	}
	return a.end.Error(llm.TooLong, why+", so part of it was cut off without a word")
}
