package executor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/llm/route"
	"github.com/adroit-run/adroit/pkg/flow"
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

// modelAt is the model that a run has got to, and its window.
func (t *Task) modelAt(n int) (model string, window int) {
	if n == 0 || n > len(t.Fallbacks) {
		return t.Model, t.Options.Window
	}
	f := t.Fallbacks[n-1]
	return f.Model, f.Window
}

// useFallback moves the run to the model behind the one that failed, and notes it. It
// reports false if the failure is for the run to end with. The run stays with
// the new model: going to and fro would lose the cache of both.
func (s *State) useFallback(r *flow.Run, t *Task, err error) (bool, error) {
	var se *flow.StepError
	if !errors.As(err, &se) || s.Fallback >= len(t.Fallbacks) {
		return false, nil
	}
	kind, ours := strings.CutPrefix(se.Code, "model.")
	if se.Code != flow.TimedOut && (!ours || !route.Kind(llm.ErrorKind(kind))) {
		return false, nil
	}
	from, _ := t.modelAt(s.Fallback)
	s.Fallback++
	to, _ := t.modelAt(s.Fallback)
	words := fmt.Sprintf("%s does not answer (%s); going on with %s", from, compaction.FirstLine(se.Message), to)
	if _, priced := t.Prices[to]; !priced && t.Limits.CostUSD > 0 {
		words += ", which has no price and is not counted"
	}
	return true, r.Note("%s", words)
}

// A Chain describes the models behind that of a request.
type Chain struct {
	// Backed reports that there is another model behind this one, so that it is
	// not waited for if nobody listens at its address.
	Backed bool          `json:"backed,omitempty"`
	Hedge  time.Duration `json:"hedge_ns,omitempty"`
}

// retry prepares a for another try after a failure: with the model that was
// interrupted, or with the one behind it. It reports false if there is none.
func (t *Task) retry(r *flow.Run, s *State, a *ModelRequest, err error) (bool, error) {
	if interrupted(err, a.Model) {
		a.New = withMessage(a.New, interruptedMessage)
		return true, nil
	}
	again, noted := s.useFallback(r, t, err)
	if again && llm.IsAgent(a.Model) {
		a.New = withMessage(a.New, takeoverMessage(a.Model, err))
	}
	return again, noted
}
