package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// unbound is the note on an answer that is not JSON although a schema was sent for it:
// some servers do not enforce it on models that think.
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

	Choices json.RawMessage `json:"choices"` // of OpenAI's protocol
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

// read reads lines up to the end, or the one that says done where nothing follows soon. An answer in
// one piece is one such line.
func (a *answer) read(reply *transport.Reply) error { return a.Missed(a.lines(reply)) }

func (a *answer) lines(reply *transport.Reply) error {
	lines := transport.NewLines(reply, reply.Watch.Touch)
	any := false
	for {
		raw, err := lines.Next()
		if string(bytes.TrimSpace(raw)) == "{" {
			raw, err = indented(lines)
		}
		switch {
		case err != nil && a.last.Done != "":
			return nil // only the tail is missing
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
		raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("data:"))) // as in another protocol
		var l line
		if a.last.Done != "" { // some servers send calls behind the end
			if json.Unmarshal(raw, &l) == nil && l.Calls() {
				a.Chunk(true)
				a.calls(&l)
			}
			continue
		}
		if err := a.end.ErrorIn(raw); err != nil {
			return err
		}
		if ok, err := a.Decode(raw, &l); err != nil {
			return err
		} else if !ok {
			continue
		}
		if l.Choices != nil && l.Done == "" {
			return a.end.Foreign("OpenAI's chat completions", "Ollama's own protocol")
		}
		any = true
		a.add(&l)
		if l.Done == "true" {
			a.last = l
			reply.Watch.Finish()
		}
	}
}

// indented reads the rest of an object over several lines, of which the last is its end alone.
func indented(lines *transport.Lines) ([]byte, error) {
	all := []byte("{")
	for {
		raw, err := lines.Next()
		if err != nil {
			return nil, err
		}
		if all = append(append(all, '\n'), raw...); string(bytes.TrimRight(raw, " \t\r")) == "}" {
			return all, nil
		} else if len(all) > transport.MaxLine {
			return nil, transport.ErrLine
		}
	}
}

func (a *answer) add(l *line) {
	a.Chunk(l.Done == "true")
	m := &l.Message.V
	a.Add(m.Content.Text, m.Thinking.Text+m.Content.Thought)
	a.calls(l)
}

func (a *answer) calls(l *line) {
	for _, p := range l.Message.V.Calls.Pieces() {
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

// unparsed answers an error. The server reports a tool call that its own
// parser could not read as an internal error and puts what the model wrote
// into the words; our parsers often can read it. If not, the answer is one
// with [llm.DroppedCall]: asking again the same way would fail again.
func (a *answer) unparsed(err error) (*llm.Response, error) {
	var said transport.ErrorText
	if len(a.req.Tools) == 0 || !errors.As(err, &said) {
		return nil, err
	}
	raw, ok := rawCall(string(said))
	if !ok {
		return nil, err
	}
	found := a.Close(false)
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: found.Text, Thinking: transport.Join(a.Thinking(), found.Thinking)},
		Stop:    llm.StopCalls,
		Model:   a.req.Model,
		Notes:   append(a.Notes, "the server could not parse a tool call and reported an error; its text was read from there"),
	}
	received := a.Received() + len(raw)
	had := a.Calls.List()
	calls := slices.Clip(had)
	if again := textcall.Read(raw, textcall.Options{Offered: a.req.Tools}); len(again.Calls) > 0 {
		calls = append(calls, again.Calls...)
		r.Notes, r.Repairs = append(r.Notes, again.Notes...), again.Notes
	} else if call, note, ok := textcall.Whose(raw, a.req.Tools); ok {
		calls = append(calls, call)
		if r.Notes = append(r.Notes, "its name was lost; "+call.Name+" is the only tool that takes its arguments"); note != "" {
			r.Notes, r.Repairs = append(r.Notes, note), []string{note}
		}
	}
	if len(calls) == len(had) {
		r.Notes = append(a.Notes, llm.DroppedCall)
		if len(calls) == 0 {
			r.Stop = llm.StopEnd
		}
	}
	r.Message.Calls = transport.Tidy(calls, a.req.Messages, false)
	var note string
	r.Usage, note = transport.Usage(llm.Usage{}, a.Sent, received)
	r.Notes = append(r.Notes, note)
	return r, nil
}

// rawCall extracts the model's text from the server's error message.
func rawCall(said string) (string, bool) {
	_, raw, ok := strings.Cut(said, "error parsing tool call:")
	if !ok {
		return "", false
	}
	if _, inside, ok := strings.Cut(raw, "raw='"); ok {
		if n := strings.LastIndex(inside, "', err="); n >= 0 {
			inside = inside[:n]
		}
		return inside, true
	}
	return strings.TrimSpace(raw), true
}
