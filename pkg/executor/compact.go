package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Names of the steps of kind [CompactStep]: how they make a conversation smaller.
const (
	byResults = "results" // by dropping and shortening results of earlier turns
	bySummary = "summary" // by notes of a model in place of earlier turns
	byRecord  = "record"  // by notes made from the record of calls
)

// Codes of the failures around compaction.
const (
	TooBig     = "context.full" // what must be kept does not fit
	tooLong    = "model." + string(llm.TooLong)
	compactMax = 20 // compactions of a job, beside one in two turns
)

// A Compact is the input of a step of kind "compact": a conversation, by its
// last Ask and what came since, and how small it has to get.
type Compact struct {
	Head   string        `json:"head,omitempty"`
	New    []llm.Message `json:"new"` // also what is left of an earlier step
	Task   string        `json:"task,omitempty"`
	Notes  *Notes        `json:"notes,omitempty"` // those so far
	Fixed  int           `json:"fixed"`           // tokens of what is kept in any case
	Target int           `json:"target"`          // tokens to get down to
	Limit  int           `json:"limit"`           // tokens that fit
	Rate   int           `json:"rate"`            // thousandths of weight a token
	// Refused says that the provider has refused what there is: whatever the
	// estimate says, it has to get smaller by a good part.
	Refused bool `json:"refused,omitempty"`
	Window  int  `json:"window,omitempty"` // of the model that summarises, where the client sets it
	Handle  bool `json:"handle,omitempty"` // the model can read what is left out
}

// A Compacted is the output of a step of kind "compact".
type Compacted struct {
	Messages  []llm.Message `json:"messages"` // from the first answer on
	Notes     *Notes        `json:"notes,omitempty"`
	Before    int           `json:"before"` // tokens
	After     int           `json:"after"`
	Dropped   int           `json:"dropped,omitempty"`
	Shortened int           `json:"shortened,omitempty"`
	Turns     int           `json:"turns,omitempty"` // that notes stand for now
	Model     string        `json:"model,omitempty"` // that was asked for notes
	Poor      string        `json:"poor,omitempty"`  // why what it wrote was not used
	Usage     llm.Usage     `json:"usage,omitzero"`
	Took      time.Duration `json:"took_ns,omitempty"`
}

// fit makes the next request small enough, if it has to be.
func fit(r *flow.Run, t *Task, s *State) error {
	if t.Budget == nil {
		return nil
	}
	need, limit := s.need(t), t.limit(s)
	s.Context.Limit = limit
	if limit == 0 || need <= limit {
		return nil
	}
	return compact(r, t, s, limit, false)
}

// refit makes a request smaller that the provider refused as too long: our
// tokens are too few, or the window is smaller than was thought.
func refit(r *flow.Run, t *Task, s *State, cause error) error {
	s.Context.learn(s.need(t), t.sure(s))
	limit := t.limit(s)
	s.Context.Limit = limit
	err := compact(r, t, s, limit, true)
	var full *flow.StepError
	if errors.As(err, &full) && full.Code == TooBig {
		full.Message += "; the provider said: " + said(cause)
	}
	return err
}

// refused reports whether a model step failed because its request was too long.
func refused(err error) bool {
	se, ok := asStep(err)
	return ok && se.Code == tooLong
}

// said is what a provider said when it refused.
func said(err error) string {
	if se, ok := asStep(err); ok {
		return se.Message
	}
	return err.Error()
}

