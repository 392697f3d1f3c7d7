package executor

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/permit"
)

// What steps take and give, and the state after each turn, is written by hand
// where it has only what it nearly always has. It must be byte for byte what
// encoding/json writes, since the journal keeps digests of it: everything else
// is left to that, a field that nobody has thought of here among it.

// An object is JSON under construction. The first error stays.
type object struct {
	b   []byte
	err error
}

func (o *object) key(k string) {
	if c := o.b[len(o.b)-1]; c != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), k...), `":`...)
}

func (o *object) text(k, s string) { o.key(k); o.b = appendText(o.b, s) }

// some leaves out what is empty.
func (o *object) some(k, s string) {
	if s != "" {
		o.text(k, s)
	}
}

func (o *object) whole(k string, n int64) { o.key(k); o.b = strconv.AppendInt(o.b, n, 10) }

func (o *object) count(k string, n int) {
	if n != 0 {
		o.whole(k, int64(n))
	}
}

func (o *object) took(d time.Duration) {
	if d != 0 {
		o.whole("took_ns", int64(d))
	}
}

func (o *object) truth(k string, v bool) {
	if v {
		o.key(k)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) money(k string, v float64) {
	switch abs := math.Abs(v); {
	case v == 0:
	case abs < 1e-6 || abs >= 1e21 || math.IsNaN(v):
		o.other(k, v)
	default:
		o.key(k)
		o.b = strconv.AppendFloat(o.b, v, 'f', -1, 64)
	}
}

// raw writes what is JSON already.
func (o *object) raw(k string, v json.RawMessage) {
	o.key(k)
	if spare(v) && json.Valid(v) {
		o.b = append(o.b, v...)
		return
	}
	o.value(v)
}

// spare reports whether v has nothing in it that encoding/json would leave out
// or write in another way.
func spare(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	quoted := false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			if i++; i < len(v) && v[i] >= utf8.RuneSelf {
				return false
			}
		case c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf:
			return false
		case c <= ' ' && !quoted:
			return false
		}
	}
	return true
}

// other writes what is rarely there.
func (o *object) other(k string, v any) { o.key(k); o.value(v) }

func (o *object) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.b = append(o.b, b...)
}

func (o *object) usage(k string, u llm.Usage) {
	if u != (llm.Usage{In: u.In, Out: u.Out, Cached: u.Cached}) {
		o.other(k, u)
		return
	}
	o.key(k)
	o.b = append(o.b, '{')
	o.whole("in", int64(u.In))
	o.whole("out", int64(u.Out))
	o.count("cached", u.Cached)
	o.b = append(o.b, '}')
}

func (o *object) message(m *llm.Message) {
	if m.Thinking != "" || m.Echo != nil || slices.ContainsFunc(m.Calls, func(c llm.Call) bool { return c.Malformed != "" || c.Raw != "" }) {
		o.value(m)
		return
	}
	o.b = append(o.b, '{')
	o.text("role", string(m.Role))
	o.some("text", m.Text)
	if len(m.Calls) > 0 {
		o.key("calls")
		o.b = append(o.b, '[')
		for i, c := range m.Calls {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = append(o.b, '{')
			o.text("id", c.ID)
			o.text("name", c.Name)
			if len(c.Args) > 0 {
				o.raw("args", c.Args)
			}
			o.b = append(o.b, '}')
		}
		o.b = append(o.b, ']')
	}
	o.some("call_id", m.CallID)
	o.some("name", m.Name)
	o.truth("failed", m.Failed)
	o.b = append(o.b, '}')
}

func (o *object) messages(k string, list []llm.Message) {
	o.key(k)
	if list == nil {
		o.b = append(o.b, "null"...)
		return
	}
	o.b = append(o.b, '[')
	for i := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.message(&list[i])
	}
	o.b = append(o.b, ']')
}

func (o *object) end() ([]byte, error) { return append(o.b, '}'), o.err }

// begun makes room for an object that will have about n bytes of text.
func begun(b []byte, n int) *object {
	return &object{b: append(slices.Grow(b, n+n/8+256), '{')}
}

// bare reports whether v, from which what is written by hand was taken, has
// nothing else in it.
func bare[T any](v *T) bool { return reflect.ValueOf(v).Elem().IsZero() }

func appendOther(b []byte, v any) ([]byte, error) {
	more, err := json.Marshal(v)
	return append(b, more...), err
}

