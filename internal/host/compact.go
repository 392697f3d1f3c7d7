package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// compact performs a step of kind "compact".
func (m *models) compact(ctx context.Context, s flow.Step, emit event.Sink) (json.RawMessage, error) {
	var in turn.CompactRequest
	if err := json.Unmarshal(s.Input, &in); err != nil {
		return nil, fmt.Errorf("compact %s: decoding input: %w", s.Name, err)
	}
	msgs := in.New
	if in.Head != "" {
		chain, err := m.chain(ctx, in.Head)
		if err != nil {
			return nil, storageFailure(fmt.Errorf("compact %s: reading the transcript: %w", s.Name, err))
		}
		msgs = nil
		for _, a := range slices.Backward(chain) {
			msgs = append(msgs, a.New...)
		}
		msgs = append(msgs, in.New...)
	}
	c := compactor{models: m, in: in, msgs: answersFirst(msgs)}
	var out turn.CompactResult
	var err error
	how, model, _ := strings.Cut(s.Name, " ")
	switch how {
	case turn.CompactResults:
		out = c.results()
	case turn.CompactSummary:
		if out, err = c.summary(ctx, model); out.Poor != "" {
			emit(event.Event{Kind: event.Note, Text: "the summary of " + model + " is not used: " + out.Poor})
		}
	case turn.CompactRecord:
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

// A compactor is one such step at work.
type compactor struct {
	*models
	in   turn.CompactRequest
	msgs []llm.Message // from the first answer on
}

// answersFirst returns a transcript without its opening, in a form that the strictest providers
// accept: an answer comes first, and no two messages of the user follow each other.
func answersFirst(msgs []llm.Message) []llm.Message {
	i := slices.IndexFunc(msgs, func(m llm.Message) bool { return m.Role == llm.Assistant })
	if i < 0 {
		return nil
	}
	var out []llm.Message
	for _, m := range msgs[i:] {
		if n := len(out); m.Role == llm.User && n > 0 && out[n-1].Role == llm.User {
			out[n-1].Text += "\n\n" + m.Text
			out[n-1].Images = slices.Concat(out[n-1].Images, m.Images)
			continue
		}
		out = append(out, m)
	}
	return out
}

func (c *compactor) store(text string) string {
	if !c.in.Handle {
		return ""
	}
	id, err := c.Results.Put(text)
	if err != nil {
		return "" // it can be called again
	}
	return id
}

func (c *compactor) trimmer(msgs []llm.Message) *turn.Trimmer {
	return turn.NewTrimmer(msgs, c.lookup, c.store)
}

// held is the weight of what is asked in some of the messages: it is a part of what is fixed.
func (c *compactor) held(msgs []llm.Message) int {
	return turn.Weigh(c.in.Asked...) - turn.Weigh(turn.Missing(c.in.Asked, msgs)...)
}

// results makes the results of earlier turns smaller.
func (c *compactor) results() turn.CompactResult {
	t := c.trimmer(c.msgs)
	t.Weight -= c.held(c.msgs)
	out := turn.CompactResult{Before: c.in.Fixed + turn.Tokens(t.Weight, c.in.Rate)}
	if c.in.Refused {
		c.in.Target = turn.Reduce(c.in.Target, out.Before, 6)
	}
	t.Drop()
	t.Shorten(func() bool { return c.in.Fixed+turn.Tokens(t.Weight, c.in.Rate) > c.in.Target })
	out.Messages, out.Dropped, out.Shortened = t.Messages, t.Dropped, t.Shortened
	out.After = c.in.Fixed + turn.Tokens(t.Weight, c.in.Rate)
	return out
}

// keepFrom returns the index of the first message to keep: the kept turns take at most a part of
// the room, and the last turn is always kept.
func (c *compactor) keepFrom() int {
	room := (c.in.Target - c.in.Fixed) * c.in.Rate / 1000 / 2
	at, n := len(c.msgs), 0
	for i := len(c.msgs) - 1; i >= 0; i-- {
		n += turn.Weigh(c.msgs[i]) - c.held(c.msgs[i:i+1])
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

func (c *compactor) older() []llm.Message { return c.msgs[:c.keepFrom()] }

// replaced gives the conversation with notes in place of its earlier turns.
func (c *compactor) replaced(n *turn.Notes) turn.CompactResult {
	older, rest := c.older(), c.msgs[c.keepFrom():]
	out := turn.CompactResult{Before: c.in.Fixed + turn.Tokens(turn.Weigh(c.msgs...)-c.held(c.msgs), c.in.Rate)}
	for _, m := range older {
		if m.Role == llm.Assistant {
			out.Turns++
		}
	}
	fixed := c.in.Fixed
	if out.Turns > 0 {
		n.NameImages(older)
		n.Turns = out.Turns
		if c.in.Notes != nil {
			n.Turns += c.in.Notes.Turns
		}
		out.Notes = n
		fixed += turn.Tokens(turn.Weight(n.Text())-turn.Weight(c.in.Notes.Text()), c.in.Rate)
	}
	t := c.trimmer(rest)
	t.Weight -= c.held(rest)
	above := func(most int) bool { return fixed+turn.Tokens(t.Weight, c.in.Rate) > most }
	if above(c.in.Limit) {
		t.Squeeze(func() bool { return above(c.in.Target) })
	}
	out.Messages, out.Shortened = t.Messages, t.Shortened
	out.After = fixed + turn.Tokens(t.Weight, c.in.Rate)
	return out
}

// summaryRoom bounds a summary by the model, in tokens.
const summaryRoom = 2048

// summary has a model write the notes. What is of no use gives way to those
// made from the record.
func (c *compactor) summary(ctx context.Context, ref string) (turn.CompactResult, error) {
	older := c.older()
	if len(older) == 0 {
		return c.replaced(nil), nil
	}
	model, name, err := c.Models(ctx, ref)
	if err != nil {
		return turn.CompactResult{}, modelFailure(err)
	}
	most := max(c.in.Limit-summaryRoom-1000, c.in.Limit/2) * c.in.Rate / 1000 * 3 / 4
	text := fmt.Sprintf("The task:\n%s\n\n%s\n\nThe turns:\n%s", turn.HeadAndTail(c.in.Task, most/8, most/16, ""), c.in.Notes.Text(), turn.Transcript(older, most*3/4))
	start := time.Now()
	req := &llm.Request{Model: name, Output: json.RawMessage(turn.NotesSchema),
		Messages: []llm.Message{{Role: llm.System, Text: turn.NotesPrompt}, {Role: llm.User, Text: text}},
		Options:  llm.Options{MaxTokens: summaryRoom, Window: c.in.Window}}
	resp, err := model.Generate(ctx, req, nil)
	if ctx.Err() != nil {
		return turn.CompactResult{}, ctx.Err()
	}
	if err != nil {
		return turn.CompactResult{}, modelFailure(err)
	}
	if c.Record != nil {
		if err := c.Record(req, resp); err != nil {
			return turn.CompactResult{}, err
		}
	}
	n, poor := readNotes(resp, turn.Weigh(older...)+turn.Weight(c.in.Notes.Text()))
	if poor != "" {
		n = c.record()
	}
	out := c.replaced(n)
	out.Model, out.Poor, out.Usage, out.Took = ref, poor, resp.Usage, time.Since(start)
	return out, nil
}

func (c *compactor) record() *turn.Notes {
	return turn.NotesFromCalls(c.older(), c.in.Notes, c.lookup)
}

// readNotes reads notes from an answer, or states why they are of no use: they are
// to replace something of some weight.
func readNotes(resp *llm.Response, replaced int) (*turn.Notes, string) {
	n, ok := turn.ParseNotes(resp.Message.Text)
	switch {
	case resp.Stop == llm.StopFilter:
		return nil, "it was withheld"
	case !ok && resp.Stop == llm.StopLength:
		return nil, "it was cut"
	case !ok:
		return nil, "it holds no notes"
	case turn.Weight(n.Text()) >= replaced:
		return nil, "it is longer than what it would replace"
	}
	return n, ""
}

func describeCompact(_ flow.Step, b json.RawMessage) (string, json.RawMessage) {
	var out turn.CompactResult
	if json.Unmarshal(b, &out) != nil {
		return "", nil
	}
	if out.Dropped+out.Shortened+out.Turns == 0 {
		return "", nil // there was nothing to take out this way
	}
	parts := []string{fmt.Sprintf("compacted: %s to %s tokens", turn.Thousands(out.Before), turn.Thousands(out.After))}
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, turn.Thousands(n)+" "+many)
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