// compact replaces the conversation by a smaller one: results that are of no
// use any more go first, then notes take the place of earlier turns. It is
// done at most once before a request and once after a refusal. The asks so far stay where they are; the conversation
// goes on with a chain of its own.
func compact(r *flow.Run, t *Task, s *State, limit int, refused bool) error {
	g := &s.Context
	if g.Compactions >= compactMax+s.Turns/2 {
		return t.full(r, s, fmt.Sprintf("the conversation was compacted %d times in %d turns and is too long again", g.Compactions, s.Turns))
	}
	g.Compactions++
	g.In, g.Out = 0, 0
	fixed := func(n *Notes) int { return g.Extra + g.tokens(g.Tools+weigh(s.opening(t, n)...)) }
	// So that the next one is some turns away, however much is kept in any case.
	target := max(limit*7/10, min(limit, fixed(nil)+max(limit-fixed(nil), 0)/2))
	in := Compact{Head: s.Head, New: s.New, Fixed: fixed(s.Notes), Target: target, Limit: limit, Refused: refused, Rate: g.rate(), Handle: t.tool(readResult) != nil}
	out, err := flow.Do[Compacted](r, CompactStep, byResults, in)
	if err != nil {
		return err
	}
	s.compacted(t, out)
	if refused {
		in.Target, in.Limit, in.Refused = less(in.Target, out.Before, 6), less(limit, out.Before, 8), false
		limit = in.Limit
	}
	if out.After > in.Target {
		in.Head, in.New, in.Task, in.Notes = "", out.Messages, t.Prompt, s.Notes
		model, window := t.at(s.Fell)
		in.Window = window
		if t.Budget.Cheap != "" {
			model = t.Budget.Cheap
		}
		next, err := flow.Do[Compacted](r, CompactStep, bySummary+" "+model, in)
		if _, poor := asStep(err); poor {
			next, err = flow.Do[Compacted](r, CompactStep, byRecord, in)
		}
		if err != nil {
			return err
		}
		s.compacted(t, next)
		out = next
	}
	if out.After > limit {
		return t.full(r, s, fmt.Sprintf("about %d tokens are needed, %d of them for the prompt and the tools, and %d fit", out.After, fixed(nil), limit))
	}
	s.Head, s.New = "", append(s.opening(t, s.Notes), out.Messages...)
	s.Offered, s.Told = "", nil
	g.Tokens, g.Weight = 0, 0
	return nil
}

// less is n, or so many tenths of what was refused if that is less.
func less(n, refused, tenths int) int { return min(n, refused*tenths/10) }

// compacted takes what a step did into the state.
func (s *State) compacted(t *Task, out Compacted) {
	g := &s.Context
	g.Dropped += out.Dropped
	g.Shortened += out.Shortened
	g.Summarised += out.Turns
	if out.Model != "" {
		s.pay(t, out.Model, out.Usage)
	}
	s.Spent += out.Took
	if out.Notes != nil {
		s.Notes = out.Notes
	}
}

// opening are the messages that every request begins with: the system prompt
// and the task, then what stands for the turns that were left out.
func (s *State) opening(t *Task, n *Notes) []llm.Message {
	parts := []string{t.Prompt}
	if n != nil {
		parts = append(parts, n.words())
	}
	if held := s.held(t); s.Turns > 0 && held != "" {
		parts = append(parts, held)
	}
	return []llm.Message{{Role: llm.System, Text: t.System}, {Role: llm.User, Text: strings.Join(parts, "\n\n")}}
}

// full is the failure of a run whose conversation can not be made to fit.
func (t *Task) full(r *flow.Run, s *State, figures string) error {
	window := "the context window is not known"
	if w := t.window(s.Fell); w > 0 {
		window = fmt.Sprintf("the context window has %d tokens", w)
		if _, asked := t.at(s.Fell); asked == 0 && t.Budget.Guess {
			window += " by a guess that windows: in the configuration can correct"
		}
	}
	return &flow.StepError{Path: r.Next(), Kind: CompactStep, Failure: flow.Failure{Code: TooBig,
		Message: "the conversation does not fit the model: " + figures + "; " + window +
			"; take a model with a larger window, give the agent fewer tools or a shorter prompt, or split the task"}}
}