func size(list []llm.Message) (n int) {
	for i := range list {
		n += len(list[i].Text) + 64
		for _, c := range list[i].Calls {
			n += len(c.Args) + 64
		}
	}
	return n
}

// AppendJSON implements [flow.Encoder].
func (u Use) AppendJSON(b []byte) ([]byte, error) {
	rest := u
	rest.Args, rest.May, rest.Room = nil, nil, 0
	if !bare(&rest) {
		return appendOther(b, u)
	}
	o := begun(b, len(u.Args))
	o.raw("args", u.Args)
	o.may(u.May)
	o.count("room", u.Room)
	return o.end()
}

func (o *object) may(m *May) {
	if m == nil {
		return
	}
	rest := *m
	rest.Agent, rest.Mode, rest.Approve, rest.Rules = "", "", "", nil
	if !bare(&rest) {
		o.other("may", m)
		return
	}
	o.key("may")
	o.b = append(o.b, '{')
	o.some("agent", m.Agent)
	o.some("mode", string(m.Mode))
	o.some("approve", string(m.Approve))
	if len(m.Rules) > 0 {
		o.key("rules")
		o.b = append(o.b, '[')
		for i, r := range m.Rules {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.rule(r)
		}
		o.b = append(o.b, ']')
	}
	o.b = append(o.b, '}')
}

func (o *object) rule(r permit.Rule) {
	if r != (permit.Rule{Agent: r.Agent, Tool: r.Tool, Path: r.Path, Command: r.Command, Do: r.Do, Why: r.Why}) {
		o.value(r)
		return
	}
	o.b = append(o.b, '{')
	o.some("agent", r.Agent)
	o.some("tool", r.Tool)
	o.some("path", r.Path)
	o.some("command", r.Command)
	o.text("do", string(r.Do))
	o.some("why", r.Why)
	o.b = append(o.b, '}')
}

// AppendJSON implements [flow.Encoder].
func (a Ask) AppendJSON(b []byte) ([]byte, error) {
	rest := a
	rest.Head, rest.New, rest.Model, rest.Must, rest.Gone, rest.Calling = "", nil, "", false, 0, ""
	if !bare(&rest) {
		return appendOther(b, a)
	}
	o := begun(b, size(a.New))
	o.some("head", a.Head)
	o.messages("new", a.New)
	o.text("model", a.Model)
	o.truth("must", a.Must)
	o.count("gone", a.Gone)
	o.some("calling", string(a.Calling))
	return o.end()
}

// encode writes what the journal keeps of an answer.
func (a *Answer) encode() (json.RawMessage, error) {
	rest := *a
	rest.Message, rest.Usage, rest.Stop, rest.Model = llm.Message{}, llm.Usage{}, "", ""
	rest.Took, rest.Calling, rest.Ref, rest.Stay = 0, "", "", nil
	if !bare(&rest) {
		return json.Marshal(a)
	}
	o := begun(nil, len(a.Message.Text)+64*len(a.Message.Calls))
	o.key("message")
	o.message(&a.Message)
	o.usage("usage", a.Usage)
	o.some("stop", string(a.Stop))
	o.some("model", a.Model)
	o.whole("took_ns", int64(a.Took))
	o.some("calling", string(a.Calling))
	return o.end()
}

// encode writes what the journal keeps of a reply.
func (r *Reply) encode() (json.RawMessage, error) {
	rest := *r
	rest.Text, rest.Failed, rest.Summary, rest.Took, rest.Sandbox = "", false, "", 0, ""
	if !bare(&rest) {
		return json.Marshal(r)
	}
	o := begun(nil, len(r.Text)+len(r.Summary))
	o.text("text", r.Text)
	o.truth("failed", r.Failed)
	o.some("summary", r.Summary)
	o.took(r.Took)
	o.some("sandbox", r.Sandbox)
	return o.end()
}

