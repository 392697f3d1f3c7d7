package turn

import (
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Route is the model of a task and what to do when it does not answer.
type Route struct {
	Model string `json:"model"` // provider/model
	// Window is asked for where the client sets it; zero is the provider's.
	Window int `json:"window,omitempty"`
	// Fallbacks are turned to in this order when the one before cannot answer.
	Fallbacks []Fallback `json:"fallbacks,omitempty"`
	// Hedge, if not zero, is how long nothing may come of an answer before
	// the same is asked once more beside it.
	Hedge time.Duration `json:"hedge_ns,omitempty"`
}

// A Fallback is a model behind another.
type Fallback struct {
	Model  string `json:"model"`
	Window int    `json:"window,omitempty"`
}

// Refs lists the models of r in order.
func (r Route) Refs() []string {
	out := []string{r.Model}
	for _, f := range r.Fallbacks {
		out = append(out, f.Model)
	}
	return out
}

// A Chain describes the models behind that of a request.
type Chain struct {
	// Backed reports that there is another model behind this one, so that it is
	// not waited for if nobody listens at its address.
	Backed bool          `json:"backed,omitempty"`
	Hedge  time.Duration `json:"hedge_ns,omitempty"`
}

// A Think is the model that tools which think are given, and what one call of
// such a tool may take of it. It is pinned with the task and part of the
// call's step, with what the job's limits leave at that point.
type Think struct {
	Route
	MaxTokens int `json:"max_tokens,omitempty"` // of one answer; default 2048
	Requests  int `json:"requests,omitempty"`   // of one call of a tool; default 16
	// Tokens and USD are what the job has left; -1 is without end.
	Tokens int        `json:"tokens,omitempty"`
	USD    float64    `json:"usd,omitempty"`
	Prices llm.Prices `json:"prices,omitempty"`
}