// compact performs a step of kind "compact".
func (m *models) compact(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var in Compact
	if err := json.Unmarshal(s.Input, &in); err != nil {
		return nil, fmt.Errorf("compact %s: decoding input: %w", s.Name, err)
	}
	msgs := in.New
	if in.Head != "" {
		chain, err := m.chain(ctx, in.Head)
		if err != nil {
			return nil, unread(fmt.Errorf("compact %s: reading the transcript: %w", s.Name, err))
		}
		msgs = nil
		for _, a := range slices.Backward(chain) {
			msgs = append(msgs, a.New...)
		}
		msgs = append(msgs, in.New...)
	}
	c := compaction{models: m, in: in, msgs: settled(msgs)}
	var out Compacted
	var err error
	how, model, _ := strings.Cut(s.Name, " ")
	switch how {
	case byResults:
		out = c.results()
	case bySummary:
		if out, err = c.summary(ctx, model); out.Poor != "" {
			emit(event.Event{Kind: event.Note, Text: "the summary of " + model + " is not used: " + out.Poor})
		}
	case byRecord:
		out = c.replaced(c.record())
	default:
		err = fmt.Errorf("there is no way %q to compact", s.Name)
	}
	if err != nil {
		return nil, err
	}
	m.forget()
	return json.Marshal(out)
}

// A compaction is one such step at work.
type compaction struct {
	*models
	in   Compact
	msgs []llm.Message // from the first answer on
}

// settled is a transcript without its opening, fit for the strictest of
// providers: an answer comes first, and no two messages of the user follow
// each other.
func settled(msgs []llm.Message) []llm.Message {
	i := slices.IndexFunc(msgs, func(m llm.Message) bool { return m.Role == llm.Assistant })
	if i < 0 {
		return nil
	}
	var out []llm.Message
	for _, m := range msgs[i:] {
		if n := len(out); m.Role == llm.User && n > 0 && out[n-1].Role == llm.User {
			out[n-1].Text += "\n\n" + m.Text
			continue
		}
		out = append(out, m)
	}
	return out
}

func (c *compaction) shelve(text string) string {
	if !c.in.Handle {
		return ""
	}
	id, err := c.Shelf.Put(text)
	if err != nil {
		return "" // it can be called again
	}
	return id
}

func (c *compaction) trimmer(msgs []llm.Message) *trimmer {
	return newTrimmer(msgs, c.Tools.Lookup, c.shelve)
}

// results makes the results of earlier turns smaller.
func (c *compaction) results() Compacted {
	t := c.trimmer(c.msgs)
	out := Compacted{Before: c.in.Fixed + tokensOf(t.w, c.in.Rate)}
	if c.in.Refused {
		c.in.Target = less(c.in.Target, out.Before, 6)
	}
	t.drop()
	t.shorten(func() bool { return c.in.Fixed+tokensOf(t.w, c.in.Rate) > c.in.Target })
	out.Messages, out.Dropped, out.Shortened = t.msgs, t.dropped, t.shortened
	out.After = c.in.Fixed + tokensOf(t.w, c.in.Rate)
	return out
}

// cut is where the turns that are kept begin: they take at most a part of the
// room, and the last is always kept.
func (c *compaction) cut() int {
	room := (c.in.Target - c.in.Fixed) * c.in.Rate / 1000 / 2
	at, n := len(c.msgs), 0
	for i := len(c.msgs) - 1; i >= 0; i-- {
		n += weigh(c.msgs[i])
		if c.msgs[i].Role != llm.Assistant {
			continue
		}
		if n > room && at < len(c.msgs) {
			break
		}
		at = i
	}
	return at
}

func (c *compaction) older() []llm.Message { return c.msgs[:c.cut()] }

// replaced gives the conversation with notes in place of its earlier turns.
func (c *compaction) replaced(n *Notes) Compacted {
	older, rest := c.older(), c.msgs[c.cut():]
	out := Compacted{Before: c.in.Fixed + tokensOf(weigh(c.msgs...), c.in.Rate)}
	for _, m := range older {
		if m.Role == llm.Assistant {
			out.Turns++
		}
	}
	fixed := c.in.Fixed
	if out.Turns > 0 {
		n.Turns = out.Turns
		if c.in.Notes != nil {
			n.Turns += c.in.Notes.Turns
		}
		out.Notes = n
		fixed += tokensOf(weight(n.words())-weight(c.in.Notes.words()), c.in.Rate)
	}
	t := c.trimmer(rest)
	above := func(most int) bool { return fixed+tokensOf(t.w, c.in.Rate) > most }
	if above(c.in.Limit) {
		t.squeeze(func() bool { return above(c.in.Target) })
	}
	out.Messages, out.Shortened = t.msgs, t.shortened
	out.After = fixed + tokensOf(t.w, c.in.Rate)
	return out
}

