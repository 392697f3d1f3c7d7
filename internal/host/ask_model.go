package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// malformed describes what is wrong with the calls of an answer, or returns "". One good call
// among bad ones shows that the mode works.
func malformed(r *llm.Response) string {
	if r.Dropped() && len(r.Message.Calls) == 0 {
		return "the server swallowed a call"
	}
	if len(r.Message.Calls) == 0 {
		return ""
	}
	for _, c := range r.Message.Calls {
		if c.Malformed == "" {
			return ""
		}
	}
	if r.Stop == llm.StopLength {
		return "" // too long an answer is too long in any form
	}
	return "the arguments of a call could not be read"
}

// generate asks the model in the first way that has not failed. A way that
// the server refuses is given up for the conversation, and the next is tried
// at once; so is one that it refuses for an unknown reason, if another then works.
func (m *models) generate(ctx context.Context, model llm.Model, c *conversation, a turn.ModelRequest, req *llm.Request, show func(llm.Delta)) (*turn.ModelResponse, error) {
	if len(c.tools) == 0 {
		resp, err := model.Generate(ctx, req, show)
		if err != nil {
			return nil, err
		}
		return &turn.ModelResponse{Response: *resp}, nil
	}
	list, why := m.ways(ctx, c, a)
	var refused error // for a reason that is not known
	var maybe []turn.ModeFailure
	learn, calls := m.CallModes, m.known(m.calls, a.Model, false)
	if calls { // it is for another reason than that it cannot
		learn = nil
	}
	for i, way := range list {
		var resp *llm.Response
		var slipped string
		var err error
		if way == turn.Native {
			resp, err = model.Generate(ctx, req, show)
		} else {
			resp, slipped, err = m.in(ctx, way, model, c, a, req, show)
		}
		if err == nil {
			m.known(m.calls, a.Model, way == turn.Native && len(req.Tools) > 0 && slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.Tool }))
			c.giveUp(learn, a.Model, maybe...)
			return &turn.ModelResponse{Response: *resp, CallMode: way, ModeReason: why, Malformed: cmp.Or(slipped, malformed(resp))}, nil
		}
		var le *llm.Error
		if !errors.As(err, &le) {
			return nil, err
		}
		given, unknown := le.Kind == llm.Unsupported || le.Kind == llm.Cut && c.broke(way), transport.Unexplained(le)
		if way == turn.Native && !calls && c.fails(le) {
			unknown, learn = true, nil // for this conversation: it may be another trouble
		}
		if unknown && refused == nil && m.known(m.asked, a.Model, false) {
			return nil, err
		}
		switch {
		case i < len(list)-1 && (given || unknown || le.Kind == turn.Overrun):
		case given || unknown:
			m.known(m.asked, a.Model, refused != nil)
			return nil, cmp.Or(refused, err)
		default:
			return nil, err
		}
		back := turn.ModeFailure{Mode: way, Why: le.Error()}
		switch why = fmt.Sprintf("%s: %s", way, back.Why); {
		case given:
			c.giveUp(m.CallModes, a.Model, back)
		case unknown:
			refused, maybe = cmp.Or(refused, err), append(maybe, back)
		}
	}
	return nil, errors.New("there is no way to call tools")
}

// giveUp has a conversation, and later ones with the model if modes is not nil, go without ways that failed.
func (c *conversation) giveUp(modes CallModes, model string, failed ...turn.ModeFailure) {
	for _, back := range failed {
		c.modeFailures = append(c.modeFailures, back)
		if modes != nil {
			modes.Learn(model, back)
		}
	}
}

// known reports whether a set has a model, which it gets now.
func (m *models) known(set map[string]bool, model string, now bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now {
		set[model] = true
	}
	return set[model]
}

// broke reports whether an answer held to a form was cut so often that the
// form must be the cause: there are servers whose sampler dies of a grammar
// that the model does not follow.
func (c *conversation) broke(way turn.Mode) bool {
	if way != turn.Constrained {
		return false
	}
	c.cuts++
	return c.cuts >= turn.MaxMalformed
}

