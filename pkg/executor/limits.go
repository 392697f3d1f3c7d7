package executor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Caps of tokens and money hold within one request: what the next one takes is
// estimated before it is made, and one that would pass a cap is left out. So is
// the closing request, in which the model sums up.

// limits returns the task's limits, or the raised ones where a person has raised them.
func (t *Task) limits(s *State) Limits { return s.Raised.Or(t.Limits).Or(DefaultLimits) }

// upcoming estimates what the next request takes: by the conversation's size, but
// no less than the one before it took.
func (s *State) upcoming(t *Task) llm.Usage {
	in := s.need(t)
	if most := t.limit(s); most > 0 {
		in = min(in, most) // it is made to fit first
	}
	return llm.Usage{In: max(in, s.Context.In), Out: s.Context.Out}
}

// estimable reports whether the next request can be estimated. What models take
// that work on their own is bounded by their Stay.
func (t *Task) estimable(s *State) bool {
	model, _ := t.modelAt(s.Fallback)
	return t.Budget != nil && !extagent.IsAgent(model)
}

// capReached returns the outcome of a run whose next n requests would exceed the limit of
// tokens or cost, nil if they fit.
func (t *Task) capReached(s *State, n int) *Outcome {
	l := t.limits(s)
	if l.Tokens <= 0 && l.CostUSD <= 0 || !t.estimable(s) {
		return nil
	}
	model, _ := t.modelAt(s.Fallback)
	u, used := s.upcoming(t), s.used()
	if u.Out == 0 {
		u.Out = 1
	}
	switch more := n * (u.In + u.Out); {
	case l.Tokens > 0 && used.Tokens+more > l.Tokens:
		return atLimit("tokens", "the limit of %d tokens: %d are used, and the next request would take about %d", l.Tokens, used.Tokens, u.In+u.Out)
	case l.CostUSD > 0 && used.CostUSD+float64(n)*t.price(model).Cost(u) > l.CostUSD:
		return atLimit("cost", "the limit of %.2f USD: %.4f are used, and the next request would cost about %.4f", l.CostUSD, used.CostUSD, t.price(model).Cost(u))
	}
	return nil
}

// reached returns the outcome of a run that has reached a limit after a turn, nil if it
// has not. It leaves room for the closing request, if that fits at all.
func (t *Task) reached(s *State) *Outcome {
	if end := t.limits(s).exceeded(s.used()); end != nil {
		return end
	}
	return t.capReached(s, 2)
}

// unaffordable ends the run if the next request does not fit its caps. What
// the model would have said last is left out then.
func (t *Task) unaffordable(s *State) bool {
	end := t.capReached(s, 1)
	if end == nil {
		return false
	}
	s.Outcome = cmp.Or(s.WrapUp, end)
	s.Outcome.Summary = s.Last
	return true
}

// rationed is the length of an answer, in tokens, below which the rest of the limits
// bounds it.
const rationed = 16 << 10

// ration bounds the length of the next answer by what the caps leave.
func (t *Task) ration(s *State, o *llm.Options) {
	l := t.limits(s)
	if l.Tokens <= 0 && l.CostUSD <= 0 || !t.estimable(s) {
		return
	}
	model, _ := t.modelAt(s.Fallback)
	in, used := s.upcoming(t).In, s.used()
	left := rationed
	if l.Tokens > 0 {
		left = min(left, l.Tokens-used.Tokens-in)
	}
	if p := t.price(model); l.CostUSD > 0 && p.Out > 0 {
		left = int(min(float64(left), (l.CostUSD-used.CostUSD-p.Cost(llm.Usage{In: in}))/p.Out*1e6))
	}
	if left < rationed && (o.MaxTokens <= 0 || left < o.MaxTokens) {
		o.MaxTokens = max(left, 1)
	}
}

// thinking returns the models and the budget for tools that ask a model, nil if there are
// none.
func (t *Task) thinking(s *State) *turn.Think {
	if t.Think == nil {
		return nil
	}
	k := *t.Think
	l, used := t.limits(s), s.used()
	k.Tokens, k.USD = -1, -1
	if l.Tokens > 0 {
		k.Tokens = max(0, l.Tokens-used.Tokens)
	}
	if l.CostUSD > 0 {
		k.USD = max(0, l.CostUSD-used.CostUSD)
		k.Prices = llm.Prices{}
		for _, ref := range k.Refs() {
			k.Prices[ref] = t.price(ref)
		}
	}
	return &k
}

// remainingLimits returns the unused part of the task's limits.
func (t *Task) remainingLimits(s *State) Limits {
	return t.limits(s).part(s.used(), Limits{}, 1)
}

// left returns the unused part of the limits that were raised, for the parent of the run.
func (s *State) left() (l Limits) {
	used := s.used()
	for _, q := range quantities {
		q.left(&l, &s.Raised, &used)
	}
	return l
}

// inherit raises the limits of a run by what is left of those that were raised
// for a part of it.
func (s *State) inherit(left Limits) {
	used := s.used()
	for _, q := range quantities {
		q.inherit(&s.Raised, &used, &left)
	}
}

// used is what counts towards the limits.
func (s *State) used() Limits {
	u := s.Spent()
	return Limits{Turns: s.Turns, Tokens: u.In + u.Out, CostUSD: u.Cost, Time: u.Took}
}