// summaryRoom bounds what the model that summarises may write, in tokens.
const summaryRoom = 2048

// summary has a model write the notes. What is of no use gives way to those
// made from the record.
func (c *compaction) summary(ctx context.Context, ref string) (Compacted, error) {
	older := c.older()
	if len(older) == 0 {
		return c.replaced(nil), nil
	}
	model, name, err := c.Models(ctx, ref)
	if err != nil {
		return Compacted{}, failure(err)
	}
	most := max(c.in.Limit-summaryRoom-1000, c.in.Limit/2) * c.in.Rate / 1000 * 3 / 4
	text := fmt.Sprintf("The task:\n%s\n\n%s\n\nThe turns:\n%s", ends(c.in.Task, most/8, most/16, ""), c.in.Notes.words(), transcript(older, most*3/4))
	start := time.Now()
	req := &llm.Request{Model: name, Output: json.RawMessage(notesSchema),
		Messages: []llm.Message{{Role: llm.System, Text: notesPrompt}, {Role: llm.User, Text: text}},
		Options:  llm.Options{MaxTokens: summaryRoom, Window: c.in.Window}}
	resp, err := model.Generate(ctx, req, nil)
	if ctx.Err() != nil {
		return Compacted{}, ctx.Err()
	}
	if err != nil {
		return Compacted{}, failure(err)
	}
	if c.Record != nil {
		if err := c.Record(req, resp); err != nil {
			return Compacted{}, err
		}
	}
	n, poor := usable(resp, weigh(older...)+weight(c.in.Notes.words()))
	if poor != "" {
		n = c.record()
	}
	out := c.replaced(n)
	out.Model, out.Poor, out.Usage, out.Took = ref, poor, resp.Usage, time.Since(start)
	return out, nil
}

func (c *compaction) record() *Notes { return record(c.older(), c.in.Notes, c.Tools.Lookup) }

// usable reads notes from an answer, or says why they are of no use: they are
// to replace something of some weight.
func usable(resp *llm.Response, replaced int) (*Notes, string) {
	n, ok := parseNotes(resp.Message.Text)
	switch {
	case resp.Stop == llm.StopFilter:
		return nil, "it was withheld"
	case !ok && resp.Stop == llm.StopLength:
		return nil, "it was cut"
	case !ok:
		return nil, "it holds no notes"
	case weight(n.words()) >= replaced:
		return nil, "it is longer than what it would replace"
	}
	return n, ""
}

func describeCompact(_ flow.Step, b json.RawMessage) (string, json.RawMessage) {
	var out Compacted
	if json.Unmarshal(b, &out) != nil {
		return "", nil
	}
	if out.Dropped+out.Shortened+out.Turns == 0 {
		return "", nil // there was nothing to take out this way
	}
	parts := []string{fmt.Sprintf("compacted: %s to %s tokens", thousands(out.Before), thousands(out.After))}
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, thousands(n)+" "+many)
		}
	}
	say(out.Dropped, "result dropped", "results dropped")
	say(out.Shortened, "result shortened", "results shortened")
	say(out.Turns, "turn summarised", "turns summarised")
	if out.Notes != nil && out.Notes.Plain {
		parts[len(parts)-1] += " from the record"
	}
	out.Messages, out.Notes = nil, nil
	data, err := json.Marshal(struct {
		Before    int        `json:"before"`
		After     int        `json:"after"`
		Dropped   int        `json:"dropped"`
		Shortened int        `json:"shortened"`
		Turns     int        `json:"turns"`
		Model     string     `json:"model,omitempty"`
		Poor      string     `json:"poor,omitempty"`
		Usage     *llm.Usage `json:"usage,omitempty"`
	}{out.Before, out.After, out.Dropped, out.Shortened, out.Turns, out.Model, out.Poor, used(out.Usage)})
	if err != nil {
		return "", nil
	}
	return strings.Join(parts, ", "), data
}

func used(u llm.Usage) *llm.Usage {
	if u == (llm.Usage{}) {
		return nil
	}
	return &u
}

// thousands writes n as people read it.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