// fails reports, once for a conversation, that the server has failed so often that its template may not take the
// tools: some have no other status for that. Then the job will fail, too.
func (c *conversation) fails(err *llm.Error) bool {
	if err.Status != http.StatusInternalServerError {
		return false
	}
	c.failures++
	return c.failures == 4
}

// ways lists the ways to try now, and why not all of them. There is always
// one.
func (m *models) ways(ctx context.Context, c *conversation, a turn.ModelRequest) ([]turn.Mode, string) {
	if a.CallMode != "" && a.CallMode != turn.Auto {
		return []turn.Mode{a.CallMode}, "set for the job"
	}
	list, why := turn.Preference, ""
	if m.CallModes != nil {
		var known []turn.Mode
		if known, why = m.CallModes.Modes(ctx, a.Model); len(known) > 0 {
			list = known
		}
		for _, back := range a.ModeFailures {
			m.CallModes.Learn(a.Model, back)
		}
	}
	for _, back := range slices.Concat(c.modeFailures, a.ModeFailures) {
		left := slices.DeleteFunc(slices.Clone(list), func(w turn.Mode) bool { return w == back.Mode })
		if len(left) > 0 && len(left) < len(list) {
			list, why = left, fmt.Sprintf("%s: %s", back.Mode, back.Why)
		}
	}
	return list, why
}

// in asks in a mode that is not native. slipped describes what was wrong with the answer's form.
func (m *models) in(ctx context.Context, way turn.Mode, model llm.Model, c *conversation, a turn.ModelRequest, req *llm.Request, show func(llm.Delta)) (_ *llm.Response, slipped string, err error) {
	sp, err := c.textTranscript(way, m.Tools, a)
	if err != nil {
		return nil, "", err
	}
	plain := *req
	plain.Tools, plain.HiddenTools, plain.RequireCall, plain.Messages, plain.History = nil, nil, false, sp.msgs, sp.wire
	switch {
	case a.HideTools:
		resp, err := model.Generate(ctx, &plain, show)
		return resp, "", err
	case way == turn.Text:
		// A server cannot hold an answer to a schema and let it call tools.
		plain.Output, plain.TextTools = nil, c.tools
		resp, err := turn.GenerateText(ctx, model, &plain, c.tools, show)
		return resp, "", err
	}
	shape := sp.form
	if a.RequireCall {
		// An explanation in words is useless at this point, so the schema leaves no place for it.
		if shape, err = turn.AnswerSchema(c.tools, a.Output, true); err != nil {
			return nil, "", err
		}
	}
	return turn.GenerateConstrained(ctx, model, &plain, shape, c.tools, len(a.Output) > 0, show)
}

// textTranscript returns the conversation as text, updated with its new messages.
func (c *conversation) textTranscript(way turn.Mode, all *tools.Set, a turn.ModelRequest) (*textTranscript, error) {
	var list []string
	for _, t := range c.tools {
		list = append(list, t.Name)
	}
	names := strings.Join(list, ",")
	sp := c.asText
	if sp == nil || sp.way != way || sp.names != names || sp.from > len(c.msgs) {
		section, err := turn.PromptSection(all, c.tools, way, a.Options.Window)
		if err != nil {
			return nil, err
		}
		sp = &textTranscript{way: way, names: names, wire: new(llm.EncodedHistory)}
		if way == turn.Constrained {
			if sp.form, err = turn.AnswerSchema(c.tools, a.Output, false); err != nil {
				return nil, err
			}
		}
		if len(c.msgs) == 0 || c.msgs[0].Role != llm.System {
			sp.msgs = append(sp.msgs, llm.Message{Role: llm.System, Text: section})
		} else {
			sp.msgs = append(sp.msgs, llm.Message{Role: llm.System, Text: c.msgs[0].Text + "\n\n" + section})
			sp.from = 1
		}
		c.asText = sp
	}
	for _, msg := range c.msgs[sp.from:] {
		sp.msgs = append(sp.msgs, turn.AsText(msg, way))
	}
	sp.from = len(c.msgs)
	return sp, nil
}
