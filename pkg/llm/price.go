package llm

import (
	"cmp"
	"time"

	"github.com/adroit-run/adroit/internal/text/match"
)

// Table says what models cost, by provider/model or by a pattern in which *
// stands for any text. The longest pattern decides. An entry of zeros is a
// model that is known to be free.
type Prices map[string]Price

// Of gives the price of a model; ok is false if nobody knows it.
func (p Prices) Of(model string) (price Price, ok bool) { return match.Pick(p, model) }

// Price is what a model costs, in USD per million tokens. The zero value is
// free. Cached input tokens cost Cached, or In if Cached is zero.
type Price struct {
	In     float64 `json:"in,omitempty"`
	Out    float64 `json:"out,omitempty"`
	Cached float64 `json:"cached,omitempty"`
	// Date is when the provider asked for that, as 2026-10-16; "" if the operator
	// has said it.
	Date string `json:"as_of,omitempty"`
}

// Old reports whether the price is one of more than so many months ago.
func (p Price) Old(now time.Time, months int) bool {
	at, err := time.Parse(time.DateOnly, p.Date)
	return err == nil && at.AddDate(0, months, 0).Before(now)
}

// Cost is what u costs, in USD.
func (p Price) Cost(u Usage) float64 {
	cached := p.Cached
	cached = cmp.Or(cached, p.In)
	return (float64(u.In-u.Cached)*p.In + float64(u.Cached)*cached + float64(u.Out)*p.Out) / 1e6
}
