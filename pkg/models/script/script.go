// Package script is a model that plays the turns of a file: for
// demonstrations, tests and reproductions.
//
//	turns:
//	  - calls: [{name: read_file, args: {path: a.txt}}]
//	  - error: {kind: rate_limit, message: slow down, retry_after: 1s}
//	  - expect: {tool: read_file, contains: hello}
//	    text: The file greets you.
//
// A job with several conversations, such as those of sub-agents, has a scene for
// each: the first whose words are in what opens the conversation.
//
//	scenes:
//	  - when: You plan work.
//	    turns:
//	      - text: '{"subtasks": ["a", "b"]}'
//
// Which turn is played follows from the conversation alone: it is the number
// of assistant messages in it. So a job that was killed and resumed, or
// replayed, meets the same turns without the model remembering anything.
// Only errors are remembered, in memory: those before a turn are returned
// once each, in order, when that turn is asked for.
//
// A script may also be a recording of a job's real models: see [Record]. Its
// turns are found by what was asked, and the first request that the recorded
// job did not make ends the run with what differs.
//
// It is no imitation of a model's judgement: its answers do not depend on
// the request, except that a turn may expect something and refuse to go on.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Model plays a script. It is safe for concurrent use.
type Model struct {
	asides    []turn
	name      string
	loop      bool
	turns     []played
	recording *Recording
	scenes    []staged
	estimate  bool

	mu     sync.Mutex
	failed map[int]int // turn -> errors already returned
}

// played is a turn with the errors that precede it. The last one of a script
// may have errors only.
type played struct {
	errors []turn
	answer *turn
}

// play makes turns what the model plays.
func (m *Model) play(turns []turn) error {
	var errs []turn
	for i := range turns {
		t := &turns[i]
		if err := t.check(); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
		if t.Error != nil {
			errs = append(errs, *t)
			continue
		}
		m.turns = append(m.turns, played{errs, t})
		errs = nil
	}
	switch {
	case errs != nil && m.loop:
		return fmt.Errorf("an error that ends a loop precedes no turn; put it before one")
	case errs != nil:
		m.turns = append(m.turns, played{errors: errs})
	}
	return nil
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	if m.recording != nil {
		t, err := m.recall(req)
		if err != nil {
			return nil, err
		}
		if t.TooLong {
			return nil, &llm.Error{Kind: llm.TooLong, Provider: "script", Message: m.name + ": the request was too long when it was recorded"}
		}
		return t.say(req.Model, 0, emit), ctx.Err()
	}
	if t := m.aside(req); t != nil {
		return t.say(req.Model, 0, emit), wait(ctx, time.Duration(t.Delay))
	}
	if s := m.scene(req); s != nil {
		return s.Generate(ctx, req, emit)
	}
	n, calls := req.Compacted, 0
	for i := range req.Messages {
		if req.Messages[i].Role == llm.Assistant {
			n++
			calls += len(req.Messages[i].Calls)
		}
	}
	at := n
	if m.loop && len(m.turns) > 0 {
		at = n % len(m.turns)
	}
	if at >= len(m.turns) {
		return nil, m.exhausted(n)
	}
	t := m.next(n, m.turns[at])
	if t == nil {
		return nil, m.exhausted(n)
	}
	if t.Expect != nil {
		if unmet := t.Expect.unmet(req, n+1); unmet != "" {
			return nil, &llm.Error{Kind: mismatch, Provider: "script",
				Message: fmt.Sprintf("%s: turn %d expects %s", m.name, n+1, unmet)}
		}
	}
	if err := wait(ctx, time.Duration(t.Delay)); err != nil {
		return nil, err
	}
	if e := t.Error; e != nil {
		return nil, &llm.Error{Kind: e.Kind, Provider: "script", Status: e.Status, Message: e.Message,
			RetryAfter: time.Duration(e.RetryAfter)}
	}
	r := t.say(req.Model, calls, emit)
	if m.estimate && t.Usage == nil {
		r.Usage = estimate(req, &r.Message)
	}
	return r, nil
}

// next returns the next error of turn n that was not yet returned, else the turn's
// answer. It is nil if there is none.
func (m *Model) next(n int, p played) *turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.failed[n]; k < len(p.errors) {
		m.failed[n]++
		return &p.errors[k]
	}
	return p.answer
}

