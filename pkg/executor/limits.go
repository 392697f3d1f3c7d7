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
// estimated before it is made, and a request that would pass a cap is left out. So is
// the closing request, in which the model sums up.

// limits returns the task's limits, or the raised ones where a person has raised them.
func (t *Task) limits(s *State) Limits { return s.Raised.Or(t.Limits).Or(DefaultLimits) }

// used returns the run's consumption that counts towards the limits.
func (s *State) used() Limits {
	u := s.Spent()
	return Limits{Turns: s.Turns, Tokens: u.In + u.Out, CostUSD: u.Cost, Time: u.Took}
}

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
	l, used := t.limits(s), s.used()
	if l.Tokens > 0 {
		l.Tokens = max(1, l.Tokens-used.Tokens)
	}
	if l.CostUSD > 0 {
		l.CostUSD = max(1e-9, l.CostUSD-used.CostUSD)
	}
	if l.Time > 0 {
		l.Time = max(1, l.Time-used.Time)
	}
	return l
}

// left returns the unused part of the limits that were raised, for the parent of the run.
func (s *State) left() (l Limits) {
	used := s.used()
	if s.Raised.Tokens != 0 {
		l.Tokens = max(-1, s.Raised.Tokens-used.Tokens)
	}
	if s.Raised.CostUSD != 0 {
		l.CostUSD = max(-1, s.Raised.CostUSD-used.CostUSD)
	}
	if s.Raised.Time != 0 {
		l.Time = max(-1, s.Raised.Time-used.Time)
	}
	return l
}

// inherit raises the limits of a run by what is left of those that were raised
// for a part of it.
func (s *State) inherit(left Limits) {
	used := s.used()
	if left.Tokens > 0 {
		s.Raised.Tokens = max(s.Raised.Tokens, used.Tokens+left.Tokens)
	}
	if left.CostUSD > 0 {
		s.Raised.CostUSD = max(s.Raised.CostUSD, used.CostUSD+left.CostUSD)
	}
	if left.Time > 0 {
		s.Raised.Time = max(s.Raised.Time, used.Time+left.Time)
	}
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

// Or gives l with its zero fields taken from d.
func (l Limits) Or(d Limits) Limits {
	if l.Turns == 0 {
		l.Turns = d.Turns
	}
	if l.Tokens == 0 {
		l.Tokens = d.Tokens
	}
	if l.CostUSD == 0 {
		l.CostUSD = d.CostUSD
	}
	if l.Time == 0 {
		l.Time = d.Time
	}
	if l.Calls == nil {
		l.Calls = d.Calls
	}
	if l.Rejects == 0 {
		l.Rejects = d.Rejects
	}
	return l
}

// DefaultLimits bound a run that names no limits.
var DefaultLimits = Limits{Turns: 50, Tokens: 2_000_000, CostUSD: -1, Time: time.Hour, Rejects: 5}

// exceeded returns the outcome for the first limit that is reached, nil if none is.
func (l Limits) exceeded(used Limits) *Outcome {
	l = l.Or(DefaultLimits)
	switch {
	case l.Turns > 0 && used.Turns >= l.Turns:
		return atLimit("turns", "the limit of %d turns", l.Turns)
	case l.Tokens > 0 && used.Tokens >= l.Tokens:
		return atLimit("tokens", "the limit of %d tokens", l.Tokens)
	case l.CostUSD > 0 && used.CostUSD >= l.CostUSD:
		return atLimit("cost", "the limit of %.2f USD", l.CostUSD)
	case l.Time > 0 && used.Time >= l.Time:
		return atLimit("time", "the time limit of %s", l.Time)
	}
	return nil
}

// atLimit is the outcome of a run that has reached a limit.
func atLimit(limit, format string, args ...any) *Outcome {
	return &Outcome{Status: Limit, Limit: limit, Reason: "reached " + fmt.Sprintf(format, args...)}
}

// share returns the limits of one of n parts that run at once: tokens and cost are
// divided, time is not.
func (l Limits) share(n int) Limits {
	if n < 2 {
		return l
	}
	if l.Tokens > 0 {
		l.Tokens = max(1, l.Tokens/n)
	}
	if l.CostUSD > 0 {
		l.CostUSD /= float64(n)
	}
	return l
}

// Within returns l bounded by the tokens, cost and time that a parent has left.
func (l Limits) Within(p Limits) Limits {
	l = l.Or(DefaultLimits)
	if p.Tokens > 0 && (l.Tokens <= 0 || p.Tokens < l.Tokens) {
		l.Tokens = p.Tokens
	}
	if p.CostUSD > 0 && (l.CostUSD <= 0 || p.CostUSD < l.CostUSD) {
		l.CostUSD = p.CostUSD
	}
	if p.Time > 0 && (l.Time <= 0 || p.Time < l.Time) {
		l.Time = p.Time
	}
	return l
}

// String lists the limits that are set, as the flags that set them.
func (l Limits) String() string {
	var out []string
	if l.Turns != 0 {
		out = append(out, fmt.Sprintf("%d turns", l.Turns))
	}
	if l.Tokens != 0 {
		out = append(out, fmt.Sprintf("%d tokens", l.Tokens))
	}
	if l.CostUSD != 0 {
		out = append(out, fmt.Sprintf("%.2f USD", l.CostUSD))
	}
	if l.Time != 0 {
		out = append(out, l.Time.Round(time.Millisecond).String())
	}
	return strings.Join(out, ", ")
}
