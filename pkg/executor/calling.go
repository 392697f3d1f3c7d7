package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/schema"
)

// A Calling is a way to have a model call tools. Above all of them is the same
// loop.
type Calling string

const (
	// CallingAuto takes the first way that works; the default.
	CallingAuto Calling = "auto"
	// CallingNative leaves it to the server: it tells the model of the tools
	// in the form it was trained for, and reads its calls.
	CallingNative Calling = "native"
	// CallingConstrained tells the tools in the prompt and has the server hold
	// each answer to a schema that allows one call or the final answer.
	CallingConstrained Calling = "constrained"
	// CallingText tells the tools in the prompt and reads calls from what the
	// model writes.
	CallingText Calling = "text"
)

// Callings lists the valid values of Calling.
var Callings = []Calling{CallingAuto, CallingNative, CallingConstrained, CallingText}

// ways are tried in this order.
var ways = []Calling{CallingNative, CallingConstrained, CallingText}

// A Setback is a way that did not work out.
type Setback struct {
	Way Calling `json:"way"`
	Why string  `json:"why"`
}

// A Driver knows how the models of a host are best driven. It is safe for
// concurrent use.
type Driver interface {
	// Ways lists the ways to try, best first, and says why the first one is
	// not native, "" if it is. No ways are all of them.
	Ways(ctx context.Context, model string) (list []Calling, why string)
	// Learn hears what did not work with a model.
	Learn(model string, s Setback)
}

// A slip is an answer that was meant to call a tool and could not be used.
// Two in a row are a setback.
const maxSlips = 2

// steer notes how the way of an answer worked out.
func (s *State) steer(t *Task, a *Answer) {
	if a.Calling == "" || a.Slip == "" {
		if len(a.Message.Calls) > 0 {
			s.Slips = 0
		}
		return
	}
	s.Slips++
	if s.Slips < maxSlips || t.Calling != "" && t.Calling != CallingAuto || a.Calling == CallingText {
		return
	}
	s.Slips = 0
	if !slices.ContainsFunc(s.Setbacks, func(b Setback) bool { return b.Way == a.Calling }) {
		s.Setbacks = append(s.Setbacks, Setback{a.Calling, fmt.Sprintf("%s, %d times in a row", a.Slip, maxSlips)})
	}
}