// AppendJSON implements [flow.Encoder].
func (s *State) AppendJSON(b []byte) ([]byte, error) {
	rest := *s
	rest.Head, rest.New, rest.Artifacts, rest.Called, rest.Turns, rest.Calls = "", nil, nil, nil, 0, 0
	rest.Usage, rest.Cost, rest.Spent, rest.Last, rest.Recent, rest.Nudged = llm.Usage{}, 0, 0, "", nil, 0
	rest.Offered, rest.Told, rest.Taint, rest.Context, rest.heard = "", nil, 0, Gauge{}, heard{}
	if !bare(&rest) {
		return appendOther(b, s)
	}
	o := begun(b, size(s.New)+len(s.Last)+len(s.Offered)+64*len(s.Recent))
	o.some("head", s.Head)
	if len(s.New) > 0 {
		o.messages("new", s.New)
	}
	if len(s.Artifacts) > 0 {
		o.other("artifacts", s.Artifacts)
	}
	o.called(s.Called)
	o.whole("turns", int64(s.Turns))
	o.whole("calls", int64(s.Calls))
	o.usage("usage", s.Usage)
	o.money("cost_usd", s.Cost)
	o.whole("spent_ns", int64(s.Spent))
	o.some("last", s.Last)
	o.marks(s.Recent)
	o.count("nudged", s.Nudged)
	o.some("offered", s.Offered)
	if len(s.Told) > 0 {
		o.other("told", s.Told)
	}
	if s.Taint != 0 {
		o.other("taint", s.Taint)
	}
	o.gauge(&s.Context)
	return o.end()
}

// toldAnswer is what whoever watches is told of an answer; see describeModel.
func toldAnswer(way Calling, calls []string, a *Answer, why string) json.RawMessage {
	o := begun(nil, len(a.Message.Text)+len(why)+32*len(calls))
	o.some("calling", string(way))
	o.key("calls")
	if calls == nil {
		o.b = append(o.b, "null"...)
	} else {
		o.b = append(o.b, '[')
		for i, name := range calls {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendText(o.b, name)
		}
		o.b = append(o.b, ']')
	}
	o.key("notes")
	o.b = append(o.b, "null"...)
	o.text("stop", string(a.Stop))
	o.text("text", a.Message.Text)
	o.usage("usage", a.Usage)
	o.some("why", why)
	b, _ := o.end() // texts and numbers
	return b
}

// toldReply is what whoever watches is told of a reply; see describeTool.
func toldReply(args json.RawMessage, r *Reply) json.RawMessage {
	text := clip(r.Text)
	o := begun(nil, len(args)+len(text))
	o.raw("args", args)
	o.key("failed")
	o.b = strconv.AppendBool(o.b, r.Failed)
	o.some("sandbox", r.Sandbox)
	o.text("text", text)
	b, err := o.end()
	if err != nil {
		return nil // as with arguments that are no JSON elsewhere
	}
	return b
}

func (o *object) called(by map[string]int) {
	if len(by) == 0 {
		return
	}
	if len(by) > 1 {
		o.other("called", by)
		return
	}
	o.key("called")
	for name, n := range by {
		o.b = append(appendText(append(o.b, '{'), name), ':')
		o.b = append(strconv.AppendInt(o.b, int64(n), 10), '}')
	}
}

func (o *object) marks(list []mark) {
	if len(list) == 0 {
		return
	}
	o.key("recent")
	o.b = append(o.b, '[')
	for i := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		m := list[i]
		if m != (mark{Call: m.Call, Full: m.Full, Err: m.Err}) {
			o.value(m)
			continue
		}
		o.b = append(o.b, '{')
		o.text("call", m.Call)
		o.text("full", m.Full)
		o.some("err", m.Err)
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

func (o *object) gauge(g *Gauge) {
	if *g == (Gauge{}) {
		return
	}
	rest := *g
	rest.Tokens, rest.Weight, rest.Tools, rest.Opening, rest.Rate, rest.Extra, rest.Limit, rest.In, rest.Out = 0, 0, 0, 0, 0, 0, 0, 0, 0
	if rest != (Gauge{}) {
		o.other("context", g)
		return
	}
	o.key("context")
	o.b = append(o.b, '{')
	o.count("tokens", g.Tokens)
	o.count("weight", g.Weight)
	o.count("tools", g.Tools)
	o.count("opening", g.Opening)
	o.count("rate", g.Rate)
	o.count("extra", g.Extra)
	o.count("limit", g.Limit)
	o.count("in", g.In)
	o.count("out", g.Out)
	o.b = append(o.b, '}')
}

// asis has the bytes that stand for themselves in a string that encoding/json
// writes.
var asis = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = !bytes.ContainsRune([]byte(`"\<>&`), c)
	}
	return t
}()

// appendText writes s as encoding/json does.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if asis[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || n > 1) && r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
			b = append(b, s[from:i]...)
			switch i += n; r {
			case utf8.RuneError:
				b = append(b, `\ufffd`...)
			default:
				b = append(append(b, `\u202`...), hex[r&15])
			}
			from = i
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
