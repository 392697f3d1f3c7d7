package executor

import (
	"fmt"
	"strings"
	"time"
)

// Limits bound a run. A zero field means its default; -1 means no bound.
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

// exceeded is how a run ends at the first limit that it has reached, nil if it has
// reached none.
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

// share is the part of one among n that work at once: what is spent is shared,
// time passes for all.
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

// Within gives l, bounded by what a parent has left: tokens, money and time.
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