// slip says what is wrong with the calls of an answer, "" if nothing is. One
// good call among bad ones shows that the way works.
func slip(r *llm.Response) string {
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
// at once.
func (m *models) generate(ctx context.Context, model llm.Model, c *conv, a Ask, req *llm.Request, show func(llm.Delta)) (*Answer, error) {
	if len(c.tools) == 0 {
		resp, err := model.Generate(ctx, req, show)
		if err != nil {
			return nil, err
		}
		return &Answer{Response: *resp}, nil
	}
	list, why := m.ways(ctx, c, a)
	for i, way := range list {
		resp, slipped, err := m.in(ctx, way, model, c, a, req, show)
		if err == nil {
			return &Answer{Response: *resp, Calling: way, Why: why, Slip: cmp.Or(slipped, slip(resp))}, nil
		}
		var le *llm.Error
		if i == len(list)-1 || !errors.As(err, &le) {
			return nil, err
		}
		given := le.Kind == llm.Unsupported || le.Kind == llm.Cut && c.broke(way)
		if !given && le.Kind != llm.Overrun {
			return nil, err
		}
		back := Setback{way, le.Error()}
		if why = fmt.Sprintf("%s: %s", way, back.Why); given {
			c.setbacks = append(c.setbacks, back)
			if m.Driver != nil {
				m.Driver.Learn(a.Model, back)
			}
		}
	}
	return nil, errors.New("there is no way to call tools")
}

// broke reports whether an answer held to a form was cut so often that the
// form must be the cause: there are servers whose sampler dies of a grammar
// that the model does not follow.
func (c *conv) broke(way Calling) bool {
	if way != CallingConstrained {
		return false
	}
	c.cuts++
	return c.cuts >= maxSlips
}

// ways lists the ways to try now, and why not all of them. There is always
// one.
func (m *models) ways(ctx context.Context, c *conv, a Ask) ([]Calling, string) {
	if a.Calling != "" && a.Calling != CallingAuto {
		return []Calling{a.Calling}, "set for the job"
	}
	list, why := ways, ""
	if m.Driver != nil {
		var known []Calling
		if known, why = m.Driver.Ways(ctx, a.Model); len(known) > 0 {
			list = known
		}
		for _, back := range a.Setbacks {
			m.Driver.Learn(a.Model, back)
		}
	}
	for _, back := range slices.Concat(c.setbacks, a.Setbacks) {
		left := slices.DeleteFunc(slices.Clone(list), func(w Calling) bool { return w == back.Way })
		if len(left) > 0 && len(left) < len(list) {
			list, why = left, fmt.Sprintf("%s: %s", back.Way, back.Why)
		}
	}
	return list, why
}

// in asks in one way. slipped says what was wrong with the answer's form.
func (m *models) in(ctx context.Context, way Calling, model llm.Model, c *conv, a Ask, req *llm.Request, show func(llm.Delta)) (_ *llm.Response, slipped string, err error) {
	if way == CallingNative {
		resp, err := model.Generate(ctx, req, show)
		return resp, "", err
	}
	sp, err := c.speech(way, m.Tools, a)
	if err != nil {
		return nil, "", err
	}
	plain := *req
	plain.Tools, plain.HiddenTools, plain.RequireCall, plain.Messages, plain.History = nil, nil, false, sp.msgs, sp.wire
	switch {
	case a.Bare:
		resp, err := model.Generate(ctx, &plain, show)
		return resp, "", err
	case way == CallingText:
		// A server cannot hold an answer to a schema and let it call tools.
		plain.Output, plain.TextTools = nil, c.tools
		resp, err := asText(ctx, model, &plain, c.tools, show)
		return resp, "", err
	}
	shape := sp.form
	if a.Must {
		// Words cannot help now, so that there is no place for them.
		if shape, err = form(c.tools, a.Output, true); err != nil {
			return nil, "", err
		}
	}
	return constrained(ctx, model, &plain, shape, c.tools, len(a.Output) > 0, show)
}

// A speech is a transcript as a model reads it that does not know of tools:
// they, the calls and the results are written out. It grows with the
// conversation, so that its beginning stays the same for the server.
type speech struct {
	way   Calling
	names string
	form  json.RawMessage // what a constrained answer satisfies
	from  int             // how much of the conversation is in it
	msgs  []llm.Message
	wire  *llm.EncodedHistory
}

// speech gives the conversation written out, and takes up what is new in it.
func (c *conv) speech(way Calling, all *tools.Set, a Ask) (*speech, error) {
	var list []string
	for _, t := range c.tools {
		list = append(list, t.Name)
	}
	names := strings.Join(list, ",")
	sp := c.spoken
	if sp == nil || sp.way != way || sp.names != names || sp.from > len(c.msgs) {
		section, err := section(all, c.tools, way, a.Options.Window)
		if err != nil {
			return nil, err
		}
		sp = &speech{way: way, names: names, wire: new(llm.EncodedHistory)}
		if way == CallingConstrained {
			if sp.form, err = form(c.tools, a.Output, false); err != nil {
				return nil, err
			}
		}
		if len(c.msgs) == 0 || c.msgs[0].Role != llm.System {
			sp.msgs = append(sp.msgs, llm.Message{Role: llm.System, Text: section})
		} else {
			sp.msgs = append(sp.msgs, llm.Message{Role: llm.System, Text: c.msgs[0].Text + "\n\n" + section})
			sp.from = 1
		}
		c.spoken = sp
	}
	for _, msg := range c.msgs[sp.from:] {
		sp.msgs = append(sp.msgs, written(msg, way))
	}
	sp.from = len(c.msgs)
	return sp, nil
}

// flat is an output schema as servers take it: without references.
func flat(output json.RawMessage) (json.RawMessage, error) {
	if len(output) == 0 {
		return nil, nil
	}
	s, err := schema.Compile(output)
	if err != nil {
		return nil, fmt.Errorf("the output schema cannot be used: %w", err)
	}
	return s.JSON(), nil
}