// Limits bound a run. A zero field means its default; -1 means no bound. Agent files have them by
// the key in their tag, which pkg/agents reads; [Limits.Or] and exceeded are below.
type Limits struct {
	Turns   int            `json:"turns,omitempty"`    // model calls; default 50
	Tokens  int            `json:"tokens,omitempty"`   // in and out together; default 2,000,000
	CostUSD float64        `json:"cost_usd,omitempty"` // default none; needs Task.Price
	Time    time.Duration  `json:"time,omitempty"`     // spent in steps, waiting for people not counted; default one hour
	Calls   map[string]int `json:"calls,omitempty"`    // of a tool, by its name; default none
	Rejects int            `json:"rejects,omitempty"`  // how often the model may claim to be done when it is not; default 5
}

// quantities are the limits that are used up, in the order in which they end a run. A new one
// is a field of Limits, an entry here, and what counts in State.used.
var quantities = []limitKind{
	quantity[int]{name: "turns", of: func(l *Limits) *int { return &l.Turns }, format: "the limit of %d turns", own: true},
	quantity[int]{name: "tokens", of: func(l *Limits) *int { return &l.Tokens }, format: "the limit of %d tokens", least: 1, divided: true},
	quantity[float64]{name: "cost", of: func(l *Limits) *float64 { return &l.CostUSD }, format: "the limit of %.2f USD", least: 1e-9, divided: true},
	quantity[time.Duration]{name: "time", of: func(l *Limits) *time.Duration { return &l.Time }, format: "the time limit of %s", least: 1},
}

// A limitKind is a quantity of any type. Each method is about its field alone.
type limitKind interface {
	or(l, d *Limits)
	reached(l, used *Limits) *Outcome
	above(l, used *Limits, name string) bool
	within(l, p *Limits)
	part(l, gone, own *Limits, n int)
	left(l, raised, used *Limits)
	inherit(raised, used, left *Limits)
	text(l *Limits) string
}

// A quantity is one limit. What is left of it is never nothing, which would be no limit.
type quantity[N int | float64 | time.Duration] struct {
	name    string // in Outcome.Limit
	format  string // of a limit that is reached
	of      func(*Limits) *N
	least   N
	own     bool // of each agent, whatever its parent has left
	divided bool // among those that work at once
}

func (q quantity[N]) or(l, d *Limits) { *q.of(l) = cmp.Or(*q.of(l), *q.of(d)) }

func (q quantity[N]) reached(l, used *Limits) *Outcome {
	if most := *q.of(l); most > 0 && *q.of(used) >= most {
		return atLimit(q.name, q.format, most)
	}
	return nil
}

// above reports whether the limit of this name leaves something.
func (q quantity[N]) above(l, used *Limits, name string) bool {
	return q.name == name && (*q.of(l) > *q.of(used) || *q.of(l) < 0)
}

func (q quantity[N]) within(l, p *Limits) {
	if v, most := q.of(l), *q.of(p); !q.own && most > 0 && (*v <= 0 || most < *v) {
		*v = most
	}
}

// part makes of a limit the part of one among n, of what is not gone, above what it has used
// of its own.
func (q quantity[N]) part(l, gone, own *Limits, n int) {
	v, used := q.of(l), *q.of(own)
	if q.own || *v <= 0 {
		return
	}
	rest := *v - max(*q.of(gone), used)
	if q.divided {
		rest /= N(n)
	}
	*v = max(q.least, used+rest)
}

func (q quantity[N]) left(l, raised, used *Limits) {
	if v := *q.of(raised); !q.own && v != 0 {
		*q.of(l) = max(-1, v-*q.of(used))
	}
}

func (q quantity[N]) inherit(raised, used, left *Limits) {
	if v := q.of(raised); *q.of(left) > 0 {
		*v = max(*v, *q.of(used)+*q.of(left))
	}
}

func (q quantity[N]) text(l *Limits) string {
	if *q.of(l) == 0 {
		return ""
	}
	_, format, _ := strings.Cut(q.format, " of ")
	return fmt.Sprintf(format, *q.of(l))
}

// Or gives l with its zero fields taken from d.
func (l Limits) Or(d Limits) Limits {
	for _, q := range quantities {
		q.or(&l, &d)
	}
	if l.Calls == nil {
		l.Calls = d.Calls
	}
	l.Rejects = cmp.Or(l.Rejects, d.Rejects)
	return l
}

// DefaultLimits bound a run that names no limits.
var DefaultLimits = Limits{Turns: 50, Tokens: 2_000_000, CostUSD: -1, Time: time.Hour, Rejects: 5}

// exceeded returns the outcome for the first limit that is reached, nil if none is.
func (l Limits) exceeded(used Limits) *Outcome {
	l = l.Or(DefaultLimits)
	for _, q := range quantities {
		if end := q.reached(&l, &used); end != nil {
			return end
		}
	}
	return nil
}

// atLimit is the outcome of a run that has reached a limit.
func atLimit(limit, format string, args ...any) *Outcome {
	return &Outcome{Status: Limit, Limit: limit, Reason: "reached " + fmt.Sprintf(format, args...)}
}

// share returns the limits of one of n parts that run at once: tokens and cost are
// divided, time is not.
func (l Limits) share(n int) Limits { return l.part(Limits{}, Limits{}, max(n, 1)) }

func (l Limits) part(gone, own Limits, n int) Limits {
	for _, q := range quantities {
		q.part(&l, &gone, &own, n)
	}
	return l
}

// Within returns l bounded by the tokens, cost and time that a parent has left.
func (l Limits) Within(p Limits) Limits {
	l = l.Or(DefaultLimits)
	for _, q := range quantities {
		q.within(&l, &p)
	}
	return l
}

// String lists the limits that are set, as the flags that set them.
func (l Limits) String() string {
	var out []string
	for _, q := range quantities {
		if text := q.text(&l); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}