// Kinds of errors that only scripts make.
const (
	exhausted llm.ErrorKind = "exhausted" // there are no more turns
	mismatch  llm.ErrorKind = "mismatch"  // it was asked something that it did not expect
)

func (m *Model) exhausted(n int) error {
	return &llm.Error{Kind: exhausted, Provider: "script",
		Message: fmt.Sprintf("%s has no turn %d", m.name, n+1),
		Hint:    "add a turn, or end the script with one that finishes the job"}
}

// say is the turn's answer; before is the number of calls made so far.
func (t *turn) say(model string, before int, emit func(llm.Delta)) *llm.Response {
	r := &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: t.Text, Thinking: t.Thinking},
		Stop:    t.Stop,
		Model:   model,
		Notes:   t.Notes,
	}
	if emit != nil {
		for _, w := range strings.SplitAfter(t.Thinking, " ") {
			if w != "" {
				emit(llm.Delta{Thinking: w})
			}
		}
		for _, w := range strings.SplitAfter(t.Text, " ") {
			if w != "" {
				emit(llm.Delta{Text: w})
			}
		}
	}
	for i, c := range t.Calls {
		k := llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args), Malformed: c.Malformed}
		if k.ID == "" {
			k.ID = fmt.Sprintf("call_%d", before+i+1)
		}
		switch {
		case k.Malformed != "" && c.Raw != "":
			k.Raw, k.Args = c.Raw, json.RawMessage("{}")
		case k.Malformed != "":
			k.Raw, k.Args = string(k.Args), json.RawMessage("{}")
		case len(k.Args) == 0:
			k.Args = json.RawMessage("{}")
		case c.Spaced:
			k.Args = jsontext.Spaced(k.Args)
		case json.Valid([]byte(c.Written)):
			k.Args = json.RawMessage(c.Written)
		}
		r.Message.Calls = append(r.Message.Calls, k)
	}
	if r.Stop == "" {
		r.Stop = llm.StopEnd
		if len(t.Calls) > 0 {
			r.Stop = llm.StopCalls
		}
	}
	if u := t.Usage; u != nil {
		r.Usage = llm.Usage(*u)
	}
	return r
}

// unmet describes the first condition that the request does not meet, "" if it meets all.
func (e *expect) unmet(req *llm.Request, turn int) string {
	var last llm.Message
	if n := len(req.Messages); n > 0 {
		last = req.Messages[n-1]
	}
	if e.Turn != 0 && e.Turn != turn {
		return fmt.Sprintf("to be turn %d", e.Turn)
	}
	if e.Tool != "" && (last.Role != llm.Tool || last.Name != e.Tool) {
		came := fmt.Sprintf("a %s message", last.Role)
		if last.Role == llm.Tool {
			came = "one of " + last.Name
		}
		return fmt.Sprintf("the last message to be a result of %s, but it is %s: %s", e.Tool, came, brief(last.Text))
	}
	if re := e.Last.re; re != nil && !re.MatchString(last.Text) {
		return fmt.Sprintf("the last message to match %q, but it is: %s", re, brief(last.Text))
	}
	if e.Contains != "" {
		found := false
		for i := range req.Messages {
			found = found || strings.Contains(req.Messages[i].Text, e.Contains)
		}
		if !found {
			return fmt.Sprintf("some message to contain %q, but none does; the last is: %s", e.Contains, brief(last.Text))
		}
	}
	if e.Images != nil {
		came := []string{}
		for _, m := range req.Messages {
			for _, i := range m.Images {
				if len(i.Data) == i.Size && i.Size > 0 {
					came = append(came, i.Name)
				}
			}
		}
		if !slices.Equal(e.Images, came) {
			return fmt.Sprintf("the images %q, but these came: %q", e.Images, came)
		}
	}
	offered := map[string]bool{}
	var names []string
	for _, t := range req.Tools {
		offered[t.Name] = true
		names = append(names, t.Name)
	}
	for _, want := range e.Tools {
		if !offered[want] {
			return fmt.Sprintf("the tool %s to be offered, but these are: %s", want, strings.Join(names, ", "))
		}
	}
	return ""
}

func brief(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " …"
	}
	return fmt.Sprintf("%q", s)
}

func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
